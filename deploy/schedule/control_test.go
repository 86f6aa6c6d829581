package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// watching returns a world whose device is known, with ten builds.
func watching(t *testing.T, seed uint64) (*world, *Engine, map[string]DeviceState) {
	states := map[string]DeviceState{"local": {Present: true, Program: "1"}}
	w := newWorld(t, seed, func(o *Options) { o.Devices = func() map[string]DeviceState { return states } })
	e := w.engine()
	w.days(e, 1, 10)
	return w, e, states
}

// checks returns how many jobs ran the control alone.
func (w *world) checks() (n int) {
	for _, p := range w.params {
		if len(p.Variants) == 1 && strings.Contains(string(p.Origin), `"kind":"check"`) {
			n++
		}
	}
	return n
}

// TestControl: after a quarantine, a day of absence or an upgrade the next job of a device is the
// control alone. Series continue if it did not move. Otherwise new ones begin, and the control's
// old series has a change of the lab.
//
// Fault: A device measures differently after a quarantine, an absence or an upgrade
func TestControl(t *testing.T) {
	for _, one := range []struct {
		name    string
		before  DeviceState   // after build 10; then it is as it was, with program "1"
		after   string        // program; "": "1"
		away    time.Duration // until the next build
		restart bool
		moves   float64
		checks  int
		why     string // of the new series; "": they continue
	}{
		{"nothing", DeviceState{Present: true, Program: "1"}, "", 0, false, 0.3, 0, ""},
		{"quarantine, unmoved", DeviceState{Present: true, Quarantined: true, Program: "1"}, "", 0, false, 0, 1, ""},
		{"quarantine, moved", DeviceState{Present: true, Quarantined: true, Program: "1"}, "", 0, false, 0.3, 2,
			"after its quarantine"},
		{"short absence", DeviceState{}, "", 0, false, 0.3, 0, ""},
		{"absence, unmoved", DeviceState{}, "", 50 * time.Hour, false, 0, 1, ""},
		{"absence, moved", DeviceState{}, "", 50 * time.Hour, false, -0.3, 2, "hours away"},
		{"absence of the rig", DeviceState{}, "", 50 * time.Hour, true, 0.3, 2, "hours away"},
		{"upgrade, unmoved", DeviceState{Present: true, Program: "1"}, "2", 0, true, 0, 1, ""},
		{"upgrade, moved", DeviceState{Present: true, Program: "1"}, "2", 0, true, 0.3, 2, "from 1 to 2"},
	} {
		t.Run(one.name, func(t *testing.T) {
			w, e, states := watching(t, 1)
			states["local"] = DeviceState{Present: true, Program: "1"}
			e.step(t.Context())
			states["local"] = one.before
			e.step(t.Context())
			w.now = w.now.Add(one.away)
			if one.restart {
				e = w.engine()
			}
			if states["local"] = (DeviceState{Present: true, Program: "1"}); one.after != "" {
				states["local"] = DeviceState{Present: true, Program: one.after}
			}
			w.level = func(string, string, int64) float64 { return 100 * (1 + one.moves) }
			before := len(w.order)
			w.days(e, 11, 12)
			first := 0
			for _, id := range w.order[before:] {
				if len(w.params[id].Variants) > 1 {
					break
				}
				first++
			}
			if got := w.checks(); got != one.checks || first != one.checks {
				t.Errorf("%d jobs repeat the control, %d of them first; want %d", got, first, one.checks)
			}
			generations := map[string]int{}
			for _, s := range w.series {
				generations[s.Role] = max(generations[s.Role], s.Generation)
				if n := len(w.points[s.ID]); one.why != "" && n != []int{10, 2}[s.Generation] {
					t.Errorf("generation %d of the %s has %d points", s.Generation, s.Role, n)
				}
			}
			labs := 0
			for _, x := range w.changes {
				if x.State == lab && x.FirstSeq == 10 && strings.Contains(x.Reason, one.why) &&
					x.Shift*one.moves > 0.06 {
					labs++
				}
			}
			want := 0
			if one.why != "" {
				want = 1
			}
			if generations[trend.Subject] != want || generations[trend.Control] != want || len(w.splits) != want ||
				len(w.gaps) != 0 || want == 1 && labs != 1 {
				t.Errorf("generations %v, splits %+v, changes %+v, gaps %v", generations, w.splits, w.changes, w.gaps)
			}
		})
	}
}

// TestControlOfQueuedJob: a job that was queued before the event may run before the control. Its
// points wait for the control, and belong to the new series, whatever the clock of the rig.
func TestControlOfQueuedJob(t *testing.T) {
	for _, behind := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
		testQueuedJob(t, behind, false)
		testQueuedJob(t, behind, true)
	}
}

// testQueuedJob has a rig whose clock is behind. The job may have ended before the event.
func testQueuedJob(t *testing.T, behind time.Duration, ended bool) {
	w, e, states := watching(t, 2)
	w.behind = behind
	w.build(11)
	w.now = w.now.Add(time.Minute)
	e.step(t.Context())
	states["local"] = DeviceState{Present: true, Quarantined: true, Program: "1"}
	e.step(t.Context())
	want := []int{10, 2}
	if ended {
		w.work()
		want = []int{11, 1}
	}
	w.level = func(string, string, int64) float64 { return 150 }
	w.now = w.now.Add(time.Minute)
	e = w.engine()
	states["local"] = DeviceState{Present: true, Program: "1"}
	w.single = true
	w.settle(e)
	w.single = false
	w.days(e, 12, 12)
	for _, s := range w.series {
		if n := len(w.points[s.ID]); n != want[s.Generation] {
			t.Errorf("%v, ended %t: generation %d of the %s has %d points", behind, ended, s.Generation, s.Role, n)
		}
	}
	if w.checks() != 2 || len(w.splits) != 1 {
		t.Errorf("%v, ended %t: %d checks, splits %+v", behind, ended, w.checks(), w.splits)
	}
}

// TestControlFails: series continue if the control fails thrice, or has too few earlier points.
func TestControlFails(t *testing.T) {
	for _, one := range []struct {
		builds int64
		dead   bool
		checks int
	}{{4, false, 0}, {10, true, maxAttempts}} {
		states := map[string]DeviceState{"local": {Present: true, Program: "1"}}
		w := newWorld(t, 3, func(o *Options) { o.Devices = func() map[string]DeviceState { return states } })
		e := w.engine()
		w.days(e, 1, one.builds)
		states["local"] = DeviceState{Present: true, Program: "2"}
		if one.dead {
			w.end = func(j *api.Job) {
				if len(w.params[j.ID].Variants) == 1 {
					j.State, j.Reason = "failed", "crashed"
				}
			}
		}
		w.days(e, one.builds+1, one.builds+1)
		if len(w.splits) != 0 || w.checks() != one.checks || len(w.points[1]) != int(one.builds)+1 {
			t.Errorf("%d checks, %d points, splits %+v", w.checks(), len(w.points[1]), w.splits)
		}
	}
}

// TestControlWaits: a control that cannot run within the deadline is queued anew, and one that the
// queue refuses waits. Series continue only after its runs.
func TestControlWaits(t *testing.T) {
	for _, refuses := range []error{nil, api.Errorf(api.Unavailable, "full"),
		api.Errorf(api.InvalidParams, "no such device")} {
		w, e, states := watching(t, 1)
		states["local"] = DeviceState{Present: true, Program: "2"}
		w.level = func(string, string, int64) float64 { return 150 }
		w.refuses = refuses
		w.build(11)
		for range 19 {
			w.now = w.now.Add(time.Hour)
			e.step(t.Context())
		}
		if refuses == nil { // the second look begins just before the first deadline
			w.now = w.now.Add(-time.Minute)
			w.single = true
			w.work()
			w.single = false
		}
		for range 22 {
			w.now = w.now.Add(time.Hour)
			e.step(t.Context())
		}
		w.refuses = nil
		w.days(e, 12, 13)
		for _, s := range w.series {
			if n := len(w.points[s.ID]); s.Generation == 0 && n != 10 || s.Generation == 1 && n != 2 {
				t.Errorf("%v: generation %d of the %s has %d points", refuses, s.Generation, s.Role, n)
			}
		}
		if len(w.splits) != 1 || len(w.gaps) != 1 {
			t.Errorf("%v: %d checks, splits %+v, gaps %v", refuses, w.checks(), w.splits, w.gaps)
		}
	}
}

// TestControlOfSecondEvent: another event cancels the control that waits for the first.
func TestControlOfSecondEvent(t *testing.T) {
	w, e, states := watching(t, 1)
	w.build(11)
	for _, program := range []string{"2", "3"} {
		states["local"] = DeviceState{Present: true, Program: program}
		w.now = w.now.Add(time.Minute)
		e.step(t.Context())
	}
	queued := 0
	for _, j := range w.jobs {
		if j.State == "queued" {
			queued++
		}
	}
	if w.checks() != 2 || queued != 1 {
		t.Errorf("%d checks, %d of them wait", w.checks(), queued)
	}
}

// TestControlChanges: nothing is compared while a schedule has no control, or with another one. A
// device was not away meanwhile.
func TestControlChanges(t *testing.T) {
	for _, one := range []struct {
		control, program string
		event            bool
	}{{"", "1", false}, {"firefox@f:b1003", "2", true}} {
		w, _, states := watching(t, 1)
		s := w.o.Schedules["nightly"]
		was := s.Control
		s.Control = one.control
		w.o.Schedules["nightly"] = s
		e := w.engine()
		states["local"] = DeviceState{Present: true, Program: one.program}
		w.days(e, 11, 13)
		if one.control == "" {
			s.Control = was
			w.o.Schedules["nightly"] = s
			e = w.engine()
			w.days(e, 14, 14)
		}
		if d := e.state.Devices["local"]; w.checks() != 0 || len(w.gaps) != 0 || d.Event != 0 != one.event {
			t.Errorf("%+v: %d checks, gaps %v, %+v", one, w.checks(), w.gaps, d)
		}
	}
}

// TestControlRarelyMoves: an upgrade each day, which changes nothing, begins no series.
func TestControlRarelyMoves(t *testing.T) {
	w, e, states := watching(t, 4)
	for seq := range int64(100) {
		states["local"] = DeviceState{Present: true, Program: strings.Repeat("i", int(seq)+1)}
		w.days(e, 11+seq, 11+seq)
	}
	if n := w.checks(); len(w.splits) != 0 || n < 100 || n > 130 {
		t.Errorf("%d checks, splits %+v", n, w.splits)
	}
}

// TestMoves: equal sets of 50 values agree on a move in at most 1 of 200 cases. So it is with any
// noise, number of points and steps. A shift of 30 % at 3 % noise is found.
func TestMoves(t *testing.T) {
	const cases = 400
	for _, one := range []struct {
		noise, set    float64 // of a run and of all runs of a point
		step          float64
		points        int
		level         float64
		least, atMost int
	}{
		{0.03, 0, 0, 10, 100, 0, cases / 200}, {0.1, 0, 0, 8, 100, 0, cases / 200},
		{0.1, 0, 0, 30, 100, 0, cases / 200}, {0.01, 0.03, 0, 10, 100, 0, cases / 200},
		{0.01, 0.1, 0, 8, 100, 0, cases / 200}, {0.05, 0, 10, 8, 100, 0, cases / 200},
		{0.1, 0, 16, 8, 104, 0, cases / 200}, {0.03, 0, 0, 8, 130, cases, cases},
		{0.01, 0.03, 0, 20, 130, cases, cases},
	} {
		r, found := rand.New(rand.NewPCG(1, 2)), 0
		point := func(level float64) (p trend.Point) {
			set := one.set * r.NormFloat64()
			for range 5 {
				v := level * math.Exp(set+one.noise*r.NormFloat64())
				if one.step > 0 {
					v = one.step * math.Round(v/one.step)
				}
				p.Values = append(p.Values, trend.Value{Value: v})
			}
			return p
		}
		for range cases {
			var known []past
			var looks [checkLooks][]trend.Measured
			for value := range 50 {
				p := past{series: api.Series{ID: int64(value + 1), Value: fmt.Sprint(value)}}
				base := 100.0
				if one.step > 0 {
					base = one.level
				}
				for range one.points {
					before := point(base)
					p.values = append(p.values, before.Median().Estimate)
				}
				known = append(known, p)
				for i := range looks {
					looks[i] = append(looks[i], trend.Measured{Key: keyOf(&p.series), Point: point(one.level)})
				}
			}
			var moved []shiftOf
			for i, look := range looks {
				moved = agreeing(moved, moves(known, look), i)
			}
			if len(moved) > 0 {
				found++
			}
		}
		t.Logf("%+v: %d of %d", one, found, cases)
		if found < one.least || found > one.atMost {
			t.Errorf("%+v: %d of %d cases moved", one, found, cases)
		}
	}
}
