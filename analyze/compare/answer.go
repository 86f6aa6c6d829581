package compare

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Names returns short names of A and B: their folders, or "A" and "B" if these are equal.
func (c *Comparison) Names() (a, b string) {
	a, b = c.A.name(), c.B.name()
	if a == b {
		return "A", "B"
	}
	return a, b
}

func (s *Set) name() string {
	path := filepath.Clean(s.Path)
	if filepath.Base(path) == result.FileName {
		path = filepath.Dir(path)
	}
	return filepath.Base(path)
}

// Answer returns the outcome of the primary values as a sentence.
func (c *Comparison) Answer() string {
	of := map[stats.Verdict][]*Value{}
	primary := 0
	for i := range c.Values {
		v := &c.Values[i]
		if v.Primary || c.decides(v) {
			of[v.Verdict] = append(of[v.Verdict], v)
			primary++
		}
	}
	a, b := c.Names()
	if c.cost {
		return c.costs()
	}
	if c.withheld != "" {
		return fmt.Sprintf("Not decided whether %s differs from %s: %s.", b, a, c.withheld)
	}
	better, worse := of[stats.Improved], of[stats.Regressed]
	unsure := ""
	if n := len(of[stats.Inconclusive]); n > 0 {
		unsure = fmt.Sprintf("; %s not decided", wording.Plural(n, "value"))
	}
	if n := len(of[stats.Untested]); n > 0 {
		unsure += fmt.Sprintf("; %s not tested", wording.Plural(n, "value"))
	}
	if len(c.oneSided) > 0 {
		unsure += fmt.Sprintf("; %s was measured in one set only", c.oneSided[0])
	}
	switch {
	case len(better) > 0 && len(worse) > 0:
		return fmt.Sprintf("%s is better and worse than %s: %s; %s%s.", b, a, answered(better), answered(worse), unsure)
	case len(worse) > 0:
		return fmt.Sprintf("%s is worse than %s: %s%s.", b, a, answered(worse), unsure)
	case len(better) > 0:
		return fmt.Sprintf("%s is better than %s: %s%s.", b, a, answered(better), unsure)
	case len(of[stats.Inconclusive]) > 0:
		return fmt.Sprintf("Not decided whether %s differs from %s: %s.", b, a, answered(of[stats.Inconclusive]))
	case len(of[stats.Different]) > 0:
		return fmt.Sprintf("%s differs from %s: %s.", b, a, answered(of[stats.Different]))
	case len(of[stats.Unchanged]) == primary && len(c.oneSided) == 0:
		return fmt.Sprintf("%s is like %s: %s did not change by the threshold or more.", b, a,
			wording.Plural(primary, "value"))
	}
	_, why := c.Outcome()
	return fmt.Sprintf("Not decided whether %s differs from %s: %s.", b, a,
		strings.TrimPrefix(why, string(Inconclusive)+": "))
}

// answered states the first of some values, and counts the others.
func answered(values []*Value) string {
	text := fmt.Sprintf("%s: %s", values[0].Key, strings.TrimPrefix(values[0].Sentence(), "not decided: "))
	if more := len(values) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s)", wording.Plural(more, "more value"))
	}
	return text
}
