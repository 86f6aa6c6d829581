package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
)

type analyzeCmd struct {
	File      string         `arg:"" name:"file" complete:"files" help:"A recording or a run folder."`
	Measures  []string       `arg:"" optional:"" name:"measure" help:"${measures} (default: all that apply)."`
	Output    string         `short:"o" placeholder:"DIR" help:"Write a run folder with report, video and pictures."`
	Region    string         `placeholder:"WxH+X+Y|auto" default:"auto" help:"Measured region (default: the content)."`
	Mask      []regionFlag   `sep:"none" placeholder:"WxH+X+Y" help:"Ignore this region; repeatable."`
	Tolerance string         `default:"0" placeholder:"N|auto" help:"Ignore differences up to N (default: 0)."`
	Calibrate frameRange     `placeholder:"A:B" help:"With --tolerance auto: calibrate on this still pattern."`
	Frames    frameRange     `placeholder:"A:B" help:"Measure only frames A to B, B excluded."`
	Window    string         `enum:"auto,markers,all" default:"auto" help:"Measured frames (default: auto)."`
	Still     *time.Duration `placeholder:"3s" help:"End the content when it is still for this long."`
	Event     string         `placeholder:"KIND" help:"End the content at the last event of this kind."`
	Limit     *time.Duration `placeholder:"20s" help:"End the content after this time."`
	T0        string         `name:"t0" placeholder:"KIND" help:"Count load figures from this event (default: input)."`
	Variants  []string       `placeholder:"NAME" help:"Load figures: pixel histogram perceptual contentful script."`
	Cadence   *float64       `placeholder:"FPS" help:"Count dropped frames against this rate of the content."`
	Images    []int          `placeholder:"FRAME" help:"Frames with one whole image, for tearing (default: search)."`
	Disjoint  bool           `help:"State that the content consists of disjoint images, so that tearing is exact."`
	Checker   []colourFlag   `placeholder:"RRGGBB" help:"One or two colours of undrawn areas (default: any grid)."`
	Cell      *int           `placeholder:"N" help:"Side of a cell of that grid in pixels."`
	Answer    *regionFlag    `placeholder:"WxH+X+Y" help:"Region of the answer of response (default: anywhere)."`
	AnswerIs  *colourFlag    `placeholder:"RRGGBB" help:"Colour of the answer (default: any change)."`
	Ping      []string       `placeholder:"KIND" help:"Events from which response counts (default: ping, input)."`
	Delay     *time.Duration `placeholder:"33ms" help:"Subtract this from response times (default: as certified)."`
	Within    time.Duration  `name:"delay-within" placeholder:"2ms" help:"Uncertainty of --delay."`
	ScanOut   *time.Duration `placeholder:"16ms" help:"Time from first to last row (default: as the card reports)."`
	Strict    bool           `help:"Fail if a measured window lacks a frame."`
	filmstrip
	Force bool `help:"Overwrite results in DIR."`
	All   bool `help:"Print all values, not only the primary ones."`
	JSON  bool `help:"Print the results as one JSON object."`
}

func (analyzeCmd) Help() string {
	return `Examples:

  eideticker analyze run.eid
  eideticker analyze run.eid fps tearing --frames 120:600 --json
  eideticker analyze run.eid -o out/run --strict

Each window from green to red is measured; without markers, the whole recording. Values have bounds.
A measure without a value states the reason.

--still, --event and --limit end the content before the red marker. --t0 start counts from the window's first frame.
--tolerance auto calibrates on the green marker and on --calibrate. It applies to R, G and B each.

For the recording of a run, the defaults come from its test, which run.json beside it contains.`
}

func (c analyzeCmd) Run(e *env) error {
	var err error
	if c.Measures, err = measureNames(c.Measures); err != nil {
		return usageError{err}
	}
	if err := c.filmstrip.needs(c.Output); err != nil {
		return err
	}
	s, err := c.settings()
	if err != nil {
		return err
	}
	r, file, err := openRecording(c.File)
	if err != nil {
		return err
	}
	c.File = file
	defer r.Close() // was only read
	if c.Frames.given {
		if s.From, s.To, err = c.Frames.in(r.Frames()); err != nil {
			return err
		}
	} else if c.Window == "all" {
		s.To = r.Frames()
	}
	if c.Calibrate.given {
		if s.PatternFrom, s.PatternTo, err = c.Calibrate.in(r.Frames()); err != nil {
			return err
		}
	}
	if err := c.fits(&s, r); err != nil {
		return err
	}
	earlier, err := session.ReadEarlier(e.ctx, c.File, r)
	if err != nil {
		return fmt.Errorf("analyze %s: %w", c.File, orInterrupted(err))
	}
	s.Name = cmp.Or(earlier.Name(), s.Name)
	earlier.AsAtFirst(&s)
	folder, err := c.beginFolder(earlier)
	if err != nil {
		return err
	}
	found, err := runfolder.Run(e.ctx, r, s, program(), e)
	if found == nil {
		return errors.Join(fmt.Errorf("analyze %s: %w", c.File, orInterrupted(err)), folder.End())
	}
	if err != nil { // after the results
		err = fmt.Errorf("analyze %s: %w", c.File, err)
	}
	err = errors.Join(err, c.nothingMeasured(&found.Results))
	numberWindows(found.Results.Windows)
	earlier.HoldAgainst(e.ctx, r, s, found)
	earlier.Keep(found)
	if c.JSON { // with the files of the folder
		wrote := c.writeFolder(e, folder, r, found)
		return errors.Join(err, wrote, printResultsJSON(e, &found.Results))
	}
	if failed := terminal.Results(e.out, &found.Results, c.All); failed != nil {
		return errors.Join(err, failed, folder.End())
	}
	said := len(found.Results.Notes)
	if wrote := c.writeFolder(e, folder, r, found); wrote != nil {
		return errors.Join(err, wrote)
	}
	return errors.Join(err, c.printWritten(e.out, &found.Results, said))
}

// numberWindows numbers the windows of a recording with several.
func numberWindows(windows []result.Window) {
	for i := range windows {
		if len(windows) > 1 {
			windows[i].Name = fmt.Sprintf("%s %d", windows[i].Name, i+1)
		}
	}
}

// beginFolder checks before the work whether the run folder can be written. Without -o it returns
// nil.
func (c analyzeCmd) beginFolder(earlier *session.Earlier) (*runfolder.Folder, error) {
	if c.Output == "" {
		return nil, nil
	}
	return runfolder.BeginFolder(c.Output, runfolder.FolderOptions{Force: c.Force, Source: c.File,
		FilmstripStep: time.Duration(c.FilmstripStep), Network: earlier.Network(c.Output),
		More: earlier.Scripts(c.Output)})
}

func (c analyzeCmd) writeFolder(e *env, f *runfolder.Folder, r *recording.Reader, found *runfolder.Found) error {
	if f == nil {
		return nil
	}
	if err := f.Write(e.ctx, r, found, e); err != nil {
		return fmt.Errorf("analyze %s to %s: %w", c.File, c.Output, orInterrupted(err))
	}
	return nil
}

// printWritten prints the files of -o and the notes after the first ones, which are printed
// already.
func (c analyzeCmd) printWritten(w io.Writer, r *result.Results, said int) error {
	if c.Output == "" {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := terminal.Lines(w, r.Notes[said:]); err != nil {
		return err
	}
	var l terminal.List
	l.Add("report", "%s", filepath.Join(c.Output, runfolder.PageFile))
	l.Add("results", "%s", filepath.Join(c.Output, result.FileName))
	if r.Video != nil {
		l.Add("video", "%s", filepath.Join(c.Output, r.Video.File))
	}
	return l.Print(w)
}

func (c analyzeCmd) settings() (s runfolder.Settings, err error) {
	s = runfolder.Settings{
		Measures: c.Measures, Strict: c.Strict, Markers: c.Window == "markers", T0: c.T0,
		Variants: c.Variants, EndEvent: c.Event,
		Name: strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File)),
	}
	if err := load.CheckVariants(c.Variants); err != nil {
		return s, usageError{err}
	}
	if err := c.windowSettings(&s); err != nil {
		return s, err
	}
	if c.Region != "auto" {
		r, err := frame.ParseRegion(c.Region)
		if err != nil {
			return s, usageError{err}
		}
		s.Region = &r
	}
	for _, m := range c.Mask {
		s.Masks = append(s.Masks, frame.Region(m))
	}
	if err := c.measureSettings(&s); err != nil {
		return s, err
	}
	if s.AutoTolerance = c.Tolerance == "auto"; s.AutoTolerance {
		return s, nil
	}
	if c.Calibrate.given {
		return s, usagef("--calibrate needs --tolerance auto, and not --tolerance %s", c.Tolerance)
	}
	n, err := strconv.ParseUint(c.Tolerance, 10, 8)
	if err != nil {
		return s, usagef("--tolerance %s: must be a number from 0 to 255, or auto", c.Tolerance)
	}
	s.Tolerance = int(n)
	return s, nil
}

// windowSettings sets the end of a window.
func (c analyzeCmd) windowSettings(s *runfolder.Settings) error {
	if c.Frames.given && c.Window != "auto" {
		return usagef("--frames and --window %s exclude each other", c.Window)
	}
	if count(c.Still != nil, c.Limit != nil, c.Event != "") > 1 {
		return usagef("--still, --limit and --event exclude each other")
	}
	var err error
	if s.Still, err = positive("--still", c.Still); err != nil {
		return err
	}
	s.Limit, err = positive("--limit", c.Limit)
	return err
}

// fits rejects settings that do not fit the recording.
func (c analyzeCmd) fits(s *runfolder.Settings, r *recording.Reader) error {
	for _, m := range s.Masks {
		if !within(r, m) {
			return usagef("--mask %v is outside every frame", m)
		}
	}
	if c.Answer != nil && !within(r, s.Response.Region) {
		return usagef("--answer %v is outside every frame", s.Response.Region)
	}
	for _, n := range c.Images {
		if n < 0 || n >= r.Frames() {
			return usagef("--images %d: the recording has frames 0 to %d", n, r.Frames()-1)
		}
	}
	if c.T0 == "" || c.T0 == runfolder.FromStart {
		return nil
	}
	kinds := runfolder.EventKinds(r)
	if !slices.Contains(kinds, c.T0) {
		return usagef("--t0 %s: the recording has no such event; it has %s", c.T0, runfolder.KindsText(kinds))
	}
	return nil
}

// within reports whether a region has pixels of a frame.
func within(r *recording.Reader, region frame.Region) bool {
	return slices.ContainsFunc(r.Segments(), func(s recording.Segment) bool {
		return region.X < s.Layout.Format.Width && region.Y < s.Layout.Format.Height
	})
}

// nothingMeasured returns an error if none of the named measures has a value.
func (c analyzeCmd) nothingMeasured(r *result.Results) error {
	if len(c.Measures) == 0 || slices.Contains(c.Measures, quality.Name) || len(r.Windows) == 0 {
		return nil
	}
	for _, w := range r.Windows {
		if slices.ContainsFunc(w.Results, func(m analyze.Result) bool { return m.State != analyze.Refused }) {
			return nil
		}
	}
	return fmt.Errorf("analyze %s: no value for %s", c.File, strings.Join(c.Measures, ", "))
}

// measureSettings are those of single measures.
func (c analyzeCmd) measureSettings(s *runfolder.Settings) error {
	s.Tearing.Images, s.Tearing.Disjoint, s.Response.Kinds = c.Images, c.Disjoint, c.Ping
	if c.Cadence != nil {
		if s.FPS.Cadence = *c.Cadence; !(s.FPS.Cadence > 0 && s.FPS.Cadence <= frame.MaxRate) {
			return usagef("--cadence %v: must be frames per second", *c.Cadence)
		}
	}
	if c.Cell != nil {
		if s.Checkerboard.Cell = *c.Cell; *c.Cell < 1 || *c.Cell > frame.MaxSide {
			return usagef("--cell %d: must be a side in pixels", *c.Cell)
		}
	}
	for _, colour := range c.Checker {
		s.Checkerboard.Colours = append(s.Checkerboard.Colours, uint32(colour))
	}
	if len(c.Checker) > 2 {
		return usagef("--checker has %d colours: give one or two", len(c.Checker))
	}
	if c.AnswerIs != nil {
		v := *c.AnswerIs
		s.Response.Colour = &response.Colour{R: byte(v >> 16), G: byte(v >> 8), B: byte(v)}
	}
	if c.Answer != nil {
		s.Response.Region = frame.Region(*c.Answer)
	}
	return c.path(s)
}

// path sets the delay and the scan-out time of the capture path.
func (c analyzeCmd) path(s *runfolder.Settings) error {
	for name, d := range map[string]*time.Duration{"--delay": c.Delay, "--delay-within": &c.Within,
		"--scan-out": c.ScanOut} {
		if d != nil && (*d < 0 || *d > 10*time.Second) {
			return usagef("%s %v: must be between 0 and 10s", name, *d)
		}
	}
	if c.Within > 0 && c.Delay == nil {
		return usagef("--delay-within %v needs --delay", c.Within)
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

// Phase reports the progress of an analysis.
func (e *env) Phase(what string, frames int) (advance func(int), end func()) {
	p := e.phase(what, frames)
	return p.Add, p.End
}

func printResultsJSON(e *env, r *result.Results) error {
	b, err := result.Encode(r)
	if err != nil {
		return err
	}
	_, err = e.out.Write(b)
	return err
}
