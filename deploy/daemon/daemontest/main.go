package daemontest

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/built"
)

// atOnce is the number of parallel tests, unless -parallel states it. Rigs mostly wait for scenes,
// so more run at a time than there are processors.
const atOnce = "8"

// Main runs the tests of a package whose rigs take devices, and ends the program: the locks of
// devices are kept apart from those of other programs. m is a *testing.M, or wraps one.
func Main(m interface{ Run() int }) {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(atOnce) // a number
	}
	dir, err := os.MkdirTemp("", "eideticker-test-*")
	if err == nil {
		err = errors.Join(os.Setenv(session.LockVariable, dir), built.Media())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir) // of tests that are over
	os.Exit(code)
}
