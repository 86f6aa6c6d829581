package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/session"
)

// print tells what was drawn and measured, what was recorded, and where all of it is.
func (d *demo) print(w io.Writer) error {
	if err := d.summary.printChecks(w, columns(w)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := d.summary.printNetworks(w); err != nil {
		return err
	}
	if err := d.summary.printRuns(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return d.list().print(w)
}

// printChecks puts what was measured beside what was drawn beside what the page says: one table, in
// which each test has a heading. The notes stand below their rows.
func (s *demoSummary) printChecks(w io.Writer, width int) error {
	rows := [][]string{}
	for _, p := range s.Pages {
		for _, c := range p.Checks {
			rows = append(rows, checkRow(c))
		}
	}
	var table strings.Builder
	if err := printTable(&table, []string{"", ">MEASURED", "", "DRAWN", ">CLAIMED"}, rows); err != nil {
		return err
	}
	lines := bufio.NewScanner(strings.NewReader(table.String()))
	next := func() string { lines.Scan(); return lines.Text() + "\n" } // a line for each row
	text := next()
	for i, p := range s.Pages {
		if i > 0 {
			text += "\n"
		}
		text += indented(p.Name+": "+p.Title, "", width) + indented(p.ended(), "    ", width)
		for _, c := range p.Checks {
			text += next() + indented(c.Note, "    ", width)
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// ended says why a run shows nothing, where that is so.
func (p *demoPage) ended() string {
	if p.State == session.Passed {
		return ""
	}
	return string(p.State) + ": " + p.Reason
}

// indented is a text in lines.
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
		return []string{"  " + c.What, "", "?", "not to be checked", says}
	case c.Failed():
		verdict = "DIFFERS"
	}
	drawn := spanText(c.Drawn)
	if !strings.Contains(c.What, c.Unit) { // "unique frames" are frames
		drawn += " " + c.Unit
	}
	return []string{"  " + c.What, spanText(c.Measured), verdict, drawn, says}
}

// spanText is a number and its bounds, where it has any.
func spanText(s result.Span) string {
	low, high := figureText(s.Low), figureText(s.High)
	if low == high {
		return figureText(s.Value)
	}
	return fmt.Sprintf("%s (%s–%s)", figureText(s.Value), low, high)
}

// figureText has one decimal where there is anything behind the point that matters.
func figureText(v float64) string {
	if whole := math.Round(v); v == whole || math.Abs(v) >= 1000 {
		return countText(int(whole))
	}
	return fmt.Sprintf("%.1f", v)
}

// printRuns tells how much there is of each run, and where its report is.
func (s *demoSummary) printRuns(w io.Writer) error {
	rows := [][]string{}
	for _, p := range s.Pages {
		size := ""
		if p.Recording != nil {
			size = bytesText(p.Recording.Bytes)
		}
		rows = append(rows, p.cells(p.Name, size, firstOf(p.Report, p.Dir)))
	}
	rows = append(rows, s.Total.cells("total", "", ""))
	return printTable(w, []string{"RUN", ">FRAMES", ">UNIQUE", ">LOST", ">RECORDING", "REPORT"}, rows)
}

func (c demoCounts) cells(name, size, report string) []string {
	return []string{name, countText(c.Frames), countText(c.UniqueFrames), countText(c.LostFrames), size, report}
}

func (d *demo) list() *list {
	s := &d.summary
	var l list
	l.add("browser", "%s, on a virtual display", firstOf(s.BrowserVersion, "unknown"))
	l.add("", "browser and recorder shared this machine: each took time from the other")
	l.add("numbers", "%s", checksText(d.made...))
	s.addRecorded(&l)
	if s.Verified {
		l.add("verified", "every frame decodes to what was captured")
	}
	for _, p := range s.Problems {
		l.add("problem", "%s", p)
	}
	for _, p := range s.Pages {
		if p.Attempt > 1 {
			l.add("begun again", "%s; the earlier try is in %s-rejected", p.Name, filepath.Join(d.runs(), p.Name))
		}
	}
	for _, n := range s.Notes {
		l.add("note", "%s", n)
	}
	l.add("beside each", "%s",
		strings.Join([]string{runfolder.RecordingFile, runfolder.VideoFile, runfolder.PicturesDir +
			string(filepath.Separator)}, ", "))
	l.add("summary", "%s", s.Summary)
	if !d.cmd.Serve {
		l.add("web page", "eideticker serve --data-dir %s shows the runs", d.cmd.Output)
	}
	return &l
}

// addRecorded tells of all recordings together, from the start of each browser to its end.
func (s *demoSummary) addRecorded(l *list) {
	var stored, unique, missing uint64
	var bytes, raw int64
	for _, p := range s.Pages {
		if r := p.Recording; r != nil {
			stored, unique, missing, bytes, raw = stored+r.Frames, unique+r.UniqueFrames, missing+r.MissingFrames,
				bytes+r.Bytes, raw+r.RawBytes
		}
	}
	l.add("recorded", "%s, %s unique; %s lost, %s of them in what was measured", plural(stored, "frame"),
		countText(unique), countText(missing), countText(s.Total.LostFrames))
	l.add("size", "%s for %s of pixels, %s", bytesText(bytes), bytesText(raw), ratioText(raw, bytes))
}

// notes collects those of all runs: what there is to say of the machine, each of them says.
func (s *demoSummary) notes() (all []string) {
	of := map[string][]string{}
	var texts []string
	for _, p := range s.Pages {
		for _, text := range p.Notes {
			if of[text] == nil {
				texts = append(texts, text)
			}
			if !slices.Contains(of[text], p.Name) {
				of[text] = append(of[text], p.Name)
			}
		}
	}
	for _, text := range texts {
		if names := of[text]; len(names) < len(s.Pages) || len(s.Pages) == 1 {
			text = strings.Join(names, ", ") + ": " + text
		}
		all = append(all, text)
	}
	return all
}
