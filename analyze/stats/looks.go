package stats

import "math"

// Looks are the numbers of blocks after which a growing set is judged, in ascending order. The last
// is the budget. All looks share Alpha in equal parts, and a set ends at the first look that
// decides all its values. So the chance that any look has a false alarm is at most Alpha. None is
// a single look at all runs.
//
// Source: the inequality of Bonferroni, which also holds for looks that depend on each other.
type Looks []int

// maxLooks limits how many looks share the level.
const maxLooks = 5

// lookGrowth is the smallest ratio of two looks. Closer ones would cost level and find little.
const lookGrowth = 1.5

// NewLooks returns the looks at a family of some measures within a budget of blocks. Each look can
// decide all measures. It returns none if the budget is too small for one look.
func NewLooks(measures, budget int) Looks {
	for n := maxLooks; n > 0; n-- {
		first := SignedRank.Needed(measures, Alpha/float64(n))
		growth := math.Pow(float64(budget)/float64(first), 1/float64(max(n-1, 1)))
		if first > budget || n > 1 && growth < lookGrowth {
			continue
		}
		var looks Looks
		for i := range n - 1 {
			looks = append(looks, int(float64(first)*math.Pow(growth, float64(i))))
		}
		return append(looks, budget)
	}
	return nil
}

// Alpha is the level of each look.
func (l Looks) Alpha() float64 { return Alpha / float64(max(1, len(l))) }
