//go:build linux && amd64 && !rigvm

package recorder

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/deploy/built"
	"github.com/eideticker/eideticker/deploy/rigvm"
)

// vivid is two HDMI receivers with DV timings, the second of which speaks the multi-planar API.
func vivid() rigvm.Module {
	return rigvm.Module{Name: "vivid", Options: []string{"n_devs=2", "node_types=0x1,0x1", "num_inputs=1,1",
		"input_types=0x3,0x3", "multiplanar=1,2"}}
}

// TestVMKilledWhileRecording runs the table of faults in a VM: recordings of the kernel's virtual
// capture device while it misbehaves. Then it cuts the power in the middle of a recording. The next
// machine finds the disk as it was, and the recording on it is repaired.
//
// Fault: The power fails while a card is recorded
func TestVMKilledWhileRecording(t *testing.T) {
	rigvm.Need(t)
	program, err := built.Program()
	if err != nil {
		t.Fatal(err)
	}
	cfg := rigvm.Config{
		Files: map[string]string{"/bin/eideticker": program},
		Disk:  &rigvm.Disk{Path: filepath.Join(t.TempDir(), "disk")}, Modules: []rigvm.Module{vivid()},
		MemoryMB: 2048,
	}
	vm := rigvm.Boot(t, cfg)
	t.Run("faults", func(t *testing.T) {
		rigvm.RunTests(t, vm, rigvm.Tests{Run: "^TestRecording", Timeout: 8 * time.Minute,
			Env: []string{"EIDETICKER_SOAK=" + os.Getenv("EIDETICKER_SOAK")}})
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	recorded := make(chan error, 1)
	go func() {
		_, err := vm.Run(ctx, rigvm.Command{Path: "/bin/eideticker",
			Args: []string{"record", "-s", "v4l2:/dev/video0?wait=30s", "-o", "/disk/a.eid"}})
		recorded <- err
	}()
	waitForGrowth(ctx, t, vm, "/disk/a.eid")
	vm.Kill()
	if err := <-recorded; err == nil {
		t.Error("the recording ended by itself")
	}

	cfg.Files, cfg.Modules, cfg.MemoryMB = nil, nil, 0
	after := rigvm.Boot(t, cfg)
	path := filepath.Join(t.TempDir(), "a.eid")
	if err := after.Get(ctx, "/disk/a.eid", path); err != nil {
		t.Fatal(err)
	}
	rep, err := recording.Repair(path)
	if err != nil || !rep.Repaired || rep.Kept == 0 {
		t.Fatalf("repair: %+v, %v", rep, err)
	}
	report, err := recording.Verify(ctx, path, nil)
	if err != nil || len(report.Problems) > 0 || report.Checked != rep.Kept || !report.Complete {
		t.Errorf("verify: %+v, %v", report, err)
	}
	res, err := summarize(path)
	if err != nil || !res.balanced() || !res.Clocked {
		t.Errorf("%+v, %v", res.Account, err)
	}
	t.Logf("kept %d frames, cut off %d bytes; %d stored + %d missing = %d", rep.Kept, rep.Removed, res.Stored,
		res.Missing, res.Total)
}

// waitForGrowth waits until some of a recording was given to the disk.
func waitForGrowth(ctx context.Context, t *testing.T, vm *rigvm.VM, path string) {
	t.Helper()
	const enough = 256 << 10
	for ctx.Err() == nil {
		res, err := vm.Run(ctx, rigvm.Command{Path: "stat", Args: []string{"-c", "%s", path}})
		if err != nil {
			t.Fatal(err)
		}
		size, err := strconv.Atoi(strings.TrimSpace(string(res.Stdout)))
		if err == nil && size >= enough {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s does not grow to %d bytes", path, enough)
}
