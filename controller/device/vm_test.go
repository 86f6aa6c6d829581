//go:build linux && amd64 && !rigvm

package device

import (
	"testing"

	"github.com/eideticker/eideticker/deploy/rigvm"
)

// TestVMGPIO switches lines of a GPIO chip that the VM's kernel drives.
func TestVMGPIO(t *testing.T) {
	t.Parallel() // browsers wait for their pages
	vm := rigvm.Boot(t, rigvm.Config{Modules: []rigvm.Module{{Name: "uhid"}, {Name: "hid-cp2112"}}})
	rigvm.RunTests(t, vm, rigvm.Tests{Run: "^TestLinesOfAChip$"})
}
