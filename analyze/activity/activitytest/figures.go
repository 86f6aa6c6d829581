package activitytest

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// Figure is a figure of a benchmark beside that of an anchor. Both sides run in turns.
type Figure struct {
	Name         string
	Anchor       string // empty: the goal is that of the figure itself
	Unit         string
	Goal         float64 // of the ratio; 0: none
	Least        bool    // the goal is a minimum
	Ours, Theirs []float64
}

// spread returns the median of numbers and a text with their range. Failed turns are NaN.
func spread(all []float64) (float64, string) {
	sorted := slices.DeleteFunc(slices.Sorted(slices.Values(all)), func(x float64) bool { return x != x })
	if len(sorted) == 0 {
		return math.NaN(), "–"
	}
	n := len(sorted)
	median := (sorted[(n-1)/2] + sorted[n/2]) / 2
	if n == 1 {
		return median, fmt.Sprintf("%.3g", median)
	}
	return median, fmt.Sprintf("%.3g (%.3g–%.3g)", median, sorted[0], sorted[n-1])
}

// ratios returns the numbers that the goal limits: a ratio for each turn.
func (f *Figure) ratios() (all []float64) {
	if f.Anchor == "" {
		return f.Ours
	}
	for i := range min(len(f.Ours), len(f.Theirs)) {
		all = append(all, f.Ours[i]/f.Theirs[i])
	}
	return all
}

// Print writes a table of figures with their medians and ranges.
func Print(w io.Writer, all []*Figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nfigure\tours\tanchor\tratio\tgoal\treached")
	for _, f := range all {
		_, ours := spread(f.Ours)
		_, theirs := spread(f.Theirs)
		median, ratio := spread(f.ratios())
		sign, goal, reached := "≤", "–", "–"
		if f.Least {
			sign = "≥"
		}
		if f.Goal > 0 {
			goal, reached = fmt.Sprintf("%s %.3g", sign, f.Goal), "yes"
			switch {
			case math.IsNaN(median):
				reached = "unknown"
			case f.Least && median < f.Goal, !f.Least && median > f.Goal:
				reached = "no"
			}
		}
		if f.Anchor == "" {
			theirs, ratio = "", "–"
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s %s\t%s\t%s\t%s\n", f.Name, ours, f.Unit, f.Anchor, theirs, ratio, goal, reached)
	}
	return t.Flush()
}
