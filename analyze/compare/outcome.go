package compare

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Outcome is what a whole comparison comes to.
type Outcome string

// Outcomes.
const (
	Passed       Outcome = "passed"
	Regressed    Outcome = "regressed"    // a value got worse
	Inconclusive Outcome = "inconclusive" // of the primary, or of any value where none was named, it cannot be told
)

// Outcome returns the outcome and a sentence that names the first deciding value; a passed
// comparison has none. Values without a better direction and suspected values do not decide.
func (c *Comparison) Outcome() (o Outcome, why string) {
	var worse, untold []*Value
	for i := range c.Values {
		v := &c.Values[i]
		switch {
		case !v.Judged():
		case v.Verdict == stats.Regressed:
			worse = append(worse, v)
		case v.Verdict == stats.Inconclusive && (c.options.Primary == "" || v.Key.Called(c.options.Primary)):
			untold = append(untold, v)
		}
	}
	switch {
	case len(worse) > 0:
		return Regressed, decided(Regressed, worse)
	case len(untold) > 0:
		return Inconclusive, decided(Inconclusive, untold)
	}
	return Passed, ""
}

func decided(o Outcome, by []*Value) string {
	why := fmt.Sprintf("%s: %s: %s", o, by[0].Key, by[0].Sentence())
	if more := len(by) - 1; more > 0 {
		why += fmt.Sprintf(" (and %s)", wording.Plural(more, "more measure"))
	}
	return why
}

// Sum counts the verdicts, in words.
func (c *Comparison) Sum() string {
	var parts []string
	counts := c.counts()
	for _, v := range Verdicts() {
		if n := counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return wording.Plural(len(c.Values), "value") + ": " + strings.Join(parts, ", ")
}

// Verdicts are all that a value can be given.
func Verdicts() []stats.Verdict {
	return []stats.Verdict{stats.Regressed, stats.Improved, stats.Different, stats.Unchanged, stats.Inconclusive}
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
