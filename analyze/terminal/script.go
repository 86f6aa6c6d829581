package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

const (
	printedFunctions = 20
	printedLate      = 3 // without --all
	functionsOfSet   = 5
)

// Script prints the scripts of a run or a server, with all lists.
func Script(w io.Writer, s *result.Script) error { return printScript(w, s, true) }

// printScript writes the findings in a run's scripts, warnings and the cost. With all, it adds the
// lists and tables.
func printScript(w io.Writer, s *result.Script, all bool) error {
	if s == nil {
		return nil
	}
	said := s.Warnings
	if s.LostText != "" {
		said = append([]string{s.LostText}, said...)
	}
	if _, err := fmt.Fprintln(w, "\nScripts"); err != nil {
		return err
	}
	if err := errors.Join(InStyle(w, Bold, Indented(s.Sentence, "", Columns(w))), Lines(w, said)); err != nil {
		return err
	}
	late := slices.Clone(s.Late)
	if !all { // a page that waits for input has late frames in which hardly any script ran
		late = slices.DeleteFunc(late, func(l result.LateFrame) bool {
			return len(l.Functions) == 0 || l.UnexplainedNS.Value > 0.9*float64(l.ToNS-l.FromNS)
		})
		late = late[:min(len(late), printedLate)]
	}
	for _, l := range late {
		text := fmt.Sprintf("frame %d: %s", l.Frame, l.Sentence)
		if _, err := io.WriteString(w, Indented(text, "  ", Columns(w))); err != nil {
			return err
		}
	}
	if !all {
		texts := ""
		for _, r := range s.Reports {
			texts += Indented(r.Policy+": "+r.Sentence, "", Columns(w))
		}
		_, err := io.WriteString(w, texts+Indented(s.Cost.Text, "", Columns(w)))
		return err
	}
	var rows [][]string
	for _, f := range s.Functions[:min(len(s.Functions), printedFunctions)] {
		rows = append(rows, []string{shortened(f.Name) + " " + shortened(f.Place), wording.Count(f.Calls), f.SelfText,
			f.SelfBounds, f.MeanText, f.MaxText})
		for _, n := range f.Natives {
			self, name, _ := strings.Cut(n.Text, " in ")
			rows = append(rows, []string{"  " + shortened(name), "", self, "", "", ""})
		}
	}
	if len(rows) > 0 {
		if err := Table(w, []string{"function", ">calls", ">self", "bounds", ">mean", ">longest"},
			rows); err != nil {
			return err
		}
	}
	if left := len(s.Functions) - printedFunctions; left > 0 {
		fmt.Fprintf(w, "%s in %s\n", wording.Plural(left, "more function"), result.FileName)
	}
	rows = nil
	for _, e := range s.Errors {
		rows = append(rows, []string{e.Kind, shortened(e.Place), wording.Count(e.Count), frameText(e.Frame), e.Message})
	}
	if len(rows) > 0 {
		if err := Wrapped(w, []string{"error", "place", "times", "frame", ""}, rows, Columns(w)); err != nil {
			return err
		}
	}
	if s.ErrorsLeft > 0 {
		fmt.Fprintf(w, "%s left out\n", wording.Plural(s.ErrorsLeft, "later error"))
	}
	for i := range s.Reports {
		if err := printReport(w, &s.Reports[i]); err != nil {
			return err
		}
	}
	texts := Indented(s.Programs.Text, "", Columns(w))
	if s.Plan != nil {
		texts += Indented(s.Plan.Text, "", Columns(w))
	}
	_, err := io.WriteString(w, texts+Indented(s.Cost.Text, "", Columns(w)))
	return err
}

// printReport writes the table of a policy.
func printReport(w io.Writer, p *result.PolicyReport) error {
	if _, err := io.WriteString(w, Indented(p.Policy+": "+p.Sentence, "", Columns(w))); err != nil {
		return err
	}
	head := []string{"place", "code"}
	for _, c := range p.Columns {
		head = append(head, ">"+c.Name)
	}
	var rows [][]string
	for _, row := range p.Rows[:min(len(p.Rows), printedFunctions)] {
		cells := append([]string{shortened(row.Place), wording.Short(row.Name, 24)}, row.Texts...)
		rows = append(rows, append(cells, strings.TrimSpace(row.Verdict+" "+row.Text)))
	}
	if len(rows) == 0 {
		return nil
	}
	if err := Table(w, append(head, ""), rows); err != nil {
		return err
	}
	if left := len(p.Rows) + p.Left - len(rows); left > 0 {
		fmt.Fprintf(w, "%s in %s\n", wording.Plural(left, "more place"), result.FileName)
	}
	return nil
}

// frameText returns the number of a frame, or a dash.
func frameText(n int) string {
	if n < 0 {
		return "–"
	}
	return wording.Count(n)
}

// shortened cuts the front of a name, so that a table of names fits 80 columns.
func shortened(name string) string {
	const most = 28
	if runes := []rune(name); len(runes) > most {
		return "…" + string(runes[len(runes)-most+1:])
	}
	return name
}

// ScriptSet prints the functions that ran longest in the runs of a set, and the last plan. A nil
// is a run without scripts.
func ScriptSet(w io.Writer, runs []*result.Script) error {
	times, measured := map[string][]float64{}, 0 // self times of a function, in ms
	var plan *result.ScriptPlan
	for _, s := range runs {
		if s == nil || s.Plan != nil && s.Plan.Plain || len(s.Functions) == 0 {
			continue
		}
		s = s.Complete()
		measured, plan = measured+1, s.Plan
		here := map[string]float64{}
		for _, f := range s.Functions {
			here[shortened(f.Name)+" "+shortened(f.Place)] += f.Self.Value / 1e6
		}
		for name, ms := range here {
			times[name] = append(times[name], ms)
		}
	}
	if measured == 0 {
		return nil
	}
	median := func(name string) float64 { return stats.NewSpread(times[name]).Median }
	names := slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(median(b), median(a)), strings.Compare(a, b))
	})
	var rows [][]string
	for _, name := range names[:min(len(names), functionsOfSet)] {
		s := stats.NewSpread(times[name])
		rows = append(rows, []string{name, fmt.Sprintf("%d of %d", len(times[name]), measured),
			wording.Number(s.Median), wording.Number(s.Min), wording.Number(s.Max)})
	}
	fmt.Fprintln(w, "\nScripts: time of functions, without others that they called")
	if err := Table(w, []string{"function", ">runs", ">median ms", ">min", ">max"}, rows); err != nil || plan == nil {
		return err
	}
	_, err := io.WriteString(w, Indented(plan.Text, "", Columns(w)))
	return err
}
