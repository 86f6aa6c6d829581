//go:build (amd64 || arm64 || riscv64 || loong64) && !rigvm

package v4l2

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// A program that has a file open is found by its number and name; we ourselves are not among them.
//
// Fault: Another program holds the capture device
func TestHolders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if all := holders(path); len(all) != 0 {
		t.Errorf("held by %v, which is nobody else", all)
	}
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cat := exec.Command("cat")
	cat.Stdin, cat.ExtraFiles = in, []*os.File{file}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	all := holders(path)
	if !slices.Contains(all, Holder{PID: cat.Process.Pid, Command: "cat"}) {
		t.Errorf("held by %v, want cat as process %d", all, cat.Process.Pid)
	}
	hold.Close()
	if err := cat.Wait(); err != nil {
		t.Error(err)
	}
}
