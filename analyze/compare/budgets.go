package compare

import (
	"fmt"
	"math"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/budget"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Checked is a budget held against the runs of a set.
type Checked struct {
	Budget budget.Budget
	Key    Key
	Runs   int // that have the value, of All
	All    int
	// Value is the median of the runs. Its bounds are those of a single run. From stats.FewestRuns on
	// they are the ends of the intervals of the medians of the runs' bounds. In between they enclose
	// the bounds of all runs.
	Value, Low, High float64
	State            budget.State
}

// Check holds the runs of a set against budgets, in each window.
func (s *Set) Check(budgets []budget.Budget) (all []Checked) {
	own := s.clone()
	nameWindows(own, own)
	order, values := own.values()
	for _, b := range budgets {
		n := len(all)
		for _, key := range order {
			if key.Measure+"."+key.Value == b.Name {
				all = append(all, checked(b, key, values[key], len(s.Runs)))
			}
		}
		if len(all) == n {
			all = append(all, Checked{Budget: b, All: len(s.Runs), State: budget.Unmeasured})
		}
	}
	return all
}

func checked(b budget.Budget, key Key, runs []found, all int) Checked {
	c := Checked{Budget: b, Key: key, Runs: len(runs), All: all, Low: math.Inf(1), High: math.Inf(-1)}
	var values, lows, highs []float64
	suspected := false
	for _, f := range runs {
		values, lows, highs = append(values, f.point.Value), append(lows, f.point.Low), append(highs, f.point.High)
		c.Low, c.High = min(c.Low, f.point.Low), max(c.High, f.point.High)
		suspected = suspected || f.value.State == analyze.Suspected
	}
	c.Value = stats.Summarize(values).Estimate
	if low, high := stats.Summarize(lows), stats.Summarize(highs); low.Exists {
		c.Low, c.High = low.Low, high.High
	}
	switch {
	case 2*len(runs) < all:
		c.State = budget.Unmeasured
	case suspected: // breaks nothing for sure
		c.State = b.Check(c.Value, math.Inf(-1), math.Inf(1))
	default:
		c.State = b.Check(c.Value, c.Low, c.High)
	}
	return c
}

// Sentence states the result: "fps.longest_freeze is 133 ms (132 – 135), the limit is 100 ms".
func (c Checked) Sentence() string {
	if c.Runs == 0 {
		return fmt.Sprintf("%s was not measured", c.Budget.Name)
	}
	m := wording.Measured{Value: c.Value, Low: c.Low, High: c.High, Unit: c.Budget.Unit, Bounded: true}
	text := fmt.Sprintf("%s is %s", c.Key, m.Text())
	switch {
	case c.Runs < c.All:
		text += fmt.Sprintf(", measured in %d of %d runs", c.Runs, c.All)
	case c.Runs > 1:
		text += fmt.Sprintf(", the median of %s", wording.Plural(c.Runs, "run"))
	}
	if bounds := m.Bounds(); bounds != "" {
		text += fmt.Sprintf(" (%s)", bounds)
	}
	return fmt.Sprintf("%s; the limit is %s", text, wording.Measured{Value: c.Budget.Limit, Unit: c.Budget.Unit}.Text())
}
