package compare

import (
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/stats"
)

// Key names a value: the same in every run of both sets.
type Key struct {
	Window  string // empty where each run has one
	Measure string
	Value   string
}

// String is how a value is named for people: with its window where there are several.
func (k Key) String() string {
	name := k.Measure + "." + k.Value
	if k.Window != "" {
		name = k.Window + ": " + name
	}
	return name
}

// Called reports whether a value has a name: window, measure and value, or measure and value, or
// one of the two.
func (k Key) Called(name string) bool {
	return slices.Contains([]string{k.String(), k.Measure + "." + k.Value, k.Measure, k.Value}, name)
}

// Sample is what runs say of one value.
type Sample struct {
	Key    Key
	Unit   string
	Values []float64
}

// Samples returns what the runs say of each value, in the order of their first run. Windows go by
// the names that they have among these runs alone.
func (s *Set) Samples() []Sample {
	own := s.clone()
	nameWindows(own, own)
	return samples(own)
}

// Samples returns what the runs of both sets say of each value, those included that only one set
// has. Windows go by the names that they have in the comparison.
func (c *Comparison) Samples() []Sample { return samples(c.A, c.B) }

func samples(sets ...*Set) (all []Sample) {
	at := map[Key]int{}
	for _, s := range sets {
		order, values := s.values()
		for _, key := range order {
			n, there := at[key]
			if !there {
				n = len(all)
				at[key] = n
				all = append(all, Sample{Key: key, Unit: values[key][0].value.Unit})
			}
			for _, f := range values[key] {
				all[n].Values = append(all[n].Values, f.value.Value)
			}
		}
	}
	return all
}

// found is a value of one run.
type found struct {
	version int
	block   int
	value   analyze.Value
	point   stats.Point
}

// values returns the values that the runs have. Their keys are in the order of their first run.
func (s *Set) values() (order []Key, all map[Key][]found) {
	all = map[Key][]found{}
	for i := range s.Runs {
		r := &s.Runs[i]
		for j := range r.Windows {
			for _, result := range r.Windows[j].Results {
				for _, v := range result.Values {
					key := Key{r.keys[j], result.Measure, v.Name}
					here := all[key]
					if v.State == analyze.Refused || len(here) > 0 && here[len(here)-1].point.Run == r.Name {
						continue // of two results of one measure the first counts
					}
					if len(here) == 0 {
						order = append(order, key)
					}
					all[key] = append(here, found{result.Version, r.Block,
						v, stats.Point{Run: r.Name, Value: v.Value, Low: v.Low, High: v.High}})
				}
			}
		}
	}
	return order, all
}

// pairOf makes a pair of what both sets say, or says why that cannot be compared.
// Of sets that are paired it takes the runs that have a partner, if there are enough.
func pairOf(key Key, a, b []found, threshold *float64, paired bool) (m Value, p stats.Pair, why string) {
	if blocksA, blocksB := inBlocks(a, b); paired && len(blocksA) >= stats.FewestBlocks {
		a, b, p.Blocks = blocksA, blocksB, true
	}
	first := a[0]
	for _, f := range slices.Concat(a, b) {
		switch {
		case f.version != first.version:
			return m, p, fmt.Sprintf(
				"%s is not compared: runs have versions %d and %d of its definition; analyze all with one program", key,
				first.version, f.version)
		case f.value.Unit != first.value.Unit:
			return m, p, fmt.Sprintf("%s is not compared: it is in %s and in %s", key, first.value.Unit, f.value.Unit)
		}
	}
	suspected := slices.ContainsFunc(slices.Concat(a, b),
		func(f found) bool { return f.value.State == analyze.Suspected })
	measure := stats.Measure{Name: key.String(), Unit: first.value.Unit, Better: first.value.Better,
		Threshold: first.value.Threshold}
	if suspected { // suspected values fail nobody
		measure.Better = analyze.Neither
	}
	switch {
	case threshold != nil:
		measure.Threshold = *threshold
	case measure.Threshold == 0 && measure.Better != analyze.Higher && measure.Better != analyze.Lower:
		measure.Threshold = stats.UsualThreshold
	}
	points := func(all []found) (s stats.Sample) {
		for _, f := range all {
			s = append(s, f.point)
		}
		return s
	}
	p.Measure, p.A, p.B = measure, points(a), points(b)
	return Value{Key: key, Version: first.version, Difference: stats.Difference{Measure: measure},
		suspected: suspected}, p, ""
}
