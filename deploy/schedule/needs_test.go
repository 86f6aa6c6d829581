package schedule

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestNeeds: a schedule with needs keeps the device of each test, also while it is away and after a
// restart. A missing point is a gap. Needs that fit no device are reported before a build comes.
//
// Fault: The needs of a schedule fit no device of the fleet
// Fault: The device of a schedule with needs is away longer than the deadline
func TestNeeds(t *testing.T) {
	there, away := []string{"a/p", "b/p"}, []string(nil)
	var refused error
	unfit := "" // a test
	w := newWorld(t, 1, func(o *Options) {
		s := o.Schedules["nightly"]
		s.Devices, s.Needs, s.Tests = nil, []string{"os=linux"}, []string{"scroll-*"}
		o.Schedules["nightly"] = s
		o.Fitting = func(owner string, needs []string, p api.StartParams) ([]string, []string, error) {
			if owner != "schedule nightly" || needs[0] != "os=linux" || p.Test == "" || len(p.Variants) != 2 {
				t.Errorf("%s asks for %q with %+v", owner, needs, p)
			}
			if p.Test == unfit {
				return nil, nil, errors.New("no device has test " + unfit)
			}
			return there, away, refused
		}
	})
	devices := func() (all []string) {
		for _, id := range w.order[len(w.order)-2:] {
			all = append(all, w.params[id].Test+" "+w.params[id].Devices[0])
		}
		slices.Sort(all)
		return all
	}
	step := func(e *Engine, seq int64, want string) {
		t.Helper()
		w.now = w.now.Add(2 * time.Minute)
		w.build(seq)
		e.step(t.Context())
		if got := fmt.Sprint(devices()); got != want {
			t.Errorf("build %d: %s, want %s", seq, got, want)
		}
	}
	e := w.engine() // without a build
	refused = api.Errorf(api.Unavailable, "the hub begins")
	e.step(t.Context())
	if got := e.List().Schedules[0].Reason; got != "" {
		t.Errorf("the hub begins: %q", got)
	}
	refused = errors.New("no device has os=linux")
	e.step(t.Context())
	if got := e.List().Schedules[0].Reason; got != refused.Error() {
		t.Errorf("without a build: %q", got)
	}
	refused = nil // a rig has joined
	w.now = w.now.Add(time.Minute)
	e.step(t.Context())
	if got := e.List().Schedules[0].Reason; got != "" {
		t.Errorf("a rig has joined: %q", got)
	}
	refused = errors.New("no device has os=linux")
	w.build(0)
	w.now = w.now.Add(time.Minute)
	e.step(t.Context())
	if got := e.List().Schedules[0]; got.Reason != refused.Error() || len(w.order) != 0 {
		t.Errorf("without a device: %+v, %v", got, w.order)
	}
	refused = nil
	step(e, 1, "[scroll-a a/p scroll-b b/p]") // each device has a series
	w.work()
	e.step(t.Context())
	there, away = []string{"b/p", "c/p"}, []string{"a/p"}
	e = w.engine()
	step(e, 2, "[scroll-a a/p scroll-b b/p]")
	w.now = w.now.Add(21 * time.Hour)
	e.step(t.Context())
	if got := w.gaps["scroll-a/a/p/b1002"]; got == "" {
		t.Errorf("the point of a device that is away is no gap: %q", w.gaps)
	}
	away = nil // it has left the fleet
	step(e, 3, "[scroll-a c/p scroll-b b/p]")
	if got := e.List().Schedules[0]; fmt.Sprint(got.Devices, got.Needs) != "[b/p c/p] [os=linux]" {
		t.Errorf("%+v", got)
	}
	unfit = "scroll-a" // the others go on
	step(e, 4, "[scroll-b b/p scroll-b b/p]")
	if got := e.List().Schedules[0].Reason; got != "no device has test scroll-a" || w.gaps["scroll-a/c/p/b1004"] == "" {
		t.Errorf("skipped: %q, %q", got, w.gaps)
	}
	unfit = ""
	step(e, 5, "[scroll-a c/p scroll-b b/p]")
	if got := e.List().Schedules[0].Reason; got != "" {
		t.Errorf("fits again: %q", got)
	}
}
