package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/analysis"
	"github.com/eideticker/eideticker/codec/recording"
)

type analyzeCmd struct {
	File      string         `arg:"" name:"file" complete:"files" help:"A recording."`
	Measures  []string       `arg:"" optional:"" name:"measure" help:"fps loadhist speedindex heatmap tearing checkerboard windowopen response scroll strip quality; all that apply if none is named."`
	Output    string         `short:"o" placeholder:"DIR" complete:"files" help:"Write a run folder: results.json, report.html, video and pictures."`
	Region    string         `placeholder:"WxH+X+Y|auto" default:"auto" help:"Only this part of the picture; auto is where the green was, or all."`
	Mask      []string       `sep:"none" placeholder:"WxH+X+Y" help:"A part of the picture that does not count; may be given several times."`
	Tolerance string         `default:"0" placeholder:"N|auto" help:"Differences of up to N in R, G and B do not count; auto calibrates on the held green."`
	Frames    frameRange     `placeholder:"A:B" help:"Only frames from A, B not included."`
	Window    string         `enum:"auto,markers,all" default:"auto" help:"markers: between green and red, and nothing else. all: everything. auto: markers if there are any."`
	Still     time.Duration  `placeholder:"3s" help:"Where no red comes, the content ends before it stands still for so long."`
	Event     string         `placeholder:"KIND" help:"Where no red comes, the content ends with the last event of this kind."`
	Limit     time.Duration  `placeholder:"20s" help:"Where no red comes, the content ends after so long."`
	T0        string         `name:"t0" placeholder:"KIND" help:"Load figures count from the last event of this kind, by default navigation, launch or input; start is the window's first frame."`
	Variants  []string       `placeholder:"NAME" help:"Only these variants of load figures: pixel histogram perceptual contentful script."`
	Cadence   float64        `placeholder:"FPS" help:"How many frames a second the content draws: fps then tells what was dropped."`
	Images    []int          `placeholder:"FRAME" help:"Frames that show the disjoint images of tearing, each whole; they are looked for otherwise."`
	Checker   []string       `placeholder:"RRGGBB" help:"Colour, or two, of what is not drawn yet; any grid of two colours otherwise."`
	Cell      int            `placeholder:"N" help:"Side of a cell of that grid, pixels."`
	Answer    string         `placeholder:"WxH+X+Y" help:"Where response expects the answer; anywhere otherwise."`
	AnswerIs  string         `placeholder:"RRGGBB" help:"The colour that the answer has; any change otherwise."`
	Ping      []string       `placeholder:"KIND" help:"Kinds of the events that response counts from; ping and input otherwise."`
	Delay     *time.Duration `placeholder:"33ms" help:"What the card adds to a frame's time: response takes it off. What the card's certificate says otherwise."`
	Within    time.Duration  `name:"delay-within" placeholder:"2ms" help:"By how much that delay may be off."`
	ScanOut   *time.Duration `placeholder:"16ms" help:"What the signal takes from its first row to its last: response counts to the row of the answer. What the card says otherwise."`
	Strict    bool           `help:"Fail if a frame is missing in what is measured."`
	Force     bool           `help:"Overwrite what is in DIR."`
	JSON      bool           `help:"Print the results as one JSON object."`
}

func (analyzeCmd) Help() string {
	return `Examples:

  eideticker analyze run.eid
  eideticker analyze run.eid fps tearing --frames 120:600 --json
  eideticker analyze run.eid -o out/run --strict

Measures what is between green and red, each window on its own; without such markers all that was recorded. Each number stands with its bounds. What cannot be measured says why; the others still come out.`
}

func (c analyzeCmd) Run(e *env) error {
	s, err := c.settings()
	if err != nil {
		return err
	}
	r, err := recording.Open(c.File)
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	if c.Frames.given {
		if s.From, s.To, err = c.Frames.in(r.Frames()); err != nil {
			return err
		}
	} else if c.Window == "all" {
		s.To = r.Frames()
	}
	folder, err := c.beginFolder()
	if err != nil {
		return err
	}
	found, err := analysis.Run(e.ctx, r, s, program(), e)
	if found == nil {
		return errors.Join(fmt.Errorf("analyze %s: %w", c.File, orInterrupted(err)), folder.End())
	}
	if err != nil { // what there is is shown first
		err = fmt.Errorf("analyze %s: %w", c.File, err)
	}
	numberWindows(found.Results.Windows)
	if c.JSON { // which says what is in the folder
		wrote := c.writeFolder(e, folder, r, found)
		return errors.Join(err, wrote, printResultsJSON(e, &found.Results))
	}
	if failed := printResults(e.out, &found.Results); failed != nil {
		return errors.Join(err, failed, folder.End())
	}
	said := len(found.Results.Notes)
	if wrote := c.writeFolder(e, folder, r, found); wrote != nil {
		return errors.Join(err, wrote)
	}
	return errors.Join(err, c.printWritten(e.out, &found.Results, said))
}

// numberWindows tells apart windows that bear the recording's name, all of them.
func numberWindows(windows []report.Window) {
	for i := range windows {
		if len(windows) > 1 {
			windows[i].Name = fmt.Sprintf("%s %d", windows[i].Name, i+1)
		}
	}
}

// beginFolder says before the work whether the run folder that was asked for can be written; nil: none was.
func (c analyzeCmd) beginFolder() (*analysis.Folder, error) {
	if c.Output == "" {
		return nil, nil
	}
	return analysis.BeginFolder(c.Output, analysis.FolderOptions{Force: c.Force, Source: c.File})
}

func (c analyzeCmd) writeFolder(e *env, f *analysis.Folder, r *recording.Reader, found *analysis.Found) error {
	if f == nil {
		return nil
	}
	if err := f.Write(e.ctx, r, found, e); err != nil {
		return fmt.Errorf("analyze %s to %s: %w", c.File, c.Output, orInterrupted(err))
	}
	return nil
}

// printWritten says what came of -o, and of the notes those that were not printed yet.
func (c analyzeCmd) printWritten(w io.Writer, r *report.Results, said int) error {
	if c.Output == "" {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := printLines(w, r.Notes[said:]); err != nil {
		return err
	}
	var l list
	l.add("report", "%s", filepath.Join(c.Output, analysis.PageFile))
	l.add("results", "%s", filepath.Join(c.Output, report.FileName))
	if r.Video != nil {
		l.add("video", "%s", filepath.Join(c.Output, r.Video.File))
	}
	return l.print(w)
}

func (c analyzeCmd) settings() (s analysis.Settings, err error) {
	s = analysis.Settings{
		Measures: c.Measures, Strict: c.Strict, Markers: c.Window == "markers", T0: c.T0,
		Variants: c.Variants, Still: c.Still, EndEvent: c.Event, Limit: c.Limit,
		Name: strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File)),
	}
	if err := errors.Join(analyze.CheckNames(c.Measures), analyze.CheckVariants(c.Variants)); err != nil {
		return s, usageError{err}
	}
	if c.Region != "auto" {
		r, err := frame.ParseRegion(c.Region)
		if err != nil {
			return s, usageError{err}
		}
		s.Region = &r
	}
	for _, m := range c.Mask {
		r, err := frame.ParseRegion(m)
		if err != nil {
			return s, usageError{err}
		}
		s.Masks = append(s.Masks, r)
	}
	if err := c.measureSettings(&s); err != nil {
		return s, err
	}
	if s.AutoTolerance = c.Tolerance == "auto"; s.AutoTolerance {
		return s, nil
	}
	n, err := strconv.ParseUint(c.Tolerance, 10, 8)
	if err != nil {
		return s, usagef("--tolerance %s: want a number from 0 to 255, or auto", c.Tolerance)
	}
	s.Tolerance = int(n)
	return s, nil
}

// measureSettings are those of single measures.
func (c analyzeCmd) measureSettings(s *analysis.Settings) error {
	s.FPS.Cadence, s.Tearing.Images, s.Response.Kinds = c.Cadence, c.Images, c.Ping
	s.Checkerboard.Cell = c.Cell
	if c.Cadence < 0 || c.Cadence > frame.MaxRate {
		return usagef("--cadence %v: want frames a second", c.Cadence)
	}
	if c.Cell < 0 || c.Cell > frame.MaxSide {
		return usagef("--cell %d: want a side in pixels", c.Cell)
	}
	for _, text := range c.Checker {
		colour, err := parseColour(text)
		if err != nil {
			return err
		}
		s.Checkerboard.Colours = append(s.Checkerboard.Colours, colour)
	}
	if len(c.Checker) > 2 {
		return usagef("--checker has %d colours: want one, or the two of a grid", len(c.Checker))
	}
	if c.AnswerIs != "" {
		v, err := parseColour(c.AnswerIs)
		if err != nil {
			return err
		}
		s.Response.Colour = &analyze.Colour{R: byte(v >> 16), G: byte(v >> 8), B: byte(v)}
	}
	if err := c.path(s); err != nil {
		return err
	}
	if c.Answer == "" {
		return nil
	}
	r, err := frame.ParseRegion(c.Answer)
	if err != nil {
		return usageError{err}
	}
	s.Response.Region = r
	return nil
}

// path is what is known of the way from the screen into the recording.
func (c analyzeCmd) path(s *analysis.Settings) error {
	for name, d := range map[string]*time.Duration{"--delay": c.Delay, "--delay-within": &c.Within, "--scan-out": c.ScanOut} {
		if d != nil && (*d < 0 || *d > 10*time.Second) {
			return usagef("%s %v: want a time from 0 to 10s", name, *d)
		}
	}
	if c.Within > 0 && c.Delay == nil {
		return usagef("--delay-within %v says how well --delay is known: give that too", c.Within)
	}
	r := &s.Response
	if s.OwnDelay = c.Delay != nil; s.OwnDelay {
		r.Delay, r.DelayWithin = *c.Delay, c.Within
	}
	if s.OwnScanOut = c.ScanOut != nil; s.OwnScanOut {
		r.ScanOut = *c.ScanOut
	}
	return nil
}

// parseColour reads RRGGBB, with or without a #.
func parseColour(text string) (uint32, error) {
	v, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 32)
	if err != nil || v > 0xffffff {
		return 0, usagef("%q is no colour: want RRGGBB, such as ff8000", text)
	}
	return uint32(v), nil
}

// Phase makes the environment tell how far an analysis is.
func (e *env) Phase(what string, frames int) (advance func(int), end func()) {
	p := e.phase(what, frames)
	return p.add, p.end
}

func printResultsJSON(e *env, r *report.Results) error {
	b, err := report.Encode(r)
	if err != nil {
		return err
	}
	_, err = e.out.Write(b)
	return err
}

// figure formats a value so that as many digits stand as mean something.
func figure(v float64) string {
	digits := 3
	switch a := math.Abs(v); {
	case a >= 1000:
		digits = 1
	case a < 1:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	scale := math.Pow10(digits)
	return strconv.FormatFloat(math.Round(v*scale)/scale, 'f', -1, 64)
}
