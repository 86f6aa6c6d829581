package changepoint_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/changepoint"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/stats"
)

// levels draws n values with a level each, and noise of 1.
func levels(seed uint64, n int, level func(i int) float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	series := make([]float64, n)
	for i := range series {
		series[i] = level(i) + r.NormFloat64()
	}
	return series
}

func step(at int, size float64) func(int) float64 {
	return func(i int) float64 {
		if i >= at {
			return size
		}
		return 0
	}
}

func TestDetect(t *testing.T) {
	for _, tc := range []struct {
		name      string
		series    []float64
		threshold float64
		want      []int // in order of strength, each within one value
	}{
		{"none", nil, 0, nil},
		{"one value", []float64{1}, 0, nil},
		{"two values", []float64{1, 5}, 0, nil},
		{"constant", make([]float64, 200), 0, nil},
		{"step", levels(1, 100, step(60, 4)), 1, []int{60}},
		{"step down", levels(2, 100, step(60, -4)), 1, []int{60}},
		{"below the threshold", levels(3, 100, step(60, 4)), 5, nil},
		{"stronger first", levels(4, 200, func(i int) float64 { return step(60, 3)(i) + step(140, 9)(i) }), 1, []int{140, 60}},
		{"newest three", levels(5, 63, step(60, 8)), 1, []int{60}},
		{"spike", levels(7, 100, func(i int) float64 { return step(60, 9)(i) - step(61, 9)(i) }), 1, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := slices.Clone(tc.series)
			got := analyzetest.Must(changepoint.Detect(tc.series, tc.threshold))(t)
			ok := len(got) == len(tc.want)
			for i := 0; ok && i < len(got); i++ {
				ok = math.Abs(float64(got[i].Index-tc.want[i])) <= 1 && math.Abs(got[i].Shift()) >= tc.threshold
			}
			if !ok || !slices.Equal(before, tc.series) {
				t.Errorf("changes %+v, want %v", got, tc.want)
			}
		})
	}
}

func TestSeriesMustBeFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e200} {
		series := []float64{1, 2, bad, 4}
		_, split := changepoint.Split(series, changepoint.SplitOptions{})
		_, ranked := changepoint.Ranked(series)
		_, both := changepoint.Detect(series, 0)
		for _, err := range []error{split, ranked, both} {
			if err == nil || !strings.Contains(err.Error(), "value 2") {
				t.Errorf("%v: error %v", bad, err)
			}
		}
	}
	if _, err := changepoint.Detect(make([]float64, changepoint.MaxValues+1), 0); err == nil {
		t.Error("a series of any length is accepted")
	}
	for _, o := range []changepoint.SplitOptions{{Window: 1}, {Window: -2}, {Window: 1 << 20}, {P: 1}, {P: -1}, {P: math.NaN()}} {
		if _, err := changepoint.Split([]float64{1, 2}, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// TestRankedFindsAll: each place with an exact p below 0.001 is within 12 values of a change.
func TestRankedFindsAll(t *testing.T) {
	places := 0
	for seed := range uint64(6) {
		series := levels(seed, 150, func(i int) float64 { return step(50, 2)(i) - step(57, 2)(i) + step(100, 2)(i) })
		for i := range series { // few levels: many equal values
			series[i] = math.Round(series[i] * float64(1+seed%3) / 2)
		}
		got := indexes(analyzetest.Must(changepoint.Ranked(series))(t))
		for i := 3; i+3 <= len(series); i++ {
			before, after := series[max(0, i-24):i], series[i:min(i+12, len(series))]
			if 2*min(stats.AboveExactly(before, after), stats.AboveExactly(after, before)) >= 0.001 {
				continue
			}
			if places++; !slices.ContainsFunc(got, func(at int) bool { return max(at-i, i-at) <= 12 }) {
				t.Errorf("series %d: %v, place %d is missing", seed, got, i)
			}
		}
	}
	if places < 20 {
		t.Errorf("the series have %d places only", places)
	}
}

// TestFalsePoints prints the share of points in series of equal builds. It limits that of noise
// without a trend.
func TestFalsePoints(t *testing.T) {
	const series, length = 30, 500
	for _, tc := range []struct {
		name  string
		noise func(r *rand.Rand, i int) float64
		limit float64 // of Detect's points per 1000 builds
	}{
		{"normal", func(r *rand.Rand, _ int) float64 { return r.NormFloat64() }, 3.5},
		{"two modes", func(r *rand.Rand, _ int) float64 { return 6*float64(r.IntN(2)) + r.NormFloat64() }, 5},
		{"heavy tails", func(r *rand.Rand, _ int) float64 { return r.NormFloat64() / (0.01 + r.Float64()) }, 9},
		{"quantised", func(r *rand.Rand, _ int) float64 { return math.Round(r.NormFloat64()) }, 5},
		{"drift", func(r *rand.Rand, i int) float64 { return 0.03*float64(i) + r.NormFloat64() }, 40},
	} {
		r := rand.New(rand.NewPCG(50, 50))
		var split, ranked, both float64
		for range series {
			values := make([]float64, length)
			for i := range values {
				values[i] = tc.noise(r, i)
			}
			split += float64(len(analyzetest.Must(changepoint.Split(values, changepoint.SplitOptions{}))(t)))
			ranked += float64(len(analyzetest.Must(changepoint.Ranked(values))(t)))
			both += float64(len(analyzetest.Must(changepoint.Detect(values, 0))(t)))
		}
		const per = 1000.0 / (series * length)
		t.Logf("%-11s: Split %.2f, Ranked %.2f, Detect %.2f false points per 1000 equal builds", tc.name, split*per,
			ranked*per, both*per)
		if both*per > tc.limit {
			t.Errorf("%s: %.2f false points per 1000 builds, want at most %v", tc.name, both*per, tc.limit)
		}
	}
}

func BenchmarkDetect(b *testing.B) {
	for _, n := range []int{150, 1_000, 10_000, 100_000} {
		for name, level := range map[string]func(int) float64{
			"equal": func(int) float64 { return 0 }, "drift": func(i int) float64 { return 0.05 * float64(i) },
		} {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				series := levels(9, n, level)
				for b.Loop() {
					if _, err := changepoint.Detect(series, 0); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/value")
			})
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9}, 0.5)
	f.Add([]byte{0, 255, 0, 255}, 0.0)
	f.Add([]byte{}, -1.0)
	f.Fuzz(func(t *testing.T, values []byte, threshold float64) {
		series := make([]float64, min(len(values), 500))
		for i := range series {
			series[i] = float64(values[i])
		}
		changes, err := changepoint.Detect(series, threshold)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if c.Index <= 0 || c.Index >= len(series) || !(c.P >= 0 && c.P <= 1) || !(math.Abs(c.Shift()) >= threshold) {
				t.Errorf("%+v of %d values", c, len(series))
			}
		}
	})
}
