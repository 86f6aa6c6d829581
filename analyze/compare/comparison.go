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
	Values   []Value // the primary first
	Primary  *Value
	Unlike   []Unlike // what a fair comparison has alike
	Warnings []string // what to know before believing the numbers

	options    Options
	shownA     int // index of the run that is shown for all: closest to the median of the primary; -1: none
	shownB     int
	heat       *heatDifference // where it was drawn
	divergence *divergence
	pair       *pairVideo
}

// Value is one value of one measure in one window, of B against A.
type Value struct {
	Key     Key
	Version int // of the measure's definition
	stats.Difference
}

// Options say how to compare.
type Options struct {
	// Threshold is the fraction below which a difference is of no interest. Nil leaves each measure
	// its own.
	Threshold *float64
	// Primary names the measure that is shown first and decides an inconclusive comparison. It is
	// window, measure and value, or fewer of them. Empty means the usual first measure.
	Primary string
}

// PrimaryError says that both sets have no value of the name in Options.Primary.
type PrimaryError struct {
	Name  string
	There []string // names of values
}

func (e *PrimaryError) Error() string {
	return fmt.Sprintf("unknown measure of both %q; known: %s", e.Name, strings.Join(e.There, ", "))
}

var errNothingToCompare = errors.New("no value is common to A and B; analyze both with the same measures")

// Compare pairs the values of two sets and judges B against A. A primary that there is not is a
// *PrimaryError.
func Compare(a, b *Set, o Options) (*Comparison, error) {
	a, b = a.clone(), b.clone()
	c := &Comparison{A: a, B: b, options: o}
	c.Warnings = nameWindows(a, b)
	keys, inA := a.values()
	keysB, inB := b.values()
	var pairs []stats.Pair
	for _, key := range keys {
		if len(inB[key]) == 0 {
			continue
		}
		v, pair, why := pairOf(key, inA[key], inB[key], o.Threshold)
		if why != "" {
			c.Warnings = append(c.Warnings, why)
			continue
		}
		c.Values, pairs = append(c.Values, v), append(pairs, pair)
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("compare %s with %s: %w", b.Path, a.Path, nothingInCommon(a, b, c.Warnings))
	}
	differences, err := stats.Compare(pairs)
	if err != nil {
		return nil, err
	}
	for i := range differences {
		c.Values[i].Difference = differences[i]
	}
	if err := c.choosePrimary(o.Primary); err != nil {
		return nil, err
	}
	c.shownA, c.shownB = a.closest(c.Primary.A), b.closest(c.Primary.B)
	c.Unlike = differing(a, b)
	c.warn("A", a, keys, inB)
	c.warn("B", b, keysB, inA)
	return c, nil
}

// because adds why values were left out.
func because(err error, why []string) error {
	if len(why) == 0 {
		return err
	}
	return fmt.Errorf("%w (%s)", err, why[0])
}

// choosePrimary puts the primary measure first: the one that was named, or the first of those that
// people look at first.
func (c *Comparison) choosePrimary(name string) error {
	at := -1
	wanted := []string{name}
	if name == "" {
		wanted = []string{"fps.framerate", "speedindex.pixel.speed_index",
			"speedindex.from_first_change.pixel.speed_index", "fps", "speedindex", "response", "loadhist"}
	}
	for _, w := range wanted {
		if at = slices.IndexFunc(c.Values, func(m Value) bool {
			return m.Key.Called(w) &&
				(name != "" || m.Judged())
		}); at >= 0 {
			break
		}
	}
	if at < 0 && name != "" {
		var names []string
		for i := range c.Values {
			names = append(names, c.Values[i].Key.String())
		}
		return &PrimaryError{name, names}
	}
	if at < 0 {
		at = max(0, slices.IndexFunc(c.Values, func(m Value) bool { return m.Judged() }))
	}
	primary := c.Values[at]
	c.Values = slices.Insert(slices.Delete(c.Values, at, at+1), 0, primary)
	c.Primary = &c.Values[0]
	return nil
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
