package video

import (
	"log"
	"os"
	"testing"

	"github.com/eideticker/eideticker/deploy/built"
)

func TestMain(m *testing.M) {
	if err := built.Media(); err != nil {
		log.Fatal(err)
	}
	var err error
	if filmed, err = os.MkdirTemp("", "eideticker-films-"); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	if err := os.RemoveAll(filmed); err != nil {
		log.Fatal(err)
	}
	os.Exit(code)
}
