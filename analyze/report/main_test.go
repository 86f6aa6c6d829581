package report

import (
	"log"
	"os"
	"testing"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/deploy/built"
)

func TestMain(m *testing.M) {
	if err := built.Media(); err != nil {
		log.Fatal(err)
	}
	var err error
	if films, err = os.MkdirTemp("", "eideticker-films-"); err != nil {
		log.Fatal(err)
	}
	code := browsertest.Main(m)
	_ = os.RemoveAll(films) // of tests that are over
	os.Exit(code)
}
