package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// TestDrift: builds become slower by less than a detector sees. Fresh runs of two builds that are
// far apart show the sum. The alert has its own kind. A step is not reported as drift again.
//
// Fault: A value gets worse in many steps that are too small to be found
func TestDrift(t *testing.T) {
	drifting := func(by float64) func(string, string, int64) float64 {
		return func(_, _ string, seq int64) float64 { return 100 * (1 + by*float64(seq)) }
	}
	for _, one := range []struct {
		name           string
		release        string
		level          func(string, string, int64) float64
		tests          string
		confirmations  int
		days           int64
		alerts, steps  int   // of drift, and of steps
		waiting, first int64 // candidates, and the first build of the first alert
	}{
		{"weekly", "", drifting(0.0025), "load", 200, 30, 1, 0, 0, 1},
		{"since a release", "b100[2-4]", drifting(0.0008), "load", 200, 54, 1, 0, 0, 4},
		{"below the threshold", "", drifting(0.0004), "load", 200, 40, 0, 0, 0, 0},
		{"a step", "", slower(20, 0.1), "load", 200, 45, 0, 1, 0, 0},
		{"one budget", "", drifting(0.0027), "scroll-*", 1, 20, 1, 0, 1, 1},
	} {
		t.Run(one.name, func(t *testing.T) {
			w := newWorld(t, 5, func(o *Options) {
				s := o.Schedules["nightly"]
				s.Release, s.Tests = one.release, []string{one.tests}
				o.Schedules["nightly"], o.Alarm.Confirmations = s, one.confirmations
			})
			w.level = one.level
			w.days(w.engine(), 1, one.days)
			waiting := int64(0)
			for _, x := range w.changes {
				if x.Kind == drift && x.State == candidate {
					waiting++
				}
			}
			alerts := map[string]int{}
			for _, a := range w.alerts {
				x := a.Changes[0]
				if alerts[a.Kind]++; a.Kind == drift && (alerts[drift] == 1 && x.FirstSeq != one.first ||
					x.LastSeq-x.FirstSeq < 2*driftSide || x.Shift < 0.03 || x.Direction != "worse" ||
					!strings.Contains(a.Command, "--repeat 12")) {
					t.Errorf("%+v", a)
				}
			}
			if alerts[drift] != one.alerts || alerts[""] != one.steps || waiting != one.waiting {
				t.Errorf("%d alerts, %d of steps, %d wait: %+v", alerts[drift], alerts[""], waiting, w.changes)
			}
		})
	}
}

// TestDriftNeedsEvidence: a shift of medians that chance often makes is none. A candidate that
// waited for a week is compared again, and dropped if the newest points do not show it.
func TestDriftNeedsEvidence(t *testing.T) {
	for _, one := range []struct {
		high  int           // of the newest six points
		waits time.Duration // of the candidate that there is; 0: none
		want  string
	}{
		{4, 0, ""}, {5, 0, "1 candidate"}, {6, 0, "1 candidate"},
		{6, driftGap - 1, "1 candidate 5"}, {6, driftGap, "1 candidate"}, {4, driftGap, "1 undecided 5"},
	} {
		w := newWorld(t, 1, nil)
		var known []api.SeriesShift
		if one.waits > 0 {
			x := api.SeriesShift{Kind: drift, State: candidate, LastSeq: 5, FoundNS: w.now.Add(-one.waits).UnixNano()}
			if err := w.PutChange(t.Context(), &x); err != nil {
				t.Fatal(err)
			}
			known = append(known, x)
		}
		c := curve{relative: true, values: make([]float64, 2*driftSide+1), points: make([]trend.Point, 2*driftSide+1)}
		for i := range c.points {
			c.points[i].Seq = int64(i + 1)
			if i > 2*driftSide-one.high {
				c.values[i] = 0.1
			}
		}
		if err := w.engine().drift(t.Context(), &api.Series{Schedule: "nightly"}, &c, known, 0.03); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, x := range w.changes {
			if got = fmt.Sprint(len(w.changes), " ", x.State); x.LastSeq == 5 {
				got += " 5"
			}
		}
		if got != one.want {
			t.Errorf("%+v: %q", one, got)
		}
	}
}
