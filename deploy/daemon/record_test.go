package daemon_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store"
)

// recorded waits until a device records.
func recorded(t *testing.T, r *daemontest.Rig, name string) {
	t.Helper()
	r.Until("device "+name+" to record", func() bool {
		for _, d := range r.Devices() {
			if d.Name == name && d.Capture != nil && d.Capture.Frames > 0 {
				return true
			}
		}
		return false
	})
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a"), {About: device.Local()}}, nil)
	start := func(p api.RecordParams) (api.Job, error) { return r.Record(t.Context(), "me", p) }
	j, err := start(api.RecordParams{Device: "a", Label: "by hand"})
	if err != nil {
		t.Fatal(err)
	}
	recorded(t, r, "a")
	if _, err := start(api.RecordParams{Device: "a"}); code(err) != api.Busy {
		t.Errorf("recorded twice: %v", err)
	}
	id, err := r.Daemon.Stop(t.Context(), "a", everybody)
	if err != nil || id != j.ID {
		t.Fatal(id, err)
	}
	run, err := r.Store.Get(t.Context(), id)
	if err != nil || run.Test != "" || run.Label != "by hand" || run.State != session.Passed || run.Frames == 0 {
		t.Errorf("%+v, %v", run, err)
	}
	if n := verified(t, r, id).Frames(); uint64(n) != run.Frames {
		t.Errorf("%d frames, and the store says %d", n, run.Frames)
	}
	short, err := start(api.RecordParams{Device: "a", DurationNS: int64(300 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	if j := r.Ended(short.ID); j.State != "ok" {
		t.Errorf("%+v", j)
	}
	for _, tc := range []struct {
		name string
		p    api.RecordParams
		want api.Code
	}{
		{"no device", api.RecordParams{Device: "b"}, api.NotFound},
		{"too long", api.RecordParams{Device: "a", DurationNS: int64(25 * time.Hour)}, api.InvalidParams},
		{"backwards", api.RecordParams{Device: "a", DurationNS: -1}, api.InvalidParams},
		{"too little kept", api.RecordParams{Device: "a", KeepLastNS: 1}, api.InvalidParams},
		{"both", api.RecordParams{Device: "a", KeepLastNS: int64(time.Second), DurationNS: 1}, api.InvalidParams},
		{"no display", api.RecordParams{Device: "local"}, api.Conflict},
	} {
		if _, err := start(tc.p); code(err) != tc.want {
			t.Errorf("%s: %v, want %d", tc.name, err, tc.want)
		}
	}
	if _, err := r.Daemon.Stop(t.Context(), "a", everybody); code(err) != api.Conflict {
		t.Errorf("nothing to stop: %v", err)
	}
}

// Recordings count as jobs at once. The devices whose last seconds are kept have their own limit.
//
// Fault: More manual recordings than `runs.parallel`
func TestRecordingsAtOnce(t *testing.T) {
	t.Parallel()
	devices := daemontest.Devices{daemontest.New("a"), daemontest.New("b"), daemontest.New("c"), daemontest.New("d")}
	one := func(o *daemon.Options) { o.Parallel = 1 }
	r := daemontest.Start(t, t.TempDir(), devices, one)
	start := func(device string, last time.Duration) error {
		_, err := r.Record(t.Context(), "me", api.RecordParams{Device: device, KeepLastNS: int64(last)})
		return err
	}
	if err := errors.Join(start("a", 0), start("c", time.Second)); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"a second recording": start("b", 0),
		"the last seconds of another device": start("d", time.Second)} {
		if code(err) != api.TooMany || !strings.Contains(err.Error(), "runs.parallel") {
			t.Errorf("%s: %v", what, err)
		}
	}
	waits := r.Scene("ci", api.StartParams{Devices: []string{"b"}})
	if _, err := r.Daemon.Stop(t.Context(), "a", everybody); err != nil {
		t.Fatal(err)
	}
	if j := r.Ended(waits.ID); j.State != "ok" {
		t.Errorf("a test that has waited: %+v", j)
	}
	if _, err := r.Daemon.Stop(t.Context(), "c", everybody); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(start("b", 0), start("d", time.Second)); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
	if page, err := os.ReadDir(filepath.Join(r.Dir, "runs")); err != nil || len(page) > 4 {
		t.Errorf("what was refused has left folders: %v, %v", page, err)
	}
	o := daemontest.Options(t.TempDir(), r.Store, devices)
	one(&o)
	o.KeepLast = map[string]time.Duration{"a": time.Second, "b": time.Second}
	if _, err := daemon.New(o); err == nil || !strings.Contains(err.Error(), "runs.parallel") {
		t.Errorf("a configuration that keeps more: %v", err)
	}
}

// The last seconds are kept until they are asked for, which jobs interrupt.
func TestKeepLast(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, func(o *daemon.Options) {
		o.KeepLast = map[string]time.Duration{"a": time.Second}
	})
	lost := func() (n uint64) {
		for _, frames := range r.Figures().Lost["a"] {
			n += frames
		}
		return n
	}
	var missing time.Duration // of the last frames: the second may have begun while a busy machine showed nothing
	kept := func() *recording.Reader {
		t.Helper()
		before, lostBefore := r.Figures().Captured["a"], lost()
		r.Until("two seconds of frames", func() bool { return r.Figures().Captured["a"] > before+120 })
		id, err := r.KeepLast(t.Context(), api.KeepParams{Device: "a", Label: "odd"})
		if err != nil {
			t.Fatal(err)
		}
		missing = time.Duration(lost()-lostBefore) * time.Second / 60
		if run, err := r.Store.Get(t.Context(), id); err != nil || run.Label != "odd" || run.State != session.Passed {
			t.Errorf("%+v, %v", run, err)
		}
		return verified(t, r, id)
	}
	first, last := span(t, kept())
	if length := last.Sub(first); length+missing < 800*time.Millisecond || length > 1200*time.Millisecond {
		t.Errorf("%v were kept, and %v are missing, want a second", length, missing)
	}
	if j := r.Ended(r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID); j.State != "ok" {
		t.Errorf("%+v", j)
	}
	again, _ := span(t, kept())
	if again.Before(last) {
		t.Error("frames of before the job were kept")
	}
	if _, err := r.Daemon.Stop(t.Context(), "a", everybody); err != nil {
		t.Error(err)
	}
	r.Until("the device to be free", func() bool { return r.Devices()[0].State == "free" })
	if _, err := r.KeepLast(t.Context(), api.KeepParams{Device: "a"}); code(err) != api.Conflict {
		t.Errorf("nothing is kept: %v", err)
	}
	page, err := os.ReadDir(filepath.Join(r.Dir, "runs"))
	if err != nil || len(page) != 3 {
		t.Errorf("%d folders, %v: want two recordings and a run", len(page), err)
	}
}

// span is when the first and the last frame of a recording were taken, on the wall clock.
func span(t *testing.T, r *recording.Reader) (first, last time.Time) {
	t.Helper()
	a, err := r.Meta(0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Meta(r.Frames() - 1)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(0, int64(a.Sampled.Mid())), time.Unix(0, int64(b.Sampled.Mid()))
}

// On a disk with less than the reserved space, jobs that would fill it do not begin. Deleting runs
// makes room first.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := daemontest.New("a")
	r := daemontest.Start(t, dir, daemontest.Devices{d}, nil)
	kept := r.Ended(r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID)
	before, err := r.Store.Get(t.Context(), kept.ID)
	if err != nil {
		t.Fatal(err)
	}
	free := d.Hold()
	waits := r.Scene("ci", api.StartParams{Devices: []string{"a"}})
	also := r.Scene("ci", api.StartParams{Devices: []string{"a"}})
	r.State(waits.ID, "running")
	r.Stop()
	free()
	r = daemontest.Start(t, dir, daemontest.Devices{d},
		func(o *daemon.Options) { o.Retain = store.Policy{MinFree: 1 << 62} })
	_, start := r.Daemon.Start(t.Context(), "ci", api.StartParams{Test: "scene", Devices: []string{"a"}})
	_, record := r.Record(t.Context(), "me", api.RecordParams{Device: "a"})
	_, keep := r.Record(t.Context(), "me", api.RecordParams{Device: "a", KeepLastNS: int64(time.Second)})
	for what, err := range map[string]error{"run.start": start, "record.start": record,
		"keeping the last seconds": keep} {
		if code(err) != api.Unavailable || !strings.Contains(err.Error(), "store.min_free") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if j := r.Ended(also.ID); j.State != "failed" || !strings.Contains(j.Reason, "store.min_free") {
		t.Errorf("what had waited: %+v", j)
	}
	if n := logged(t, r, "no run begins until there is more room"); n != 1 {
		t.Errorf("it was told %d times", n)
	}
	if run, err := r.Store.Get(t.Context(), kept.ID); err != nil || run.State != before.State {
		t.Errorf("a run of the last hour: %+v, %v; it was %+v", run, err, before)
	}
}

// A request for the last seconds while they are dropped for a job is an error. It does not delay
// later requests.
func TestKeepLastTooLate(t *testing.T) {
	t.Parallel()
	at, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, func(o *daemon.Options) {
		o.KeepLast = map[string]time.Duration{"a": time.Second}
		o.Point = func(name string) {
			if name == "circle closing" {
				once.Do(func() { close(at); <-goOn })
			}
		}
	})
	frames := func() {
		t.Helper()
		before := r.Figures().Captured["a"]
		r.Until("frames", func() bool { return r.Figures().Captured["a"] > before+60 })
	}
	frames()
	j := r.Scene("ci", api.StartParams{Devices: []string{"a"}})
	<-at
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.KeepLast(gone, api.KeepParams{Device: "a"}); code(err) != api.Failed { // it does not wait
		t.Errorf("asked for: %v", err)
	}
	close(goOn)
	if j := r.Ended(j.ID); j.State != "ok" {
		t.Errorf("%+v", j)
	}
	frames()
	id, err := r.KeepLast(t.Context(), api.KeepParams{Device: "a", Label: "later"})
	if err != nil {
		t.Fatal(err)
	}
	if run, err := r.Store.Get(t.Context(), id); err != nil || run.Label != "later" {
		t.Errorf("%+v, %v", run, err)
	}
}

// A client that waits for the last seconds that are dropped meanwhile gets an error.
func TestKeepLastDropped(t *testing.T) {
	t.Parallel()
	at, wished, goOn, asked := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, func(o *daemon.Options) {
		o.KeepLast = map[string]time.Duration{"a": time.Second}
		o.Point = func(name string) {
			switch name {
			case "circle closing":
				once.Do(func() { close(at); <-goOn })
			case "asked for the kept frames":
				close(wished)
			}
		}
	})
	r.Until("frames", func() bool { return r.Figures().Captured["a"] > 0 })
	r.Scene("ci", api.StartParams{Devices: []string{"a"}})
	<-at
	go func() {
		_, err := r.KeepLast(t.Context(), api.KeepParams{Device: "a"})
		asked <- err
	}()
	<-wished
	close(goOn)
	select {
	case err := <-asked:
		if code(err) != api.Conflict {
			t.Errorf("who has waited: %v", err)
		}
	case <-time.After(daemontest.Patience):
		t.Fatal("who has asked waits for ever")
	}
}
