package demo

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/netsim/link"
)

// Print writes the checks, the networks and the runs as tables for people.
func (s *Summary) Print(w io.Writer) error {
	if err := s.printChecks(w, terminal.Columns(w)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := s.printNetworks(w); err != nil {
		return err
	}
	if err := s.printRuns(w); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// printChecks prints measured, drawn and claimed values in one table, with a heading per test.
// Notes are below their rows.
func (s *Summary) printChecks(w io.Writer, width int) error {
	rows := [][]string{}
	for _, p := range s.Pages {
		for _, c := range p.Checks {
			rows = append(rows, checkRow(c))
		}
	}
	t := terminal.NewRows(w, []string{"", ">MEASURED", "", "DRAWN", ">CLAIMED"}, rows, terminal.Width(w))
	err := t.Print(w, 0)
	row := 0
	for i, p := range s.Pages {
		text := terminal.Indented(p.Name+": "+p.Title, "", width) + terminal.Indented(endedText(p), "    ", width)
		if i > 0 {
			text = "\n" + text
		}
		err = errors.Join(err, terminal.InStyle(w, "", text))
		for _, c := range p.Checks {
			row++
			err = errors.Join(err, t.Print(w, row), terminal.InStyle(w, "", terminal.Indented(c.Note, "    ", width)))
		}
	}
	return err
}

// endedText returns the reason of a run that did not pass.
func endedText(p Page) string {
	if p.State == session.Passed {
		return ""
	}
	return string(p.State) + ": " + p.Reason
}

func checkRow(c result.Check) []string {
	says, verdict := "", "="
	if c.Claimed != nil {
		says = figureText(*c.Claimed)
	}
	switch {
	case c.Unchecked:
		return []string{"  " + c.What, "", "?", "not checked", says}
	case c.Failed():
		verdict = "DIFFERS"
	}
	drawn := spanText(c.Drawn)
	if !strings.Contains(c.What, c.Unit) { // "unique frames" are frames
		drawn += " " + c.Unit
	}
	return []string{"  " + c.What, spanText(c.Measured), verdict, drawn, says}
}

// spanText formats a number with its bounds, if they differ.
func spanText(s result.Span) string {
	low, high := figureText(s.Low), figureText(s.High)
	if low == high {
		return figureText(s.Value)
	}
	return fmt.Sprintf("%s (%s–%s)", figureText(s.Value), low, high)
}

// figureText formats a number with one decimal if it has a fraction below 1000.
func figureText(v float64) string {
	if whole := math.Round(v); v == whole || math.Abs(v) >= 1000 {
		return wording.Count(int(whole))
	}
	return fmt.Sprintf("%.1f", v)
}

// printRuns prints the size and the report of each run.
func (s *Summary) printRuns(w io.Writer) error {
	rows := [][]string{}
	for _, p := range s.Pages {
		size := ""
		if p.Recording != nil {
			size = wording.Bytes(p.Recording.Bytes)
		}
		rows = append(rows, countCells(p.Counts, p.Name, size, cmp.Or(p.Report, p.Dir)))
	}
	rows = append(rows, countCells(s.Total, "total", "", ""))
	return terminal.Table(w, []string{"RUN", ">FRAMES", ">UNIQUE", ">LOST", ">RECORDING", "REPORT"}, rows)
}

func countCells(c Counts, name, size, report string) []string {
	return []string{name, wording.Count(c.Frames), wording.Count(c.UniqueFrames), wording.Count(c.LostFrames), size,
		report}
}

// timeText formats a time in ms.
func timeText(t *Time) string {
	if t == nil {
		return ""
	}
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	return spanText(result.Span{Value: ms(t.Value), Low: ms(t.Low), High: ms(t.High)}) + " ms"
}

func rateText(r link.Rate) string {
	if r == 0 {
		return "unlimited"
	}
	return fmt.Sprintf("%.2f Mbit/s", float64(r)/float64(link.Mbit))
}

// printNetworks prints the measured networks and the times of their pages.
func (s *Summary) printNetworks(w io.Writer) error {
	rows, falls := [][]string{}, ""
	for _, p := range s.Pages {
		n := p.Network
		if n == nil || p.State == session.Failed {
			continue
		}
		rows = append(rows, []string{
			p.Name, fmt.Sprintf("%.1f ms", float64(n.RTT.Got)/float64(time.Millisecond)), rateText(n.Down.Got),
			wording.Count(n.Requests), wording.Bytes(int64(n.BytesDown)), timeText(n.FirstChangeNS),
			timeText(n.LastChangeNS),
		})
		falls += fmt.Sprintf("  %s\n", cmp.Or(n.Waterfall, n.HAR))
	}
	if len(rows) == 0 {
		return nil
	}
	if err := terminal.Table(w, []string{"OVER A LINK", ">RTT", ">DOWN", ">REQUESTS", ">RECEIVED", ">FIRST SEEN",
		">LAST CHANGE"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "Waterfall, filmstrip and load curve on one axis, also in the reports:\n%s\n",
		falls)
	return err
}
