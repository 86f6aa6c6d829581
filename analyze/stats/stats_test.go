package stats

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMedianInterval(t *testing.T) {
	for _, tc := range []struct {
		name      string
		values    []float64
		estimate  float64
		low, high float64 // 0, 0: there is none
		exact     float64 // confidence, by hand: binomial(n, ½)
	}{
		{"none", nil, 0, 0, 0, 0},
		{"one", []float64{7}, 7, 0, 0, 0},
		{"five", []float64{5, 1, 4, 2, 3}, 3, 0, 0, 0},
		{"six", []float64{6, 1, 5, 2, 4, 3}, 3.5, 1, 6, 1 - 2.0/64},
		{"eight, one step off the middle", []float64{1, 2, 3, 4, 5, 6, 7, 8}, 4.5, 1, 7, 1 - (1+8+1)/256.0},
		{"ten", []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 5.5, 2, 9, 1 - 2*(1+10)/1024.0},
		{"all equal", []float64{3, 3, 3, 3, 3, 3}, 3, 3, 3, 1 - 2.0/64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kept := slices.Clone(tc.values)
			got := Summarize(tc.values)
			want := Interval{tc.estimate, tc.low, tc.high, tc.exact, tc.exact > 0}
			if math.Abs(got.Confidence-want.Confidence) > 1e-12 {
				t.Errorf("confidence %v, want %v", got.Confidence, want.Confidence)
			}
			if got.Confidence = want.Confidence; got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
			if !slices.Equal(tc.values, kept) {
				t.Error("the values were changed")
			}
		})
	}
}

// TestMedianConfidence compares the returned confidence with the binomial distribution. It is exact
// to 30 runs, and always at least Level.
func TestMedianConfidence(t *testing.T) {
	within := 0
	for n := FewestRuns; n <= 200; n++ {
		ranks := make([]float64, n)
		for i := range ranks {
			ranks[i] = float64(i + 1)
		}
		s := Summarize(ranks)
		exact := 0.0 // the median lies behind k of n values
		for k := int(s.Low); k < int(s.High); k++ {
			exact += choose(n, k) * math.Pow(0.5, float64(n))
		}
		if exact < Level || !s.Exists {
			t.Errorf("%d runs: %v to %v covers with %.4f", n, s.Low, s.High, exact)
		}
		if allowed := map[bool]float64{true: 1e-9, false: 0.002}[n <= 30]; math.Abs(exact-s.Confidence) > allowed {
			t.Errorf("%d runs: confidence %.5f, and the binomial distribution says %.5f", n, s.Confidence, exact)
		}
		if exact <= 0.96 {
			within++
		}
		if n >= 60 && exact > 0.965 {
			t.Errorf("%d runs: covers with %.4f, wider than steps explain", n, exact)
		}
	}
	if within < 120 {
		t.Errorf("only %d sizes have an interval of 95 to 96 %%", within)
	}
}

func TestClosest(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []float64
		want   int
	}{
		{"none", nil, -1},
		{"one", []float64{4}, 0},
		{"the median itself", []float64{9, 1, 5}, 2},
		{"two as close: the first", []float64{9, 6, 4, 1}, 1},
		{"equal ones: the first", []float64{9, 5, 5, 1}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Closest(tc.values); got != tc.want {
				t.Errorf("run %d, want %d", got, tc.want)
			}
		})
	}
}

// TestMannWhitneyIsExact deals the pooled values out in every possible way, which is the
// definition.
func TestMannWhitneyIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 400 {
		levels := 2 + r.IntN(12) // few levels: many equal values
		a, b := make([]float64, 1+r.IntN(6)), make([]float64, 1+r.IntN(6))
		for j := range a {
			a[j] = float64(r.IntN(levels))
		}
		for j := range b {
			b[j] = float64(r.IntN(levels)) + float64(r.IntN(2))
		}
		if got, want := mannWhitney(a, b), permutationP(a, b); math.Abs(got-want) > 1e-9 {
			t.Fatalf("case %d, %v against %v: p %v, want %v", i, a, b, got, want)
		}
		if there, back := mannWhitney(a, b), mannWhitney(b, a); math.Abs(there-back) > 1e-9 {
			t.Fatalf("%v against %v: p %v, and %v turned round", a, b, there, back)
		}
	}
}

// permutationP is twice the chance of at most so many wins for the set with fewer. The chance is
// over all permutations of the values.
func permutationP(a, b []float64) float64 {
	pooled := slices.Concat(a, b)
	wins := func(of uint) (w float64) { // of the set bits' values over the others, equal ones half
		for i, x := range pooled {
			for j, y := range pooled {
				if of>>i&1 == 1 && of>>j&1 == 0 {
					w += map[bool]float64{x > y: 1, x == y: 0.5}[true]
				}
			}
		}
		return w
	}
	size, seen := len(a), wins(1<<len(a)-1)
	if seen > float64(len(a)*len(b))/2 {
		size, seen = len(b), float64(len(a)*len(b))-seen
	}
	fewer, all := 0.0, 0.0
	for of := range uint(1) << len(pooled) {
		n := 0
		for i := range pooled {
			n += int(of >> i & 1)
		}
		if n != size {
			continue
		}
		all++
		if wins(of) <= seen {
			fewer++
		}
	}
	return min(1, 2*fewer/all)
}

func TestMannWhitneyBounds(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"empty", nil, []float64{1}, 1},
		{"all equal", []float64{2, 2, 2}, []float64{2, 2, 2}, 1},
		{"apart", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2 / 70.0},
		{"quantised and apart", []float64{1, 1, 1, 1}, []float64{2, 2, 2, 2}, 2 / 70.0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := mannWhitney(tc.a, tc.b); math.Abs(got-tc.want) > 1e-12 {
				t.Errorf("p %v, want %v", got, tc.want)
			}
		})
	}
	if got, want := smallestP(4, 4), 2/70.0; math.Abs(got-want) > 1e-12 {
		t.Errorf("smallest p of 4 and 4 runs is %v, want %v", got, want)
	}
}

func TestPairsLiterally(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 500 {
		a, b := make([]float64, 1+r.IntN(9)), make([]float64, 1+r.IntN(9))
		for _, s := range [][]float64{a, b} {
			for j := range s {
				s[j] = 1 + float64(r.IntN(20))/2
			}
		}
		var differences, ratios []float64
		wins := 0
		for _, x := range a {
			for _, y := range b {
				differences = append(differences, y-x)
				ratios = append(ratios, math.Log(y/x))
				wins += map[bool]int{y > x: 1, y < x: -1}[true]
			}
		}
		if got, want := cliffsDelta(a, b), float64(wins)/float64(len(a)*len(b)); got != want {
			t.Fatalf("%v against %v: delta %v, want %v", a, b, got, want)
		}
		if got, want := shiftOf(a, b, Alpha).Estimate, median(differences); got != want {
			t.Fatalf("%v against %v: shift %v, want %v", a, b, got, want)
		}
		ratio, ok := ratioOf(a, b, Alpha)
		if want := math.Exp(median(ratios)); !ok || math.Abs(ratio.Estimate-want) > 1e-12 {
			t.Fatalf("%v against %v: ratio %v, want %v", a, b, ratio.Estimate, want)
		}
		back, _ := ratioOf(b, a, Alpha)
		if ratio.Exists != back.Exists || ratio.Exists && math.Abs(ratio.Low*back.High-1) > 1e-12 {
			t.Fatalf("%v against %v: ratio from %v, turned round to %v", a, b, ratio.Low, back.High)
		}
	}
}

// TestShiftOrders holds the order statistics against published tables of U, and each size's against
// its neighbours.
func TestShiftOrders(t *testing.T) {
	for _, tc := range []struct{ n, m, c int }{
		// Critical values of U, two-sided 5 %, plus one. Source: Mann and Whitney 1947 as extended
		// by Auble 1953.
		{3, 4, 0}, {4, 4, 1}, {5, 5, 3}, {6, 6, 6}, {6, 10, 12}, {8, 8, 14}, {10, 10, 24}, {7, 12, 19}, {15, 15, 65},
		{20, 20, 128},
	} {
		if c, _ := shiftOrder(tc.n, tc.m, Alpha); c != tc.c {
			t.Errorf("%d and %d runs: order %d, want %d", tc.n, tc.m, c, tc.c)
		}
		if c, _ := shiftOrder(tc.m, tc.n, Alpha); c != tc.c {
			t.Errorf("%d and %d runs: order %d, want %d", tc.m, tc.n, c, tc.c)
		}
	}
	for _, n := range []int{31, 40, 60} {
		c, confidence := shiftOrder(n, n, Alpha)
		below := 0.0
		for _, p := range uDistribution(n, n)[:c] {
			below += p
		}
		if math.Abs(1-2*below-confidence) > 0.001 || confidence < Level || confidence > 0.96 {
			t.Errorf("%d runs each: order %d covers with %.5f, told as %.5f", n, c, 1-2*below, confidence)
		}
	}
}

func TestUDistribution(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for m := 1; m <= 5; m++ {
			counts := make([]float64, n*m+1)
			for of := range uint(1) << (n + m) { // which ranks are of the first set
				u, ones := 0, 0
				for i := range n + m {
					if of>>i&1 == 1 {
						ones++
						u += i + 1 - ones
					}
				}
				if ones == n {
					counts[u]++
				}
			}
			for u, p := range uDistribution(n, m) {
				if want := counts[u] / choose(n+m, n); math.Abs(p-want) > 1e-12 {
					t.Errorf("%d and %d runs: P(U = %d) is %v, want %v", n, m, u, p, want)
				}
			}
		}
	}
}

func TestRatioNeedsPositiveValues(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b []float64
	}{
		{"zero in A", []float64{0, 1}, []float64{1, 2}},
		{"negative in B", []float64{1, 2}, []float64{-1, 2}},
		{"empty", nil, []float64{1}},
		{"beyond what a number holds", []float64{5e-324, 5e-324}, []float64{1e300, 1e300}},
	} {
		if ratio, ok := ratioOf(tc.a, tc.b, Alpha); ok {
			t.Errorf("%s: %+v", tc.name, ratio)
		}
	}
}

func TestHolm(t *testing.T) {
	for _, tc := range []struct {
		name    string
		p, want []float64
	}{
		{"none", nil, []float64{}},
		{"one", []float64{0.04}, []float64{0.04}},
		// 4·0.01, then 3·0.02 = 0.06, then 2·0.022 = 0.044 but at least 0.06; then 0.5.
		{"four, out of order", []float64{0.5, 0.01, 0.022, 0.02}, []float64{0.5, 0.04, 0.06, 0.06}},
		{"at most 1", []float64{0.6, 0.7}, []float64{1, 1}},
		{"equal ones", []float64{0.02, 0.02}, []float64{0.04, 0.04}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Holm(tc.p)
			if !slices.EqualFunc(got, tc.want, func(x, y float64) bool { return math.Abs(x-y) < 1e-12 }) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// TestAboveIsExact: the p of sets of unequal sizes with equal values is that of all permutations.
func TestAboveIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	small := 0
	for range 300 {
		n, m := 1+r.IntN(4), 1+r.IntN(9)
		values := make([]float64, n+m)
		for i := range values {
			if values[i] = float64(r.IntN(4)); i >= n {
				values[i] += float64(r.IntN(4))
			}
		}
		sum := func(set uint) (u float64) { // of pairs in which b is above a
			for i, a := range values {
				for j, b := range values {
					if set>>i&1 == 1 && set>>j&1 == 0 {
						u += float64(cmp.Compare(b, a))
					}
				}
			}
			return u
		}
		seen, all, above := sum(1<<n-1), 0, 0
		for set := range uint(1) << (n + m) {
			if bits.OnesCount(set) == n {
				if all++; sum(set) >= seen {
					above++
				}
			}
		}
		got, want := Above(values[:n], values[n:]), float64(above)/float64(all)
		if seen > 0 && got < 0.05 {
			if small++; math.Abs(got-want) > 1e-9 {
				t.Errorf("%v above %v: p = %g, want %g", values[n:], values[:n], got, want)
			}
		}
		if exact := AboveExactly(values[:n], values[n:]); math.Abs(exact-want) > 1e-9 {
			t.Errorf("%v above %v: exactly %g, want %g", values[n:], values[:n], exact, want)
		}
		if (seen <= 0) != (got == 1) && want < 0.5 {
			t.Errorf("%v above %v: p = %g", values[n:], values[:n], got)
		}
	}
	if small < 20 {
		t.Errorf("only %d small ones", small)
	}
	a, b := []float64{0, 0, 0}, slices.Repeat([]float64{200}, 27)
	if got := Above(a, b); math.Abs(got-1/4060.0) > 1e-9 {
		t.Errorf("3 below 27 equal ones: %g", got)
	}
}
