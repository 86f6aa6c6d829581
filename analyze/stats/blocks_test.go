package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// TestSignedRankIsExact counts all signs that the differences could have, which is the definition.
func TestSignedRankIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	for i := range 400 {
		levels := 2 + r.IntN(12) // few levels: many equal sizes, and differences of 0
		d := make([]float64, 1+r.IntN(10))
		for j := range d {
			d[j] = float64(r.IntN(2*levels)-levels) * 0.1
		}
		got, want := signedRank(d), signsP(d)
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("case %d, %v: p %v, want %v", i, d, got, want)
		}
		for j := range d {
			d[j] = -d[j]
		}
		if back := signedRank(d); back != got {
			t.Fatalf("%v: p %v, and %v turned round", d, got, back)
		}
	}
}

// signsP is twice the chance of at most so high a sum of ranks, over all signs.
func signsP(d []float64) float64 {
	rank := func(of float64) (rank float64) { // the mean of the ranks that its size has
		for _, other := range d {
			switch diff := math.Abs(other) - math.Abs(of); {
			case math.Abs(diff) < 1e-9:
				rank += 0.5
			case diff < 0:
				rank++
			}
		}
		return rank + 0.5
	}
	var ranks []float64
	up, down := 0.0, 0.0
	for _, v := range d {
		switch {
		case v > 0:
			up, ranks = up+rank(v), append(ranks, rank(v))
		case v < 0:
			down, ranks = down+rank(v), append(ranks, rank(v))
		}
	}
	fewer := 0
	for signs := range 1 << len(ranks) {
		sum := 0.0
		for i, rank := range ranks {
			sum += rank * float64(signs>>i&1)
		}
		if sum <= min(up, down)+1e-9 {
			fewer++
		}
	}
	return min(1, 2*float64(fewer)/float64(int(1)<<len(ranks)))
}

func TestSignedRank(t *testing.T) {
	long := make([]float64, 140)
	for i := range long {
		long[i] = float64(i + 1)
		if i%3 == 0 {
			long[i] = -long[i]
		}
	}
	w, of := 0, 0.0
	for i, v := range long {
		if v < 0 {
			w += i + 1
		}
	}
	for _, p := range signedRanks(upTo(len(long)), w) {
		of += 2 * p
	}
	tenth := 0.3
	tenth -= 0.2 // not quite 0.1
	for _, tc := range []struct {
		name        string
		differences []float64
		want        float64
	}{
		{"none", nil, 1},
		{"all zero", []float64{0, 0, 0}, 1},
		{"eight of one sign", []float64{1, 2, 3, 4, 5, 6, 7, 8}, 2 / 256.0},
		{"equal sizes", []float64{1, 1, 1, 1, 1, 1, 1, 1}, 2 / 256.0},
		{"equal but for rounding", []float64{-tenth, 0.1, 0.1, 0.1}, 10 / 16.0},
		// ranks are 1 to 4, without 1: -2 has the chance of 2 in 8 subsets
		{"zero keeps its rank", []float64{0, -2, 3, 4}, 0.5},
		{"the smallest against the others", []float64{-1, 2, 3, 4, 5, 6, 7, 8}, 4 / 256.0},
		{"more than are counted out", long, of},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := signedRank(tc.differences); math.Abs(got-tc.want) > 1e-4 {
				t.Errorf("p %v, want %v", got, tc.want)
			}
		})
	}
}

// TestCentreOrders compares the order statistics with published critical values of W, two-sided
// 5 %, plus one. Source: Wilcoxon, Katti and Wilcox 1970.
func TestCentreOrders(t *testing.T) {
	for n, want := range map[int]int{5: 0, 6: 1, 7: 3, 8: 4, 9: 6, 10: 9, 12: 14, 15: 26, 20: 53, 25: 90} {
		if c, confidence := centreOrder(n, Alpha); c != want || c > 0 && confidence < Level {
			t.Errorf("%d blocks: order %d with %v, want %d", n, c, confidence, want)
		}
	}
	exact, _ := exactOrder(signedRanks(upTo(exactBlocks+1), 3000), Alpha)
	if c, confidence := centreOrder(exactBlocks+1, Alpha); math.Abs(float64(c-exact)) > 1 || confidence < Level {
		t.Errorf("order %d with %v, and %d is exact", c, confidence, exact)
	}
}

// TestRunsNeeded: with so many runs or blocks a verdict is possible, and with one fewer it is not.
func TestRunsNeeded(t *testing.T) {
	for _, tc := range []struct{ values, runs, blocks int }{
		{1, 6, 8}, {3, 6, 8}, {5, 6, 8}, {6, 6, 8}, {7, 6, 9}, {23, 6, 10}, {24, 7, 10}, {45, 7, 11},
	} {
		r, b := MannWhitney.Needed(tc.values, Alpha), SignedRank.Needed(tc.values, Alpha)
		if r != tc.runs || b != tc.blocks {
			t.Errorf("%d values: %d runs and %d blocks, want %d and %d", tc.values, r, b, tc.runs, tc.blocks)
		}
		for _, blocks := range []bool{false, true} {
			n := map[bool]int{false: tc.runs, true: tc.blocks}[blocks]
			for less := range 2 {
				var pairs []Pair
				for range tc.values {
					a := make([]float64, n-less)
					for i := range a {
						a[i] = 100 + float64(i)
					}
					pairs = append(pairs, Pair{Measure{"x", "ms", analyze.Lower, 0.03}, exact(a...),
						exact(times(a, 2)...), blocks})
				}
				all := analyzetest.Must(Compare(pairs, Alpha))(t)
				for _, d := range all {
					if d.Found() != (less == 0) {
						t.Errorf("%d values, %d runs, blocks %v: %s", tc.values, n-less, blocks, d.Sentence())
					}
				}
			}
		}
	}
}

func TestBlocks(t *testing.T) {
	ms := Measure{"speed index", "ms", analyze.Lower, 0.03}
	// the drift from block to block is far more than the difference within each
	drift := []float64{1000, 1100, 1250, 1400, 1600, 1750, 1900, 2000}
	for _, tc := range []struct {
		name     string
		m        Measure
		a, b     Sample
		want     Verdict
		sentence string
	}{
		{"slower in each block", ms, exact(drift...), exact(times(drift, 1.12)...), Regressed,
			"slower by 12 %, 8 blocks"},
		{"faster in each block", ms, exact(drift...), exact(times(drift, 0.9)...), Improved,
			"faster by 10 %, 8 blocks"},
		{"too few blocks", ms, exact(drift[:7]...), exact(times(drift[:7], 1.12)...), Inconclusive,
			"not decided: +12 %, 7 blocks; about 1 more block would do"},
		{"below the threshold", ms, exact(drift...), exact(times(drift, 1.02)...), Unchanged,
			"unchanged: +2 %, 8 blocks"},
		{"the same in each block", ms, exact(drift...), exact(drift...), Unchanged, "unchanged: 0 %, 8 blocks"},
		{"one value", ms, exact(5, 5, 5), exact(5, 5, 5), Unchanged, "the same, 3 blocks"},
		{"from nothing", Measure{"torn", "frames", analyze.Lower, 0}, exact(0, 0, 0, 0, 0, 0, 0, 0),
			exact(2, 2, 3, 2, 2, 2, 2, 2), Regressed, "higher by 2.0 frames (2.0–2.5 frames), 8 blocks"},
		{"either way", ms, exact(drift...), exact(slices.Concat(times(drift[:4], 1.2), times(drift[4:], 0.8))...),
			Inconclusive, "not decided: −2 % (−20 to +20 %), 8 blocks; no number of runs up to 1000 would do"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := analyzetest.Must(Compare([]Pair{{tc.m, tc.a, tc.b, true}}, Alpha))(t)
			if d := all[0]; d.Verdict != tc.want || d.Sentence() != tc.sentence || d.Test != SignedRank {
				t.Errorf("%s %q, want %s %q", d.Verdict, d.Sentence(), tc.want, tc.sentence)
			}
		})
	}
	if _, err := Compare([]Pair{{ms, exact(1, 2), exact(1), true}}, Alpha); err == nil {
		t.Error("a block of one run was compared")
	}
}

// TestDescribe: sets are not judged, and single runs are.
func TestDescribe(t *testing.T) {
	m := Measure{"frames", "frames", analyze.Neither, 0.03}
	ten := exact(60, 61, 59, 60, 60, 60, 60, 60, 60, 60)
	for name, tc := range map[string]struct {
		a, b     Sample
		want     Verdict
		sentence string
	}{
		"sets":      {ten, exact(times(ten.Values(), 0.5)...), Untested, "−50 %, 10 runs each"},
		"one value": {exact(5, 5), exact(5, 5), Unchanged, "the same, 2 runs each"},
		"single":    {exact(60), exact(30), Different, "lower by 50 %, single runs"},
	} {
		all := analyzetest.Must(Describe([]Pair{{m, tc.a, tc.b, false}}))(t)
		if d := all[0]; d.Verdict != tc.want || d.Sentence() != tc.sentence || d.Tested {
			t.Errorf("%s: %s %q", name, d.Verdict, d.Sentence())
		}
	}
}

// TestCentreCoverage: intervals over blocks cover the true difference as often as they promise,
// however the blocks drift.
func TestCentreCoverage(t *testing.T) {
	const trials, ratio = 3_000, 1.12
	for i, d := range continuous() {
		for _, n := range []int{8, 12, 20} {
			t.Run(fmt.Sprintf("%s/n=%d", d.name, n), func(t *testing.T) {
				r := rand.New(rand.NewPCG(24, uint64(100*i+n)))
				covered, promised := 0, 0.0
				for range trials {
					a, b := make([]float64, n), make([]float64, n)
					for k := range a {
						block := math.Exp(0.3 * r.NormFloat64())
						a[k], b[k] = block*math.Abs(d.of(r)), block*math.Abs(d.of(r))*ratio
					}
					_, logs := blockDifferences(a, b)
					c := centreOf(logs, Alpha)
					promised = c.Confidence
					if c.Low <= math.Log(ratio) && math.Log(ratio) <= c.High {
						covered++
					}
				}
				if got := float64(covered) / trials; math.Abs(got-promised) > 0.012 || promised < Level {
					t.Errorf("covers in %.2f %%, and promises %.2f %%", 100*got, 100*promised)
				}
			})
		}
	}
}
