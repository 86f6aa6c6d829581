package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

func exact(values ...float64) Sample {
	s := make(Sample, len(values))
	for i, v := range values {
		s[i] = Point{fmt.Sprintf("run-%d", i+1), v, v, v}
	}
	return s
}

func around(value, half float64) Sample { return Sample{{"run-1", value, value - half, value + half}} }

func times(values []float64, factor float64) []float64 {
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = v * factor
	}
	return scaled
}

func TestVerdicts(t *testing.T) {
	ms := Measure{"speed index", "ms", analyze.Lower, 0.03}
	rate := Measure{"framerate", "frames/s", analyze.Higher, 0.03}
	count := Measure{"torn", "frames", analyze.Lower, 0}
	frames := Measure{"frames", "frames", analyze.Neither, 0.03}
	ten := []float64{1000, 1003, 998, 1001, 997, 1004, 1002, 999, 996, 1005}
	wide := []float64{1000, 1300, 800, 1100, 700, 1400, 1200, 900, 600, 1500}
	for _, tc := range []struct {
		name      string
		m         Measure
		a, b      Sample
		want      Verdict
		direction Direction
		sentence  string
	}{
		{"slower", ms, exact(ten...), exact(times(ten, 1.12)...), Regressed, worse,
			"slower by 12.0 % (11.7–12.3 %), 10 runs each"},
		{"faster", ms, exact(ten...), exact(times(ten, 0.8)...), Improved, better,
			"faster by 20.0 % (19.8–20.2 %), 10 runs each"},
		{"a lower rate", rate, exact(ten...), exact(times(ten, 0.8)...), Regressed, worse,
			"slower by 20.0 % (19.8–20.2 %), 10 runs each"},
		{"a higher rate", rate, exact(ten...), exact(times(ten, 1.2)...), Improved, better,
			"faster by 20.0 % (19.6–20.4 %), 10 runs each"},
		{"no direction", frames, exact(ten...), exact(times(ten, 1.2)...), Different, "",
			"higher by 20.0 % (19.6–20.4 %), 10 runs each"},
		{"significant, but below the threshold", ms, exact(ten...), exact(times(ten, 1.02)...), Unchanged, "",
			"unchanged: +2.0 % (+1.7 to +2.3 %), 10 runs each"},
		{"the threshold itself", Measure{"x", "ms", analyze.Lower, 0.03}, exact(100, 100, 100, 100, 100, 100),
			exact(103, 103, 103, 103, 103, 103), Regressed, worse, "slower by 3 %, 6 runs each"},
		{"too wide to tell", ms, exact(wide...), exact(wide...), Inconclusive, "",
			"not decided: 0 % (−27 to +36 %), 10 runs each; no number of runs up to 1000 would do"},
		{"one value", ms, exact(5, 5, 5), exact(5, 5), Unchanged, "", "the same, 3 and 2 runs"},
		{"one value, zero", count, exact(0, 0, 0, 0, 0, 0), exact(0, 0, 0, 0, 0, 0), Unchanged, "",
			"the same, 6 runs each"},
		{"from nothing", count, exact(0, 0, 0, 0, 0, 0), exact(2, 2, 3, 2, 2, 2), Regressed, worse,
			"higher by 2 frames (2–3 frames), 6 runs each"},
		{"few runs, far apart", ms, exact(1, 1, 1, 1, 1), exact(9, 9, 9), Inconclusive, "",
			"not decided: +800 %, 5 and 3 runs; about 1 more run of A and 3 of B would do"},
		{"one against many", ms, exact(1), exact(9, 9, 9, 9, 9, 9), Inconclusive, "",
			"not decided: +800 %, 1 and 6 runs; about 5 more runs of A would do"},

		{"single, the same", ms, exact(5), exact(5), Unchanged, "", "the same, single runs"},
		{"single, exact and worse", ms, exact(100), exact(112), Inconclusive, worse,
			"slower by 12 %, single runs, which may be chance; about 5 more runs each would do"},
		{"single, exact and better", rate, exact(50), exact(60), Inconclusive, better,
			"faster by 20 %, single runs, which may be chance; about 5 more runs each would do"},
		{"single, bounds apart", ms, around(100, 1), around(112, 1), Inconclusive, worse,
			"slower by 12 % (10–14 %), single runs, which may be chance; about 5 more runs each would do"},
		{"single, bounds touch", ms, around(100, 6), around(112, 6), Inconclusive, "",
			"not decided: +12 % (0 to +26 %), single runs; about 5 more runs each would do"},
		{"single, apart but too little", ms, exact(100), exact(102), Unchanged, "", "unchanged: +2 %, single runs"},
		{"single, apart and perhaps enough", ms, around(100, 0.5), around(102, 1), Inconclusive, "",
			"not decided: +2.0 % (+0.5 to +3.5 %), single runs; about 5 more runs each would do"},
		{"single, within the threshold", ms, around(100, 0.5), around(100.1, 0.5), Unchanged, "",
			"unchanged: +0.1 % (−0.9 to +1.1 %), single runs"},
		{"single, from nothing", count, exact(0), exact(3), Inconclusive, worse,
			"higher by 3 frames, single runs, which may be chance; about 5 more runs each would do"},
		{"single, nothing and nothing", count, exact(0), exact(0), Unchanged, "", "the same, single runs"},
		{"single, no direction", frames, exact(60), exact(30), Different, "", "lower by 50 %, single runs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := analyzetest.Must(Compare([]Pair{{tc.m, tc.a, tc.b, false}}, Alpha))(t)
			d := got[0]
			if d.Verdict != tc.want || d.Direction != tc.direction {
				t.Errorf("%s %q, want %s %q: %+v", d.Verdict, d.Direction, tc.want, tc.direction, d)
			}
			if s := d.Sentence(); s != tc.sentence {
				t.Errorf("%q, want %q", s, tc.sentence)
			}
		})
	}
}

// TestHolmOverAllMeasures: what would be a finding alone is none among many others, and measures
// that never vary do not count.
func TestHolmOverAllMeasures(t *testing.T) {
	m := Measure{"time", "ms", analyze.Lower, 0.03}
	// p = 2/924 = 0.0022
	found := Pair{m, exact(100, 101, 102, 103, 104, 105), exact(110, 111, 112, 113, 114, 115), false}
	noise := Pair{m, exact(1, 2, 3, 4, 5, 6), exact(6, 4, 5, 3, 1, 2), false}
	never := Pair{m, exact(0, 0, 0, 0, 0, 0), exact(0, 0, 0, 0, 0, 0), false}
	few := Pair{m, exact(1, 2, 3), exact(2, 3, 4), false}
	for _, tc := range []struct {
		name          string
		noise, others int
		want          Verdict
		adjusted      float64
	}{
		{"alone", 0, 0, Regressed, 2 / 924.0},
		{"among 22", 22, 0, Regressed, 2 * 23 / 924.0},
		{"among 23", 23, 0, Inconclusive, 2 * 24 / 924.0},
		{"among many that never vary or are few", 0, 100, Regressed, 2 / 924.0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pairs := []Pair{found}
			for range tc.noise {
				pairs = append(pairs, noise)
			}
			for range tc.others {
				pairs = append(pairs, never, few)
			}
			all := analyzetest.Must(Compare(pairs, Alpha))(t)
			if d := all[0]; d.Verdict != tc.want || math.Abs(d.AdjustedP-tc.adjusted) > 1e-12 {
				t.Errorf("%s with p %v, want %s with %v", d.Verdict, d.AdjustedP, tc.want, tc.adjusted)
			}
			if d := all[0]; tc.want == Inconclusive && (d.MoreA != 1 || d.MoreB != 1) {
				t.Errorf("%d and %d more runs, want 1 and 1: 7 each can have a p of %v", d.MoreA, d.MoreB,
					smallestP(7, 7))
			}
		})
	}
}

func TestCompareRefuses(t *testing.T) {
	m := Measure{Name: "time"}
	for _, tc := range []struct {
		name string
		pair Pair
		want string
	}{
		{"an empty set", Pair{m, nil, exact(1), false}, "compare time: 0 and 1 runs"},
		{"not a number", Pair{m, exact(1, math.NaN()), exact(1), false}, "run run-2 has NaN"},
		{"endless bounds", Pair{m, Sample{{"r", 1, 0, math.Inf(1)}}, exact(1), false}, "run r has +Inf"},
		{"outside its bounds", Pair{m, Sample{{"r", 3, 0, 2}}, exact(1), false}, "outside its bounds"},
	} {
		if _, err := Compare([]Pair{tc.pair}, Alpha); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// FuzzCompare: for any values, a difference is finite and has a verdict. Swapping the sets inverts
// it.
func FuzzCompare(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6}, []byte{9, 9, 9, 9, 9, 9}, 1.0, 0.03)
	f.Add([]byte{0}, []byte{0}, -1.0, 0.0)
	f.Add([]byte{0, 0, 255, 0, 0, 0, 0}, []byte{0, 1, 0, 0, 0, 0}, 1e-300, 0.5)
	f.Add([]byte{3}, []byte{1, 2}, 1e300, -1.0)
	f.Fuzz(func(t *testing.T, rawA, rawB []byte, unit, threshold float64) {
		if len(rawA) == 0 || len(rawB) == 0 || len(rawA) > 40 || len(rawB) > 40 || math.IsNaN(unit) ||
			math.Abs(unit) > 1e300 || math.IsNaN(threshold) {
			return // no samples
		}
		sample := func(raw []byte) Sample {
			values := make([]float64, len(raw))
			for i, v := range raw {
				values[i] = float64(v) * unit
			}
			return exact(values...)
		}
		m := Measure{"x", "ms", analyze.Lower, threshold}
		there := analyzetest.Must(Compare([]Pair{{m, sample(rawA), sample(rawB), false}}, Alpha))(t)
		back := analyzetest.Must(Compare([]Pair{{m, sample(rawB), sample(rawA), false}}, Alpha))(t)
		d := there[0]
		for _, i := range []Interval{d.MedianA, d.MedianB, d.Shift, d.Change} {
			for _, v := range []float64{i.Estimate, i.Low, i.High} {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%v in %+v", v, d)
				}
			}
		}
		if d.P < 0 || d.P > d.AdjustedP || d.AdjustedP > 1 || math.Abs(d.P-back[0].P) > 1e-9 ||
			d.Delta != -back[0].Delta {
			t.Errorf("p %v, adjusted %v, delta %v; turned round %v and %v", d.P, d.AdjustedP, d.Delta, back[0].P,
				back[0].Delta)
		}
		if strings.Contains(d.Sentence(), "NaN") || d.Verdict == "" || d.MoreA < 0 || d.MoreB < 0 {
			t.Errorf("%s: %q", d.Verdict, d.Sentence())
		}
		if d.Verdict == Regressed && back[0].Verdict == Regressed {
			t.Error("a regression both ways")
		}
	})
}
