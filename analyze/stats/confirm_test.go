package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// noises are what runs of one build may look like. at is the number of the run.
func noises() map[string]func(r *rand.Rand, at int) float64 {
	return map[string]func(r *rand.Rand, at int) float64{
		"normal":      func(r *rand.Rand, _ int) float64 { return r.NormFloat64() },
		"heavy tails": func(r *rand.Rand, _ int) float64 { return r.NormFloat64() / (0.01 + r.Float64()) },
		"two modes":   func(r *rand.Rand, _ int) float64 { return 6*float64(r.IntN(2)) + 0.3*r.NormFloat64() },
		"quantised":   func(r *rand.Rand, _ int) float64 { return math.Round(r.NormFloat64()) },
		"skewed":      func(r *rand.Rand, _ int) float64 { return math.Exp(2 * r.NormFloat64()) },
		"drift":       func(r *rand.Rand, at int) float64 { return 0.7*float64(at) + r.NormFloat64() },
	}
}

// differences are those of blocks of two builds in random order. The second is slower by a shift.
func differencesOf(r *rand.Rand, blocks int, shift float64, noise func(r *rand.Rand, at int) float64) []float64 {
	d := make([]float64, blocks)
	for i := range d {
		first, second := noise(r, 2*i), noise(r, 2*i+1)
		if d[i] = second - first; r.IntN(2) == 0 {
			d[i] = -d[i]
		}
		d[i] += shift
	}
	return d
}

// TestConfirmationLevelIsExact counts all signs that the differences of equal builds can have. The
// order of runs makes them equally likely, whatever the sizes. Of them at most Alpha are confirmed.
func TestConfirmationLevelIsExact(t *testing.T) {
	c := Confirmation{[]int{4, 8, 12}, 0.3, 0}
	sizes := map[string][]float64{"one size": {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		"zeros":       {0, 0, 1, 0, 2, 2, 0, 3, 0, 1, 1, 5},
		"not numbers": {1, math.NaN(), 3, 4, math.Inf(1), 6, 7, 8, 9, 9, 9, 2}}
	for name, noise := range noises() {
		sizes[name] = differencesOf(rand.New(rand.NewPCG(40, 1)), 12, 0, noise)
	}
	for name, d := range sizes {
		confirmed, signed := 0, make([]float64, len(d))
		for signs := range 1 << len(d) {
			for i, v := range d {
				if signed[i] = v; signs>>i&1 == 1 {
					signed[i] = -v
				}
			}
			if c.Judge(signed).State == Confirmed {
				confirmed++
			}
		}
		if got := float64(confirmed) / 4096; got > c.Alpha || name == "normal" && got < 0.12 {
			t.Errorf("%s: %.4f of equal builds are confirmed, the level is %v", name, got, c.Alpha)
		}
	}
}

// TestConfirmationLevel draws blocks of equal builds, and of builds at multiples of the threshold.
func TestConfirmationLevel(t *testing.T) {
	trials, alpha := 400*soak(), 0.05
	if soak() > 1 {
		alpha = 0.005
	}
	for name, noise := range noises() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(41, 41))
			wrong, blocks := 0, 0
			for range trials {
				got := DefaultConfirmation(alpha, 0).Judge(differencesOf(r, 48, 0, noise))
				if blocks += got.Blocks; got.State == Confirmed {
					wrong++
				}
			}
			limit := MaxByChance(trials, alpha, 0.999)
			t.Logf("%d of %d equal pairs are confirmed; at most %d may be chance", wrong, trials, limit)
			if wrong > limit {
				t.Errorf("%d of %d equal pairs are confirmed; at most %d may be chance", wrong, trials, limit)
			}
		})
	}
}

// TestConfirmationPower: shifts are found, and equal builds end early.
func TestConfirmationPower(t *testing.T) {
	trials := 150 * soak()
	for _, tc := range []struct {
		shift, confirmed, refuted float64 // at least these shares
		blocks                    int     // at most, on average
	}{{0, 0, 0.8, 33}, {1, 0.9, 0, 35}, {1.5, 0.97, 0, 24}, {2, 0.99, 0, 20}, {-2, 0, 1, 13}} {
		t.Run(fmt.Sprintf("%v sd", tc.shift), func(t *testing.T) {
			r := rand.New(rand.NewPCG(42, 42))
			states, blocks := map[string]int{}, 0
			for range trials {
				got := DefaultConfirmation(0.005, 0.6).Judge(differencesOf(r, 48, tc.shift, noises()["normal"]))
				states[got.State]++
				blocks += got.Blocks
			}
			t.Logf("%v after %d blocks on average", states, blocks/trials)
			if float64(states[Confirmed]) < tc.confirmed*float64(trials) ||
				float64(states[Refuted]) < tc.refuted*float64(trials) || blocks > tc.blocks*trials {
				t.Errorf("%v after %d blocks, want %+v", states, blocks, tc)
			}
		})
	}
}

// TestConfirmationLooks: only looks decide, and a decision stays.
func TestConfirmationLooks(t *testing.T) {
	c := DefaultConfirmation(0.005, 0.5)
	ones, mixed := make([]float64, 48), make([]float64, 48)
	for i := range ones {
		ones[i], mixed[i] = 1, float64(i%2*2-1)*(4+float64(i)/9)+0.3 // both signs, many sizes
	}
	late := append(append([]float64{}, mixed[:12]...), ones[:36]...)
	back := append(append([]float64{}, ones[:12]...), make([]float64, 36)...)
	for _, tc := range []struct {
		name   string
		d      []float64
		state  string
		blocks int
	}{
		{"none", nil, More, 12}, {"eleven", ones[:11], More, 12}, {"twelve", ones[:12], Confirmed, 12},
		{"decided before", back, Confirmed, 12}, {"second look", mixed[:12], More, 24},
		{"between looks", mixed[:23], More, 24},
		{"last look", mixed[:47], More, 48}, {"undecided", mixed, Undecided, 48}, {"late", late, Confirmed, 48},
		{"zeros", make([]float64, 12), Refuted, 12}, {"NaN", []float64{0: math.NaN(), 47: math.NaN()}, Refuted, 12},
	} {
		if got := c.Judge(tc.d); got.State != tc.state || got.Blocks != tc.blocks || !(got.P >= 0 && got.P <= 1) {
			t.Errorf("%s: %+v, want %s after %d", tc.name, got, tc.state, tc.blocks)
		}
	}
	small := c
	small.Threshold = 1.5
	if got := small.Judge(ones[:12]); got.State != Refuted {
		t.Errorf("a shift below the threshold: %+v", got)
	}
	if got := (Confirmation{}).Judge(ones); got.State != Undecided {
		t.Errorf("without looks: %+v", got)
	}
}
