package schedule

import (
	"strings"
	"testing"
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
