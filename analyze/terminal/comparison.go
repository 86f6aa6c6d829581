package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// printComparison writes the answer and a table of the primary values. Of other values it writes
// those that regressed, or all.
func Comparison(w io.Writer, c *compare.Comparison, all bool) error {
	if err := InStyle(w, Bold, Indented(c.Answer(), "", Columns(w))+"\n"); err != nil {
		return err
	}
	if cause := c.Cause(); cause != "" {
		fmt.Fprintln(w, Indented(cause, "", Columns(w)))
	}
	var l List
	a, b := c.Describe()
	l.Add("A", "%s", a)
	l.Add("B", "%s", b)
	for _, d := range c.Unlike {
		l.Add("differs", "%s: %s in A, %s in B", d.Name, wording.Few(d.A), wording.Few(d.B))
	}
	for _, warning := range c.Warnings {
		l.Add("warning", "%s", warning)
	}
	l.Add("test", "%s", c.Test())
	if !c.Cost() {
		l.Add("level", "%s", c.Level())
	}
	if err := l.Print(w); err != nil {
		return err
	}
	folded := 0
	for _, family := range []struct {
		name  compare.Family
		title string
	}{{compare.PrimaryFamily, "primary value"}, {compare.SecondFamily, "other value"}, {"", "untested value"}} {
		var shown []*compare.Value
		for i := range c.Values {
			v := &c.Values[i]
			switch {
			case v.Family != family.name:
			case all || v.Primary || v.Verdict == stats.Regressed:
				shown = append(shown, v)
			default:
				folded++
			}
		}
		if err := printCompared(w, family.title, shown, c.Cost()); err != nil {
			return err
		}
	}
	var functions []*compare.Value
	for i := range c.Functions {
		functions = append(functions, &c.Functions[i])
	}
	if !all {
		functions = functions[:min(len(functions), printedLate)]
	}
	if err := printCompared(w, "time of functions with their callees", functions, c.Cost()); err != nil {
		return err
	}
	if fmt.Fprintln(w); !c.Cost() {
		fmt.Fprintf(w, "%s\n", strings.Join(fold(c.Sum(), Width(w)), "\n"))
	}
	if folded > 0 {
		fmt.Fprintf(w, "%s not shown: --all shows them\n", wording.Plural(folded, "value"))
	}
	return nil
}

// printCompared writes a table of values. If all are of one measure, it is in the heading. The cost
// of a profile has no verdicts.
func printCompared(w io.Writer, title string, values []*compare.Value, cost bool) error {
	if len(values) == 0 {
		return nil
	}
	of := func(v *compare.Value) string { return strings.TrimSuffix(v.Key.String(), v.Key.Value) }
	prefix := of(values[0])
	for _, v := range values {
		if of(v) != prefix {
			prefix = ""
		}
	}
	if prefix != "" {
		title = strings.TrimSuffix(prefix, ".") + ", " + title
	}
	var rows [][]string
	for _, v := range values {
		unit := strings.TrimRight(" "+v.Measure.Unit, " ")
		rows = append(rows, []string{strings.TrimPrefix(v.Key.String(), prefix),
			wording.Number(v.MedianA.Estimate) + unit, wording.Number(v.MedianB.Estimate) + unit, v.Size(),
			cmp.Or(v.Untested, string(v.Verdict))})
	}
	heading := []string{title, ">A", ">B", "B against A", "verdict"}
	if cost {
		heading = []string{title, ">plain", ">profiled", "cost (95 % interval)"}
		for i := range rows {
			rows[i] = rows[i][:len(heading)]
		}
	}
	fmt.Fprintln(w)
	return Table(w, heading, rows)
}
