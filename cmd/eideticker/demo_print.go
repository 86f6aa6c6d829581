package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/demo"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/netsim/link"
)

// print prints the summary and the comparison.
func (d *demoRun) print(w io.Writer) error {
	if err := printChecks(w, d.summary, columns(w)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := printNetworks(w, d.summary); err != nil {
		return err
	}
	if err := printRuns(w, d.summary); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if d.compared != nil {
		if err := printComparison(w, d.compared, false); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return d.list().print(w)
}

// printChecks prints measured, drawn and claimed values in one table, with a heading per test.
// Notes are below their rows.
func printChecks(w io.Writer, s *demo.Summary, width int) error {
	rows := [][]string{}
	for _, p := range s.Pages {
		for _, c := range p.Checks {
			rows = append(rows, checkRow(c))
		}
	}
	t := newTable(w, []string{"", ">MEASURED", "", "DRAWN", ">CLAIMED"}, rows, tableWidth(w))
	err := t.print(w, 0)
	row := 0
	for i, p := range s.Pages {
		text := indented(p.Name+": "+p.Title, "", width) + indented(endedText(p), "    ", width)
		if i > 0 {
			text = "\n" + text
		}
		err = errors.Join(err, inStyle(w, "", text))
		for _, c := range p.Checks {
			row++
			err = errors.Join(err, t.print(w, row), inStyle(w, "", indented(c.Note, "    ", width)))
		}
	}
	return err
}

// endedText returns the reason of a run that did not pass.
func endedText(p demo.Page) string {
	if p.State == session.Passed {
		return ""
	}
	return string(p.State) + ": " + p.Reason
}

// indented wraps and indents a text.
func indented(text, by string, width int) (lines string) {
	for _, line := range wrap(text, width-len(by)) {
		lines += by + line + "\n"
	}
	return lines
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
		return countText(int(whole))
	}
	return fmt.Sprintf("%.1f", v)
}

// printRuns prints the size and the report of each run.
func printRuns(w io.Writer, s *demo.Summary) error {
	rows := [][]string{}
	for _, p := range s.Pages {
		size := ""
		if p.Recording != nil {
			size = bytesText(p.Recording.Bytes)
		}
		rows = append(rows, countCells(p.Counts, p.Name, size, firstOf(p.Report, p.Dir)))
	}
	rows = append(rows, countCells(s.Total, "total", "", ""))
	return printTable(w, []string{"RUN", ">FRAMES", ">UNIQUE", ">LOST", ">RECORDING", "REPORT"}, rows)
}

func countCells(c demo.Counts, name, size, report string) []string {
	return []string{name, countText(c.Frames), countText(c.UniqueFrames), countText(c.LostFrames), size, report}
}

func (d *demoRun) list() *list {
	s := d.summary
	var l list
	l.add("browser", "%s, on a virtual display", firstOf(s.BrowserVersion, "unknown"))
	l.add("", "browser and recorder shared this machine")
	l.add("numbers", "%s", checksText(s.Made...))
	addRecorded(&l, s)
	if s.Verified {
		l.add("verified", "every frame is equal to the captured one")
	}
	for _, p := range s.Problems {
		l.add("problem", "%s", p)
	}
	for _, p := range s.Pages {
		if p.Attempt > 1 {
			l.add("repeated", "%s; the earlier try is in %s-rejected", p.Name, filepath.Clean(p.Dir))
		}
	}
	for _, n := range s.Notes {
		l.add("note", "%s", n)
	}
	l.add("beside each", "%s",
		strings.Join([]string{runfolder.RecordingFile, runfolder.VideoFile, runfolder.PicturesDir +
			string(filepath.Separator)}, ", "))
	if c := s.Comparison; c != nil {
		l.add("comparison", "%s", c.Page)
	}
	l.add("summary", "%s", s.Summary)
	if !d.cmd.Serve {
		l.add("web page", "eideticker serve --data-dir %s shows the runs", d.cmd.Output)
	}
	return &l
}

// addRecorded adds the totals of all recordings.
func addRecorded(l *list, s *demo.Summary) {
	var stored, unique, missing uint64
	var bytes, raw int64
	for _, p := range s.Pages {
		if r := p.Recording; r != nil {
			stored, unique, missing, bytes, raw = stored+r.Frames, unique+r.UniqueFrames, missing+r.MissingFrames,
				bytes+r.Bytes, raw+r.RawBytes
		}
	}
	l.add("recorded", "%s, %s unique; %s lost, %s of them in measured windows", plural(stored, "frame"),
		countText(unique), countText(missing), countText(s.Total.LostFrames))
	l.add("size", "%s for %s of pixels, %s", bytesText(bytes), bytesText(raw), ratioText(raw, bytes))
}

// timeText formats a time in ms.
func timeText(t *demo.Time) string {
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
func printNetworks(w io.Writer, s *demo.Summary) error {
	rows, falls := [][]string{}, ""
	for _, p := range s.Pages {
		n := p.Network
		if n == nil || p.State == session.Failed {
			continue
		}
		rows = append(rows, []string{
			p.Name, fmt.Sprintf("%.1f ms", float64(n.RTT.Got)/float64(time.Millisecond)), rateText(n.Down.Got),
			countText(n.Requests), bytesText(int64(n.BytesDown)), timeText(n.FirstChangeNS), timeText(n.LastChangeNS),
		})
		falls += fmt.Sprintf("  %s\n", firstOf(n.Waterfall, n.HAR))
	}
	if len(rows) == 0 {
		return nil
	}
	if err := printTable(w, []string{"OVER A LINK", ">RTT", ">DOWN", ">REQUESTS", ">RECEIVED", ">FIRST SEEN",
		">LAST CHANGE"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "Waterfall, filmstrip and load curve on one axis, also in the reports:\n%s\n",
		falls)
	return err
}
