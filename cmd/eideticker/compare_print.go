package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/stats"
)

// print writes the table for people: who is compared, what to know first, a line per measure, and the sum of it.
func (c *comparison) print(w io.Writer) error {
	var l list
	l.add("A", "%s", c.a.describe(c.shownA))
	l.add("B", "%s", c.b.describe(c.shownB))
	for _, d := range c.environment {
		l.add("warning", "not alike: %s is %s in A and %s in B", d.name, few(d.a), few(d.b))
	}
	for _, warning := range c.warnings {
		l.add("warning", "%s", warning)
	}
	if err := l.print(w); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	var rows [][]string
	for i := range c.measures {
		rows = append(rows, c.measures[i].row())
	}
	if err := printTable(w, []string{"measure", ">A", ">B", "unit", "verdict", "B against A"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", c.sum())
	return err
}

// describe says what a set is.
func (s *runSet) describe(shown int) string {
	if len(s.runs) == 1 {
		return s.path + ", a single run"
	}
	text := fmt.Sprintf("%s, %s", s.path, plural(len(s.runs), "run"))
	if shown >= 0 {
		text += "; closest to the median: " + s.runs[shown].name
	}
	return text
}

func (m *compared) row() []string {
	return []string{m.fullName(), numberText(m.MedianA.Estimate), numberText(m.MedianB.Estimate), m.Measure.Unit, string(m.Verdict), m.Sentence()}
}

// sum counts verdicts.
func (c *comparison) sum() string {
	var parts []string
	counts := c.counts()
	for _, v := range verdicts() {
		if n := counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return plural(len(c.measures), "value") + ": " + strings.Join(parts, ", ")
}

func verdicts() []stats.Verdict {
	return []stats.Verdict{stats.Regressed, stats.Improved, stats.Different, stats.Unchanged, stats.Inconclusive}
}

func (c *comparison) counts() map[stats.Verdict]int {
	counts := map[stats.Verdict]int{}
	for _, m := range c.measures {
		counts[m.Verdict]++
	}
	return counts
}

// evidence tells what -o has brought.
func (c *comparison) evidence() (l list) {
	if c.heat != nil {
		l.add("heat maps", "%s", c.heat.text())
	}
	if c.divergence != nil {
		l.add("divergence", "%s", c.divergence.text())
	}
	if c.pair != nil {
		l.add("video", "%s", c.pair.text())
	}
	return l
}

// numberText writes a value with four figures, and whole numbers whole.
func numberText(v float64) string {
	size := math.Abs(v)
	switch {
	case v == math.Trunc(v) && size < 1e15:
		return strings.Replace(countText(int64(v)), "-", "−", 1)
	case size >= 1000 && size < 1e15:
		return strings.Replace(countText(int64(math.Round(v))), "-", "−", 1)
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', 4, 64), "-", "−", 1)
}
