//go:build linux && amd64 && !rigvm

package sockets_test

import (
	"testing"

	"github.com/eideticker/eideticker/deploy/rigvm"
)

// TestVMRecordsSocketCalls records programs on Debian's kernel in a VM, which has eBPF on each
// machine.
func TestVMRecordsSocketCalls(t *testing.T) {
	vm := rigvm.Boot(t, rigvm.Config{})
	r, err := vm.Run(t.Context(), rigvm.Command{Path: "ip", Args: []string{"link", "set", "lo", "up"}})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%v: %s", err, r.Stderr)
	}
	rigvm.RunTests(t, vm, rigvm.Tests{Run: "^(TestCgroupsNeedNoMountPoint|TestFileHasALimit)$"})
}
