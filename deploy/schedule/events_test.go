package schedule

import (
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestChanged: a new job, a pause and the reason of a waiting schedule are reported once each.
func TestChanged(t *testing.T) {
	calls := 0
	w := newWorld(t, 1, func(o *Options) { o.Changed = func() { calls++ } })
	e := w.engine()
	step := func(name string, want int, do func() error) {
		t.Helper()
		calls = 0
		err := do()
		if err != nil || calls != want {
			t.Errorf("%s: reported %d times, want %d: %v", name, calls, want, err)
		}
	}
	run := func() error { e.step(t.Context()); return nil }
	w.build(1)
	step("the first build", 1, run)
	step("nothing", 0, run)
	step("a pause", 1, func() error {
		_, err := e.Pause(api.SchedulePause{Schedule: "nightly", Paused: true, Reason: "moved"})
		return err
	})
	step("a start", 1, func() error {
		_, err := e.Start(t.Context(), api.ScheduleRun{Schedule: "nightly"})
		return err
	})
	w.work()
	step("a point", 1, run)
}

// TestBisected: each step of a bisection and its end are reported, and its device is then released.
// So it is for some time by each step, also of an engine that is made anew.
func TestBisected(t *testing.T) {
	var told []string
	w := newLab(t, 1, 10)
	w.o.Bisected = func(id string) { told = append(told, id) }
	w.level = slower(5, 0.1)
	e := w.engine()
	b, err := e.StartBisect(t.Context(), "eva", api.BisectParams{Feed: "f", Good: "b1001", Bad: "b1009", Test: "load"})
	if err != nil || !slices.Equal(told, []string{b.ID}) {
		t.Fatalf("%v: told %q", err, told)
	}
	for b.EndedNS == 0 {
		w.work()
		before := len(told)
		e.step(t.Context())
		if b, err = e.Bisect(b.ID); err != nil || len(told) == before || len(w.released) > 0 && b.EndedNS == 0 {
			t.Fatalf("%v: told %d times, released %q: %+v", err, len(told), w.released, b)
		}
	}
	for range 3 {
		w.engine().step(t.Context())
	}
	if n := len(w.released); n < 4 || w.released[n-1] != b.ID {
		t.Errorf("released %q", w.released)
	}
	w.now = w.now.Add(time.Hour)
	n := len(w.released)
	if w.engine().step(t.Context()); len(w.released) != n {
		t.Errorf("released %q an hour later", w.released[n:])
	}
}
