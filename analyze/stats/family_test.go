package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// soak is how often a simulation is repeated: 20 times in make soak.
func soak() int {
	if os.Getenv("EIDETICKER_SOAK") != "" {
		return 20
	}
	return 1
}

// TestFamilyLevel: a family of 3 or 5 values has an alarm in at most 5 % of comparisons of equal
// sets. The binomial interval is permitted. Blocks drift, and all values of a run drift alike.
func TestFamilyLevel(t *testing.T) {
	comparisons := 1500 * soak()
	for _, values := range []int{3, 5} {
		for _, blocks := range []bool{false, true} {
			t.Run(fmt.Sprintf("values=%d/blocks=%v", values, blocks), func(t *testing.T) {
				r := rand.New(rand.NewPCG(31, uint64(values)))
				alarms := 0
				for range comparisons {
					n := map[bool]int{false: FewestRuns, true: FewestBlocks}[blocks] + r.IntN(5)
					a, b := make([][]float64, values), make([][]float64, values)
					for range n {
						drift := 1.0
						if blocks {
							drift = math.Exp(0.2 * r.NormFloat64())
						}
						for v := range values {
							draw := realistic()[v].of
							a[v], b[v] = append(a[v], drift*draw(r)), append(b[v], drift*draw(r))
						}
					}
					var pairs []Pair
					for v := range values {
						pairs = append(pairs, Pair{Measure{"x", "ms", analyze.Lower, 0}, exact(a[v]...), exact(b[v]...),
							blocks})
					}
					all := analyzetest.Must(Compare(pairs, Alpha))(t)
					for i := range all {
						if all[i].Found() {
							alarms++
							break
						}
					}
				}
				limit := MaxByChance(comparisons, Alpha, 0.999)
				t.Logf("%d of %d have an alarm; at most %d may be chance", alarms, comparisons, limit)
				if alarms > limit {
					t.Errorf("%d of %d have an alarm; at most %d may be chance", alarms, comparisons, limit)
				}
			})
		}
	}
}

// TestPowerOfBlocks prints the slow-down that 8 blocks find in 95 % of comparisons, by the spread
// of the runs. docs/statistics.md has the table. One of the 3 values in the family is slower.
func TestPowerOfBlocks(t *testing.T) {
	comparisons := 400 * soak()
	for _, tc := range []struct{ spread, want float64 }{
		{0.009, 0.038}, {0.031, 0.095}, {0.07, 0.22}, {0.10, 0.33}, {0.40, 2.1},
	} {
		found := func(slower float64) float64 {
			r := rand.New(rand.NewPCG(32, 32))
			hits := 0
			for range comparisons {
				var pairs []Pair
				for v := range 3 {
					draw := func(r *rand.Rand) float64 { return 1000 * math.Exp(tc.spread*r.NormFloat64()) }
					factor := map[bool]float64{true: 1 + slower, false: 1}[v == 0]
					pairs = append(pairs, Pair{Measure{"x", "ms", analyze.Lower, 0.03},
						exact(drawn(r, FewestBlocks, draw)...),
						exact(times(drawn(r, FewestBlocks, draw), factor)...), true})
				}
				all := analyzetest.Must(Compare(pairs, Alpha))(t)
				if all[0].Verdict == Regressed {
					hits++
				}
			}
			return float64(hits) / float64(comparisons)
		}
		least := 0.0
		for least == 0 || found(least) < 0.95 {
			least += tc.spread / 10
		}
		t.Logf("spread %.2g %%: 8 blocks find a slow-down of %.1f %% in 95 %%", 100*tc.spread, 100*least)
		if math.Abs(least/tc.want-1) > 0.15 {
			t.Errorf("spread %.2g %%: %.1f %%, and docs/statistics.md says %.1f %%", 100*tc.spread, 100*least,
				100*tc.want)
		}
	}
}
