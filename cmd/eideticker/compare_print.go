package main

import (
	"fmt"
	"io"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/wording"
)

// printComparison writes the table for people: who is compared, what to know first, a line per
// measure, and the sum of it.
func printComparison(w io.Writer, c *compare.Comparison) error {
	var l list
	a, b := c.Describe()
	l.add("A", "%s", a)
	l.add("B", "%s", b)
	for _, d := range c.Unlike {
		l.add("warning", "not alike: %s is %s in A and %s in B", d.Name, wording.Few(d.A), wording.Few(d.B))
	}
	for _, warning := range c.Warnings {
		l.add("warning", "%s", warning)
	}
	if err := l.print(w); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	var rows [][]string
	for i := range c.Values {
		rows = append(rows, comparedRow(&c.Values[i]))
	}
	if err := printTable(w, []string{"measure", ">A", ">B", "unit", "verdict", "B against A"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", c.Sum())
	return err
}

func comparedRow(v *compare.Value) []string {
	return []string{v.Key.String(), wording.Number(v.MedianA.Estimate), wording.Number(v.MedianB.Estimate),
		v.Measure.Unit, string(v.Verdict), v.Sentence()}
}
