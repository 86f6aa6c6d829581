package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAboveIsThePermutationTest compares p with the exact share of all assignments of labels.
func TestAboveIsThePermutationTest(t *testing.T) {
	l := Labelled{Rows: [][]float32{{1, 5}, {2, 5}, {3, 5}, {9, 5}, {7, 5}, {4, 5}, {5, 5}}, Chosen: make([]bool, 7),
		Strata: make([]int, 7)}
	l.Chosen[3], l.Chosen[4] = true, true // the highest two of seven: 1 of 21 pairs
	p := l.Above(20_000, 1)
	if want := 1.0 / 21; math.Abs(p[0]-want) > 0.005 {
		t.Errorf("p is %g, want %g", p[0], want)
	}
	if p[1] != 1 {
		t.Errorf("p of equal values is %g, want 1", p[1])
	}
	if again := l.Above(20_000, 1); again[0] != p[0] {
		t.Errorf("p is %g, and then %g", p[0], again[0])
	}
	// Row 5 is the highest of its stratum of three; labels do not leave it.
	l = Labelled{Rows: [][]float32{{10}, {11}, {12}, {1}, {2}, {3}}, Chosen: []bool{false, false, false, false, false,
		true}, Strata: []int{0, 0, 0, 1, 1, 1}}
	if p := l.Above(20_000, 1); math.Abs(p[0]-1.0/3) > 0.015 {
		t.Errorf("p within a stratum is %g, want 1/3", p[0])
	}
}

// TestAboveHoldsItsLevel: without a difference, p is below 5 % in about 5 % of the cases.
func TestAboveHoldsItsLevel(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	below, cases := 0, 600
	for range cases {
		l := Labelled{Chosen: make([]bool, 40), Strata: make([]int, 40)}
		for i := range 40 {
			l.Rows = append(l.Rows, []float32{float32(random.ExpFloat64())})
			l.Chosen[i] = i%5 == 0
		}
		if l.Above(400, random.Uint64())[0] < 0.05 {
			below++
		}
	}
	if share := float64(below) / float64(cases); share < 0.02 || share > 0.08 {
		t.Errorf("p is below 5 %% in %.1f %% of the cases", 100*share)
	}
}

// TestBootstrapCovers: the interval has the true mean in about 95 % of the cases.
func TestBootstrapCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	inside, cases := 0, 400
	for range cases {
		values := make([]float64, 30)
		for i := range values {
			values[i] = 10 + random.NormFloat64()
		}
		if i := BootstrapMean(values, 400, 1); i.Low <= 10 && i.High >= 10 && i.Low <= i.Estimate {
			inside++
		}
	}
	if share := float64(inside) / float64(cases); share < 0.89 || share > 0.98 {
		t.Errorf("the interval covers the mean in %.1f %% of the cases", 100*share)
	}
	if BootstrapMean(nil, 100, 1).Exists {
		t.Error("no values have an interval")
	}
}
