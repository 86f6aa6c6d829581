package noise

import "testing"

// TestPoissonBound compares the bound with counts worked by hand. With a mean of 1 the
// probabilities of more than 0…7 are: 0.632, 0.264, 0.080; 0.019, 0.00366, 0.000594; 0.0000832, … .
func TestPoissonBound(t *testing.T) {
	for _, c := range []struct {
		mean, p float64
		want    int
	}{{1, 0.5, 1}, {1, 0.1, 2}, {1, 0.01, 4}, {1, 0.001, 5}, {1, 0.0001, 6}, {0, 0.5, 0}} {
		if got := poissonBound(c.mean, c.p); got != c.want {
			t.Errorf("mean %v, p %v: %d, want %d", c.mean, c.p, got, c.want)
		}
	}
}
