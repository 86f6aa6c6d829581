package webui

import (
	"flag"
	"testing"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

func TestMain(m *testing.M) {
	// Browsers wait for the rig at times, so more of them run than there are processors.
	if err := flag.Set("test.parallel", "3"); err != nil { // before the command line's own is read
		panic(err)
	}
	daemontest.Main(sharing{m})
}

// sharing runs tests that have one browser.
type sharing struct{ *testing.M }

func (s sharing) Run() int { return browsertest.Main(s.M) }
