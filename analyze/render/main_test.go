package render

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
	os.Exit(m.Run())
}
