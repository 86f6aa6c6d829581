package terminal

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Samples writes the median of each primary value of runs, with its interval. The named ones are
// before those of the test. With all, it writes those of all values.
func Samples(w io.Writer, s *compare.Set, primary []string, all bool) error {
	var rows [][]string
	samples, names := s.Samples(), slices.Clone(primary)
	for _, window := range s.Runs[0].Windows {
		names = append(names, window.Answer.Primary...)
	}
	slices.SortStableFunc(samples, func(a, b compare.Sample) int { return rank(names, a) - rank(names, b) })
	for _, sample := range samples {
		if all || len(names) == 0 || rank(names, sample) < len(names) {
			rows = append(rows, sampleRow(sample, all))
		}
	}
	heading := []string{"measure", ">median", "unit", "95 % interval", ">min", ">max"}
	if all {
		heading = append(heading, ">variation")
	}
	if err := Table(w, heading, rows); err != nil {
		return err
	}
	return moreValues(w, len(samples)-len(rows), all)
}

// rank sorts the named values first.
func rank(names []string, s compare.Sample) int {
	if i := slices.IndexFunc(names, s.Key.Called); i >= 0 {
		return i
	}
	return len(names)
}

// sampleRow returns the row of a value.
func sampleRow(s compare.Sample, all bool) []string {
	m := stats.Summarize(s.Values)
	interval := "too few runs"
	if m.Exists {
		interval = wording.Number(m.Low) + " – " + wording.Number(m.High)
	}
	spread := stats.NewSpread(s.Values)
	row := []string{s.Key.String(), wording.Number(m.Estimate), s.Unit, interval, wording.Number(spread.Min),
		wording.Number(spread.Max)}
	if all {
		row = append(row, percentText(spread.Variation))
	}
	return row
}

// percentText formats a fraction as a percentage. NaN has none.
func percentText(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%.2f %%", 100*v)
}
