//go:build linux && amd64 && !rigvm

package certify

import (
	"testing"

	"github.com/eideticker/eideticker/deploy/rigvm"
)

// TestVM runs the tests behind the tag rigvm in a VM. The kernel's virtual device there has an HDMI
// input, and an HDMI output that can be looped to it.
func TestVM(t *testing.T) {
	vm := rigvm.Boot(t, rigvm.Config{Modules: []rigvm.Module{{Name: "vivid", Options: []string{
		"n_devs=1", "node_types=0x101", "num_inputs=1", "input_types=0x3", "multiplanar=1", "num_outputs=1",
		"output_types=0x1",
	}}}})
	rigvm.RunTests(t, vm, rigvm.Tests{Run: "^TestLoop"})
}
