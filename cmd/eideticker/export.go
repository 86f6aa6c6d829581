package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/trace/lines"
	"github.com/eideticker/eideticker/analyze/trace/profile"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recorder"
)

type exportCmd struct {
	File     string       `arg:"" name:"file" complete:"files" help:"A recording, a run folder or a set of runs."`
	Output   string       `short:"o" required:"" placeholder:"OUT" help:"Output file; its ending selects the format."`
	Frames   frameRange   `placeholder:"A:B" help:"Export only frames A to B, B excluded."`
	Region   *regionFlag  `placeholder:"WxH+X+Y" help:"Export only this region (.raw .y4m .png .mp4 .eid)."`
	Redact   []regionFlag `placeholder:"WxH+X+Y" sep:"none" help:"Paint over this region; repeatable (as --region)."`
	NoEvents bool         `help:"Omit events and requests, with typed text (.json .trace.json .pftrace .eid)."`
	Results  string       `placeholder:"FILE" help:"Results to use (.csv .npy .trace.json .pftrace .messages.jsonl)."`
	Force    bool         `help:"Overwrite existing files."`
	JSON     bool         `help:"Print the result as one JSON object."`
}

func (exportCmd) Help() string {
	return `Examples:

  eideticker export desk.eid -o desk.mp4
  eideticker export desk.eid -o 'pictures/%06d.png' --frames 0:60 \
      --region 640x360+0+0
  eideticker export desk.eid -o share.eid --frames 120:600 \
      --redact 400x40+80+60 --no-events
  eideticker export out/load-20261123-101500 -o values.csv

The ending of OUT selects the format:

  .raw         bytes of the frames as captured
  .y4m         the same with a header, for YUV formats
  .png         a picture per frame; %06d in OUT is its number
  .mp4         video; missing frames are marked
  .json        events, gaps and metadata
  .csv         a line per frame: number, time, changes, series of a run
  .npy         the same as a structured array for numpy.load
  .trace.json  frames by kind, gaps, events, requests: ui.perfetto.dev
  .pftrace     the same with profiles, without queries of addresses
  .folded      calls of scripts as stacks, for flame graphs
  .cpuprofile  calls for DevTools, of the busiest page or worker
  .callgrind   calls of scripts for KCachegrind
  .pb.gz       calls of scripts for go tool pprof
  .svg         calls of scripts as a flame graph
  .calls.txt   a line per call and return of scripts, and totals
  .calls.jsonl the same as JSON objects
  .messages.jsonl
               messages that a test page drew into its frames
  .eid         a recording of the chosen frames

A set of runs becomes a .csv with one line per value of each run.

Redacted regions are grey in every frame, and OUT holds none of their pixels. Regions grow to whole chroma blocks.
Redaction does not change events and metadata. Omit events with --no-events.`
}

// job is one export.
type job struct {
	*env
	cmd exportCmd
	*export.Selection
}

// writing shows the progress of the frames. Call end when the export is done.
func (j *job) writing() (end func()) {
	p := j.phase("writing "+j.cmd.Output, j.To-j.From)
	j.Progress = p.Set
	return p.End
}

// exportKind is one kind of output.
type exportKind struct {
	ending   string
	run      func(*job) (string, error) // returns a description of the output
	pictures bool                       // has pictures, so takes --region and --redact
	events   bool                       // has events, so takes --no-events
	results  bool                       // uses results, so takes --results
	calls    bool                       // has the calls of all scripts
	timeline bool                       // has requests and scripts
}

// exportKinds lists the kinds. A longer ending comes before its own end.
func exportKinds() []exportKind {
	return []exportKind{
		{ending: ".raw", run: exportRaw, pictures: true},
		{ending: ".y4m", run: exportY4M, pictures: true},
		{ending: ".png", run: exportPNG, pictures: true},
		{ending: ".mp4", run: exportMP4, pictures: true},
		{ending: ".trace.json", run: exportTrace, events: true, results: true, timeline: true},
		{ending: ".pftrace", run: exportTrace, events: true, results: true, timeline: true},
		{ending: ".folded", run: exportCalls(export.CallFormat{Write: profile.Folded}), calls: true},
		{ending: ".cpuprofile", run: exportCalls(export.CPUProfile()), calls: true},
		{ending: ".callgrind", run: exportCalls(export.CallFormat{Write: profile.Callgrind}), calls: true},
		{ending: ".pb.gz", run: exportCalls(export.CallFormat{Write: profile.PProf}), calls: true},
		{ending: ".svg", run: exportCalls(export.CallFormat{Write: profile.Flame}), calls: true},
		{ending: ".calls.txt", run: exportCalls(export.Lines(lines.Text)), calls: true},
		{ending: ".calls.jsonl", run: exportCalls(export.Lines(lines.JSON)), calls: true},
		{ending: ".messages.jsonl", run: exportMessages, results: true},
		{ending: ".json", run: exportJSON, events: true},
		{ending: ".csv", run: exportCSV, results: true},
		{ending: ".npy", run: exportNPY, results: true},
		{ending: ".eid", run: exportEID, pictures: true, events: true},
	}
}

// kind returns the kind by the ending of OUT, and rejects flags that do not apply.
func (c exportCmd) kind() (exportKind, error) {
	kinds := exportKinds()
	i := slices.IndexFunc(kinds,
		func(k exportKind) bool { return strings.HasSuffix(strings.ToLower(c.Output), k.ending) })
	if i < 0 {
		return exportKind{}, usagef(
			"OUT %q: must end in .raw .y4m .png .mp4 .json .csv .npy .trace.json .pftrace .folded "+
				".cpuprofile .callgrind .pb.gz .svg .calls.txt .calls.jsonl "+
				".messages.jsonl or .eid",
			c.Output)
	}
	k := kinds[i]
	for _, f := range []struct {
		flag        string
		given, goes bool
	}{
		{"--region", c.Region != nil, k.pictures}, {"--redact", len(c.Redact) > 0, k.pictures},
		{"--frames", c.Frames.given, !k.calls}, {"--no-events", c.NoEvents, k.events},
		{"--results", c.Results != "", k.results},
	} {
		if f.given && !f.goes {
			return k, usagef("%s cannot be used with %s", f.flag, k.ending)
		}
	}
	return k, nil
}

func (c exportCmd) Run(e *env) error {
	kind, err := c.kind()
	if err != nil {
		return err
	}
	cut, redact := (*frame.Region)(c.Region), []frame.Region(nil)
	for _, r := range c.Redact {
		redact = append(redact, frame.Region(r))
	}
	if compare.IsSet(c.File) && kind.ending == ".csv" {
		return c.set(e)
	}
	if results := filepath.Join(c.File, result.FileName); kind.results && c.Results == "" && exists(results) {
		c.Results = results
	}
	network := filepath.Join(c.File, runfolder.HARFile)
	if !exists(network) || !kind.timeline {
		network = ""
	}
	folder := c.File
	var traces []*activity.Trace
	if kind.ending == ".pftrace" && !c.NoEvents && exists(filepath.Join(folder, activity.TracesDir)) {
		if traces, err = openTraces(e, folder); err != nil {
			return fmt.Errorf("export %s: %w", folder, err)
		}
		defer closeTraces(traces)
	}
	if !kind.timeline && !kind.calls || !exists(filepath.Join(folder, scripts.InfoFile)) ||
		!exists(filepath.Join(folder, scripts.LogFile)) {
		folder = ""
	}
	reader, file, err := openRecording(c.File)
	if err != nil {
		return err
	}
	defer reader.Close() // was only read
	c.File = file
	j := &job{e, c, &export.Selection{Reader: reader, Path: c.File, NoEvents: c.NoEvents, Results: c.Results,
		Network: network, Scripts: folder, Activities: traces, Program: program()}}
	if recorder.SameFile(c.File, c.Output) {
		return usagef("%s is the input: choose another name for OUT", c.Output)
	}
	if j.From, j.To, err = c.Frames.in(j.Reader.Frames()); err != nil {
		return err
	}
	if j.Edit, err = recorder.NewEdit(j.Segments(), redact, cut); err != nil {
		return usageError{err}
	}
	j.tell(redact, cut)
	wrote, err := kind.run(j)
	if err != nil {
		return fmt.Errorf("export %s to %s: %w", c.File, c.Output, orInterrupted(err))
	}
	if c.JSON {
		return printJSON(e.out, exportResult{c.File, c.Output, kind.ending[1:], j.From, j.To - j.From})
	}
	_, err = fmt.Fprintln(e.out, wrote)
	return err
}

// set exports the values of a set of runs.
func (c exportCmd) set(e *env) error {
	if c.Frames.given || c.Results != "" {
		return usagef("--frames and --results cannot be used with a set of runs")
	}
	s, err := compare.OpenSet(e.ctx, c.File)
	if err != nil {
		return fmt.Errorf("export %s: %w", c.File, orInterrupted(err))
	}
	out, err := createOut(c.Output, c.Force)
	if err != nil {
		return err
	}
	lines, err := s.CSV(out)
	if err := out.Finish(err); err != nil {
		return fmt.Errorf("export %s to %s: %w", c.File, c.Output, err)
	}
	if c.JSON {
		return printJSON(e.out, exportResult{Path: c.File, Output: c.Output, Kind: "csv"})
	}
	_, err = fmt.Fprintf(e.out, "%s in %s\n", plural(lines, "line"), c.Output)
	return err
}

// tell reports regions that grew or shrank.
func (j *job) tell(redact []frame.Region, cut *frame.Region) {
	if j.Edit.Cut != nil && *j.Edit.Cut != *cut {
		fmt.Fprintf(j.err, "the region shrinks to %v, whole blocks of chroma\n", *j.Edit.Cut)
	}
	for i, r := range j.Edit.Redact {
		if r != redact[i] {
			fmt.Fprintf(j.err, "%v is painted over, whole blocks of chroma\n", r)
		}
	}
}

// exportResult is what export --json prints.
type exportResult struct {
	Path       string `json:"path"`
	Output     string `json:"output"` // as given
	Kind       string `json:"kind"`   // raw, y4m, png, mp4, json, csv, trace.json, pftrace or eid
	FirstFrame int    `json:"first_frame"`
	Frames     int    `json:"frames"`
}
