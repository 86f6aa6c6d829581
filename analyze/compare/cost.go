package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// profiles withholds the verdicts if profiled runs would be compared with plain ones. A profiler
// slows its target. If B is profiled, A is plain, all else is equal, and they took turns, the
// difference is the cost.
func (c *Comparison) profiles(tookTurns bool) {
	plainA, profiledA := c.A.profiled()
	plainB, profiledB := c.B.profiled()
	mixed := (plainA || plainB) && (profiledA || profiledB)
	switch {
	case !mixed || c.options.JudgeUnlike:
		return
	case tookTurns && !profiledA && !plainB && c.onlyProfileDiffers():
		c.cost = true
		c.withhold("B is profiled, and A is not: the difference is the profile's cost", "")
	case profiledA && plainA || profiledB && plainB:
		c.withhold("profiled runs and plain ones are mixed", "not measured alike")
	default:
		c.withhold("one side is profiled, and the other is not", "not measured alike")
	}
	if !c.cost {
		c.Warnings = append(c.Warnings, c.withheld)
		return
	}
	for i := range c.Values {
		c.Values[i].Verdict = stats.Untested
	}
}

// onlyProfileDiffers reports whether the runs are of one test under equal conditions but for the
// profile.
func (c *Comparison) onlyProfileDiffers() bool {
	test := c.A.Runs[0].Test
	other := func(r Run) bool { return r.Test != test }
	return !slices.ContainsFunc(slices.Concat(c.A.Runs, c.B.Runs), other) &&
		!slices.ContainsFunc(c.Unlike, func(u Unlike) bool { return u.Name != result.EnvProfile })
}

// profiled reports which kinds of runs a set has.
func (s *Set) profiled() (plain, profiled bool) {
	for _, r := range s.Runs {
		is := r.Environment[result.EnvProfile] != ""
		plain, profiled = plain || !is, profiled || is
	}
	return plain, profiled
}

// Cost reports that B is A with a profile, and that both took turns. Its differences are the
// profile's cost.
func (c *Comparison) Cost() bool { return c.cost }

// costs states the primary differences.
func (c *Comparison) costs() string {
	var all []string
	few := false
	for i := range c.Values {
		if v := &c.Values[i]; v.Primary {
			all = append(all, fmt.Sprintf("%s %s", v.Key, v.Size()))
			few = few || !v.Shift.Exists
		}
	}
	parts := c.B.each(func(r *Run) string { return r.Environment[result.EnvProfile] })
	text := fmt.Sprintf("Cost of the profile (%s): %s.", wording.Few(parts), strings.Join(all, "; "))
	if few {
		text += " Too few runs for intervals."
	}
	return text
}
