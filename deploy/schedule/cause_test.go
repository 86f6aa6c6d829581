package schedule

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

const priceCause = "price (app.js:3) ran for 5,842 ms instead of 1,637 ms."

// caused has the runs with measuring code name a function. It returns the changes that were asked
// about, by job.
func caused(o *Options) map[string][]compare.Change {
	asked := map[string][]compare.Change{}
	o.Cause = func(_ context.Context, job string, of compare.Change) (string, error) {
		asked[job] = append(asked[job], of)
		return priceCause, nil
	}
	return asked
}

// explainers returns the jobs with measuring code.
func (w *world) explainers() (ids []string) {
	for _, id := range w.order {
		if strings.Contains(string(w.params[id].Origin), trend.KindExplain) {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestCause: runs of the two builds of a confirmed change get measuring code. The function that
// changed is kept with the change. They become no points, and cost nothing of the budget.
func TestCause(t *testing.T) {
	var asked map[string][]compare.Change
	w := newWorld(t, 1, func(o *Options) { asked = caused(o) })
	w.level = slower(14, 0.2)
	e := w.engine()
	w.days(e, 1, 20)
	jobs := w.explainers()
	if len(w.alerts) != 1 || len(jobs) != 1 {
		t.Fatalf("%d alerts, jobs %v", len(w.alerts), jobs)
	}
	if x := w.changes[w.alerts[0].Changes[0].ID-1]; x.Cause != priceCause || x.Explaining || x.State != confirmed {
		t.Errorf("%+v", x)
	}
	p := w.params[jobs[0]]
	if p.Class != api.ClassCheck || p.Repeat != 8 || len(p.Script) != 1 || p.Script[0] != "calls" || !p.NoVideo ||
		len(p.Variants) != 2 || p.Variants[0] != (api.Variant{Name: CauseBefore, Browser: "firefox@f:b1013"}) ||
		p.Variants[1] != (api.Variant{Name: CauseAfter, Browser: "firefox@f:b1014"}) {
		t.Errorf("%+v", p)
	}
	if of := asked[jobs[0]]; len(of) != 1 || of[0].Verdict != stats.Regressed || of[0].Unit != "ms" ||
		of[0].Size < 15 || of[0].Size > 25 {
		t.Errorf("%+v", of)
	}
	if e.explains("nightly", &api.SeriesShift{Kind: drift}) || e.explains("gone", &api.SeriesShift{}) {
		t.Error("a drift, or the change of an unknown schedule, is explained")
	}
	if b := e.Budget(); b.Used != 1 {
		t.Errorf("%+v", b)
	}
	for _, of := range w.points {
		for _, p := range of {
			if p.Set == jobs[0] {
				t.Errorf("a point of runs with measuring code: %+v", p)
			}
		}
	}
}

// TestCauseMissing: a change without a named function states the reason. The alert does not wait
// for it.
//
// Fault: The scripts of a changed test cannot be instrumented
// Fault: The runs with measuring code of a confirmed change fail
func TestCauseMissing(t *testing.T) {
	no, yes := false, true
	for name, one := range map[string]struct {
		change func(*world)
		want   string
		jobs   int
	}{
		"refused": {func(w *world) {
			w.refuseScripts = api.Errorf(api.InvalidParams, "script needs pages of this program")
		}, "Runs with measuring code cannot begin: script needs pages of this program", 0},
		"failed": {func(w *world) {
			w.end = func(j *api.Job) {
				if w.params[j.ID].Script != nil {
					j.State, j.Reason = "failed", "1 of 16 runs failed: crashed"
				}
			}
		}, "Its runs with measuring code failed: 1 of 16 runs failed: crashed", 1},
		"spoilt": {func(w *world) {
			w.end = func(j *api.Job) {
				if w.params[j.ID].Script != nil {
					j.State, j.Fault, j.Reason = "failed", "lab", "captured too badly"
				}
			}
		}, "Its runs with measuring code failed: captured too badly", maxAttempts},
		"unread": {func(w *world) {
			w.o.Cause = func(context.Context, string, compare.Change) (string, error) {
				return "", errors.New("why-before has no\u202e\nresults" + strings.Repeat("é", 400))
			}
		}, "Its runs with measuring code cannot be read: why-before has no  resultsé", 1},
		"off":    {func(w *world) { w.explain(&no) }, "", 0},
		"on":     {func(w *world) { w.explain(&yes) }, priceCause, 1},
		"no rig": {func(w *world) { w.o.Cause = nil }, "", 0},
		"away":   {func(w *world) { w.causeAway(2) }, priceCause, 1},
		"no hub": {func(w *world) { w.refuseScripts = api.Errorf(api.Unavailable, "no hub leads") }, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, func(o *Options) { caused(o) })
			w.level = slower(14, 0.2)
			one.change(w)
			w.days(w.engine(), 1, 20)
			if len(w.alerts) != 1 {
				t.Fatalf("%d alerts", len(w.alerts))
			}
			x := w.changes[w.alerts[0].Changes[0].ID-1]
			if !strings.HasPrefix(x.Cause, one.want) || one.want == "" && x.Cause != "" || len(x.Cause) > maxCause ||
				x.Explaining != (name == "no hub") {
				t.Errorf("%+v", x)
			}
			if jobs := w.explainers(); len(jobs) != one.jobs {
				t.Errorf("jobs %v", jobs)
			}
		})
	}
}

// explain has the world's schedule explain changes, or not.
func (w *world) explain(is *bool) {
	s := w.o.Schedules["nightly"]
	s.Explain = is
	w.o.Schedules["nightly"] = s
}

// causeAway has the first comparisons of functions fail, as their hub does not lead.
func (w *world) causeAway(times int) {
	cause := w.o.Cause
	w.o.Cause = func(ctx context.Context, job string, of compare.Change) (string, error) {
		if times--; times >= 0 {
			return "", api.Errorf(api.Unavailable, "another hub leads")
		}
		return cause(ctx, job, of)
	}
}

// TestCauseDismissed: a person dismisses a change while its runs with measuring code wait.
func TestCauseDismissed(t *testing.T) {
	w := newWorld(t, 1, func(o *Options) { caused(o) })
	w.level = slower(14, 0.2)
	e := w.engine()
	for seq := int64(1); len(w.explainers()) == 0 && seq < 60; seq++ {
		w.build(seq)
		w.now = w.now.Add(24 * time.Hour)
		e.step(t.Context())
		if len(w.explainers()) == 0 {
			w.work()
		}
	}
	job := w.explainers()[0]
	if x := w.changes[e.state.Causes[0].Changes[0]-1]; !x.Explaining || len(w.alerts) != 1 {
		t.Fatalf("the alert waits: %+v, %d alerts", x, len(w.alerts))
	}
	w.changes[e.state.Causes[0].Changes[0]-1].State = trend.Dismissed
	e.step(t.Context())
	if w.jobs[job].State != "cancelled" || len(e.state.Causes) != 0 {
		t.Errorf("%+v, %d explanations", w.jobs[job], len(e.state.Causes))
	}
}

// busyTrends cannot read the point of a change at first.
type busyTrends struct {
	Trends
	fails int
}

func (b *busyTrends) Points(ctx context.Context, series, from, to int64, limit int) ([]trend.Point, error) {
	if b.fails--; from == to && b.fails >= 0 {
		return nil, errors.New("database is locked")
	}
	return b.Trends.Points(ctx, series, from, to, limit)
}

// TestCauseRetried: an explanation that could not be saved has not begun. The runs are read again
// after a fault of the database.
func TestCauseRetried(t *testing.T) {
	w := newWorld(t, 1, func(o *Options) { caused(o) })
	w.level = slower(14, 0.2)
	e := w.engine()
	write := e.write
	e.write = func(path string, content []byte, mode os.FileMode) error {
		if strings.Contains(string(content), trend.KindExplain) {
			return errors.New("the disk is full")
		}
		return write(path, content, mode)
	}
	w.days(e, 1, 20)
	if jobs := w.explainers(); len(w.alerts) != 1 || len(jobs) != 0 || len(e.state.Causes) != 0 {
		t.Fatalf("%d alerts, jobs %v, %d explanations", len(w.alerts), jobs, len(e.state.Causes))
	}
	e.write = write
	e.step(t.Context())
	w.work()
	busy := &busyTrends{Trends: e.Trends, fails: 1000}
	e.Trends = busy
	e.step(t.Context())
	x := &w.changes[w.alerts[0].Changes[0].ID-1]
	if len(w.explainers()) != 1 || !x.Explaining || x.Cause != "" {
		t.Fatalf("jobs %v, %+v", w.explainers(), x)
	}
	busy.fails = 0
	if e.step(t.Context()); x.Explaining || x.Cause != priceCause {
		t.Errorf("%+v", x)
	}
}

// TestCausePaused: runs with measuring code wait while a schedule is paused.
func TestCausePaused(t *testing.T) {
	w := newWorld(t, 1, func(o *Options) { caused(o) })
	w.level = slower(14, 0.2)
	e := w.engine()
	paused := false
	read := w.o.Read
	e.Read = func(ctx context.Context, set string) (trend.Origin, []trend.Measured, error) {
		o, all, err := read(ctx, set)
		if o.Kind == trend.KindConfirm && !paused { // the schedule is paused in the middle of a step
			e.state.Schedules["nightly"].Paused, paused = true, true
		}
		return o, all, err
	}
	w.days(e, 1, 20)
	if jobs := w.explainers(); len(jobs) != 0 || len(w.alerts) != 1 {
		t.Fatalf("jobs %v, %d alerts", jobs, len(w.alerts))
	}
	if _, err := e.Pause(api.SchedulePause{Schedule: "nightly"}); err != nil {
		t.Fatal(err)
	}
	w.settle(e)
	if jobs := w.explainers(); len(jobs) != 1 {
		t.Errorf("jobs %v", jobs)
	}
}

// TestCauseCrash: a rig is killed at each step of an explanation of two values. Its job runs once.
func TestCauseCrash(t *testing.T) {
	story := func(crash int) (w *world, over bool) {
		w = newWorld(t, 1, func(o *Options) { caused(o) })
		w.level, w.kill, w.values = slower(8, 0.3), true, 2
		e := w.engine()
		day := int64(0)
		defer func() { w.crash = 0 }()
		w.crash = crash
		for n := 0; n < 300; n++ {
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
				e.step(t.Context())
				if w.work() == 0 && day < 16 {
					day++
					w.build(day)
				}
			}()
		}
		return w, w.calls < crash
	}
	first, _ := story(0)
	if len(first.explainers()) != 1 || len(first.alerts) != 1 {
		t.Fatalf("%v, %d alerts", first.explainers(), len(first.alerts))
	}
	every := 1
	if testing.Short() {
		every = 7
	}
	for crash := 1; ; crash += every {
		w, over := story(crash)
		if over {
			break
		}
		jobs, caused := w.explainers(), 0
		for _, x := range w.changes {
			if x.Cause != "" {
				caused++
			}
		}
		if len(jobs) != 1 || caused != 2 || len(w.alerts) != 1 {
			t.Fatalf("crash at call %d: jobs %v, %d causes, %d alerts", crash, jobs, caused, len(w.alerts))
		}
	}
}

// TestCauseBisected: the pair that a bisection names is explained, and not the wide range.
func TestCauseBisected(t *testing.T) {
	w := newWorld(t, 5, func(o *Options) {
		caused(o)
		o.Alarm.Bisect = 600
		s := o.Schedules["nightly"]
		s.Backfill = "none"
		o.Schedules["nightly"] = s
	})
	w.level = slower(27, 0.2)
	e := w.engine()
	w.days(e, 1, 20)
	for seq := int64(21); seq <= 33; seq++ {
		w.build(seq)
	}
	w.settle(e)
	w.days(e, 34, 40)
	jobs := w.explainers()
	if len(jobs) != 1 || len(e.bisections) != 1 {
		t.Fatalf("jobs %v, %d bisections", jobs, len(e.bisections))
	}
	v := w.params[jobs[0]].Variants
	if v[0].Browser != "firefox@f:b1026" || v[1].Browser != "firefox@f:b1027" {
		t.Errorf("%+v", v)
	}
	// The search was about the range of one change. Another change of the alert has its own.
	x := w.changes[w.alerts[0].Changes[0].ID-1]
	data, err := e.Trends.Get(t.Context(), api.SeriesParams{Series: x.Series, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	x.FirstSeq, x.LastSeq = 33, 34
	sides, wait, err := e.causeSides(t.Context(), &data.Series, &x, w.alerts)
	if err != nil || wait || len(sides) != 2 || sides[0].seq != 33 || sides[1].seq != 34 {
		t.Errorf("%+v, %t, %v", sides, wait, err)
	}
}
