package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store"
)

// The owners of jobs take turns, however many one of them has queued. A set's runs are in a folder
// of its own.
//
// Fault: One owner queues jobs without end
func TestTurns(t *testing.T) {
	t.Parallel()
	d := daemontest.New("a")
	free := d.Hold()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	first := r.Scene("busy", api.StartParams{Devices: []string{"a"}})
	r.State(first.ID, "running")
	want := []string{}
	var of = map[string][]string{}
	for i := range 6 {
		owner := "busy"
		if i >= 4 {
			owner = fmt.Sprint("other ", i)
		}
		j := r.Scene(owner, api.StartParams{Devices: []string{"a"}})
		of[owner] = append(of[owner], j.ID)
	}
	want = append(want, of["other 4"][0], of["other 5"][0])
	var got []string
	for _, j := range r.Jobs(false)[1:] {
		got = append(got, j.ID)
	}
	// busy's first waiting job came before the others; its second stands behind them.
	if at := slices.Index(got, want[1]); at > 2 || slices.Index(got, of["busy"][1]) < at || len(got) != 6 {
		t.Errorf("%q, want %q and %q among the first three", got, want[0], want[1])
	}
	for i, j := range r.Jobs(false)[1:] {
		if j.Position != i+1 || !strings.Contains(j.Reason, first.ID) {
			t.Errorf("job %s is number %d and waits for %q", j.ID, j.Position, j.Reason)
		}
	}
	for _, id := range got[1:] {
		if _, err := r.Cancel(id, everybody); err != nil {
			t.Error(err)
		}
	}
	free()
	if j := r.Ended(got[0]); j.State != "ok" {
		t.Errorf("%+v", j)
	}
	set := r.Ended(r.Scene("ci", api.StartParams{Devices: []string{"a"}, Browsers: []string{"one", "two"},
		Repeat: 1}).ID)
	if set.State != "ok" || len(set.Runs) != 2 || !strings.HasPrefix(set.Runs[0].Run, set.ID+"~a-") {
		t.Errorf("%+v", set)
	}
}

// Jobs on different devices go on at once, and one that needs both waits for both.
func TestDevicesAtOnce(t *testing.T) {
	t.Parallel()
	a, b := daemontest.New("a"), daemontest.New("b")
	freeA, freeB := a.Hold(), b.Hold()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{a, b}, nil)
	onA := r.Scene("x", api.StartParams{Devices: []string{"a"}})
	onB := r.Scene("x", api.StartParams{Devices: []string{"b"}})
	both := r.Scene("y", api.StartParams{Devices: []string{"b", "a"}})
	later := r.Scene("z", api.StartParams{Devices: []string{"a"}})
	r.State(onA.ID, "running")
	r.State(onB.ID, "running")
	freeA()
	r.Ended(onA.ID)
	// Device a is free now: it is kept for the job that came first.
	if j, _ := r.Job(later.ID); j.State != "queued" {
		t.Errorf("a later job overtook one that needs two devices: %+v", j)
	}
	freeB()
	if x, y := r.Ended(both.ID), r.Ended(later.ID); x.State != "ok" || y.State != "ok" ||
		y.StartedWallNS < x.StartedWallNS {
		t.Errorf("%+v\n%+v", x, y)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	d := daemontest.New("a")
	d.Scene = daemontest.Stuck
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	j := r.Scene("me", api.StartParams{Devices: []string{"a"}})
	recorded(t, r, "a")
	if _, err := r.Cancel(j.ID, func(owner string) bool { return owner != "me" }); code(err) != api.Forbidden {
		t.Errorf("somebody else's job: %v", err)
	}
	if _, err := r.Cancel(j.ID, everybody); err != nil {
		t.Error(err)
	}
	j = r.Ended(j.ID)
	if j.State != "cancelled" || len(j.Runs) != 1 || j.Runs[0].State != "failed" || j.Runs[0].Reason != "interrupted" {
		t.Errorf("%+v", j)
	}
	if n := verified(t, r, j.ID).Frames(); n == 0 {
		t.Error("nothing was kept of what was recorded")
	}
	if _, err := r.Cancel(j.ID, everybody); code(err) != api.Conflict {
		t.Errorf("a job that has ended: %v", err)
	}
	if _, err := r.Cancel("none", everybody); code(err) != api.NotFound {
		t.Errorf("no job: %v", err)
	}
	if u := r.Devices()[0]; u.State != "free" || u.Failures != 0 {
		t.Errorf("what was cancelled is no failure of the device: %+v", u)
	}
}

// TestCancelWhilePicturesAreDrawn: a run that was recorded and measured by then counts.
//
// Fault: Ctrl-C or a cancelled job while pictures or video are made
func TestCancelWhilePicturesAreDrawn(t *testing.T) {
	t.Parallel()
	at, cancelled := make(chan struct{}), make(chan struct{})
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, func(o *daemon.Options) {
		o.Point = func(name string) {
			if name == "phase: drawing pictures" {
				close(at)
				<-cancelled
			}
		}
	})
	j := r.Scene("me", api.StartParams{Devices: []string{"a"}})
	<-at
	_, err := r.Cancel(j.ID, everybody)
	close(cancelled)
	if err != nil {
		t.Fatal(err)
	}
	j = r.Ended(j.ID)
	if j.State != "cancelled" || len(j.Runs) != 1 || j.Runs[0].State != "ok" || j.Runs[0].Reason != "" {
		t.Errorf("%+v", j)
	}
	page, err := r.Store.List(t.Context(), store.Query{State: "ok"})
	if err != nil || len(page.Runs) != 1 {
		t.Errorf("%+v, %v", page, err)
	}
}

// A daemon that is stopped closes its current run, and the next one takes up waiting jobs. Fault:
// jobs that have ended are unknown after a restart.
//
// Fault: A rig stops in the middle of a run
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := daemontest.New("a")
	d.Scene = daemontest.Stuck
	r := daemontest.Start(t, dir, daemontest.Devices{d}, nil)
	at := r.Scene("ci", api.StartParams{Devices: []string{"a"}})
	waits := r.Scene("ci", api.StartParams{Devices: []string{"a"}, Label: "later"})
	gone := r.Scene("ci", api.StartParams{Devices: []string{"a"}, Label: "gone"})
	if _, err := r.Cancel(gone.ID, everybody); err != nil {
		t.Fatal(err)
	}
	recorded(t, r, "a")
	r.Stop()
	ended := map[string]api.Job{}
	for _, id := range []string{at.ID, gone.ID} {
		ended[id] = r.Ended(id)
	}
	if at, gone := ended[at.ID], ended[gone.ID]; at.State != "interrupted" || len(at.Runs) != 1 ||
		gone.State != "cancelled" {
		t.Errorf("%+v\n%+v", at, gone)
	}
	d.Scene = daemontest.Brief
	r = daemontest.Start(t, dir, daemontest.Devices{d}, nil)
	for id, want := range ended {
		if j, err := r.Job(id); err != nil || !reflect.DeepEqual(j, want) {
			t.Errorf("after a restart: %+v, %v\nbefore: %+v", j, err, want)
		}
	}
	run, err := r.Store.Get(t.Context(), at.ID)
	if err != nil || run.State != session.Failed || run.Reason != "interrupted" || run.Frames == 0 {
		t.Errorf("%+v, %v", run, err)
	}
	verified(t, r, at.ID)
	if j := r.Ended(waits.ID); j.State != "ok" || j.Label != "later" || j.Owner != "ci" {
		t.Errorf("%+v", j)
	}
}

// A job that waited over a restart is kept from retention while it is being made, like one queued
// since.
func TestRestartAndRetention(t *testing.T) {
	if testing.Short() {
		t.Skip("4 runs in real time")
	}
	t.Parallel()
	dir := t.TempDir()
	d := daemontest.New("a")
	free := d.Hold()
	r := daemontest.Start(t, dir, daemontest.Devices{d}, nil)
	r.State(r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID, "running")
	waits := r.Scene("ci", api.StartParams{Devices: []string{"a"}, Repeat: 3})
	r.Stop()
	free()
	r = daemontest.Start(t, dir, daemontest.Devices{d}, func(o *daemon.Options) {
		o.Retain, o.RetainEvery = store.Policy{MaxBytes: 1}, 20*time.Millisecond
	})
	if j := r.Ended(waits.ID); j.State != "ok" || len(j.Runs) != 3 {
		t.Errorf("%+v", j)
	}
}

// The numbers of events rise over a restart. This holds if the clock was set back meanwhile, or the
// file with the reserved number is broken.
func TestNumbersOfEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var last uint64
	for i, ago := range []time.Duration{0, time.Hour, time.Minute, 0} {
		if i == 3 {
			if err := os.WriteFile(filepath.Join(dir, "events.json"),
				[]byte(`{"version": 1, "below": 18446744073709551615}`), 0o600); err != nil {
				t.Fatal(err)
			}
			last = 0
		}
		r := daemontest.Start(t, dir, daemontest.Devices{daemontest.New("a")}, func(o *daemon.Options) {
			o.Now = func() time.Time { return time.Now().Add(-ago) }
		})
		var first [1]daemon.Message
		r.Until("the first event", func() bool { n, _, _ := r.Events().After(0, first[:]); return n == 1 })
		if first[0].Seq <= last || first[0].Seq >= 1<<53 {
			t.Errorf("%d: number %d, after %d", i, first[0].Seq, last)
		}
		r.Stop()
		last = r.Events().Latest()
	}
	if _, err := os.Stat(filepath.Join(dir, "events.json.unreadable")); err != nil {
		t.Error(err)
	}
}

// unready is a log that asks a daemon for its health when it says that it is ready.
type unready struct {
	slog.Handler
	health func() error
	asked  chan error
}

func (unready) Enabled(context.Context, slog.Level) bool { return true }

func (u unready) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "ready" {
		u.asked <- u.health()
	}
	return u.Handler.Handle(ctx, r)
}

// TestReadyIsFirst: a client that waited until the daemon is well gets no event of its start.
func TestReadyIsFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), daemontest.StoreOptions(dir))
	if err != nil {
		t.Fatal(err)
	}
	var d *daemon.Daemon
	asked := make(chan error, 1)
	o := daemontest.Options(dir, s, daemontest.Devices{daemontest.New("a")})
	o.Log = slog.New(unready{slog.DiscardHandler, func() error { return d.Health() }, asked})
	if d, err = daemon.New(o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- d.Run(ctx) }()
	if err := <-asked; err == nil {
		t.Error("it is well before it said that it is ready")
	}
	stop()
	if err := errors.Join(<-over, s.Close()); err != nil {
		t.Error(err)
	}
}

// The queue is bounded, for one owner and for all.
//
// Fault: One owner queues jobs without end
func TestFullQueue(t *testing.T) {
	t.Parallel()
	d := daemontest.New("a")
	free := d.Hold()
	defer free()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	r.State(r.Scene("me", api.StartParams{Devices: []string{"a"}}).ID, "running")
	p := api.StartParams{Test: "scene", Devices: []string{"a"}}
	n := 0
	var err error
	for ; err == nil && n < 300; n++ {
		_, err = r.Daemon.Start(t.Context(), "me", p)
	}
	if code(err) != api.TooMany || n != 201 {
		t.Errorf("after %d jobs: %v", n, err)
	}
	if _, err := r.Daemon.Start(t.Context(), "you", p); err != nil {
		t.Errorf("another owner: %v", err)
	}
}

// The queue is bounded in bytes too, so that its file can be read again, whatever the uploads
// contain.
func TestQueueOfUploads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := daemontest.New("a")
	free := d.Hold()
	defer free()
	r := daemontest.Start(t, dir, daemontest.Devices{d}, nil)
	r.State(r.Scene("me", api.StartParams{Devices: []string{"a"}}).ID, "running")
	upload := func(owner, filler string) error {
		_, err := r.Daemon.Start(t.Context(), owner,
			api.StartParams{Devices: []string{"a"}, Upload: &api.Upload{Test: "t.yaml", Files: map[string]string{
				"t.yaml": "name: t\nurl: https://example.org/\nend: still 1s\n",
				"filler": strings.Repeat(filler, 1000<<10),
			}}})
		return err
	}
	tell := func(owner, filler string) (n int) { // how many are taken
		t.Helper()
		for n < 20 {
			err := upload(owner, filler)
			if code(err) == api.TooMany {
				return n
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if n := tell("me", "<"); n != 8 {
		t.Errorf("of an owner %d uploads of a MiB are taken", n)
	}
	all := 8
	for i := range 5 { // a byte of these is six in the file
		all += tell(fmt.Sprint("other ", i), "\x01")
	}
	if all != 12 {
		t.Errorf("%d uploads are taken in all", all)
	}
	if st, err := os.Stat(filepath.Join(dir, "jobs.json")); err != nil || st.Size() > 33<<20 {
		t.Errorf("%+v, %v", st, err)
	}
	r.Scene("small", api.StartParams{Devices: []string{"a"}})
	r.Stop()
	r = daemontest.Start(t, dir, daemontest.Devices{d}, nil)
	if jobs := r.Jobs(false); len(jobs) != all+1 {
		t.Errorf("%d jobs are there after a restart, want %d", len(jobs), all+1)
	}
	if err := upload("other 0", "\x01"); code(err) != api.TooMany {
		t.Errorf("after a restart: %v", err)
	}
}

// A rig that was killed after a job's end was kept, and before the queue was, has the job once: as
// it ended. No more ended jobs are taken up than a rig keeps.
func TestEndedAndAtWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var ended strings.Builder
	for i := range 300 {
		fmt.Fprintf(&ended, `{"job": "job-%d", "kind": "run", "state": "ok", "ended_wall_ns": 5}, `, i)
	}
	for name, text := range map[string]string{
		"jobs.json": `{"version": 1, "working": [{"job": "twice", "kind": "run", "owner": "ci"}, ` +
			`{"job": "once", "kind": "run", "owner": "ci"}]}`,
		"ended.json": `{"version": 1, "jobs": [` + ended.String() +
			`{"job": "twice", "kind": "run", "owner": "ci", "state": "ok", "ended_wall_ns": 7}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a third daemon has what the second kept
		r := daemontest.Start(t, dir, daemontest.Devices{daemontest.New("a")}, nil)
		jobs := r.Jobs(true)
		if len(jobs) != 200 || jobs[0].ID != "once" || jobs[0].State != "interrupted" || jobs[1].ID != "twice" ||
			jobs[1].State != "ok" || jobs[1].EndedWallNS != 7 || jobs[2].ID != "job-299" {
			t.Errorf("%d jobs: %+v", len(jobs), jobs[:min(len(jobs), 3)])
		}
		r.Stop()
	}
}

// A kept file that cannot be read is put aside, and the rig starts.
//
// Fault: The queue file is unreadable at the start
func TestBrokenQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"jobs.json": "{\"waiting\": [", "devices.json": "\x00",
		"ended.json": "[]", ".ended.json.7": "", ".jobs.json.1234": "{", ".devices.json.5": "",
		".baselines.json.6": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := daemontest.Start(t, dir, daemontest.Devices{daemontest.New("a")}, nil)
	for _, name := range []string{"jobs.json.unreadable", "devices.json.unreadable", "ended.json.unreadable"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*.json.*")); err != nil || len(left) > 0 {
		t.Errorf("what killed writers have left: %v, %v", left, err)
	}
	if j := r.Ended(r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID); j.State != "ok" {
		t.Errorf("%+v", j)
	}
}
