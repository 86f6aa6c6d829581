package stats

import (
	"math/rand/v2"
	"slices"
)

// Labelled are rows of values, such as frames with shares of functions. Some rows are chosen.
type Labelled struct {
	Rows   [][]float32 // of one length
	Chosen []bool      // by row
	Strata []int       // by row: labels are exchanged within a stratum only
}

// Above returns for each column the one-sided p that its mean in chosen rows is above that in
// others. The test shuffles the label over whole rows, because values of one row depend on each
// other. p is (1 + b) ÷ (1 + shuffles), with b shuffles whose difference is at least the observed
// one. Source: Phipson and Smyth 2010. The generator has a seed, so that a result can be repeated.
func (l Labelled) Above(shuffles int, seed uint64) []float64 {
	if len(l.Rows) == 0 {
		return nil
	}
	columns := len(l.Rows[0])
	random := rand.New(rand.NewPCG(seed, seed))
	strata := map[int][]int{}
	chosen := map[int]int{}
	for i, s := range l.Strata {
		if strata[s] = append(strata[s], i); l.Chosen[i] {
			chosen[s]++
		}
	}
	order := sortedInts(strata)
	// The sum of all rows is fixed. So the difference of means grows with the sum of chosen rows.
	observed, sum := make([]float64, columns), make([]float64, columns)
	for i, row := range l.Rows {
		if l.Chosen[i] {
			addRow(observed, row)
		}
	}
	atLeast := make([]int, columns)
	for range shuffles {
		clear(sum)
		for _, s := range order {
			rows := strata[s]
			for k := range chosen[s] { // the first ones of a random order
				other := k + random.IntN(len(rows)-k)
				rows[k], rows[other] = rows[other], rows[k]
				addRow(sum, l.Rows[rows[k]])
			}
		}
		for c := range sum {
			const rounding = 1e-9
			if sum[c] >= observed[c]*(1-rounding) {
				atLeast[c]++
			}
		}
	}
	p := make([]float64, columns)
	for c := range p {
		p[c] = float64(1+atLeast[c]) / float64(1+shuffles)
	}
	return p
}

func addRow(sum []float64, row []float32) {
	for c, v := range row {
		sum[c] += float64(v)
	}
}

func sortedInts[V any](m map[int]V) (keys []int) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// BootstrapMean returns the mean with its 95 % percentile interval. Source: Efron 1979.
func BootstrapMean(values []float64, resamples int, seed uint64) Interval {
	n := len(values)
	if n == 0 {
		return Interval{}
	}
	random := rand.New(rand.NewPCG(seed, seed))
	means := make([]float64, resamples)
	for i := range means {
		for range n {
			means[i] += values[random.IntN(n)]
		}
		means[i] /= float64(n)
	}
	slices.Sort(means)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	tail := resamples * 25 / 1000
	return Interval{Estimate: sum / float64(n), Low: means[tail], High: means[resamples-1-tail], Confidence: 0.95,
		Exists: true}
}
