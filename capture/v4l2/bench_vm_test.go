//go:build linux && amd64 && benchrig && !rigvm

package v4l2_test

import (
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/rigvm"
)

// peersInside is where other programs and their libraries are in the VM, in bin and lib.
const peersInside = "/peers"

// TestBenchRig prints the cost of the capture thread (see TestCost) beside that of other installed
// programs. It has its own build tag because it takes minutes and asserts only as much as TestCost.
func TestBenchRig(t *testing.T) {
	files := map[string]string{}
	for program, pkg := range map[string]string{"v4l2-ctl": "v4l-utils", "ffmpeg": "ffmpeg"} {
		if err := addPeer(t, files, program); err != nil {
			t.Logf("without %s: %v; apt-get install --no-install-recommends %s", program, err, pkg)
		}
	}
	vm := rigvm.Boot(t, rigvm.Config{
		Modules: []rigvm.Module{{Name: "vivid", Options: []string{"n_devs=1", "node_types=0x1", "num_inputs=1",
			"input_types=0x3"}}},
		Files: files,
		// vivid holds its lock while it draws a frame. With a second processor, a caller that asks
		// for a frame meanwhile spins on the lock. A real card's driver does not do that, and it
		// costs several times the measured work.
		CPUs:     1,
		MemoryMB: 2048, // the libraries, and the 32 buffers that ffmpeg asks for
		Timeout:  time.Hour,
	})
	rigvm.RunTests(t, vm, rigvm.Tests{
		Run: "^TestCost$", Tags: []string{"benchrig"}, Timeout: 45 * time.Minute,
		Env: []string{
			"EIDETICKER_COST_FRAMES=100", "EIDETICKER_COST_ROUNDS=3", "EIDETICKER_COST_PEERS=" + peersInside,
		},
	})
}

// addPeer adds a program, its loader and its libraries.
func addPeer(t *testing.T, files map[string]string, program string) error {
	host, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(t.Context(), "ldd", host).Output()
	if err != nil {
		return fmt.Errorf("find the libraries of %s: %w", host, err)
	}
	libraries, err := parseLibraries(string(out))
	if err != nil {
		return fmt.Errorf("find the libraries of %s: %w", host, err)
	}
	files[path.Join(peersInside, "bin", program)] = host
	for _, lib := range libraries {
		files[path.Join(peersInside, "lib", filepath.Base(lib))] = lib
	}
	return nil
}

// parseLibraries reads what ldd(1) says: "name => path (address)", or "path (address)" for the
// loader.
func parseLibraries(text string) ([]string, error) {
	var all []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "not found") {
			return nil, fmt.Errorf("%s", strings.TrimSpace(line))
		}
		for word := range strings.FieldsSeq(line) {
			if filepath.IsAbs(word) {
				all = append(all, word)
			}
		}
	}
	return all, nil
}
