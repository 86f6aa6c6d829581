package schedule

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// TestPoolUnavailable: rounds that cannot be read now are judged later, also at the last look.
func TestPoolUnavailable(t *testing.T) {
	for _, one := range []struct {
		at, jobs int // jobs that are queued while it cannot; at the end
		noise    float64
		text     string
	}{
		{2, 24, 0.01, "pool phones is open"},
		{24, 24, 0.01, "pool phones is open"},
		{96, 96, 0.2, "pool phones: load: b beside a: load.complete is "},
	} {
		w, _ := pooling(t, 9, "a", "b")
		w.noise = func() float64 { return one.noise * w.random.NormFloat64() }
		read, away := w.o.Read, true
		w.o.Read = func(ctx context.Context, set string) (o trend.Origin, all []trend.Measured, err error) {
			if away && len(w.order) == one.at {
				return o, nil, api.Errorf(api.Unavailable, "the hub begins")
			}
			return read(ctx, set)
		}
		e := w.engine()
		w.build(1)
		w.settle(e)
		if got := e.List().Schedules[0].Reason; len(w.order) != one.at ||
			got != "the A/A test of load waits: a: the hub begins" {
			t.Fatalf("%d jobs: %s", len(w.order), got)
		}
		away = false
		w.settle(e)
		points := len(w.used(0)) // by device
		if got := e.List().Schedules[0].Pool; len(w.order) != one.jobs+points || points == 0 ||
			!strings.HasPrefix(got, one.text) {
			t.Errorf("%d jobs, %s, want %d, %s", len(w.order), got, one.jobs, one.text)
		}
	}
}

// TestPoolUnread: a test fails if a job of it cannot be read, or a device has no values in three
// rounds. It is repeated a day later. Single jobs may fail.
func TestPoolUnread(t *testing.T) {
	for _, one := range []struct {
		damaged bool
		fails   func(n int) bool // a job of b
		text    string
		rounds  int
	}{
		{true, nil, "pool phones: load: b: set.json is damaged", 1},
		{false, func(int) bool { return true }, "pool phones: load: b has no values in 3 rounds: 1 run failed", 3},
		{false, func(n int) bool { return n%3 > 0 && n < 12 }, "pool phones is open", 48},
	} {
		w, _ := pooling(t, 10, "a", "b")
		fails, n := true, 0
		w.end = func(j *api.Job) {
			if p := w.params[j.ID]; fails && !one.damaged && p.Devices[0] == "b" && p.Repeat == 1 {
				if one.fails(n) {
					j.State, j.Reason = "failed", "1 run failed"
				}
				n++
			}
		}
		read := w.o.Read
		w.o.Read = func(ctx context.Context, set string) (o trend.Origin, all []trend.Measured, err error) {
			if fails && one.damaged && w.params[set].Devices[0] == "b" && w.params[set].Repeat == 1 {
				return o, nil, errors.New("set.json is damaged")
			}
			return read(ctx, set)
		}
		e := w.engine()
		w.build(1)
		w.settle(e)
		checks := len(w.order)
		for range w.ran() {
			checks--
		}
		if got := e.List().Schedules[0].Pool; got != one.text || checks != 2*one.rounds {
			t.Errorf("%s after %d jobs, want %s after %d", got, checks, one.text, 2*one.rounds)
		}
		fails = false
		for range 25 { // the devices are not away
			w.now = w.now.Add(time.Hour)
			w.settle(e)
		}
		if got := e.List().Schedules[0].Pool; got != "pool phones is open" {
			t.Errorf("a day later: %s", got)
		}
	}
}

// TestPoolUnfit: a test that no device fits does not stop the others. Its round has a deadline.
func TestPoolUnfit(t *testing.T) {
	unfit := "scroll-a"
	refused := errors.New("no device has test scroll-a")
	states := map[string]DeviceState{"r1/p": {Present: true, Program: "1"}, "r2/p": {Present: true, Program: "1"}}
	w := newWorld(t, 11, func(o *Options) {
		s := o.Schedules["nightly"]
		s.Devices, s.Needs, s.Pool, s.Tests = nil, []string{"model=pixel7"}, "phones", []string{"scroll-*"}
		o.Schedules["nightly"] = s
		o.Devices = func() map[string]DeviceState { return states }
		o.Fitting = func(_ string, _ []string, p api.StartParams) ([]string, []string, error) {
			if p.Test == unfit {
				return nil, nil, refused
			}
			return []string{"r1/p", "r2/p"}, nil, nil
		}
	})
	e := w.engine()
	points := func(when string, from, to int64, a, b int) *poolTest {
		t.Helper()
		w.days(e, from, to)
		got := map[string]int{}
		for _, s := range w.series {
			if s.Role == trend.Subject {
				got[s.Test] += len(w.points[s.ID])
			}
		}
		list := e.List().Schedules[0]
		if got["scroll-a"] != a || got["scroll-b"] != b || unfit != "" && list.Reason != refused.Error() {
			t.Errorf("%s: points %v, %+v", when, got, list)
		}
		return e.state.Schedules["nightly"].Pools["scroll-a"]
	}
	points("unfit", 1, 2, 0, 2)
	unfit = ""
	points("fit", 3, 3, 1, 3)
	unfit = "scroll-a" // while the pool is open and its devices change
	states["r1/p"] = DeviceState{Present: true, Program: "2"}
	if r := points("unfit after an event", 4, 4, 1, 4); r.State != poolFailed || r.Text != refused.Error() {
		t.Errorf("%+v", r)
	}
	unfit = ""
	w.now = w.now.Add(24 * time.Hour)
	w.build(5)
	e.step(t.Context())
	unfit = "scroll-a" // while its round waits
	w.now = w.now.Add(21 * time.Hour)
	if r := points("a round waits", 6, 6, 1, 5); r.State != poolFailed ||
		!strings.Contains(r.Text, "its job waited for too long") {
		t.Errorf("%+v", r)
	}
}

// TestPoolRemoved: tests, a pool and devices can be removed from a schedule. Their state does not
// stay, and jobs of rounds end. A hub keeps the state of tests that its rigs have not told yet.
func TestPoolRemoved(t *testing.T) {
	w, _ := pooling(t, 12, "a", "b", "c")
	s := w.o.Schedules["nightly"]
	s.Tests = []string{"scroll-*", "load"}
	restart := func() (e *Engine, p *progress) {
		w.o.Schedules["nightly"] = s
		e = w.engine()
		w.now = w.now.Add(time.Minute)
		e.step(t.Context())
		return e, e.state.Schedules["nightly"]
	}
	left := func(when string, want ...string) *Engine {
		t.Helper()
		e, p := restart()
		if got := slices.Sorted(maps.Keys(p.Pools)); !slices.Equal(got, want) {
			t.Errorf("%s: pools of %q, want %q", when, got, want)
		}
		if read, err := PoolTexts(w.o.Schedules, w.file); err != nil || read["nightly"] != poolText(s, p) {
			t.Errorf("%s: the file says %q: %v", when, read, err)
		}
		w.settle(e)
		return e
	}
	left("all", "load", "scroll-a", "scroll-b")
	w.build(1)
	_, p := restart()
	i := slices.IndexFunc(p.Tasks, func(t task) bool { return t.Device == "c" })
	test := p.Tasks[i].Test
	s.Devices = []string{"a", "b"}
	e, _ := restart()
	w.settle(e)
	if got := w.gaps[test+"/pool phones/b1001"]; got != "pool phones: c is not in it any more" {
		t.Errorf("gaps %v", w.gaps)
	}
	s.Tests = []string{"scroll-*"}
	e = left("load was removed", "scroll-a", "scroll-b")
	series := api.Series{Schedule: "nightly", Test: "load", Device: "pool phones"}
	if got := e.deviceOf(&series); got != "a" {
		t.Errorf("fresh runs of load are on %s", got)
	}
	w.o.Tests = func() []string { return nil }
	w.o.Fitting = func(string, []string, api.StartParams) ([]string, []string, error) { return s.Devices, nil, nil }
	left("a hub without rigs", "scroll-a", "scroll-b")
	s.Tests = []string{"scroll-a"}
	left("scroll-b was removed", "scroll-a")
	s.Tests = []string{"scroll-a", "scroll-b"}
	restart()
	running := w.order[len(w.order)-2:] // a round of scroll-b
	s.Pool = ""
	left("the pool was removed")
	for _, id := range running {
		if j := w.jobs[id]; j.State != "cancelled" || w.params[id].Test != "scroll-b" {
			t.Errorf("a job of a round: %+v, test %s", j, w.params[id].Test)
		}
	}
}
