package response

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
)

// TestLeast holds the least of a percentile against all there can be.
func TestLeast(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(300)) {
		rng := rand.New(rand.NewPCG(seed, 42))
		list := func(n int) (s []float64) {
			for range n {
				s = append(s, float64(rng.IntN(9)))
			}
			slices.Sort(s)
			return s
		}
		sure := list(rng.IntN(6))
		more := list(rng.IntN(6) + 1)
		percent := []int{0, 50, 95, 100}[rng.IntN(4)]
		most := func(n int) int { return n - 1 - nearestRank(percent, n) }
		for i, place := range []func(int) int{func(n int) int { return nearestRank(percent, n) }, most} {
			want, wantMean := math.Inf(1), math.Inf(1)
			for some := range 1 << len(more) {
				all := slices.Clone(sure)
				for k, x := range more {
					if some>>k&1 != 0 {
						all = append(all, x)
					}
				}
				if len(all) > 0 {
					slices.Sort(all)
					want, wantMean = min(want, all[place(len(all))]), min(wantMean, mean(all))
				}
			}
			if got := measure.Least(sure, more, place); got != want {
				t.Errorf("seed %d: the least of place %d of %v and any of %v is %v, want %v", seed, i, sure, more, got,
					want)
			}
			if got := minMean(sure, more); math.Abs(got-wantMean) > 1e-9 {
				t.Errorf("seed %d: the least mean of %v and any of %v is %v, want %v", seed, sure, more, got, wantMean)
			}
		}
	}
}
