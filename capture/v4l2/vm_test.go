//go:build linux && amd64 && !rigvm

package v4l2_test

import (
	"os"
	"testing"

	"github.com/eideticker/eideticker/deploy/rigvm"
)

// TestVM runs the tests behind the tag rigvm in a VM, on the kernel's virtual capture device. There
// are four: HDMI receivers that speak the single- and the multi-planar API, a webcam, and one with
// output and metadata nodes.
func TestVM(t *testing.T) {
	vm := rigvm.Boot(t, rigvm.Config{Modules: []rigvm.Module{{Name: "vivid", Options: []string{
		"n_devs=4", "node_types=0x1,0x1,0x1,0x20101", "num_inputs=1,1,1,1", "input_types=0x3,0x3,0x0,0x3",
		"multiplanar=1,2,1,1", "num_outputs=1,1,1,1", "output_types=0x1,0x1,0x1,0x1",
	}}}})
	rigvm.RunTests(t, vm, rigvm.Tests{Run: os.Getenv("EIDETICKER_VM_RUN"),
		Env: []string{"EIDETICKER_SOAK=" + os.Getenv("EIDETICKER_SOAK")}})
}
