package changepoint

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// SplitOptions are those of [Split]. Zero fields have the defaults.
type SplitOptions struct {
	Window int     // values of a window, 2 to 1,000 (default: 50)
	P      float64 // level of the changes that stay, below 0.05 (default: 0.001)
}

// maxWindow limits the memory of a window, which is quadratic.
const maxWindow = 1000

// weaker is the ratio of the level within windows to that of the changes that stay.
const weaker = 10

// Split returns the changes of mean, in order. It first splits windows at the place of the largest
// energy distance, as long as a t-test finds the sides different at a weak level. Windows overlap
// by half, or begin at the last change. Then it merges the weakest neighbours until all remaining
// changes are significant. The variance of the t-test is divided by n, as in Otava. Results are
// those of Otava's compute_change_points without a min magnitude.
//
// Sources: Matteson and James 2014 for the energy distance; Fleming et al. 2023 (Hunter) for
// windows and merging; Apache Otava 0.8.
func Split(series []float64, o SplitOptions) ([]Change, error) {
	if o.Window == 0 {
		o.Window = 50
	}
	if o.P == 0 {
		o.P = level
	}
	if o.Window < 2 || o.Window > maxWindow || !(o.P > 0 && o.P < 0.05) {
		return nil, fmt.Errorf("changepoint split: window %d, p %v; want 2 to %d, 0 to 0.05", o.Window, o.P, maxWindow)
	}
	if err := check(series); err != nil {
		return nil, err
	}
	var places []int
	for start := 0; start < len(series); {
		w := newWindow(series[start:min(start+o.Window, len(series))])
		next := start + o.Window/2
		for _, i := range w.split(weaker * o.P) {
			places = append(places, start+i)
			next = max(next, start+i)
		}
		start = next
	}
	return merge(series, places, o), nil
}

// merge removes the least significant change until all are significant.
func merge(series []float64, places []int, o SplitOptions) (changes []Change) {
	if len(places) == 0 {
		return nil
	}
	segments, ps := []segment{}, make([]float64, len(places)) // segment i ends at place i
	for i := range len(places) + 1 {
		from, to := bounds(places, i, len(series))
		segments = append(segments, segmentOf(series[from:to]))
	}
	update := func(i int) {
		if i >= 0 && i < len(ps) {
			ps[i] = tTest(segments[i], segments[i+1])
		}
	}
	for i := range ps {
		update(i)
	}
	for len(ps) > 0 {
		weakest := 0
		for i, p := range ps {
			if p > ps[weakest] {
				weakest = i
			}
		}
		if ps[weakest] < o.P {
			break
		}
		segments[weakest] = segments[weakest].and(segments[weakest+1])
		segments = slices.Delete(segments, weakest+1, weakest+2)
		places, ps = slices.Delete(places, weakest, weakest+1), slices.Delete(ps, weakest, weakest+1)
		update(weakest) // Otava keeps the p of the change before, until one at its side is removed again
		update(weakest + 1)
	}
	for i, at := range places {
		update(i)
		from, _ := bounds(places, i, len(series))
		_, to := bounds(places, i+1, len(series))
		changes = append(changes, Change{at, ps[i], median(series[max(from, at-o.Window):at]),
			median(series[at:min(to, at+o.Window)])})
	}
	return changes
}

// bounds returns those of the i-th segment between places.
func bounds(places []int, i, size int) (from, to int) {
	if to = size; i < len(places) {
		to = places[i]
	}
	if i > 0 {
		from = places[i-1]
	}
	return from, to
}

// segment describes values without a change.
type segment struct{ n, mean, squares float64 } // squares of distances to the mean

func segmentOf(values []float64) (s segment) {
	s.n = float64(len(values))
	for _, v := range values {
		s.mean += v
	}
	s.mean /= s.n
	for _, v := range values {
		s.squares += (v - s.mean) * (v - s.mean)
	}
	return s
}

// and describes the values of both. Source: Chan, Golub and LeVeque 1983.
func (s segment) and(t segment) segment {
	n, d := s.n+t.n, t.mean-s.mean
	return segment{n, s.mean + d*t.n/n, s.squares + t.squares + d*d*s.n*t.n/n}
}

// tTest returns the two-sided p of Student's t-test. It is 1 for two values, and for equal constants.
func tTest(a, b segment) float64 {
	df := a.n + b.n - 2
	variance := ((a.n-1)*a.squares/a.n + (b.n-1)*b.squares/b.n) / df
	t := (a.mean - b.mean) / math.Sqrt(variance*(1/a.n+1/b.n))
	if df <= 0 || math.IsNaN(t) {
		return 1
	}
	return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}

// window is a part of a series with sums of the distances |x − y| of its pairs.
type window struct {
	values []float64
	size   int
	rows   []float64 // i·size + j: sum of the distances of value i to those after it, up to j
	column []float64 // j: sum of the distances of value j to those before it
	sums   []float64 // used by farthest
}

func newWindow(values []float64) *window {
	n := len(values)
	w := &window{values, n, make([]float64, n*n), make([]float64, n), make([]float64, 2*n)}
	for i, x := range values {
		sum := 0.0
		for j := i + 1; j < n; j++ {
			d := math.Abs(x - values[j])
			sum += d
			w.rows[i*n+j] = sum
			w.column[j] += d
		}
	}
	return w
}

// part is an interval of a window with the best place to split it.
type part struct {
	from, to, at int
	distance     float64
}

// split returns the places of a window, in order. Each is the best of all intervals between the
// places found before. The first that is not significant ends the search.
func (w *window) split(p float64) (places []int) {
	parts := []part{w.part(0, w.size)}
	for {
		best := 0
		for i, c := range parts {
			if c.distance > parts[best].distance {
				best = i
			}
		}
		b := parts[best]
		if b.at <= b.from {
			return places // of one value
		}
		// !(… ≤ p): Otava's test within windows includes equality
		if !(tTest(segmentOf(w.values[b.from:b.at]), segmentOf(w.values[b.at:b.to])) <= p) {
			return places
		}
		i, _ := slices.BinarySearch(places, b.at)
		places = slices.Insert(places, i, b.at)
		parts = slices.Replace(parts, best, best+1, w.part(b.from, b.at), w.part(b.at, b.to))
	}
}

// part returns the place of an interval with the largest energy distance between the values before
// it and those after, up to any end. With n and m values of X and Y on the sides the distance is
//
//	2 ÷ (n+m) · (Σ|X−Y| − m ÷ (n−1) · Σ|X−X'| − n ÷ (m−1) · Σ|Y−Y'|)
//
// Sums are over unordered pairs within a side. Their order is that of Otava, as rounding decides
// between equal places.
func (w *window) part(from, to int) part {
	best := part{from, to, from, -1}
	n := to - from
	within, after := w.sums[:w.size], w.sums[w.size:] // of the first i values; of those from i on, up to the end
	within[0] = 0
	for i := 1; i < n; i++ {
		before := 0.0
		for k := range from {
			before += math.Abs(w.values[k] - w.values[from+i])
		}
		within[i] = within[i-1] + (w.column[from+i] - before)
	}
	for end := 2; end <= n; end++ { // the sides are the first i values, and those up to end
		row := func(i int) float64 { return w.rows[(from+i)*w.size+from+end-1] }
		after[end-1] = 0
		for i := end - 2; i > 0; i-- {
			after[i] = after[i+1] + row(i)
		}
		all := 0.0 // pairs with the first value of the first i
		for i := 1; i < end; i++ {
			all += row(i - 1)
			sizes := float64(end)
			q := 2 / sizes * (all - within[i-1])
			if i > 1 {
				q -= 2 * float64(end-i) / (sizes * float64(i-1)) * within[i-1]
			}
			if end-i > 1 {
				q -= 2 * float64(i) / (sizes * float64(end-i-1)) * after[i]
			}
			if q > best.distance || q == best.distance && from+i < best.at {
				best.at, best.distance = from+i, q
			}
		}
	}
	return best
}
