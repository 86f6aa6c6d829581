//go:build linux && !rigvm

package rigvm

import (
	"fmt"
	"os"
	"testing"
)

// helperEnv names what this test binary does, started by one of its tests, instead of running
// tests.
const helperEnv = "RIGVM_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "":
		os.Exit(m.Run())
	case "hold":
		fmt.Fprintln(os.Stderr, hold())
		os.Exit(1)
	}
}
