package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Outcome is what a whole comparison comes to.
type Outcome string

// Outcomes.
const (
	Passed       Outcome = "passed"
	Regressed    Outcome = "regressed"    // a deciding value got worse
	Inconclusive Outcome = "inconclusive" // a deciding value is inconclusive or cannot be tested, and none got worse
)

// VerdictError is a verdict that is not "passed", as the error of a command.
type VerdictError struct {
	Outcome Outcome // [Regressed] or [Inconclusive]
	Why     string
}

func (v VerdictError) Error() string { return v.Why }

// Err returns the error of an outcome with its sentence; nil: passed.
func (o Outcome) Err(why string) error {
	if o == Regressed || o == Inconclusive {
		return VerdictError{o, why}
	}
	return nil
}

// Err returns the error of the outcome; nil: passed.
func (c *Comparison) Err() error {
	o, why := c.Outcome()
	return o.Err(why)
}

// Gravest returns the first failure, else the first regression, else the first undecided verdict.
func Gravest(all ...error) (found error) {
	rank := func(err error) int {
		var v VerdictError
		switch {
		case err == nil:
			return 0
		case !errors.As(err, &v):
			return 3
		case v.Outcome == Regressed:
			return 2
		}
		return 1
	}
	for _, err := range all {
		if rank(err) > rank(found) {
			found = err
		}
	}
	return found
}

// Outcome returns the outcome and a sentence that names the first deciding value; a passed
// comparison has none. The primary family decides, with Options.JudgeAll the second one too.
func (c *Comparison) Outcome() (o Outcome, why string) {
	if c.withheld != "" {
		return Inconclusive, fmt.Sprintf("%s: %s", Inconclusive, c.withheld)
	}
	var worse, untold []*Value
	for i := range c.Values {
		v := &c.Values[i]
		switch {
		case !c.decides(v):
		case v.Verdict == stats.Regressed:
			worse = append(worse, v)
		case v.Verdict == stats.Inconclusive:
			untold = append(untold, v)
		}
	}
	switch {
	case len(worse) > 0:
		return Regressed, decided(Regressed, worse)
	case len(untold) > 0:
		return Inconclusive, decided(Inconclusive, untold)
	}
	undecided := []string{suspectedValue, noDirection, unnamedClaim}
	for i := range c.Values {
		if v := &c.Values[i]; v.Primary && slices.Contains(undecided, v.Untested) {
			return Inconclusive, fmt.Sprintf("%s: %s is not tested: %s", Inconclusive, v.Key, v.Untested)
		}
	}
	if len(c.oneSided) > 0 {
		return Inconclusive, fmt.Sprintf("%s: %s was measured in one set only", Inconclusive, c.oneSided[0])
	}
	return Passed, ""
}

// decides reports whether a value takes part in the outcome.
func (c *Comparison) decides(v *Value) bool {
	return v.Family == PrimaryFamily || v.Family == SecondFamily && c.options.JudgeAll
}

// Deciding returns the primary value that stands for all: the first regressed one, else improved,
// inconclusive, different, unchanged, untested.
func (c *Comparison) Deciding() *Value {
	for _, verdict := range []stats.Verdict{stats.Regressed, stats.Improved, stats.Inconclusive, stats.Different,
		stats.Unchanged} {
		for i := range c.Values {
			if v := &c.Values[i]; v.Primary && v.Verdict == verdict {
				return v
			}
		}
	}
	return c.Primary
}

// Changed reports if a primary value regressed or improved.
func (c *Comparison) Changed() bool {
	verdict := c.Deciding().Verdict
	return verdict == stats.Regressed || verdict == stats.Improved
}

// Blocks returns the number of complete blocks that can decide all primary values, or all
// functions, of so many comparisons.
func Blocks(comparisons int) int { return stats.SignedRank.Needed(MaxPrimary*comparisons, stats.Alpha) }

func decided(o Outcome, by []*Value) string {
	why := fmt.Sprintf("%s: %s: %s", o, by[0].Key, by[0].Sentence())
	if more := len(by) - 1; more > 0 {
		why += fmt.Sprintf(" (and %s)", wording.Plural(more, "more measure"))
	}
	return why
}

// Sum counts the verdicts of each family, in words.
func (c *Comparison) Sum() string {
	var parts []string
	for _, f := range []struct {
		family Family
		what   string
	}{{PrimaryFamily, "primary value"}, {SecondFamily, "other"}, {"", "untested value"}} {
		counts, n := map[stats.Verdict]int{}, 0
		for i := range c.Values {
			if v := &c.Values[i]; v.Family == f.family {
				n++
				counts[v.Verdict]++
			}
		}
		if n == 0 {
			continue
		}
		part, sep := wording.Plural(n, f.what), ": "
		for _, v := range Verdicts() {
			if counts[v] > 0 && f.family != "" {
				part += fmt.Sprintf("%s%d %s", sep, counts[v], v)
				sep = ", "
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// Verdicts are all that a value can be given.
func Verdicts() []stats.Verdict {
	return []stats.Verdict{stats.Regressed, stats.Improved, stats.Different, stats.Unchanged, stats.Inconclusive,
		stats.Untested}
}

// counts has each verdict, also those that were never given.
func (c *Comparison) counts() map[stats.Verdict]int {
	counts := map[stats.Verdict]int{}
	for _, v := range Verdicts() {
		counts[v] = 0
	}
	for _, v := range c.Values {
		counts[v.Verdict]++
	}
	return counts
}
