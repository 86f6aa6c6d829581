package schedule

import (
	"testing"

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
