package fps

import "testing"

// TestPercentileDown holds the percentile against sequences that Chromium's rule gives by hand:
// down from 100 % until 5 % are counted.
func TestPercentileDown(t *testing.T) {
	cases := []struct {
		name string
		bins map[int]int
		want float64
	}{
		{"a fifth dropped all the time", map[int]int{20: 300}, 0.20},
		{"one bad window of 100", map[int]int{0: 99, 80: 1}, 0},
		{"five bad windows of 100", map[int]int{0: 95, 80: 5}, 0}, // (1 − 0.95) · 100 is 5.000000000000004
		{"six bad windows of 100", map[int]int{0: 94, 80: 6}, 0.80},
		{"five bad windows of 99", map[int]int{0: 94, 80: 5}, 0.80},
		{"four, one and one", map[int]int{0: 94, 80: 4, 30: 1, 20: 1}, 0.20},
		{"nothing dropped", map[int]int{0: 50}, 0},
		{"everything dropped", map[int]int{100: 50}, 1},
	}
	for _, c := range cases {
		var bins, none [101]float64
		for i, n := range c.bins {
			bins[i] = float64(n)
		}
		for _, greatest := range []bool{false, true} {
			if got := percentileDown(&bins, &none, greatest); got != c.want {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
}
