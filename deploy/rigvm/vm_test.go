//go:build linux && !rigvm

package rigvm

import "testing"

// TestVMDrivers loads the drivers that tests are about, and looks for what they bring; see drivers_rigvm_test.go.
func TestVMDrivers(t *testing.T) {
	vm := Boot(t, Config{Modules: []Module{{Name: "vivid", Options: []string{"n_devs=1", "node_types=0x1"}}}})
	RunTests(t, vm, Tests{Run: "^TestDrivers$"})
}
