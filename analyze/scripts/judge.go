package scripts

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// judge has the statistical tests of policies.
type judge struct{}

// faster is the smallest change of a time that is of interest.
const faster = 0.05

// Times compares the mean times of loads, in ms.
func (judge) Times(a, b []float64) (policy.Verdict, string) {
	all, err := stats.Compare([]stats.Pair{{Measure: stats.Measure{Name: "time", Unit: "ms", Better: analyze.Lower,
		Threshold: faster}, A: sample(a), B: sample(b)}}, stats.Alpha)
	if err != nil {
		return policy.More, err.Error()
	}
	d := all[0]
	text := fmt.Sprintf("%s → %s ms", interval(d.MedianA, 1, "%.3g"), interval(d.MedianB, 1, "%.3g"))
	if d.HasChange {
		text += fmt.Sprintf(", %s %%", interval(d.Change, 100, "%+.0f"))
	}
	switch d.Verdict {
	case stats.Improved, stats.Unchanged:
		return policy.Pass, text + ": " + string(d.Verdict)
	case stats.Regressed:
		return policy.Fail, text + ": " + string(d.Verdict)
	}
	if d.MoreA > 0 {
		text += fmt.Sprintf("; about %d more loads of each can decide", max(d.MoreA, d.MoreB))
	}
	return policy.More, text
}

// Rates is Fisher's exact test.
func (judge) Rates(k, n, l, m int) float64 { return stats.Fisher(k, n, l, m) }

func sample(values []float64) (s stats.Sample) {
	for i, v := range values {
		s = append(s, stats.Point{Run: fmt.Sprint(i + 1), Value: v, Low: v, High: v})
	}
	return s
}

// interval prints an estimate with its bounds, if there are any.
func interval(i stats.Interval, unit float64, format string) string {
	text := fmt.Sprintf(format, unit*i.Estimate)
	if i.Exists {
		text += fmt.Sprintf(" ("+format+" to "+format+")", unit*i.Low, unit*i.High)
	}
	return strings.ReplaceAll(text, "-", "−")
}

// newState returns the state of a policy, with the tests that it needs.
func newState(p policy.Policy) policy.State {
	s := p.New()
	if j, ok := s.(policy.Judged); ok {
		j.Use(judge{})
	}
	return s
}
