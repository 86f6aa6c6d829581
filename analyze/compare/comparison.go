package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/stats"
)

// Comparison is all that is known of B against A.
type Comparison struct {
	A, B     *Set
	Values   []Value  // by family, the primary first
	Primary  *Value   // the first
	Unlike   []Unlike // what a fair comparison has alike
	Warnings []string // what to know before believing the numbers
	// Functions are the longest functions of the page, if all runs or the further ones measured them.
	// The one with the largest difference is the first.
	Functions []Value

	options    Options
	shownA     int // index of the run that is shown for all: closest to the median of the primary; -1: none
	shownB     int
	heat       *heatDifference // where it was drawn
	divergence *divergence
	pair       *pairVideo
	strips     *strips
	page       string            // path; "": not written
	callers    map[string]string // sentences about functions that changed by as much, by function
	further    int               // runs of each side that measured the functions; 0: those of the sets did
	unpaired   string            // why runs are not paired by block
	oneSided   []string          // names of declared primary values that one set lacks
	withheld   string            // why no verdict is given; "": they are
	cost       bool              // B is A with a profile, see Cost
}

// Value is one value of one measure in one window, of B against A.
type Value struct {
	Key     Key
	Version int // of the measure's definition
	Family  Family
	Primary bool // of the primary values, tested or not
	// Untested is why the value has no family; empty: it has.
	Untested string
	stats.Difference

	suspected bool
	withheld  string // why its verdict is; "": it is not, or the verdict is untested
}

// Options say how to compare.
type Options struct {
	// Threshold is the fraction below which a difference is of no interest. Nil leaves each measure
	// its own.
	Threshold *float64
	// Primary names the primary values, at most MaxPrimary: window, measure and value, or fewer of
	// them. None means Declared.
	Primary []string
	// Declared names the primary values of the test. Values that were not measured are left out. If
	// none is left, the usual ones are primary: see result.UsualPrimaries. Nil means those that the
	// runs have kept.
	Declared []string
	// JudgeAll lets the second family decide too.
	JudgeAll bool
	// JudgeUnlike judges sides that were not measured alike.
	JudgeUnlike bool
	// Sharing is the number of comparisons that share the level in equal parts; 0: this one alone.
	Sharing int
}

var errNothingToCompare = errors.New("no value is common to A and B; analyze both with the same measures")

// Compare pairs the values of two sets and judges B against A, family by family. Sets of one plan
// are paired by block, if enough blocks are complete. An unknown name in Options.Primary is a
// *PrimaryError.
func Compare(a, b *Set, o Options) (*Comparison, error) {
	a, b = a.clone(), b.clone()
	c := &Comparison{A: a, B: b, options: o}
	c.Warnings = nameWindows(a, b)
	c.declare()
	var both []int
	if len(a.Runs) > 0 && len(b.Runs) > 0 && len(a.Runs)+len(b.Runs) > 2 {
		both, c.unpaired = blocks(a, b)
	}
	keys, inA := a.values()
	keysB, inB := b.values()
	var pairs []stats.Pair
	for _, key := range keys {
		if len(inB[key]) == 0 {
			continue
		}
		v, pair, why := pairOf(key, inA[key], inB[key], o.Threshold, both != nil)
		if why != "" {
			c.Warnings = append(c.Warnings, why)
			continue
		}
		c.Values, pairs = append(c.Values, v), append(pairs, pair)
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("compare %s with %s: %w", b.Path, a.Path, nothingInCommon(a, b, c.Warnings))
	}
	if err := c.judge(pairs); err != nil {
		return nil, err
	}
	if len(o.Primary) == 0 {
		c.oneSided = slices.DeleteFunc(slices.Clone(c.options.Declared), func(name string) bool {
			called := func(k Key) bool { return k.Called(name) }
			return slices.ContainsFunc(keys, called) == slices.ContainsFunc(keysB, called)
		})
	}
	if err := c.explain(a, b, both != nil); err != nil {
		return nil, err
	}
	c.shownA, c.shownB = a.closest(c.Primary.A), b.closest(c.Primary.B)
	c.Unlike = differing(a, b)
	if both != nil {
		c.alone(both)
	}
	c.machines(onePlan(a, b))
	c.profiles(onePlan(a, b))
	c.warn("A", a, keys, inB)
	c.warn("B", b, keysB, inA)
	return c, nil
}

// declare takes the primary values that the runs of A have kept, unless a test declares its own. A
// change that edits them does not decide its own verdict.
func (c *Comparison) declare() {
	if len(c.options.Declared) > 0 || len(c.A.Runs) == 0 || len(c.B.Runs) == 0 {
		return
	}
	a, b := c.A.Runs[0].Primary, c.B.Runs[0].Primary
	c.options.Declared = a
	if len(a) == 0 {
		c.options.Declared = b
	} else if len(b) > 0 && !slices.Equal(a, b) {
		c.Warnings = append(c.Warnings, fmt.Sprintf("A and B declare different primary values; those of A decide: %s",
			strings.Join(a, ", ")))
	}
}

// because adds why values were left out.
func because(err error, why []string) error {
	if len(why) == 0 {
		return err
	}
	return fmt.Errorf("%w (%s)", err, why[0])
}

// closest returns the index of the run that is shown for all.
func (s *Set) closest(of stats.Sample) int {
	at := stats.Closest(of.Values())
	return slices.IndexFunc(s.Runs, func(r Run) bool { return at >= 0 && r.Name == of[at].Run })
}

// Describe says what the two sets are, and which run of each is shown for all.
func (c *Comparison) Describe() (a, b string) {
	return c.A.describe(c.shownA), c.B.describe(c.shownB)
}
