package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/eideticker/eideticker/analyze/activity"
	activities "github.com/eideticker/eideticker/analyze/activity/export"
	"github.com/eideticker/eideticker/analyze/activity/frames"
	"github.com/eideticker/eideticker/analyze/activity/symbols"
	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

type profileCmd struct {
	profileRecording

	Late     bool        `help:"Select late frames, and test which functions take a larger share of them."`
	Frames   frameRange  `placeholder:"A:B" help:"Select the frames A to B, B excluded."`
	Window   int         `placeholder:"N" help:"Select the frames of window N, from 1 (default: all windows)."`
	AtChange *regionFlag `placeholder:"WxH+X+Y" help:"Of these, select the frames that changed this region."`
	Trace    string      `placeholder:"NAME" help:"Use this trace of the run (default: native, else the first one)."`
	Thread   string      `placeholder:"T" help:"Export only this thread: name, number or main thread."`
	Tree     string      `enum:"inverted,top-down," default:"" help:"Order of stacks in .folded and .svg."`
	Symbols  string      `placeholder:"DIR" complete:"files" help:"Name functions by files with symbols in DIR."`
	URLs     string      `name:"urls" enum:"cut,full" default:"cut" help:"Write addresses cut before queries, or full."`
	Output   string      `short:"o" placeholder:"OUT" help:"Output file; its ending is the format (default: print)."`
	Force    bool        `help:"Overwrite existing files."`
	Args     []string    `arg:"" optional:"" name:"run" complete:"files" help:"A run folder, or a program after --."`
}

func (profileCmd) Help() string {
	return `Examples:

  eideticker profile RUN --late
  eideticker profile RUN --frames 180:190 -o late.svg
  eideticker profile RUN --late --thread 'main thread' -o late.callgrind
  eideticker profile RUN --at-change 640x80+0+0 -o header.svg
  eideticker profile RUN --symbols /usr/lib/debug -o run.pftrace
  eideticker profile --native functions -- PROGRAM ARGS
  eideticker profile --native functions -o calls.callgrind -- PROGRAM ARGS

A frame's time begins at the changed frame before it, and ends at its own time. A frame is late if that is more than
twice the median of its window.

The ending of OUT selects the format:

  .callgrind  a file per thread, OUT-01 and so on, for KCachegrind
  .pb.gz      stacks for go tool pprof, with labels thread, frame, late
  .folded     stacks with times in ns, for flame graphs
  .svg        a flame graph
  .pftrace    frames, requests, scripts and threads: ui.perfetto.dev
              (Perfetto's protobuf format, on CLOCK_MONOTONIC)
  .json       the activity of threads before each frame`
}

func (c profileCmd) Run(e *env, k *kong.Context) error {
	if slices.Contains(k.Args, "--") {
		return c.record(e, c.Args)
	}
	return c.read(e)
}

// read writes or prints the profile of a run folder.
func (c profileCmd) read(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.readFolder(e, c.Args[0]); err != nil {
		return fmt.Errorf("profile %s: %w", c.Args[0], orInterrupted(err))
	}
	return nil
}

func (c profileCmd) readFolder(e *env, dir string) error {
	results, err := result.Read(filepath.Join(dir, result.FileName))
	program := errors.Is(err, fs.ErrNotExist) && exists(filepath.Join(dir, activity.TracesDir))
	if err != nil && !program {
		return err
	}
	traces, err := openTraces(e, dir)
	if err != nil {
		return err
	}
	defer closeTraces(traces)
	if err := c.name(e, dir, traces); err != nil {
		return err
	}
	if program {
		return c.ofProgram(e, traces)
	}
	chosen, err := c.chosen(results)
	if err == nil && c.AtChange != nil {
		chosen, err = c.changed(e, dir, chosen)
	}
	if err != nil {
		return err
	}
	wrote, err := c.write(e, dir, results, traces, chosen)
	if err == nil && wrote != "" {
		_, err = fmt.Fprintln(e.out, wrote)
	}
	return err
}

func (c profileCmd) check() error {
	endings := []string{".callgrind", ".pb.gz", ".folded", ".svg", ".pftrace", ".json", ""}
	ending := c.ending()
	switch {
	case len(c.Args) != 1:
		return usagef("profile: name one run folder, or a program after --")
	case count(c.Late, c.Frames.given, c.Window != 0) > 1:
		return usagef("only one of --late, --frames and --window can be used")
	case c.Window < 0:
		return usagef("--window %d: must be positive", c.Window)
	case !slices.Contains(endings, ending) || ending == "" && c.Output != "":
		return usagef("OUT %q: must end in %s", c.Output, strings.TrimSpace(strings.Join(endings, " ")))
	case c.Thread != "" && (ending == "" || ending == ".json" || ending == ".pftrace"):
		return usagef("--thread can be used with .callgrind .pb.gz .folded and .svg")
	case c.Tree != "" && ending != ".folded" && ending != ".svg":
		return usagef("--tree can be used with .folded and .svg")
	}
	return nil
}

// ending returns the format of OUT.
func (c profileCmd) ending() string {
	name := strings.ToLower(c.Output)
	if strings.HasSuffix(name, ".pb.gz") {
		return ".pb.gz"
	}
	return filepath.Ext(name)
}

// openTraces opens the traces of a run folder. Damaged ones are warnings, if others can be read.
func openTraces(e *env, dir string) (traces []*activity.Trace, err error) {
	folders, err := os.ReadDir(filepath.Join(dir, activity.TracesDir))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(folders) == 0 {
		return nil, errors.New("it has no traces; record them with --profile, or attach one")
	}
	if err != nil {
		return nil, err
	}
	var failed error
	for _, f := range folders {
		if !f.IsDir() || len(traces) == result.MaxTraces {
			continue
		}
		t, err := activity.Open(filepath.Join(dir, activity.TracesDir, f.Name()))
		if err != nil {
			failed = errors.Join(failed, err)
			fmt.Fprintf(e.err, "warning: %s\n", terminal.Clean(err.Error()))
			continue
		}
		traces = append(traces, t)
	}
	if len(traces) == 0 {
		return nil, failed
	}
	return traces, nil
}

func closeTraces(all []*activity.Trace) {
	for _, t := range all {
		_ = t.Close() // was only read
	}
}

// chosen returns the frames of the command line, in order.
func (c profileCmd) chosen(r *result.Results) ([]result.FrameSpan, error) {
	if c.Window > len(r.Windows) {
		return nil, usagef("--window %d: the run has %s", c.Window, plural(len(r.Windows), "window"))
	}
	from, to, err := c.Frames.in(r.Recording.Frames)
	if err != nil {
		return nil, err
	}
	all := frames.Select(r, frames.Selection{From: from, To: to, Window: c.Window, Late: c.Late})
	switch {
	case len(all) == 0 && c.Late:
		return nil, errors.New("no frame is late")
	case len(all) == 0:
		return nil, errors.New("the selection has no changed frames")
	}
	return all, nil
}

// changed returns those of the frames that changed the region of the command line.
func (c profileCmd) changed(e *env, dir string, all []result.FrameSpan) ([]result.FrameSpan, error) {
	region := frame.Region(*c.AtChange)
	r, _, err := openRecording(dir)
	if err != nil {
		return nil, err
	}
	defer r.Close() // was only read
	if !slices.ContainsFunc(r.Segments(), func(s recording.Segment) bool {
		return region.In(s.Layout.Format.Width, s.Layout.Format.Height)
	}) {
		return nil, usagef("--at-change %v: is not within the frames", region)
	}
	s := export.Selection{Reader: r, To: r.Frames()}
	found, err := s.ChangedIn(e.ctx, region)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(f result.FrameSpan) bool { return !found[f.Frame] })
	if len(all) == 0 {
		return nil, fmt.Errorf("no selected frame changed %v", region)
	}
	return all, nil
}

// name completes the functions of traces: their names by --symbols, and their addresses by the
// requests of the run. An index has no queries.
func (c profileCmd) name(e *env, dir string, traces []*activity.Trace) error {
	if network := filepath.Join(dir, runfolder.HARFile); c.URLs == "full" && exists(network) {
		full, err := export.FullAddresses(network)
		if err != nil {
			return err
		}
		for _, t := range traces {
			t.Rename(func(f activity.Function) activity.Function {
				f.File = cmp.Or(full[f.File], f.File)
				return f
			})
		}
	}
	if c.Symbols == "" {
		return nil
	}
	folder, err := symbols.Open(c.Symbols)
	if err != nil {
		return err
	}
	for _, t := range traces {
		t.Rename(folder.Name)
	}
	for _, doubt := range folder.Doubts {
		fmt.Fprintf(e.err, "warning: %s\n", terminal.Clean(doubt))
	}
	missing := 0
	for _, n := range folder.Missing {
		missing += n
	}
	fmt.Fprintf(e.err, "%s named by %s, %d without a name in %s\n", plural(folder.Found, "function"), c.Symbols,
		missing, plural(len(folder.Missing), "module"))
	return nil
}

// trace returns the trace that is exported.
func (c profileCmd) trace(traces []*activity.Trace) (*activity.Trace, error) {
	named := func(name string) int {
		return slices.IndexFunc(traces, func(t *activity.Trace) bool { return t.Info().Name == name })
	}
	switch i := named(c.Trace); {
	case i >= 0:
		return traces[i], nil
	case c.Trace != "":
		return nil, usagef("--trace %s: the run has no such trace", c.Trace)
	}
	return traces[max(0, named("native"))], nil
}

// write writes the output, and returns its description.
func (c profileCmd) write(e *env, dir string, r *result.Results, traces []*activity.Trace,
	chosen []result.FrameSpan) (string, error) {
	of, err := c.trace(traces)
	if err != nil {
		return "", err
	}
	if c.Trace != "" {
		traces = []*activity.Trace{of}
	}
	s := activities.Selection{Trace: of, Frames: chosen, Thread: c.Thread, Inverted: c.Tree == "inverted"}
	switch c.ending() {
	case "":
		return "", c.print(e, r, traces, chosen)
	case ".callgrind":
		return c.callgrind(s.Callgrind())
	case ".pftrace":
		return c.perfetto(e, dir, r, traces, chosen)
	}
	write := map[string]func(io.Writer) error{".pb.gz": s.PProf, ".folded": s.Folded, ".svg": s.Flame,
		".json": func(w io.Writer) error {
			text, err := json.MarshalIndent(frames.Table(traces, r.Windows, chosen).Complete(r), "", "  ")
			if err == nil {
				_, err = w.Write(append(text, '\n'))
			}
			return err
		}}[c.ending()]
	return fmt.Sprintf("%s in %s", plural(len(chosen), "frame"), c.Output), writeOut(c.Output, c.Force, write)
}

// maxPrinted limits the frames of a listing.
const maxPrinted = 50

// print prints the activity before the frames.
func (c profileCmd) print(e *env, r *result.Results, traces []*activity.Trace, chosen []result.FrameSpan) error {
	left := 0
	if c.Late {
		slices.SortStableFunc(chosen, func(a, b result.FrameSpan) int { return int(b.Lasted() - a.Lasted()) })
	}
	if left = len(chosen) - maxPrinted; left > 0 {
		chosen = chosen[:maxPrinted]
	}
	err := terminal.Profile(e.out, frames.Table(traces, r.Windows, chosen).Complete(r))
	if err == nil && left > 0 {
		_, err = fmt.Fprintf(e.out, "%s left out; write them with -o OUT.json\n", plural(left, "further frame"))
	}
	return err
}

// part names the file of a thread.
func (c profileCmd) part(i int) string { return fmt.Sprintf("%s-%02d", c.Output, i+1) }

// callgrind writes a file per thread, or none if one exists.
func (c profileCmd) callgrind(files []*activities.File, err error) (string, error) {
	if err == nil && len(files) == 0 {
		err = errors.New("the selection has no functions")
	}
	if err != nil {
		return "", err
	}
	for i := range files {
		if err := refuseExisting(c.part(i), c.Force); err != nil {
			return "", err
		}
	}
	for i, f := range files {
		if err := writeOut(c.part(i), c.Force, f.Write); err != nil {
			return "", err
		}
	}
	if len(files) == 1 {
		return fmt.Sprintf("1 thread in %s-01", c.Output), nil
	}
	return fmt.Sprintf("%s in %s-01 to -%02d", plural(len(files), "thread"), c.Output, len(files)), nil
}

// perfetto writes the recording with its traces.
func (c profileCmd) perfetto(e *env, dir string, r *result.Results, traces []*activity.Trace,
	chosen []result.FrameSpan) (string, error) {
	from, path, err := openRecording(dir)
	if err != nil {
		return "", err
	}
	defer from.Close() // was only read
	s := &export.Selection{Reader: from, Path: path, Results: filepath.Join(dir, result.FileName), Program: program(),
		Activities: traces, FullURLs: c.URLs == "full"}
	if c.Late || c.AtChange != nil {
		s.Marked = chosen
	}
	if network := filepath.Join(dir, runfolder.HARFile); exists(network) {
		s.Network = network
	}
	if exists(filepath.Join(dir, scripts.InfoFile)) && exists(filepath.Join(dir, scripts.LogFile)) {
		s.Scripts = dir
	}
	if s.From, s.To, err = c.Frames.in(s.Reader.Frames()); err != nil {
		return "", err
	}
	if c.Window > 0 {
		w := r.Windows[c.Window-1]
		s.From, s.To = max(0, w.Start), min(s.To, w.End+1)
	}
	j := &job{e, exportCmd{File: dir, Output: c.Output, Force: c.Force}, s}
	return exportTrace(j)
}
