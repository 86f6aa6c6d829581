//go:build linux && amd64 && !rigvm

package hid_test

import (
	"os"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/input/internal/hosttest"
	"github.com/eideticker/eideticker/deploy/rigvm"
)

// TestVM runs the tests behind the tag rigvm, here and of the agent. Their VM is plugged into
// itself. dummy_hcd is a device port, and the host at its other end is the same machine.
func TestVM(t *testing.T) {
	vm := rigvm.Boot(t, rigvm.Config{Modules: []rigvm.Module{
		{Name: "evdev"}, {Name: "usbhid"}, {Name: "hid-generic"}, {Name: "hid-multitouch"}, {Name: "libcomposite"},
		{Name: "usb_f_hid"}, {Name: "dummy_hcd"},
	}})
	for _, tests := range []struct{ name, dir string }{{"hid", "."}, {"agent", "./agent"}} {
		t.Run(tests.name, func(t *testing.T) {
			rigvm.RunTests(t, vm, rigvm.Tests{
				Package: tests.dir, Run: os.Getenv("EIDETICKER_VM_RUN"),
				Env: []string{hosttest.ReplayEnv + "=" + os.Getenv(hosttest.ReplayEnv)}, Timeout: 8 * time.Minute,
			})
		})
	}
}
