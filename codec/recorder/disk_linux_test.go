package recorder

import (
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// limitFiles limits the size of files, which is how a full disk looks to a process. The function
// that it returns ends that.
func limitFiles(t *testing.T, size uint64) func() {
	t.Helper()
	signal.Ignore(unix.SIGXFSZ)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
		signal.Reset(unix.SIGXFSZ)
	})
	t.Cleanup(end)
	return end
}

// Fault: Disk full or write error after a change of mode
func TestDiskFullInTheSecondSegment(t *testing.T) {
	limit := limitFiles(t, 200<<10)
	noise := mode{width: 320, height: 200, fps: 100} // fake pictures pack well, so there are many
	src := &fakeSource{clocked: true,
		steps: slices.Concat(run(0, 50, 0), change(noise), run(60, 3000, frame.FormatChange))}
	path := filepath.Join(t.TempDir(), "a.eid")
	res, err := Record(t.Context(), src, path, Options{NoDirect: true})
	limit()
	if err == nil || res.Ended != writeFailed || !res.balanced() {
		t.Fatalf("%v, ended %s, %+v", err, res.Ended, res.Account)
	}
	if len(res.Segments) != 2 || res.Segments[1].Frames == 0 || res.Lost[len(res.Lost)-1].Cause != frame.Stopped {
		t.Errorf("segments %+v, lost %v", res.Segments, res.Lost)
	}
	if _, err := recording.Repair(path); err != nil {
		t.Fatal(err)
	}
	report, err := recording.Verify(t.Context(), path, nil)
	if err != nil || len(report.Problems) > 0 || report.Checked != int(res.Stored) {
		t.Errorf("verify: %+v, %v; %d stored", report, err, res.Stored)
	}
}
