package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// draw is one run's value of some measure.
type draw struct {
	name   string
	median float64 // the true one
	of     func(r *rand.Rand) float64
}

const frameTime = 1000.0 / 60 // ms

// continuous are distributions without equal values, for which the theory gives coverage exactly.
func continuous() []draw {
	return []draw{
		{"normal", 1000, func(r *rand.Rand) float64 { return 1000 + 50*r.NormFloat64() }},
		{"lognormal", 1000, func(r *rand.Rand) float64 { return 1000 * math.Exp(0.4*r.NormFloat64()) }},
		{"exponential", 100 * math.Ln2, func(r *rand.Rand) float64 { return 100 * r.ExpFloat64() }},
		// Two of three runs hit a warm cache: half of all runs are three quarters of the lower
		// peak's.
		{"two peaks", 400 + 20*normalQuantile(0.75), func(r *rand.Rand) float64 {
			if r.IntN(3) < 2 {
				return 400 + 20*r.NormFloat64()
			}
			return 900 + 20*r.NormFloat64()
		}},
	}
}

// realistic are what measures return over many runs of one page.
func realistic() []draw {
	onFrames := func(v float64) float64 { return math.Ceil(v/frameTime) * frameTime }
	return []draw{
		{"load time on frames", 0, func(r *rand.Rand) float64 { return onFrames(900 * math.Exp(0.1*r.NormFloat64())) }},
		{"skewed", 0, func(r *rand.Rand) float64 { return 300 + 80*r.ExpFloat64() }},
		{"two peaks", 0, func(r *rand.Rand) float64 {
			if r.IntN(3) > 0 {
				return onFrames(500 + 10*r.NormFloat64())
			}
			return onFrames(800 + 15*r.NormFloat64())
		}},
		{"framerate, locked or halved", 0, func(r *rand.Rand) float64 {
			if r.IntN(4) > 0 {
				return 60
			}
			return 30
		}},
		{"torn frames, mostly none", 0, func(r *rand.Rand) float64 { return math.Floor(0.7 * r.ExpFloat64()) }},
		{"narrow", 0, func(r *rand.Rand) float64 { return 59.9 + 0.05*r.NormFloat64() }},
		{"never varies", 0, func(*rand.Rand) float64 { return 0 }},
		{"on two frames", 0, func(r *rand.Rand) float64 { return onFrames(100 + 10*r.Float64()) }},
	}
}

func drawn(r *rand.Rand, n int, of func(*rand.Rand) float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = of(r)
	}
	return values
}

// TestMedianCoverage: intervals cover the true median as often as their confidence states. This is
// 95 ± 1 % for the sizes that have such a step, and more for the others.
func TestMedianCoverage(t *testing.T) {
	const trials = 12_000
	for i, d := range continuous() {
		for _, n := range []int{6, 10, 16, 30, 51} {
			t.Run(fmt.Sprintf("%s/n=%d", d.name, n), func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, uint64(100*i+n)))
				covered, promised := 0, 0.0
				for range trials {
					s := Summarize(drawn(r, n, d.of))
					promised = s.Confidence
					if s.Low <= d.median && d.median <= s.High {
						covered++
					}
				}
				got := float64(covered) / trials
				if math.Abs(got-promised) > 0.01 || got < Level-0.005 {
					t.Errorf("covers in %.2f %%, and promises %.2f %%", 100*got, 100*promised)
				}
				if fine := n == 16 || n == 51; fine && math.Abs(got-Level) > 0.015 {
					t.Errorf("covers in %.2f %%, want 95 ± 1", 100*got)
				}
			})
		}
	}
}

// TestShiftCoverage: the same for how far one set lies above another, and for how many times.
func TestShiftCoverage(t *testing.T) {
	const trials, shift, ratio = 4_000, 42.5, 1.12
	for i, d := range continuous() {
		for _, size := range [][2]int{{6, 6}, {10, 10}, {8, 15}} {
			t.Run(fmt.Sprintf("%s/n=%d,%d", d.name, size[0], size[1]), func(t *testing.T) {
				r := rand.New(rand.NewPCG(4, uint64(1000*i+size[0])))
				shifts, ratios, promised := 0, 0, 0.0
				for range trials {
					a, b := drawn(r, size[0], d.of), drawn(r, size[1], d.of)
					moved := make([]float64, len(b))
					for j := range b {
						moved[j] = b[j] + shift
					}
					s := shiftOf(a, moved, Alpha)
					promised = s.Confidence
					if s.Low <= shift && shift <= s.High {
						shifts++
					}
					if q, ok := ratioOf(a, times(b, ratio), Alpha); !ok || q.Low <= ratio && ratio <= q.High {
						ratios++
					}
				}
				for what, covered := range map[string]int{"shift": shifts, "ratio": ratios} {
					got := float64(covered) / trials
					if math.Abs(got-promised) > 0.01 || got < Level-0.01 {
						t.Errorf("%s: covers in %.2f %%, and promises %.2f %%", what, 100*got, 100*promised)
					}
					if size[0] >= 10 && math.Abs(got-Level) > 0.016 {
						t.Errorf("%s: covers in %.2f %%, want 95 ± 1", what, 100*got)
					}
				}
			})
		}
	}
}

// TestQuantisedCoverage: where values are equal, an interval covers at least as often as it
// promises.
func TestQuantisedCoverage(t *testing.T) {
	const trials, shift = 6_000, 3 * frameTime
	r := rand.New(rand.NewPCG(5, 5))
	for _, d := range realistic() {
		covered, promised := 0, 0.0
		for range trials {
			a, b := drawn(r, 10, d.of), drawn(r, 10, d.of)
			for j := range b {
				b[j] += shift
			}
			s := shiftOf(a, b, Alpha)
			promised = s.Confidence
			if s.Low <= shift+1e-9 && shift-1e-9 <= s.High {
				covered++
			}
		}
		if got := float64(covered) / trials; got < promised-0.01 {
			t.Errorf("%s: covers in %.2f %%, and promises %.2f %%", d.name, 100*got, 100*promised)
		}
	}
}

// TestFalseAlarms: of 1,000 comparisons of a page with itself at most 5 % find anything in any of
// their measures.
func TestFalseAlarms(t *testing.T) {
	const comparisons = 1000
	for _, threshold := range []float64{0, 0.03} {
		t.Run(fmt.Sprintf("threshold=%v", threshold), func(t *testing.T) {
			r := rand.New(rand.NewPCG(6, 6))
			alarms := 0
			for range comparisons {
				nA, nB := FewestRuns+r.IntN(10), FewestRuns+r.IntN(10)
				var pairs []Pair
				for i, d := range realistic() {
					m := Measure{d.name, "ms", []analyze.Better{analyze.Lower, analyze.Higher}[i%2], threshold}
					pairs = append(pairs, Pair{m, exact(drawn(r, nA, d.of)...), exact(drawn(r, nB, d.of)...), false})
				}
				all := analyzetest.Must(Compare(pairs, Alpha))(t)
				for _, d := range all {
					if d.Verdict == Regressed || d.Verdict == Improved {
						alarms++
						break
					}
				}
			}
			t.Logf("%d of %d comparisons of equals say something", alarms, comparisons)
			if alarms > comparisons*5/100 {
				t.Errorf("%d false alarms in %d comparisons", alarms, comparisons)
			}
		})
	}
}

// TestPower: a page that became 12 % slower is found with 10 runs each, beside unchanged measures.
// A page that became as much faster is not called a regression.
func TestPower(t *testing.T) {
	const comparisons = 300
	r := rand.New(rand.NewPCG(7, 7))
	found := map[Verdict]int{}
	for i := range comparisons {
		load := func(r *rand.Rand) float64 {
			return math.Ceil(900*math.Exp(0.04*r.NormFloat64())/frameTime) * frameTime
		}
		factor := []float64{1.12, 1 / 1.12}[i%2]
		pairs := []Pair{{Measure{"load", "ms", analyze.Lower, 0.03}, exact(drawn(r, 10, load)...),
			exact(times(drawn(r, 10, load), factor)...), false}}
		for _, d := range realistic() {
			pairs = append(pairs, Pair{Measure{d.name, "ms", analyze.Lower, 0.03}, exact(drawn(r, 10, d.of)...),
				exact(drawn(r, 10, d.of)...), false})
		}
		all := analyzetest.Must(Compare(pairs, Alpha))(t)
		found[all[0].Verdict]++
		if wrong := []Verdict{Improved, Regressed}[i%2]; all[0].Verdict == wrong {
			t.Errorf("comparison %d: %s", i, all[0].Sentence())
		}
	}
	t.Logf("%v", found)
	if hits := found[Regressed] + found[Improved]; hits < comparisons*95/100 {
		t.Errorf("%d of %d found: %v", hits, comparisons, found)
	}
}

// TestMoreRunsWouldDo: with as many more runs as an inconclusive comparison asks for, most come to
// a verdict.
func TestMoreRunsWouldDo(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	asked, settled := 0, 0
	for range 300 {
		page := func(r *rand.Rand) float64 { return 500 * math.Exp(0.05*r.NormFloat64()) }
		m := Measure{"load", "ms", analyze.Lower, 0.03}
		a, b := drawn(r, 8, page), times(drawn(r, 8, page), 1.1)
		all, err := Compare([]Pair{{m, exact(a...), exact(b...), false}}, Alpha)
		if err != nil {
			t.Fatal(err)
		}
		if d := all[0]; d.Verdict != Inconclusive || d.MoreA == 0 {
			continue
		} else {
			a, b = append(a, drawn(r, d.MoreA, page)...), append(b, times(drawn(r, d.MoreB, page), 1.1)...)
		}
		asked++
		all = analyzetest.Must(Compare([]Pair{{m, exact(a...), exact(b...), false}}, Alpha))(t)
		if all[0].Verdict != Inconclusive {
			settled++
		}
	}
	if asked < 20 || settled < asked*6/10 {
		t.Errorf("%d of %d came to a verdict", settled, asked)
	}
}
