package terminal

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
)

const (
	printedThreads = 10
	printedTests   = 5
	threadsOfFrame = 3
	maxLabel       = 44 // letters of a function
)

// Profile prints the activity before frames of a run, with all lists.
func Profile(w io.Writer, p *result.Profile) error { return printProfile(w, p, true) }

// printProfile writes the findings in the traces of a run. With all, it adds late frames with their
// threads, and the functions that ran longest.
func printProfile(w io.Writer, p *result.Profile, all bool) error {
	if p == nil {
		return nil
	}
	if _, err := fmt.Fprintln(w, "\nProfile"); err != nil {
		return err
	}
	if err := errors.Join(InStyle(w, Bold, Indented(p.Sentence, "", Columns(w))), Lines(w, p.Warnings)); err != nil {
		return err
	}
	texts := ""
	if p.TestText != "" {
		texts = Indented(p.TestText, "", Columns(w))
	}
	for _, t := range p.Traces {
		texts += Indented(t.Text, "", Columns(w))
	}
	if _, err := io.WriteString(w, texts); err != nil || !all {
		return err
	}
	texts = ""
	for _, t := range p.Tests[:min(len(p.Tests), printedTests)] {
		texts += Indented(t.Text+".", "  ", Columns(w))
	}
	for _, l := range p.Late {
		texts += Indented(fmt.Sprintf("frame %d: %s", l.Frame, l.Sentence), "  ", Columns(w))
		if l.Suspected != "" {
			texts += Indented(l.Suspected, "    ", Columns(w))
		}
		for _, a := range l.Threads[:min(len(l.Threads), threadsOfFrame)] {
			text := p.Threads[a.Thread].Text + " " + a.Text
			for _, wait := range a.Waits[:min(len(a.Waits), 1)] {
				text += "; " + wait.Text
			}
			texts += Indented(text, "    ", Columns(w))
		}
	}
	if _, err := io.WriteString(w, texts); err != nil {
		return err
	}
	return errors.Join(printProfileFunctions(w, p.Functions), printProfileThreads(w, p.Threads),
		printSockets(w, p))
}

func printProfileFunctions(w io.Writer, all []result.ProfileFunction) error {
	var rows [][]string
	for _, f := range all[:min(len(all), printedFunctions)] {
		calls := "–"
		if f.Calls >= 0 {
			calls = wording.Count(f.Calls)
		}
		rows = append(rows, []string{label(f.Text), calls, milliseconds(f.SelfNS), milliseconds(f.TotalNS)})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := Table(w, []string{"function", ">calls", ">self ms", ">total ms"}, rows); err != nil {
		return err
	}
	if left := len(all) - printedFunctions; left > 0 {
		_, err := fmt.Fprintf(w, "%s in %s\n", wording.Plural(left, "more function"), result.FileName)
		return err
	}
	return nil
}

func printProfileThreads(w io.Writer, all []result.ProfileThread) error {
	var rows [][]string
	for _, t := range all[:min(len(all), printedThreads)] {
		rows = append(rows, []string{t.Text, milliseconds(t.RunningNS)})
	}
	if len(rows) == 0 {
		return nil
	}
	return Table(w, []string{"thread", ">running ms"}, rows)
}

// printSockets prints the longest waits for sockets.
func printSockets(w io.Writer, p *result.Profile) error {
	var rows [][]string
	for _, s := range p.Sockets[:min(len(p.Sockets), printedThreads)] {
		thread, woke := "–", "–"
		if s.Thread >= 0 {
			thread = p.Threads[s.Thread].Text
		}
		if s.WokenNS > 0 && s.WokenThread >= 0 {
			woke = p.Threads[s.WokenThread].Text + " after " + milliseconds(s.WokenNS-s.EndNS)
		}
		rows = append(rows, []string{milliseconds(s.EndNS - s.BeginNS), thread, woke, s.Text})
	}
	if len(rows) == 0 {
		return nil
	}
	return Table(w, []string{">socket ms", "thread", "then woke, ms", "wait"}, rows)
}

// label cuts the end of a function's text.
func label(text string) string {
	if runes := []rune(text); len(runes) > maxLabel {
		return string(runes[:maxLabel-1]) + "…"
	}
	return text
}

func milliseconds(ns int64) string {
	return wording.Number(float64(ns) / float64(time.Millisecond))
}
