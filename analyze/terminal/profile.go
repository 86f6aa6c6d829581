package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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
		waits := 1
		if l.Window >= 0 {
			texts += Indented(fmt.Sprintf("frame %d: %s", l.Frame, l.Sentence), "  ", Columns(w))
		} else { // all of a program
			waits = result.MaxWaits
		}
		if l.Suspected != "" {
			texts += Indented(l.Suspected, "    ", Columns(w))
		}
		for _, a := range l.Threads[:min(len(l.Threads), threadsOfFrame)] {
			text := p.Threads[a.Thread].Text + " " + a.Text
			for _, wait := range a.Waits[:min(len(a.Waits), waits)] {
				text += "; " + wait.Text
			}
			texts += Indented(text, "    ", Columns(w))
			if 4*a.FunctionNS.Value >= float64(l.ToNS-l.FromNS) {
				texts += Indented(callers(p, &a), "      ", Columns(w))
			}
		}
	}
	if _, err := io.WriteString(w, texts); err != nil {
		return err
	}
	return errors.Join(printProfileFunctions(w, p.Functions), printProfileThreads(w, p),
		printSockets(w, p))
}

// callers returns the function that a thread ran for longest, and those below which it mostly ran.
func callers(p *result.Profile, a *result.ProfileActive) string {
	const most = 5
	var names []string
	for all, whole := a.Tree, a.FunctionNS.Value; len(names) < most; {
		i := slices.IndexFunc(all, func(n result.ProfileNode) bool {
			return n.Function >= 0 && (len(names) > 0 || n.Function == a.Function)
		})
		if i < 0 || 2*float64(all[i].NS) < whole {
			break
		}
		names = append(names, cmp.Or(p.Functions[all[i].Function].Name, p.Functions[all[i].Function].Text))
		all, whole = all[i].Callers, float64(all[i].NS)
	}
	if len(names) < 2 {
		return ""
	}
	return strings.Join(names, " ← ")
}

func printProfileFunctions(w io.Writer, all []result.ProfileFunction) error {
	var rows [][]string
	for _, f := range all[:min(len(all), printedFunctions)] {
		calls := "–"
		if f.Calls >= 0 {
			calls = wording.Count(f.Calls)
		}
		rows = append(rows, []string{wording.Short(f.Text, maxLabel), calls, milliseconds(f.SelfNS),
			milliseconds(f.TotalNS)})
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

func printProfileThreads(w io.Writer, p *result.Profile) error {
	var rows [][]string
	for _, t := range p.Threads[:min(len(p.Threads), printedThreads)] {
		rows = append(rows, []string{t.Text, milliseconds(t.RunningNS)})
	}
	if len(rows) == 0 {
		return nil
	}
	time := ">running ms"
	if len(p.Traces) == 1 && (p.Traces[0].Way == "functions" || p.Traces[0].Way == "imports") {
		time = ">in calls ms" // which may have waited
	}
	return Table(w, []string{"thread", time}, rows)
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

func milliseconds(ns int64) string {
	return wording.Number(float64(ns) / float64(time.Millisecond))
}
