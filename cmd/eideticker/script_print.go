package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
)

const printedFunctions = 20

// printScript writes what to know of a run's scripts: warnings, and with all the late frames,
// functions and errors too.
func printScript(w io.Writer, s *result.Script, all bool) error {
	if s == nil {
		return nil
	}
	said := s.Warnings
	if s.LostText != "" {
		said = append([]string{s.LostText}, said...)
	}
	if !all && len(said) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w, "\nScripts"); err != nil {
		return err
	}
	if !all {
		return printLines(w, said)
	}
	if err := errors.Join(inStyle(w, bold, indented(s.Sentence, "", columns(w))), printLines(w, said)); err != nil {
		return err
	}
	for _, l := range s.Late {
		text := fmt.Sprintf("frame %d: %s", l.Frame, l.Sentence)
		if _, err := io.WriteString(w, indented(text, "  ", columns(w))); err != nil {
			return err
		}
	}
	var rows [][]string
	for _, f := range s.Functions[:min(len(s.Functions), printedFunctions)] {
		rows = append(rows, []string{shortened(f.Name) + " " + shortened(f.Place), wording.Count(f.Calls), f.SelfText,
			f.SelfBounds, f.MeanText, f.MaxText})
	}
	if len(rows) > 0 {
		if err := printTable(w, []string{"function", ">calls", ">self", "bounds", ">mean", ">longest"},
			rows); err != nil {
			return err
		}
	}
	if left := len(s.Functions) - len(rows); left > 0 {
		fmt.Fprintf(w, "%s in %s\n", plural(left, "more function"), result.FileName)
	}
	rows = nil
	for _, e := range s.Errors {
		rows = append(rows, []string{e.Kind, shortened(e.Place), wording.Count(e.Count), frameText(e.Frame), e.Message})
	}
	if len(rows) > 0 {
		if err := printWrapped(w, []string{"error", "place", "times", "frame", ""}, rows, columns(w)); err != nil {
			return err
		}
	}
	if s.ErrorsLeft > 0 {
		fmt.Fprintf(w, "%s left out\n", plural(s.ErrorsLeft, "later error"))
	}
	_, err := io.WriteString(w, indented(s.Programs.Text, "", columns(w))+indented(s.Cost.Text, "", columns(w)))
	return err
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
