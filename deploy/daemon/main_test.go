package daemon_test

import (
	"os"
	"testing"

	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// TestMain is also the rig that tests kill, where one of them has started it.
func TestMain(m *testing.M) {
	if os.Getenv(killVariable) != "" {
		os.Exit(killed())
	}
	daemontest.Main(m)
}
