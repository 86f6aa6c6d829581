package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store"
)

// Where the rig that is killed works, and at which point it ends.
const (
	killVariable = "EIDETICKER_TEST_KILL"
	killDir      = "EIDETICKER_TEST_DIR"
	// arrivals at the point before the end; 0: the first, and it does jobs; -1: a submitted one
	killTurn = "EIDETICKER_TEST_TURN"
)

// killed is a rig that runs two jobs, or keeps the last second of its device. It kills itself on
// the way, as kill -9 does.
func killed() int {
	ctx, dir, point := context.Background(), os.Getenv(killDir), os.Getenv(killVariable)
	s, err := store.Open(ctx, daemontest.StoreOptions(dir))
	if err != nil {
		return told(err)
	}
	o := daemontest.Options(dir, s, daemontest.Devices{daemontest.New("a")})
	turn, _ := strconv.Atoi(os.Getenv(killTurn))
	var came atomic.Int64
	o.Point = func(name string) {
		if name == point && came.Add(1) >= int64(turn) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // there is nothing behind it
			select {}
		}
	}
	if turn > 0 {
		return keeping(ctx, o, point)
	}
	d, err := daemon.New(o)
	if err != nil {
		return told(err)
	}
	all := 1.0
	if turn < 0 {
		if _, err := d.Queue().Submit(ctx, scheduledID, "schedule", scheduled()); err != nil {
			return told(err)
		}
		return told(d.Run(ctx))
	}
	for range 2 {
		if _, err := d.Start(ctx, "ci", api.StartParams{Test: "scene", Devices: []string{"a"}, MaxLost: &all,
			NoVideo: true}); err != nil {
			return told(err)
		}
	}
	return told(d.Run(ctx))
}

// twoParts is a point: two parts of a rig that keeps the last second have frames on the disk.
const twoParts = "two parts"

// keeping is a rig that keeps the last second of its device. It saves it after a while if the point
// comes after that.
func keeping(ctx context.Context, o daemon.Options, point string) int {
	o.KeepLast = map[string]time.Duration{"a": time.Second}
	kill, recording, save := o.Point, 0, make(chan struct{})
	o.Point = func(name string) {
		if name == "recording" {
			if recording++; recording == 8 && point == "recorded" { // each comes after half a second
				close(save)
			}
			if files, _, err := durable(os.Getenv(killDir)); err == nil && files >= 2 {
				kill(twoParts)
			}
		}
		kill(name)
	}
	d, err := daemon.New(o)
	if err != nil {
		return told(err)
	}
	go func() {
		<-save
		_, err := d.KeepLast(ctx, api.KeepParams{Device: "a"})
		_ = told(err)
	}()
	return told(d.Run(ctx))
}

// durable returns how many files of recordings have frames on the disk, and how many frames.
func durable(dir string) (files, frames int, err error) {
	all, err := filepath.Glob(filepath.Join(dir, "runs", "*", runfolder.RecordingFile+"*"))
	for _, file := range all {
		r, err := recording.Open(file)
		if err != nil {
			continue
		}
		if n := r.Frames(); n > 0 {
			files, frames = files+1, frames+n
		}
		r.Close()
	}
	return files, frames, err
}

func told(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TestKilled kills a rig in each phase of a job. After a restart its promises hold:
//
//   - no file on the disk is lost.
//   - the run is marked as interrupted, and its recording can be read.
//   - waiting jobs are run, and the device can be used.
//
// Fault: `kill -9` of a rig in any phase of a run
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		point     string
		began     bool // the first job had begun
		recording bool // and had frames on the disk
	}{
		{"queued", false, false},
		{"begun", true, false},
		{"phase: getting the device ready", true, false},
		{"phase: running scene", true, false},
		{"recording", true, false},
		{"recorded", true, true},
		{"phase: measuring scene", true, true},
		{"phase: drawing pictures", true, true},
		{"indexed", true, true},
		{"ending", true, true},
	} {
		t.Run(strings.ReplaceAll(tc.point, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && tc.point != "queued" && tc.point != "recorded" {
				return
			}
			dir := t.TempDir()
			kill(t, dir, tc.point, 0)
			r := daemontest.Start(t, dir, daemontest.Devices{daemontest.New("a")}, nil)
			jobs := r.Jobs(true)
			if want := map[bool]int{true: 2, false: 1}[tc.began]; len(jobs) != want {
				t.Fatalf("%d jobs are known, want %d: %+v", len(jobs), want, jobs)
			}
			for _, j := range jobs {
				if j.State == "interrupted" {
					if len(j.Devices) != 1 || j.Devices[0] != "a" || j.Browsers == nil ||
						j.StartedWallNS < j.QueuedWallNS || j.EndedWallNS < j.StartedWallNS || j.Total != 1 ||
						j.Params == nil || j.Seed == 0 {
						t.Errorf("too little is told of what was interrupted: %+v", j)
					}
					afterKill(t, r, j.ID, tc.recording)
				} else if j = r.Ended(j.ID); j.State != "ok" {
					t.Errorf("what waited: %+v", j)
				}
			}
			if j := r.Ended(r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID); j.State != "ok" {
				t.Errorf("the next job: %+v", j)
			}
			for _, left := range []string{"trash", "uploads"} {
				if list, err := os.ReadDir(filepath.Join(dir, left)); err != nil || len(list) > 0 {
					t.Errorf("%s: %v, %v", left, list, err)
				}
			}
		})
	}
}

// afterKill looks at the run of a job in the middle of which the rig was killed.
func afterKill(t *testing.T, r *daemontest.Rig, id string, recording bool) {
	t.Helper()
	run, err := r.Store.Get(t.Context(), id)
	switch {
	case errors.Is(err, store.ErrNotFound) && !recording:
		return // it had not come to a folder
	case err != nil:
		t.Fatal(err)
	}
	if run.State != session.Passed && (run.State != session.Failed || !strings.Contains(run.Reason, "interrupted")) {
		t.Errorf("%+v", run)
	}
	dir, err := r.Store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "recording.eid")); err != nil && !recording {
		return
	}
	if reader := verified(t, r, id); recording && reader.Frames() == 0 {
		t.Error("the frames on the disk are gone")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestKilledKeepingLast kills a rig that keeps the last second of its device: what had reached the
// disk is a recording when it is started again, and nothing else is left.
//
// Fault: A rig is killed while it keeps a device's last seconds
func TestKilledKeepingLast(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		point string
		turn  int
	}{{"recording", 1}, {"recording", 2}, {twoParts, 1}, {"recorded", 1}} {
		t.Run(strings.ReplaceAll(fmt.Sprint(tc.point, tc.turn), " ", "_"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			kill(t, dir, tc.point, tc.turn)
			files, durable, err := durable(dir)
			if err != nil || tc.point == twoParts && files < 2 {
				t.Fatalf("%d frames are in %d files, %v", durable, files, err)
			}
			r := daemontest.Start(t, dir, daemontest.Devices{daemontest.New("a")}, nil)
			page, err := r.Store.List(t.Context(), store.Query{})
			if err != nil || page.Total != 1 || page.Runs[0].State != session.Failed ||
				page.Runs[0].Reason != store.Interrupted {
				t.Fatalf("%+v, %v", page, err)
			}
			left, err := filepath.Glob(filepath.Join(dir, "runs", "*", "*.eid*"))
			if err != nil || durable > 0 && (len(left) != 1 || filepath.Base(left[0]) != runfolder.RecordingFile) ||
				durable == 0 && len(left) > 1 {
				t.Errorf("left are %v, %v", left, err)
			}
			if durable > 0 {
				if n := verified(t, r, page.Runs[0].ID).Frames(); n != durable || page.Runs[0].Frames != uint64(n) {
					t.Errorf("%d frames, and %d were on the disk; the store says %d", n, durable, page.Runs[0].Frames)
				}
			}
			if j := r.Ended(r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID); j.State != "ok" {
				t.Errorf("the next job: %+v", j)
			}
		})
	}
}

// kill starts a rig that ends at a point, and waits for that.
func kill(t *testing.T, dir, point string, turn int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Patience)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), killVariable+"="+point, killDir+"="+dir, killTurn+"="+strconv.Itoa(turn))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || ctx.Err() != nil {
		t.Fatalf("it was not killed at %q: %v\n%s", point, err, out)
	}
}
