//go:build linux && amd64 && !rigvm

package main

import (
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/rigvm"
)

// TestVM has the agent plugged into the VM that it runs in, by dummy_hcd, and spoken to over the VM's loopback interface.
func TestVM(t *testing.T) {
	vm := rigvm.Boot(t, rigvm.Config{Modules: []rigvm.Module{
		{Name: "evdev"}, {Name: "usbhid"}, {Name: "hid-generic"}, {Name: "hid-multitouch"}, {Name: "libcomposite"}, {Name: "usb_f_hid"}, {Name: "dummy_hcd"},
	}})
	rigvm.RunTests(t, vm, rigvm.Tests{Timeout: 4 * time.Minute})
}
