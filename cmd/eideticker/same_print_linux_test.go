package main

import (
	"fmt"
	"io"
	"time"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
)

// print says what came out, then each value's alarms, then each value's spread.
func (r *sameResult) print(w io.Writer) error {
	var l terminal.List
	p := r.plan
	l.Add("compared", "%s with itself, %s of a set", p.who(), plural(p.Repeat, "run"))
	l.Add("browser", "%s", wording.Few(r.browsers)) // of several versions the runs are not of one browser
	l.Add("comparisons", "%d of %d count; in %d of them a verdict was possible", r.made, len(p.Comparisons),
		r.alarms.of)
	l.Add("false alarms", "%s", r.alarms.text())
	for _, a := range r.alarmed {
		l.Add("", "%s", a)
	}
	l.Add("p of primaries", "below %.2g in %s", stats.Alpha, r.primaries.text())
	for i, n := range r.notCounted {
		if i == maxNotCounted {
			l.Add("", "and %d more do not count", len(r.notCounted)-i)
			break
		}
		l.Add("does not count", "%s", n)
	}
	if len(r.took) > 0 {
		l.Add("a run takes", "%.1f s, the median of %s", medianOf(r.took).Seconds(), plural(len(r.took), "run"))
	}
	l.Add("seed", "%d", p.Seed)
	l.Add("folder", "%s", p.dir)
	if err := l.Print(w); err != nil || len(r.rows) == 0 {
		return err
	}
	var alarms, spreads [][]string
	for _, row := range r.rows {
		if row.compared > 0 {
			alarms = append(alarms, row.alarmCells())
		}
		spreads = append(spreads, row.spreadCells())
	}
	if len(alarms) > 0 {
		if err := heading(w, []string{"TEST", "VALUE", ">COMPARED", ">TESTED", ">P LOW", ">VERDICT POSSIBLE", ">ALARMS",
			">EXPECTED", "95 % INTERVAL", "LEVEL"}, alarms); err != nil {
			return err
		}
	}
	return heading(w, []string{"TEST", "VALUE", "UNIT", ">RUNS", ">MEDIAN", ">QUARTILES", ">LEAST", ">MOST",
		">VARIATION"}, spreads)
}

// maxNotCounted is how many lines are spent on what does not count.
const maxNotCounted = 5

// text says how often something happened, and whether that is chance.
func (c sameCount) text() string {
	if c.of == 0 {
		return "none: nothing could be tested"
	}
	held := "within what the level allows"
	if c.exceeded() {
		held = "MORE than the level allows"
	}
	return fmt.Sprintf("%d of %d (%s); at %g %% %.1f are expected at most, and %d may be chance: %s",
		c.hits, c.of, percentRange(c.interval()), 100*stats.Alpha, stats.Alpha*float64(c.of), c.most, held)
}

func percentRange(i stats.Interval) string {
	if !i.Exists {
		return "–"
	}
	return fmt.Sprintf("%.1f–%.1f %%", 100*i.Low, 100*i.High)
}

func (row *sameRow) name() string {
	if row.primary {
		return row.key.String() + " *"
	}
	return row.key.String()
}

func (row *sameRow) alarmCells() []string {
	c := row.alarms
	held := "within"
	switch {
	case c.of == 0 && c.hits == 0:
		held = "no verdict possible"
	case c.exceeded():
		held = "EXCEEDED"
	}
	return []string{
		row.test, row.name(), fmt.Sprint(row.compared), fmt.Sprint(row.tested), fmt.Sprint(row.low), fmt.Sprint(c.of),
		fmt.Sprint(c.hits),
		fmt.Sprintf("≤ %.1f", stats.Alpha*float64(c.of)), percentRange(c.interval()), held,
	}
}

func (row *sameRow) spreadCells() []string {
	s := stats.NewSpread(row.values)
	return []string{
		row.test, row.name(), row.unit, fmt.Sprint(len(row.values)), wording.Number(s.Median),
		wording.Number(s.Lower) + " – " + wording.Number(s.Upper), wording.Number(s.Min), wording.Number(s.Max),
		fmt.Sprintf("%.2f %%", 100*s.Variation),
	}
}

func medianOf(all []time.Duration) time.Duration {
	values := make([]float64, len(all))
	for i, d := range all {
		values[i] = float64(d)
	}
	return time.Duration(stats.NewSpread(values).Median)
}

// heading prints a table below an empty line.
func heading(w io.Writer, names []string, rows [][]string) error {
	fmt.Fprintln(w)
	return terminal.Table(w, names, rows)
}
