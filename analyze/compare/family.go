package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/vitals"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Family is a group of values that share one level, by Holm's method. Values without a family are
// not tested.
type Family string

const (
	// PrimaryFamily has the values that were named, or the usual ones. It decides the outcome.
	PrimaryFamily Family = "primary"
	// SecondFamily has the other tested values. It decides only with Options.JudgeAll.
	SecondFamily Family = "second"
	// FunctionFamily has the total times of functions. It decides nothing.
	FunctionFamily Family = "function"
)

// MaxPrimary is the maximum number of primary values. With more, 8 blocks could decide nothing.
const MaxPrimary = 5

// PrimaryError says that both sets have no value of the name in Options.Primary.
type PrimaryError struct {
	Name  string
	There []string // names of values
}

func (e *PrimaryError) Error() string {
	return fmt.Sprintf("unknown measure of both %q; known: %s%s", e.Name, strings.Join(e.There, ", "),
		wording.Near(e.Name, e.There))
}

// primaries returns the places of the primary values: of each name the first value in each window,
// at most MaxPrimary in all.
func (c *Comparison) primaries() (at []int, err error) {
	measured := func(name string) bool { return len(c.called(name, nil)) > 0 }
	names := c.options.Primary
	if len(names) > MaxPrimary {
		return nil, fmt.Errorf("%d primary values: at most %d", len(names), MaxPrimary)
	}
	if len(names) == 0 {
		names = slices.DeleteFunc(slices.Clone(c.options.Declared), func(name string) bool { return !measured(name) })
	}
	if len(names) == 0 {
		windows := c.A.Runs[0].Windows
		names = result.UsualPrimaries(func(name string) bool {
			return slices.ContainsFunc(c.called(name, nil), func(i int) bool { return c.Values[i].Judged() })
		}, len(windows) > 0 && windows[0].Kind != result.End)
	}
	for _, name := range names {
		if !measured(name) {
			var there []string
			for i := range c.Values {
				there = append(there, c.Values[i].Key.String())
			}
			return nil, &PrimaryError{name, there}
		}
		at = append(at, c.called(name, at)...)
	}
	if n := len(at); n > MaxPrimary {
		at = at[:MaxPrimary]
		last := c.Values[at[MaxPrimary-1]].Key
		c.Warnings = append(c.Warnings, fmt.Sprintf(
			"%d of %d primary values decide, up to %s; --primary selects others", MaxPrimary, n, last))
	}
	if len(at) == 0 {
		at = []int{max(0, slices.IndexFunc(c.Values, func(v Value) bool { return v.Judged() && !claim(v.Key) }))}
	}
	return at, nil
}

// primaries returns the keys of the primary values of one set: the declared or the usual ones.
func (s *Set) primaries() (keys []Key) {
	order, all := s.values()
	if len(order) == 0 {
		return nil
	}
	measured := func(name string, judged bool) bool {
		return slices.ContainsFunc(order, func(k Key) bool {
			better := all[k][0].value.Better
			return k.Called(name) && (!judged || better == analyze.Higher || better == analyze.Lower)
		})
	}
	names := slices.DeleteFunc(slices.Clone(s.Runs[0].Primary),
		func(name string) bool { return !measured(name, false) })
	if len(names) == 0 {
		windows := s.Runs[0].Windows
		names = result.UsualPrimaries(func(name string) bool { return measured(name, true) },
			len(windows) > 0 && windows[0].Kind != result.End)
	}
	for _, name := range names {
		for _, k := range order {
			taken := func(o Key) bool { return o == k || o.Window == k.Window && o.Called(name) }
			if k.Called(name) && !slices.ContainsFunc(keys, taken) {
				keys = append(keys, k)
			}
		}
	}
	if len(keys) == 0 {
		keys = slices.DeleteFunc(order, claim)
	}
	return keys[:min(len(keys), MaxPrimary)]
}

// called returns the places of values of a name, the first in each window, without some places.
func (c *Comparison) called(name string, without []int) (at []int) {
	for i, v := range c.Values {
		if v.Key.Called(name) && !slices.ContainsFunc(at, func(o int) bool {
			return c.Values[o].Key.Window == v.Key.Window
		}) && !slices.Contains(without, i) {
			at = append(at, i)
		}
	}
	return at
}

// judge sorts values by family, and judges each family.
func (c *Comparison) judge(pairs []stats.Pair) error {
	primaries, err := c.primaries()
	if err != nil {
		return err
	}
	order := slices.Clone(primaries)
	for i := range c.Values {
		if !slices.Contains(primaries, i) {
			order = append(order, i)
		}
	}
	families, tested := map[Family][]int{}, []int{}
	for n, i := range order {
		v, family := &c.Values[i], SecondFamily
		if n < len(primaries) {
			family = PrimaryFamily
		}
		v.Primary = family == PrimaryFamily
		if v.Untested = c.untested(v, pairs, i, tested); v.Untested != "" {
			family = ""
		} else {
			tested = append(tested, i)
		}
		v.Family, families[family] = family, append(families[family], i)
	}
	for family, at := range families {
		compare := func(of []stats.Pair) ([]stats.Difference, error) { return stats.Compare(of, c.alpha()) }
		if family == "" {
			compare = stats.Describe
		}
		var of []stats.Pair
		for _, i := range at {
			of = append(of, pairs[i])
		}
		differences, err := compare(of)
		if err != nil {
			return err
		}
		for n, i := range at {
			c.Values[i].Difference = differences[n]
		}
	}
	all := slices.Concat(primaries, families[SecondFamily], families[""])
	values := make([]Value, 0, len(c.Values))
	for n, i := range all {
		if n < len(primaries) || !c.Values[i].Primary {
			values = append(values, c.Values[i])
		}
	}
	c.Values, c.Primary = values, &values[0]
	return nil
}

// Reasons for which a value is not tested, and cannot decide as a primary one.
const (
	suspectedValue = "suspected"
	noDirection    = "no better direction"
	unnamedClaim   = "a claim of the page, which is tested only by name"
)

// untested returns why a value is not tested; "": it is. A value that is equal to a tested one in
// each run says nothing more. Equality does not depend on which set a run is of, so leaving such
// values out keeps the level.
func (c *Comparison) untested(v *Value, pairs []stats.Pair, i int, tested []int) string {
	switch {
	case v.suspected:
		return suspectedValue
	case !v.Judged():
		return noDirection
	case !v.Primary && compatible(v.Key):
		return "as another tool computes it"
	case claim(v.Key) && !(v.Primary && c.named(v.Key)):
		return unnamedClaim
	}
	p := pairs[i]
	for _, o := range tested {
		other := &c.Values[o]
		if other.Key.Window == v.Key.Window && pairs[o].Measure.Unit == p.Measure.Unit && varies(p) &&
			slices.Equal(pairs[o].A.Values(), p.A.Values()) && slices.Equal(pairs[o].B.Values(), p.B.Values()) {
			return "equal to " + other.Key.Measure + "." + other.Key.Value
		}
	}
	return ""
}

// claim reports if a value is a page's claim about itself.
func claim(k Key) bool { return k.Measure == vitals.Name }

// named reports if a value was asked for or declared.
func (c *Comparison) named(k Key) bool {
	return slices.ContainsFunc(slices.Concat(c.options.Primary, c.options.Declared), k.Called)
}

func varies(p stats.Pair) bool {
	first := p.A[0].Value
	return slices.ContainsFunc(slices.Concat(p.A, p.B), func(p stats.Point) bool { return p.Value != first })
}

// compatible reports whether a value follows the definition of another program, for comparing with
// its figures: browsertime's script, Chromium's PercentDroppedFrames, the first Eideticker.
func compatible(k Key) bool {
	return strings.HasPrefix(k.Value, "script.") || strings.HasPrefix(k.Value, "script_old") ||
		k.Measure == "fps" && strings.HasPrefix(k.Value, "unchanged_") || k.Value == "checkerboard_sum"
}

// Tested returns how many values of a family were tested, or could be with more runs.
func (c *Comparison) Tested(f Family) (n int) {
	for i := range c.Values {
		if c.Values[i].Family == f {
			n++
		}
	}
	return n
}

// Test states how values are judged. Where runs are not paired by block, it states why.
func (c *Comparison) Test() string {
	of := map[stats.Test][]*Value{}
	for i := range c.Values {
		if v := &c.Values[i]; v.Family != "" {
			of[v.Test] = append(of[v.Test], v)
		}
	}
	ranked, whitney := of[stats.SignedRank], of[stats.MannWhitney]
	switch {
	case len(ranked) > 0:
		text := "signed-rank test over " + wording.Plural(len(ranked[0].A), "block")
		if n := len(whitney); n > 0 {
			text += fmt.Sprintf("; Mann-Whitney U test of %s that too few blocks have", wording.Plural(n, "value"))
		}
		return text
	case len(whitney) > 0 && c.unpaired == "":
		return "Mann-Whitney U test: too few blocks have the values"
	case len(whitney) > 0:
		return "Mann-Whitney U test: " + c.unpaired
	case len(of[stats.Bounds]) > 0:
		return "bounds of single runs, without statistics"
	}
	return "none: no value can be tested"
}

// alpha is the level of each family. Looks at a growing set share it, and so do comparisons.
func (c *Comparison) alpha() float64 {
	return c.looks().Alpha() / float64(max(1, c.options.Sharing))
}

// looks are those that the plan of A or B has, the more of both.
func (c *Comparison) looks() (looks stats.Looks) {
	for _, r := range slices.Concat(c.A.Runs, c.B.Runs) {
		if len(r.Looks) > len(looks) {
			looks = r.Looks
		}
	}
	return looks
}

// Level states the level of each family.
func (c *Comparison) Level() string {
	text := fmt.Sprintf("%.3g %% over %s", 100*c.alpha(), wording.Plural(c.Tested(PrimaryFamily), "primary value"))
	if n := c.Tested(SecondFamily); n > 0 {
		text += fmt.Sprintf(", and %.3g %% over %s", 100*c.alpha(), wording.Plural(n, "other"))
	}
	text += ", by Holm's method"
	if n := len(c.looks()); n > 1 {
		text += fmt.Sprintf("; %g %% over %d looks", 100*stats.Alpha, n)
	}
	if n := c.options.Sharing; n > 1 {
		text += fmt.Sprintf("; %g %% over %d comparisons", 100*stats.Alpha, n)
	}
	return text
}
