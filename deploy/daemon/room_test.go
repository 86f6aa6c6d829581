package daemon_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store"
)

// TestDiskFillsUp: recordings end before the disk is full. Their frames can be read. The job, its
// run, the log and events have the reason. The last seconds are kept again when space is free.
//
// Fault: The disk falls below `store.min_free` during a recording
func TestDiskFillsUp(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	stuck := daemontest.New("runs")
	stuck.Scene = daemontest.Stuck
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{stuck, daemontest.New("records"), daemontest.New("keeps")},
		func(o *daemon.Options) {
			o.RoomEvery = 10 * time.Millisecond
			o.KeepLast = map[string]time.Duration{"keeps": time.Second}
			o.RetryAfter = func(int) time.Duration { return time.Millisecond }
			o.Room = func() error {
				if full.Load() {
					return fmt.Errorf("%w: 3 bytes are free", store.ErrNoSpace)
				}
				return nil
			}
		})
	jobs := []api.Job{r.Scene("ci", api.StartParams{Devices: []string{"runs"}, Repeat: 2})}
	j, err := r.Record(t.Context(), "me", api.RecordParams{Device: "records"})
	if err != nil {
		t.Fatal(err)
	}
	jobs = append(jobs, j)
	for _, d := range r.Devices() {
		recorded(t, r, d.Name)
	}
	full.Store(true)
	for i := range jobs {
		j := r.Ended(jobs[i].ID)
		if j.State != "failed" || !strings.Contains(j.Reason, "ended while it was recorded") ||
			!strings.Contains(j.Reason, "3 bytes are free") {
			t.Errorf("%+v", j)
		}
		id := j.ID
		if len(j.Runs) > 0 {
			id = j.Runs[0].Run
		}
		run, err := r.Store.Get(t.Context(), id)
		if err != nil || run.State != session.Failed || !strings.Contains(run.Reason, "3 bytes are free") {
			t.Errorf("%+v, %v", run, err)
		}
		if verified(t, r, id).Frames() == 0 {
			t.Errorf("nothing is left of %s", id)
		}
		told := 0
		for _, e := range events(t, r.Daemon) {
			if e.Job != nil && e.Job.ID == j.ID && e.Job.EndedWallNS != 0 &&
				strings.Contains(e.Job.Reason, "3 bytes are free") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("the end of job %s is told %d times", j.ID, told)
		}
	}
	r.Until("all to be told",
		func() bool { return logged(t, r, "a recording is ended, since the disk is nearly full") == 3 })
	r.Until("nothing to be recorded", func() bool { return r.Devices()[2].Capture == nil })
	full.Store(false)
	recorded(t, r, "keeps")
	if n := logged(t, r, "a recording is ended"); n != 3 {
		t.Errorf("it was told %d times", n)
	}
}
