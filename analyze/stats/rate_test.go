package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// atMost is P(at most k of n hit), summed term by term.
func atMost(k, n int, chance float64) (sum float64) {
	for i := 0; i <= k; i++ {
		choose, _ := math.Lgamma(float64(n + 1))
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(choose-a-b) * math.Pow(chance, float64(i)) * math.Pow(1-chance, float64(n-i))
	}
	return sum
}

// TestRate holds both ends of the interval against what defines them.
func TestRate(t *testing.T) {
	for _, tc := range []struct{ k, n int }{{0, 40}, {1, 40}, {2, 40}, {12, 40}, {39, 40}, {40, 40}, {0, 1},
		{3, 1000}} {
		t.Run(fmt.Sprintf("%d of %d", tc.k, tc.n), func(t *testing.T) {
			i := Rate(tc.k, tc.n, 0.95)
			if !i.Exists || i.Low > i.Estimate || i.Estimate > i.High || i.Estimate != float64(tc.k)/float64(tc.n) {
				t.Fatalf("%+v", i)
			}
			if tc.k == 0 && i.Low != 0 || tc.k > 0 && math.Abs(1-atMost(tc.k-1, tc.n, i.Low)-0.025) > 1e-9 {
				t.Errorf("low end %g", i.Low)
			}
			if tc.k == tc.n && i.High != 1 || tc.k < tc.n && math.Abs(atMost(tc.k, tc.n, i.High)-0.025) > 1e-9 {
				t.Errorf("high end %g", i.High)
			}
		})
	}
	for _, tc := range [][2]int{{0, 0}, {-1, 5}, {6, 5}} {
		if Rate(tc[0], tc[1], 0.95).Exists {
			t.Errorf("%v has an interval", tc)
		}
	}
}

func TestMaxByChance(t *testing.T) {
	for _, n := range []int{1, 5, 40, 300} {
		for _, chance := range []float64{0.001, 0.05, 0.5} {
			k := MaxByChance(n, chance, 0.99)
			if atMost(k, n, chance) < 0.99-1e-12 || k > 0 && atMost(k-1, n, chance) >= 0.99 {
				t.Errorf("%d of %d at %g", k, n, chance)
			}
		}
	}
	if got := MaxByChance(40, 0.05, 0.99); got != 6 {
		t.Errorf("%d of 40 at 5 %%, want 6", got)
	}
	if got := MaxByChance(0, 0.05, 0.99); got != 0 {
		t.Errorf("%d of none", got)
	}
}

// TestAble: three cases cannot be detected, however the runs are dealt. There are too few runs for
// the measures, values are too close for the threshold, or all values are equal.
func TestAble(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	wide := func(*rand.Rand) float64 { return 100 * math.Exp(0.2*r.NormFloat64()) }
	narrow := func(*rand.Rand) float64 { return 100 + 0.01*r.NormFloat64() }
	same := func(*rand.Rand) float64 { return 7 }
	compared := func(n, wides int) []bool {
		pairs := []Pair{
			{Measure{"narrow", "ms", analyze.Lower, 0.03}, exact(drawn(r, n, narrow)...),
				exact(drawn(r, n, narrow)...), false},
			{Measure{"same", "ms", analyze.Lower, 0.03}, exact(drawn(r, n, same)...),
				exact(drawn(r, n, same)...), false},
		}
		for range wides {
			pairs = append(pairs, Pair{Measure{"wide", "ms", analyze.Lower, 0.03}, exact(drawn(r, n, wide)...),
				exact(drawn(r, n, wide)...), false})
		}
		all := analyzetest.Must(Compare(pairs, Alpha))(t)
		return Detectable(all)
	}
	for _, tc := range []struct {
		runs, wides int
		want        bool // of the wide ones
	}{{FewestRuns - 1, 1, false}, {FewestRuns, 1, true}, {FewestRuns, 22, true}, {FewestRuns, 23, false},
		{FewestRuns + 1, 23, true}} {
		able := compared(tc.runs, tc.wides)
		if able[0] || able[1] {
			t.Errorf("%d runs: what is closer than the threshold, or never varies, is said to be able", tc.runs)
		}
		for _, got := range able[2:] {
			if got != tc.want {
				t.Errorf("%d runs, %d measures: %v, want %v", tc.runs, tc.wides, got, tc.want)
				break
			}
		}
	}
}

// TestFisher compares p with sums of exact binomial coefficients.
func TestFisher(t *testing.T) {
	for _, tc := range []struct {
		k, n, l, m int
		want       float64
	}{
		{0, 6, 6, 6, 0.002164502}, {0, 6, 5, 6, 0.01515152}, {0, 6, 4, 6, 0.06060606}, {5, 6, 0, 6, 0.01515152},
		{3, 10, 8, 10, 0.06977851}, {0, 20, 9, 20, 0.001228501}, {1, 1, 0, 1, 1}, {0, 5, 0, 5, 1}, {5, 5, 9, 9, 1},
		{0, 0, 3, 3, 1}, {-1, 3, 0, 3, 1}, {4, 3, 0, 3, 1}, {500, 1000, 500, 1000, 1},
	} {
		if p := Fisher(tc.k, tc.n, tc.l, tc.m); math.Abs(p-tc.want) > 1e-6 {
			t.Errorf("%d of %d, %d of %d: %.9g, want %g", tc.k, tc.n, tc.l, tc.m, p, tc.want)
		}
	}
}
