//go:build linux && amd64 && !rigvm

package uinput_test

import (
	"os"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/input/internal/hosttest"
	"github.com/eideticker/eideticker/deploy/rigvm"
)

// TestVM runs the tests behind the tag rigvm in a VM, whose kernel has uinput.
func TestVM(t *testing.T) {
	vm := rigvm.Boot(t, rigvm.Config{Modules: []rigvm.Module{{Name: "evdev"}, {Name: "uinput"}}})
	rigvm.RunTests(t, vm, rigvm.Tests{
		Run: os.Getenv("EIDETICKER_VM_RUN"), Env: []string{hosttest.ReplayEnv + "=" + os.Getenv(hosttest.ReplayEnv)},
		Timeout: 8 * time.Minute,
	})
}
