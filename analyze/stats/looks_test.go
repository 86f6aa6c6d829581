package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// TestLooks: looks ascend to the budget, are at most five, and each can decide a family.
func TestLooks(t *testing.T) {
	if got := NewLooks(3, 50); !slices.Equal(got, Looks{9, 15, 28, 50}) {
		t.Errorf("looks at 3 values within 50 blocks: %v", got)
	}
	if got := NewLooks(5, 8); !slices.Equal(got, Looks{8}) {
		t.Errorf("looks at 5 values within 8 blocks: %v", got)
	}
	if got := NewLooks(5, 7); got != nil {
		t.Errorf("looks at 5 values within 7 blocks: %v", got)
	}
	for measures := 1; measures <= 5; measures++ {
		for budget := 8; budget <= MaxRuns; budget += 7 {
			l := NewLooks(measures, budget)
			if len(l) == 0 || len(l) > maxLooks || l[len(l)-1] != budget || !slices.IsSorted(l) ||
				l[0] < SignedRank.Needed(measures, l.Alpha()) {
				t.Fatalf("looks at %d values within %d blocks: %v", measures, budget, l)
			}
			if compacted := slices.Compact(slices.Clone(l)); len(compacted) != len(l) {
				t.Fatalf("looks at %d values within %d blocks: %v", measures, budget, l)
			}
		}
	}
	if (Looks)(nil).Alpha() != Alpha {
		t.Error("a single look has another level")
	}
}

// grown makes blocks until a look decides all values of a family, or the last look has been. It
// returns the verdicts of that look and its number of blocks.
func grown(t *testing.T, looks Looks, draw func(values int) (a, b []float64)) ([]Difference, int) {
	const values = 3
	a, b := make([][]float64, values), make([][]float64, values)
	for block := 1; ; block++ {
		drawnA, drawnB := draw(values)
		for v := range values {
			a[v], b[v] = append(a[v], drawnA[v]), append(b[v], drawnB[v])
		}
		if !slices.Contains(looks, block) {
			continue
		}
		var pairs []Pair
		for v := range values {
			pairs = append(pairs, Pair{Measure{"x", "ms", analyze.Lower, 0.03}, exact(a[v]...), exact(b[v]...), true})
		}
		all := analyzetest.Must(Compare(pairs, looks.Alpha()))(t)
		open := slices.ContainsFunc(all, func(d Difference) bool { return d.Verdict == Inconclusive })
		if !open || block == looks[len(looks)-1] {
			return all, block
		}
	}
}

// TestLookLevel: a set that grows until it is decided has a false alarm in at most 5 % of
// comparisons. Its values drift, and those of a run drift alike. Where the difference is the
// threshold, "unchanged" is false as rarely.
func TestLookLevel(t *testing.T) {
	comparisons := 500 * soak()
	for name, slower := range map[string]float64{"equal": 1, "at the threshold": 1.03} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(33, 33))
			wrong, blocks := 0, 0
			for range comparisons {
				all, n := grown(t, NewLooks(3, 50), func(values int) (a, b []float64) {
					drift := math.Exp(0.2 * r.NormFloat64())
					for range values {
						a = append(a, 1000*drift*math.Exp(0.02*r.NormFloat64()))
						b = append(b, 1000*drift*slower*math.Exp(0.02*r.NormFloat64()))
					}
					return a, b
				})
				blocks += n
				if slices.ContainsFunc(all, func(d Difference) bool {
					return slower == 1 && d.Found() || slower > 1 && d.Verdict == Unchanged
				}) {
					wrong++
				}
			}
			values := map[bool]int{true: 1, false: 3}[slower == 1] // intervals have the level of one value
			limit := MaxByChance(comparisons, float64(values)*Alpha, 0.999)
			t.Logf("%d of %d are wrong, after %d blocks on average; at most %d may be chance", wrong, comparisons,
				blocks/comparisons, limit)
			if wrong > limit {
				t.Errorf("%d of %d are wrong; at most %d may be chance", wrong, comparisons, limit)
			}
		})
	}
}
