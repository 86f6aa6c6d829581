package schedule

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// slower makes the subject slower from a build on.
func slower(from int64, by float64) func(string, string, int64) float64 {
	return func(role, build string, seq int64) float64 {
		if seq >= from {
			return 100 * (1 + by)
		}
		return 100
	}
}

// TestAlert: a build that is 10 % slower is found, confirmed by fresh runs, and named.
func TestAlert(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.level = slower(40, 0.1)
	w.days(w.engine(), 1, 50)
	if len(w.alerts) != 1 {
		t.Fatalf("%d alerts: %+v", len(w.alerts), w.changes)
	}
	a := w.alerts[0]
	if a.FirstSeq != 39 || a.LastSeq != 40 || a.State != "open" ||
		!strings.Contains(a.Command, "--browser firefox@f:b1039 --browser firefox@f:b1040") ||
		a.Changes[0].Direction != "worse" {
		t.Errorf("%+v", a)
	}
	if x := a.Changes[0]; x.State != confirmed || x.Low > 0.1 || x.High < 0.1 || x.Set == "" || x.P > 0.005 {
		t.Errorf("%+v", x)
	}
	for _, id := range w.order {
		p := w.params[id]
		class := api.ClassWatch
		if p.Variants[0].Name == "before" {
			class = api.ClassCheck
		}
		if p.Class != class || p.Videos != 1 {
			t.Errorf("job %s is of class %q, want %q; %d videos", id, p.Class, class, p.Videos)
		}
	}
	if n := w.engine().List().Schedules[0].Points; n != 50 {
		t.Errorf("%d points", n)
	}
}

// TestFailedRuns: a run fails in each job. The complete blocks are the points, and confirmations
// ask for the blocks that are missing.
//
// Fault: A run of a scheduled set fails
func TestFailedRuns(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.level, w.short = slower(14, 0.2), 1
	w.end = func(j *api.Job) {
		if w.params[j.ID].Repeat > 1 {
			j.State, j.Reason = "failed", "1 of 10 runs failed: crashed"
		}
	}
	e := w.engine()
	w.days(e, 1, 20)
	if len(w.alerts) != 1 || w.alerts[0].FirstSeq != 13 || len(w.gaps) != 0 {
		t.Fatalf("%+v, %+v, gaps %v", w.alerts, w.changes, w.gaps)
	}
	if p := w.points[1]; len(p) != 20 || len(p[0].Values) != 4 {
		t.Errorf("%d points, %+v", len(p), p[0])
	}
	w.short = 5 // no block is complete
	w.days(e, 21, 21)
	if !strings.Contains(w.gaps["load/local/b1021"], "no complete block: 1 of 10 runs failed") {
		t.Errorf("gaps %v", w.gaps)
	}
	if got := e.List().Schedules[0].Gap; !strings.HasPrefix(got, "load, b1021: job ") {
		t.Errorf("the latest gap is %q", got)
	}
	w.short = 1
	w.days(e, 22, 22)
	if got := e.List().Schedules[0].Gap; got != "" {
		t.Errorf("a gap before the last point: %q", got)
	}
}

// TestSpoiltRuns: recordings of jobs lost too many frames, on a busy machine. These jobs begin
// again, at most twice. Jobs whose product failed do not.
//
// Fault: Recordings of a scheduled set lose too many frames
func TestSpoiltRuns(t *testing.T) {
	for _, one := range []struct {
		fault string
		spoil int // jobs
		jobs  int
		gaps  int
	}{{"lab", 2, 3, 0}, {"lab", 9, 3, 1}, {"product", 1, 1, 1}} {
		w, n := newWorld(t, 1, nil), 0
		w.end = func(j *api.Job) {
			if n++; n <= one.spoil {
				j.State, j.Fault, j.Reason = "failed", one.fault, "the others were captured too badly"
			}
		}
		e := w.engine()
		w.build(1)
		for range maxAttempts {
			w.settle(e) // a step names the next job, and another one submits it
		}
		if len(w.order) != one.jobs || len(w.gaps) != one.gaps || len(w.points[1]) != 1-one.gaps {
			t.Errorf("%+v: %d jobs, gaps %v, %d points", one, len(w.order), w.gaps, len(w.points[1]))
		}
	}
	spoil := true // the first job of a confirmation, and the first step of a bisection
	w := newWorld(t, 1, func(o *Options) { o.Alarm.Bisect = 200 })
	w.level = slower(14, 0.2)
	w.end = func(j *api.Job) {
		if p := w.params[j.ID]; p.Class == api.ClassCheck && spoil {
			j.State, j.Fault, spoil = "failed", "lab", false
		}
	}
	w.days(w.engine(), 1, 20)
	if len(w.alerts) != 1 || spoil {
		t.Errorf("%+v", w.changes)
	}
}

// TestDismissed: a person dismisses a change during its confirmation, whose job is cancelled.
func TestDismissed(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.level = slower(14, 0.2)
	e := w.engine()
	for seq := int64(1); len(e.state.Confirms) == 0 && seq < 30; seq++ {
		w.build(seq)
		w.now = w.now.Add(24 * time.Hour)
		e.step(t.Context())
		w.work()
		e.step(t.Context())
	}
	e.step(t.Context())
	job := w.order[len(w.order)-1]
	if w.params[job].Class != api.ClassCheck || w.jobs[job].State != "queued" {
		t.Fatalf("%+v of class %s", w.jobs[job], w.params[job].Class)
	}
	w.changes[0].State = trend.Dismissed
	e.step(t.Context())
	if w.jobs[job].State != "cancelled" || len(e.state.Confirms) != 0 || len(w.alerts) != 0 {
		t.Errorf("%+v, %d confirmations", w.jobs[job], len(e.state.Confirms))
	}
}

// TestUnavailable: a set that cannot be read now, as its hub does not lead, is read later.
func TestUnavailable(t *testing.T) {
	w := newWorld(t, 1, nil)
	read, away := w.o.Read, true
	w.o.Read = func(ctx context.Context, set string) (trend.Origin, []trend.Measured, error) {
		if away {
			return trend.Origin{}, nil, api.Errorf(api.Unavailable, "another hub leads")
		}
		return read(ctx, set)
	}
	e := w.engine()
	w.build(1)
	e.step(t.Context())
	w.work()
	for range 2 {
		e.step(t.Context())
		if n := e.List().Schedules[0].Points; len(w.order) != 1 || len(w.gaps) != 0 || (n == 1) == away {
			t.Errorf("away %v: %d jobs, %d points, gaps %v", away, len(w.order), n, w.gaps)
		}
		away = false
	}
}

// TestRange: many builds come at once, and the newest runs first. The confirmation waits for the
// builds between, and the alert names the right one.
func TestRange(t *testing.T) {
	w := newWorld(t, 2, func(o *Options) {
		s := o.Schedules["nightly"]
		s.Coalesce = "none"
		o.Schedules["nightly"] = s
	})
	w.level = slower(33, 0.1)
	e := w.engine()
	w.days(e, 1, 20)
	for seq := int64(21); seq <= 40; seq++ {
		w.build(seq)
	}
	w.single = true
	w.settle(e)
	if len(w.alerts) != 1 || w.alerts[0].FirstSeq != 32 || w.alerts[0].LastSeq != 33 {
		t.Errorf("%+v, %+v", w.alerts, w.changes)
	}
}

// TestCrash ends the engine at each of its calls. After a restart the outcome is as without.
//
// Fault: A rig is killed at any step of a schedule
func TestCrash(t *testing.T) {
	story := func(crash int) (w *world, over bool) {
		w = newWorld(t, 3, func(o *Options) {
			s := o.Schedules["nightly"]
			s.Tests = []string{"scroll-*"}
			o.Schedules["nightly"] = s
		})
		w.level = slower(14, 0.2)
		w.crash = crash
		// the same order of jobs draws the same values
		e := w.engine()
		step := func() (crashed bool) {
			defer func() {
				if r := recover(); r != nil {
					if err, is := r.(error); !is || !errors.Is(err, errCrash) {
						panic(r)
					}
					crashed, e = true, w.engine()
				}
			}()
			w.now = w.now.Add(time.Minute)
			e.step(t.Context())
			return false
		}
		for seq := range int64(18) {
			w.build(seq + 1)
			for range 100 {
				if !step() && w.work() == 0 {
					break
				}
			}
			w.now = w.now.Truncate(24 * time.Hour).Add(24 * time.Hour)
		}
		return w, w.calls < crash
	}
	want, _ := story(0)
	if len(want.alerts) == 0 || len(want.order) < 36 {
		t.Fatalf("%d alerts, %d jobs", len(want.alerts), len(want.order))
	}
	every := 1
	if testing.Short() {
		every = 7
	}
	for crash := 1; ; crash += every {
		got, over := story(crash)
		if over {
			return
		}
		if len(got.order) != len(want.order) || len(got.alerts) != len(want.alerts) ||
			len(got.changes) != len(want.changes) || !reflect.DeepEqual(got.gaps, want.gaps) {
			t.Fatalf("crash at call %d: %d jobs, %d alerts, %d changes, gaps %v; want %d, %d, %d, %v", crash,
				len(got.order), len(got.alerts), len(got.changes), got.gaps, len(want.order), len(want.alerts),
				len(want.changes), want.gaps)
		}
		for id, points := range want.points {
			if len(got.points[id]) != len(points) {
				t.Fatalf("crash at call %d: series %d has %d points, want %d", crash, id, len(got.points[id]),
					len(points))
			}
		}
	}
}

// TestNoAlert: the level of whole sets wanders, so that detectors find changes which are not there.
// Alerts are as rare as the level of the confirmations says.
//
// Fault: Values wander though the builds are equal
func TestNoAlert(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 4
	}
	begun, alerts := 0, 0
	for seed := range seeds {
		w := newWorld(t, uint64(100+seed), func(o *Options) { o.Alarm.Confirmations = 100 })
		wander, last := 0.0, ""
		w.level = func(role, build string, _ int64) float64 {
			if role == "subject" && build != last {
				wander, last = wander+0.02*w.random.NormFloat64(), build
				return 100 * (1 + wander)
			}
			if role == "subject" {
				return 100 * (1 + wander)
			}
			return 100
		}
		w.days(w.engine(), 1, 80)
		alerts += len(w.alerts)
		for _, x := range w.changes {
			if x.State != candidate {
				begun++
			}
		}
	}
	t.Logf("%d of %d confirmations are alerts", alerts, begun)
	if begun < seeds/2 {
		t.Errorf("only %d candidates in %d seeds: the test does not test", begun, seeds)
	}
	// exact: fewer than one in a million such tests has so many
	if p := atLeast(alerts, begun, 0.01); p < 1e-6 {
		t.Errorf("%d alerts of %d confirmations: p = %v", alerts, begun, p)
	}
}

// TestEqualBuilds: many series of equal builds open at most as many alerts as the budget of the
// fleet permits. With EIDETICKER_SOAK there are 10,000 series. Without it, 160 series show only
// gross errors.
func TestEqualBuilds(t *testing.T) {
	const weeks, alpha = 4, 0.005
	tests, values := 4, 40
	if os.Getenv("EIDETICKER_SOAK") != "" {
		tests, values = 100, 100
	}
	var names []string
	w := newWorld(t, 17, func(o *Options) {
		for i := range tests {
			names = append(names, fmt.Sprint("t", i))
		}
		o.Tests = func() []string { return names }
		s := o.Schedules["nightly"]
		s.Tests = []string{"*"}
		o.Schedules["nightly"] = s
	})
	w.values, w.noise = values, func() float64 { return 0.3 * w.random.NormFloat64() }
	e, begun := w.engine(), 0
	for day := int64(1); day <= 7*weeks; day++ {
		w.days(e, day, day)
		for range max(10, tests) { // a device has one confirmation at a time
			w.settle(e)
		}
		if day%7 > 0 {
			continue
		}
		b := e.Budget()
		begun += b.Used
		t.Logf("day %d: %d candidates so far, %d confirmations in a week, %d alerts so far", day, len(w.changes),
			b.Used, len(w.alerts))
		if b.Used > 200 || b.Alpha != alpha {
			t.Errorf("%+v", b)
		}
	}
	if p := atLeast(len(w.alerts), begun, alpha); begun < tests || p < 1e-6 {
		t.Errorf("%d alerts of %d confirmations: p = %v", len(w.alerts), begun, p)
	}
}

// atLeast is the chance of k or more of n, each with chance p.
func atLeast(k, n int, p float64) (sum float64) {
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// TestLab: a change of the control too is one of the lab, and opens no alert.
//
// Fault: A whole lab moves, such as by an update
func TestLab(t *testing.T) {
	w := newWorld(t, 5, nil)
	day := func() bool { return w.now.After(time.Date(2026, 12, 5, 0, 0, 0, 0, time.UTC)) }
	w.level = func(role, _ string, _ int64) float64 {
		switch {
		case day() && role == "subject":
			return 150 // the control reacts less
		case day():
			return 130
		}
		return 100
	}
	w.days(w.engine(), 1, 60)
	if len(w.alerts) > 0 || len(w.changes) == 0 {
		t.Fatalf("%d alerts, %d changes", len(w.alerts), len(w.changes))
	}
	for _, x := range w.changes {
		if x.State != lab && x.State != refuted {
			t.Errorf("%+v", x)
		}
	}
}

// TestBuilds: the newest build is queued, and builds without a point are gaps with a reason.
//
// Fault: A feed cannot be read
// Fault: Jobs of a schedule fail or wait past their deadline
func TestBuilds(t *testing.T) {
	w := newWorld(t, 6, nil)
	e := w.engine()
	for seq := range int64(5) {
		w.build(seq + 1) // before the schedule was there
	}
	e.step(t.Context())
	if len(w.order) != 1 || len(w.gaps) != 0 || w.params[w.order[0]].Revision != "b1005" {
		t.Fatalf("%v, gaps %v", w.order, w.gaps)
	}
	w.build(6)
	w.build(7)
	w.builds[6].State = "broken"
	w.build(8)
	w.now = w.now.Add(2 * time.Minute)
	e = w.engine()
	e.step(t.Context())
	want := map[string]string{"load/local/b1005": "build b1008 came first", "//b1006": "a newer build came first",
		"//b1007": "the build is broken"}
	if !reflect.DeepEqual(w.gaps, want) || len(w.order) != 2 || w.jobs[w.order[0]].State != "cancelled" {
		t.Fatalf("gaps %v, jobs %v", w.gaps, w.order)
	}
	w.now = w.now.Add(21 * time.Hour) // past the deadline
	e.step(t.Context())
	if w.jobs[w.order[1]].State != "cancelled" || !strings.Contains(w.gaps["load/local/b1008"], "deadline") {
		t.Errorf("%v", w.gaps)
	}
	w.absent = errors.New("no route")
	w.build(9)
	w.now = w.now.Add(2 * time.Minute)
	e.step(t.Context())
	if s := e.List().Schedules[0]; !strings.Contains(s.Reason, "no route") || len(w.order) != 2 {
		t.Errorf("%+v", s)
	}
	w.absent = nil
	fail := 2
	w.end = func(j *api.Job) {
		if fail--; fail >= 0 {
			j.State, j.Reason = "interrupted", "the daemon ended"
		}
	}
	w.now = w.now.Add(2 * time.Minute)
	e.step(t.Context())
	w.work()
	e.step(t.Context())
	e = w.engine() // it knows the job's second name
	if id := e.state.Schedules["nightly"].Tasks[0].ID; len(w.order) != 4 || id != w.order[3] {
		t.Errorf("task %s, jobs %v", id, w.order)
	}
	w.settle(e)
	if s := e.List().Schedules[0]; s.Reason != "" || s.Points != 1 || len(w.order) != 5 {
		t.Errorf("%+v, %v", s, w.order)
	}
	w.end = func(j *api.Job) { j.State, j.Reason = "failed", "no browser" }
	w.build(10)
	w.settle(e)
	if len(w.order) != 6 || !strings.Contains(w.gaps["load/local/b1010"], "no browser") {
		t.Errorf("%v, %v", w.order, w.gaps)
	}
	w.builds = w.builds[:1] // numbers begin anew
	w.now = w.now.Add(2 * time.Minute)
	e.step(t.Context())
	if s := e.List().Schedules[0]; !strings.Contains(s.Reason, "newest build is number 1, and number 10 has run") {
		t.Errorf("a lost ledger: %+v", s)
	}
}

// TestTimes: of missed times the last one runs, and the others are gaps.
//
// Fault: A rig is off when a schedule is due, or its clock is set back
func TestTimes(t *testing.T) {
	w := newWorld(t, 7, func(o *Options) {
		o.Schedules["nightly"] = config.Schedule{Cron: "0 3 * * *", Tests: []string{"scroll-*"},
			Devices:  []string{"a", "b"},
			Browsers: []string{"firefox"}, Runs: 2, Class: api.ClassFill, Deadline: config.Duration(time.Hour)}
	})
	e := w.engine()
	e.step(t.Context())
	w.now = w.now.Add(74 * time.Hour) // three times
	e = w.engine()
	e.step(t.Context())
	if len(w.order) != 4 || len(w.gaps) != 2 {
		t.Fatalf("%v, %v", w.order, w.gaps)
	}
	w.now = w.now.Add(-24 * time.Hour)
	w.settle(e)
	w.now = w.now.Add(12 * time.Hour)
	w.settle(w.engine())
	if s := e.List().Schedules[0]; len(w.order) != 4 || s.NextNS == 0 || s.Points != 4 {
		t.Errorf("a clock that was set back: %v, %+v", w.order, s)
	}
	write := e.write
	e.write = func(string, []byte, os.FileMode) error { return errors.New("the disk is full") }
	if _, err := e.Start(t.Context(), api.ScheduleRun{Schedule: "nightly"}); err == nil ||
		e.List().Schedules[0].Queued != 0 {
		t.Errorf("%v, and %d jobs are left", err, e.List().Schedules[0].Queued)
	}
	e.write = write
	started, err := e.Start(t.Context(), api.ScheduleRun{Schedule: "nightly"})
	if err != nil || len(started.Jobs) != 4 || len(w.order) != 8 {
		t.Errorf("%v, %v", started, err)
	}
	if _, err := e.Pause(api.SchedulePause{Schedule: "nightly", Paused: true, Reason: "moving"}); err != nil {
		t.Error(err)
	}
	w.now = w.now.Add(48 * time.Hour)
	e = w.engine()
	e.step(t.Context())
	if s := e.List().Schedules[0]; !s.Paused || s.Reason != "moving" || len(w.order) != 8 {
		t.Errorf("%+v", s)
	}
	if _, err := e.Pause(api.SchedulePause{Schedule: "none"}); err == nil {
		t.Error("an unknown schedule")
	}
}

// TestWaiting: a time that comes while jobs of an earlier one wait is a gap. A full queue is asked
// once in a step.
//
// Fault: A schedule's times come faster than its jobs run
func TestWaiting(t *testing.T) {
	w := newWorld(t, 7, func(o *Options) {
		o.Schedules["nightly"] = config.Schedule{Cron: "* * * * *", Tests: []string{"load", "scroll-*"},
			Devices: []string{"a"}, Browsers: []string{"firefox"}, Runs: 2, Class: api.ClassFill,
			Deadline: config.Duration(time.Hour)}
	})
	w.refuses = api.Errorf(api.TooMany, "200 jobs wait")
	e := w.engine()
	for range 6 {
		e.step(t.Context())
		w.now = w.now.Add(time.Minute)
	}
	if n := len(e.state.Schedules["nightly"].Tasks); n != 3 || w.refused != 5 || len(w.gaps) != 12 ||
		!strings.Contains(w.gaps["load/a/20261102-0002"], "waits still") {
		t.Errorf("%d tasks, %d calls, gaps %v", n, w.refused, w.gaps)
	}
	w.refuses = nil
	e.step(t.Context())
	if len(w.order) != 3 {
		t.Errorf("%v", w.order)
	}
}

// TestClosed: a new change in the range of a closed alert opens another alert.
//
// Fault: A series changes in the builds of a fixed alert
func TestClosed(t *testing.T) {
	for state, want := range map[string]int{"open": 1, "acknowledged": 1, "fixed": 2, "wontfix": 2} {
		w := newWorld(t, 1, nil)
		w.series = []api.Series{{ID: 1, Feed: "f"}}
		w.alerts = []api.Alert{{ID: 1, Feed: "f", FirstSeq: 3, LastSeq: 9, State: state}}
		w.changes = []api.SeriesShift{{ID: 1, Series: 1, FirstSeq: 5, LastSeq: 6, State: confirmed}}
		e := w.engine()
		e.step(t.Context())
		e.step(t.Context())
		if last := w.alerts[len(w.alerts)-1]; len(w.alerts) != want || len(last.Changes) != 1 || w.asked != 1 {
			t.Errorf("%s: %+v, asked %d times", state, w.alerts, w.asked)
		}
	}
}

// TestDetect: a series near 0 has no threshold. The latest control counts. A point stays though it
// cannot be searched.
//
// Fault: The points of a series cannot be read
func TestDetect(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.level = slower(14, 0.2)
	w.days(w.engine(), 1, 13)
	other := w.series[1] // another control for some time
	other.ID, other.Product, other.LastSeq = 3, "chromium", 2
	w.series, w.points[3] = append(w.series, other), w.points[2][:2]
	e := w.engine()
	w.days(e, 14, 20)
	if len(w.alerts) != 1 {
		t.Errorf("%d alerts, %+v", len(w.alerts), w.changes)
	}
	w.broken = errors.New("no such table")
	w.days(e, 21, 21)
	if s := e.List().Schedules[0]; s.Points != 21 || s.Queued != 0 {
		t.Errorf("%+v", s)
	}

	w = newWorld(t, 1, nil)
	w.level = func(_, _ string, seq int64) float64 { return float64(max(0, seq-13)) }
	e = w.engine()
	w.days(e, 1, 20)
	if len(w.changes) == 0 || w.changes[0].State != undecided || w.changes[0].Reason != noLevel ||
		len(e.state.Spent) != 0 {
		t.Fatalf("%+v, %+v", w.changes, e.state.Spent)
	}
	// a person asks
	if err := e.Confirm(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	w.settle(e)
	if x := w.changes[0]; x.State != undecided || x.Reason != noLevel || len(w.alerts) != 0 {
		t.Errorf("%+v", x)
	}
}

// TestAsked: a person gets the reason of a change that cannot be confirmed now. A change of the
// whole lab can be confirmed.
func TestAsked(t *testing.T) {
	w := newWorld(t, 8, func(o *Options) {
		s := o.Schedules["nightly"]
		s.Control, s.Tests = "", []string{"load", "scroll-*", "other"}
		o.Schedules["nightly"] = s
	})
	w.level = slower(14, 0.2)
	e := w.engine()
	w.days(e, 1, 20)
	if len(w.changes) == 0 || w.changes[0].State != lab {
		t.Fatalf("%+v", w.changes)
	}
	refused := func(why string) {
		t.Helper()
		if err := e.Confirm(t.Context(), 1); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %s", err, why)
		}
	}
	pause := func(is bool) {
		if _, err := e.Pause(api.SchedulePause{Schedule: "nightly", Paused: is}); err != nil {
			t.Fatal(err)
		}
	}
	pause(true)
	refused("nightly is paused")
	pause(false)
	if err := e.Confirm(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	w.settle(e)
	if x := w.changes[0]; x.State != confirmed {
		t.Errorf("%+v", x)
	}
}

// TestBudget: no more confirmations begin than the budget allows, and the others wait.
func TestBudget(t *testing.T) {
	w := newWorld(t, 8, func(o *Options) {
		o.Alarm.Confirmations, o.Alarm.FalseAlarms = 1, 0.01
		o.Schedules["nightly"] = config.Schedule{On: "feed.f", Tests: []string{"load", "scroll-*"},
			Devices: []string{"local"}, Browsers: []string{"firefox@f"}, Control: "firefox@f:b1000", Runs: 5,
			Class: api.ClassWatch, Coalesce: "newest", Deadline: config.Duration(20 * time.Hour)}
	})
	w.level = slower(20, 0.2)
	e := w.engine()
	w.days(e, 1, 26)
	states := map[string]int{}
	for _, x := range w.changes {
		states[x.State]++
	}
	b := e.Budget()
	if states[confirmed] != 1 || states[candidate] < 1 || b.Used != 1 || b.Alpha != 0.01 {
		t.Fatalf("%v, %+v", states, b)
	}
	if err := e.Confirm(t.Context(), w.changes[0].ID); err == nil {
		t.Error("a confirmed change, or one above the budget")
	}
	w.now = w.now.Add(14 * 24 * time.Hour)
	w.settle(e)
	if len(w.alerts) != 1 || len(w.alerts[0].Changes) != 2 {
		t.Errorf("changes of the same builds are one alert: %+v", w.alerts)
	}
	w.o.Alarm.Confirmations = 0
	// a tenth of 7 days is enough for 25 confirmations of 96 runs of 24 s
	b = w.engine().Budget()
	if b.Confirmations != 25 || b.Alpha != 0.0004 || !strings.Contains(b.Text, "in 7 days") {
		t.Errorf("%+v", b)
	}
}

// TestState: a file that cannot be read is put aside.
func TestState(t *testing.T) {
	for _, text := range []string{"{", `{"version": 9}`, "null"} {
		w := newWorld(t, 9, nil)
		if err := os.WriteFile(w.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.days(w.engine(), 1, 1)
		if _, err := os.Stat(filepath.Join(filepath.Dir(w.file), "schedule.json.unreadable")); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if len(w.order) != 1 {
			t.Errorf("%q: %v", text, w.order)
		}
	}
}

func TestForecasts(t *testing.T) {
	all, err := Forecasts(map[string]config.Schedule{
		"a": {Cron: "0 3 * * *", Tests: []string{"scroll-*"}, Devices: []string{"x"}, Browsers: []string{"f", "g"},
			Runs: 5, Control: "f"},
		"b": {On: "feed.f", Tests: []string{"load"}, Devices: []string{"x", "y"}, Browsers: []string{"f"}, Runs: 5},
	}, []string{"scroll-a", "scroll-b", "load"}, time.Unix(0, 0))
	if err != nil || len(all) != 2 || len(all[0].Next) != 10 || all[0].Runs != 30 || all[0].Each != 24*time.Hour ||
		all[1].Runs != 10 || all[1].Jobs != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestForecastOfUnknownTest: a schedule of a hub may name a test that only its rigs have.
//
// Fault: A schedule of a rig names a test that the rig does not have
func TestForecastOfUnknownTest(t *testing.T) {
	s := config.Schedule{On: "feed.f", Tests: []string{"load", "scrol"}, Devices: []string{"x"},
		Browsers: []string{"f"}, Runs: 5}
	_, err := Forecasts(map[string]config.Schedule{"a": s}, []string{"load", "scroll"}, time.Unix(0, 0))
	if err == nil || err.Error() != "schedule a: no test has a name like scrol; did you mean scroll?" {
		t.Error(err)
	}
	s.Devices, s.Needs = nil, config.Needs{"os=linux"}
	for _, tests := range [][]string{{"load", "scrol"}, {"scroll-*"}} {
		s.Tests = tests
		if _, err := Forecasts(map[string]config.Schedule{"a": s}, nil, time.Unix(0, 0)); err != nil {
			t.Errorf("%s: %v", tests, err)
		}
	}
}

// TestStore: the engine's calls fit the store of trends.
func TestStore(t *testing.T) {
	db, err := trend.Open(t.Context(), filepath.Join(t.TempDir(), "trend.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() // the folder goes with the test
	w := newWorld(t, 10, func(o *Options) { o.Trends = db })
	w.level = slower(20, 0.2)
	w.days(w.engine(), 1, 26)
	alerts, err := db.Alerts(t.Context(), api.AlertListParams{})
	if err != nil || len(alerts) != 1 || alerts[0].FirstSeq != 19 || alerts[0].LastSeq != 20 ||
		!strings.Contains(alerts[0].Text, "b1020") || len(alerts[0].Changes) != 1 ||
		!strings.Contains(alerts[0].Command, "firefox@f:b1020") {
		t.Fatalf("%+v, %v", alerts, err)
	}
	x := alerts[0].Changes[0]
	data, err := db.Get(t.Context(), api.SeriesParams{Series: x.Series})
	if err != nil || len(data.Points) != 26 || data.Points[0].Runs != 5 || len(data.With) != 1 {
		t.Errorf("%d points, %+v, %v", len(data.Points), data.With, err)
	}
}
