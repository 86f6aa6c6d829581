package schedule

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/schedule/bisect"
)

// newLab is a world with builds and without schedules.
func newLab(t testing.TB, seed uint64, builds int64) *world {
	w := newWorld(t, seed, func(o *Options) {
		o.Schedules, o.Browser = nil, func(string) string { return "firefox" }
	})
	for seq := range builds {
		w.build(seq + 1)
	}
	w.dead = map[string]bool{}
	return w
}

// everyBuild returns a set of all builds.
func (w *world) everyBuild() map[string]bool {
	all := map[string]bool{}
	for _, b := range w.builds {
		all[b.Name] = true
	}
	return all
}

// bisects runs a bisection to its end. The engine is made anew at each crash.
func (w *world) bisects(p api.BisectParams) api.Bisect {
	w.t.Helper()
	e := w.engine()
	started, err := e.StartBisect(w.t.Context(), "eva", p)
	if err != nil || started.Shift.Text != "" {
		w.t.Fatalf("%v; the shift is %q before the first run", err, started.Shift.Text)
	}
	for range 1000 {
		func() {
			defer func() {
				if r := recover(); r != nil {
					if err, is := r.(error); !is || !errors.Is(err, errCrash) {
						panic(r)
					}
					e = w.engine()
				}
			}()
			w.now = w.now.Add(time.Minute)
			e.step(w.t.Context())
		}()
		b, err := e.Bisect(started.ID)
		if err != nil {
			w.t.Fatal(err)
		}
		if b.EndedNS != 0 {
			return b
		}
		w.work()
	}
	w.t.Fatal("it does not come to an end")
	return api.Bisect{}
}

// TestBisections plant a change in 60 builds. The noise of runs has two modes or outliers, and
// builds are broken. No outcome names a build that is not the changed one.
//
// Fault: Builds of a bisection cannot run
func TestBisections(t *testing.T) {
	for _, tc := range []struct {
		name   string
		by     float64 // slower
		noise  func(w *world) float64
		broken int // percent
		state  string
	}{
		{"plain", 0.1, nil, 0, bisect.FirstBad},
		{"two modes", 0.15, func(w *world) float64 {
			return 0.2*float64(w.random.IntN(2)) + 0.02*w.random.NormFloat64()
		}, 0, ""},
		{"outliers", 0.2, func(w *world) float64 {
			if w.random.IntN(20) == 0 {
				return 2 * w.random.Float64()
			}
			return 0.03 * w.random.NormFloat64()
		}, 0, ""},
		{"broken builds", 0.1, nil, 30, bisect.FirstBad},
		{"equal", 0, nil, 0, bisect.NotReproduced},
	} {
		right := 0
		for seed := range uint64(5) {
			w := newLab(t, 40+seed, 60)
			at := 2 + w.random.Int64N(58)
			if w.level = slower(at, tc.by); tc.noise != nil {
				w.noise = func() float64 { return tc.noise(w) }
			}
			for _, b := range w.builds[1:59] {
				w.dead[b.Name] = w.random.IntN(100) < tc.broken
			}
			b := w.bisects(api.BisectParams{Feed: "f", Good: "b1001", Bad: "b1060", Test: "load"})
			for _, f := range b.Found {
				first, last := f.Builds[0].Seq, f.Builds[len(f.Builds)-1].Seq
				if tc.by == 0 || at < first || at > last {
					t.Errorf("%s, seed %d: the change is at %d, found %+v", tc.name, seed, at, f)
				}
			}
			if len(b.Found) == 1 && b.State == bisect.FirstBad || tc.by == 0 && b.State == bisect.NotReproduced {
				right++
			}
			if tc.state != "" && b.State != tc.state || b.Runs > b.Budget || b.Text == "" ||
				b.State == bisect.NotReproduced && b.Reason != fmt.Sprintf(
					"These runs would have confirmed a shift of +%.3g %%.", 100*b.Detectable) {
				t.Errorf("%s, seed %d: %+v", tc.name, seed, b)
			}
		}
		t.Logf("%s: %d of 5 right", tc.name, right)
		if right < 4 {
			t.Errorf("%s: only %d of 5 are right", tc.name, right)
		}
	}
}

// TestBisectSpoilt: a rig rejects all runs of a build, as they lost too many frames. A search
// without an end is not decided. Other builds take the place of one between the ends.
//
// Fault: A rig loses too many frames of a build in a bisection
func TestBisectSpoilt(t *testing.T) {
	for build, want := range map[string]string{
		"b1001": "not decided: No run of build b1001 counts: captured too badly.",
		"b1009": "not decided: No run of build b1009 counts: captured too badly.",
		"b1005": "load.complete of load changed by ",
		"all":   "not decided: Job s-000009-",
	} {
		for _, failed := range []bool{false, true} { // a run of another build
			w := newLab(t, 3, 9)
			w.level, w.spoilt = slower(5, 0.2), map[string]bool{build: true}
			if build == "all" {
				w.spoilt = w.everyBuild()
			}
			w.end = func(j *api.Job) {
				v := w.params[j.ID].Variants
				i := slices.IndexFunc(v, func(v api.Variant) bool { return !strings.HasSuffix(v.Browser, build) })
				if failed && build != "all" {
					j.Runs = append(j.Runs, api.Made{Variant: v[i].Name, State: "failed"})
				}
			}
			lost := 0.3
			b := w.bisects(api.BisectParams{Feed: "f", Good: "b1001", Bad: "b1009", Test: "load", MaxLost: &lost})
			if !strings.HasPrefix(b.Text, want) || len(w.order) < maxAttempts || len(w.order) > 20 ||
				len(b.Found) > 0 && len(b.Found[0].Builds) != 2 {
				t.Errorf("%s: %d jobs, %s", build, len(w.order), b.Text)
			}
			if given := w.params[w.order[0]].MaxLost; given == nil || *given != lost {
				t.Errorf("max_lost is %v", given)
			}
		}
	}
}

// TestBisectDeviceGone: the device leaves the fleet between two steps.
//
// Fault: The device of a bisection has left the fleet
func TestBisectDeviceGone(t *testing.T) {
	w := newLab(t, 3, 9)
	w.level = slower(5, 0.2)
	w.end = func(*api.Job) { w.refuses = api.Errorf(api.InvalidParams, "no device has rig=lab-07") }
	b := w.bisects(api.BisectParams{Feed: "f", Good: "b1001", Bad: "b1009", Test: "load", Device: "lab-07/p"})
	if b.State != bisect.NotDecided || !strings.HasSuffix(b.Text, " has no values: no device has rig=lab-07.") ||
		b.Runs == 0 || len(w.order) != 1 {
		t.Errorf("%d jobs, %+v", len(w.order), b)
	}
}

// TestBisectDirectionOfRepeat: the first runs of an end are rejected. A value without a better
// direction gets its direction from the repeated step.
func TestBisectDirectionOfRepeat(t *testing.T) {
	for _, end := range []string{"b1001", "b1009"} {
		for _, shift := range []float64{0.2, -0.2} {
			w := newLab(t, 3, 9)
			w.better, w.level, w.spoilt = "", slower(5, shift), map[string]bool{end: true}
			w.end = func(*api.Job) {
				if len(w.order) > 1 {
					w.spoilt = nil
				}
			}
			b := w.bisects(api.BisectParams{Feed: "f", Good: "b1001", Bad: "b1009", Test: "load"})
			if b.State != bisect.FirstBad || len(b.Found) != 1 || b.Found[0].Bad != "b1005" {
				t.Errorf("%s rejected, shift %g: %s", end, shift, b.Text)
			}
		}
	}
}

// TestBisectPairSpoilt: the rig rejects all runs of the last confirmation, or a person cancels it.
// Its two builds are not broken.
func TestBisectPairSpoilt(t *testing.T) {
	for _, state := range []string{"cancelled", "failed"} {
		w := newLab(t, 3, 9)
		w.level = slower(5, 0.2)
		w.end = func(j *api.Job) {
			if n := len(w.order); n > 1 && len(w.params[j.ID].Variants) == 2 {
				if w.spoilt = w.everyBuild(); state == "cancelled" {
					j.State = state
				}
			}
		}
		b := w.bisects(api.BisectParams{Feed: "f", Good: "b1001", Bad: "b1009", Test: "load"})
		if last := b.Steps[len(b.Steps)-1]; b.State != bisect.NotDecided || len(last.Builds) != 2 || last.Over ||
			!strings.Contains(b.Text, " has no values: ") {
			t.Errorf("%s: %+v, %+v", state, b.Text, last)
		}
	}
}

// TestBisectCrash ends the engine at each of its calls and writes. The outcome and the jobs are as
// without.
//
// Fault: A rig is killed at any step of a bisection
func TestBisectCrash(t *testing.T) {
	story := func(crash int) (*world, api.Bisect) {
		w := newLab(t, 7, 20)
		w.level, w.dead["b1012"] = slower(13, 0.1), true
		w.builds[4].State = "broken"
		w.crash = crash
		w.kill = true
		interrupted := false
		w.end = func(j *api.Job) {
			if len(w.order) == 2 && !interrupted {
				interrupted, j.State = true, "interrupted"
			}
		}
		return w, w.bisects(api.BisectParams{Feed: "f", Good: "b1001", Bad: "b1020", Test: "load",
			Value: "load.complete"})
	}
	first, want := story(0)
	if f := want.Found; want.State != bisect.FirstBad || len(f) != 1 || f[0].Good != "b1011" || f[0].Bad != "b1013" ||
		len(f[0].Builds) != 2 || want.Steps[0].Blocks != 12 || len(want.Builds) < 4 {
		t.Fatalf("%+v", want)
	}
	for crash := 3; crash < first.calls; crash++ { // the first two are of the start
		w, got := story(crash)
		got.EndedNS = want.EndedNS // a step later
		if !reflect.DeepEqual(got, want) || len(w.order) != len(first.order) {
			t.Fatalf("crash at call %d: %d jobs, %+v; want %d, %+v", crash, len(w.order), got, len(first.order), want)
		}
	}
}

// TestBisectCalls: parameters are checked. A bisection can be cancelled, and its file may be gone.
func TestBisectCalls(t *testing.T) {
	w := newLab(t, 1, 10)
	w.builds[9].State, w.builds[9].Reason = "broken", "no program"
	e := w.engine()
	for want, p := range map[string]api.BisectParams{
		"unknown build":         {Good: "b1001", Bad: "x"},
		"good must be a build":  {Bad: "b1004"},
		"must be older":         {Good: "b1004", Bad: "b1004"},
		"is broken: no program": {Good: "b1004", Bad: "latest"},
		"must be 24 to":         {Good: "b1001", Bad: "b1004", Budget: 23},
	} {
		p.Feed, p.Test = "f", "load"
		if _, err := e.StartBisect(t.Context(), "eva", p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	p := api.BisectParams{Feed: "f", Good: "b1001", Bad: "b1009", Test: "load"}
	w.refuses = api.Errorf(api.NotFound, "unknown test")
	if _, err := e.StartBisect(t.Context(), "eva", p); err == nil || len(e.Bisects().Bisects) != 0 {
		t.Errorf("%v, %+v", err, e.Bisects())
	}
	w.refuses = nil
	b, err := e.StartBisect(t.Context(), "eva", p)
	if err != nil || b.State != bisect.Searching || b.Left != 8 || b.Job != w.order[0] ||
		w.params[b.Job].Keep != b.ID || w.params[b.Job].Class != api.ClassCheck || w.params[b.Job].Repeat != 12 {
		t.Fatalf("%+v, %v", b, err)
	}
	for want, j := range map[string]api.Job{
		"Confirm b1001 against b1009.":              {EndedWallNS: 1, Reason: "it has failed"},
		"Confirm b1001 against b1009. Run 3 of 24.": {Phase: &api.Phase{Run: "3 of 24"}},
		"Confirm b1001 against b1009. Run 23 of 24, 2 rejected.": {Phase: &api.Phase{Run: "24 of 24"},
			Done: 24, Total: 24,
			Runs: []api.Made{{State: "rejected"}, {State: "ok"}, {State: "rejected"}}},
		"Confirm b1001 against b1009. Its job: device local is at job x.": {Reason: "device local is at job x"},
	} {
		w.jobs[b.Job] = &j
		if got, err := e.Bisect(b.ID); err != nil || got.Reason != want {
			t.Errorf("%q, %v, want %q", got.Reason, err, want)
		}
	}
	w.jobs[b.Job] = &api.Job{ID: b.Job, State: "queued"}
	if err := os.WriteFile(e.file("bisect-x"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	e = w.engine()
	if b, err = e.CancelBisect(b.ID, "max"); err != nil || b.State != "cancelled" ||
		w.jobs[b.Steps[0].Job].State != b.State {
		t.Errorf("%+v, %v", b, err)
	}
	e = w.engine()
	if again, err := e.Bisect(b.ID); err != nil || !reflect.DeepEqual(again, b) || again.Reason != "Cancelled by max." {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := e.CancelBisect(b.ID, "max"); err == nil {
		t.Error("it is cancelled twice")
	}
	p.Value = "fps.median"
	if b := w.bisects(p); b.State != bisect.NotDecided ||
		b.Reason != "The test has no value fps.median; it has load.complete." {
		t.Errorf("%+v", b)
	}
	p.Value, w.dead["b1001"] = "", true
	if b := w.bisects(p); b.State != bisect.NotDecided || b.Reason != "Build b1001 cannot run." || len(w.order) != 5 {
		t.Errorf("%d jobs, %+v", len(w.order), b)
	}
	for i := range keptBisects {
		old := *e.bisections[0]
		old.ID = fmt.Sprint("bisect-", i)
		if err := e.keep(&old); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.engine().Bisects().Bisects); n != keptBisects {
		t.Errorf("%d bisections are kept", n)
	}
}

// TestAlertBisected: an alert over several builds starts one bisection, also where the engine is
// made anew. With backfill the builds between run first, and there is nothing to bisect.
//
// Fault: A change lies between two builds of which others did not run
func TestAlertBisected(t *testing.T) {
	for backfill, want := range map[string]int{"none": 1, "on-candidate": 0} {
		w := newWorld(t, 1, func(o *Options) {
			s := o.Schedules["nightly"]
			s.Backfill = backfill
			o.Schedules["nightly"], o.Alarm.Bisect = s, 300
		})
		w.level = slower(17, 0.1)
		w.days(w.engine(), 1, 13)
		for seq := int64(14); seq <= 19; seq++ {
			w.build(seq)
		}
		e := w.engine()
		w.days(e, 20, 28)
		if len(w.alerts) != 1 {
			t.Fatalf("backfill %s: %+v, gaps %v", backfill, w.alerts, w.gaps)
		}
		if a := w.alerts[0]; want == 0 && (a.FirstSeq != 16 || a.LastSeq != 17) {
			t.Errorf("backfill: %+v, gaps %v, points %d", a, w.gaps, len(w.points[1]))
		}
		all := w.engine().Bisects().Bisects
		if len(all) != want {
			t.Fatalf("backfill %s: %+v", backfill, all)
		}
		for _, b := range all {
			if b.State != bisect.FirstBad || b.Found[0].Bad != "b1017" || b.Alert != 1 || b.Value != "load.complete" {
				t.Errorf("%+v", b)
			}
		}
	}
}

// TestRefutedBeside: a refuted or undecided change does not hide another one beside it.
func TestRefutedBeside(t *testing.T) {
	for state, hides := range map[string]bool{refuted: false, undecided: false, lab: true, confirmed: true,
		"dismissed": true} {
		w := newWorld(t, 1, nil)
		w.level = slower(14, 0.2)
		e := w.engine()
		w.days(e, 1, 1) // there are series
		w.changes = []api.SeriesShift{{ID: 1, Series: 1, FirstSeq: 12, LastSeq: 13, State: state},
			{ID: 2, Series: 1, FirstSeq: 10, LastSeq: 18, State: state}}
		w.days(e, 2, 20)
		if hidden := len(w.changes) == 2; hidden != hides {
			t.Errorf("%s: %+v", state, w.changes)
		}
	}
}
