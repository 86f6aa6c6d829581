package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/attach"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/session"
)

type attachCmd struct {
	Folder string `arg:"" name:"run" complete:"files" help:"A run folder."`
	Trace  string `arg:"" name:"trace" complete:"files" help:"A trace of another tool, or a profile."`
	As     string `placeholder:"NAME" help:"Name of the trace in the run (default: the file's)."`
	Clock  string `placeholder:"HOW" default:"auto" help:"auto, monotonic, offset=D±E or none (default: auto)."`
	Force  bool   `help:"With --clock none: attach a trace of another run."`
	JSON   bool   `help:"Print the result as one JSON object."`
}

func (attachCmd) Help() string {
	return `Examples:

  eideticker attach out/run trace.json
  eideticker attach out/run out/app-20261130-101500
  eideticker attach out/run app.cpuprofile --as node \
      --clock offset=-1.5s±20ms

TRACE is a Chrome JSON trace, a Perfetto trace, a Firefox profile, a .cpuprofile or a text of perf script. It may be
packed by gzip, zstd or zip. Its content selects the format. TRACE can also be a folder of eideticker profile.

The relation of the clocks follows from requests and inputs that both sides have. So each time of the trace has bounds.
A trace without such evidence is refused. Record with --network, and with an input.

HOW:

  auto        from the trace and from evidence
  monotonic   the trace has CLOCK_MONOTONIC of the recording's machine
  offset=D±E  the recording's clock is D ahead of the trace's
  none        the trace keeps its own axis

The trace is copied to RUN/traces/NAME/raw. This copy stays on this machine: push, pull and the web page leave it out.
Results and report of the run show the trace.`
}

func (c attachCmd) Run(e *env) error {
	mode, err := attach.ParseMode(c.Clock)
	if err != nil {
		return usageError{err}
	}
	if c.Force && mode.Kind != attach.None {
		return usagef("--force needs --clock none")
	}
	a, err := attach.Attach(e.ctx, attach.Options{Run: c.Folder, Trace: c.Trace, Name: c.As, Clock: mode,
		Force: c.Force})
	if err != nil {
		return orInterrupted(err)
	}
	added, err := session.AddTraces(c.Folder)
	if err != nil {
		return fmt.Errorf("attach %s: the trace is in the run, and its results are as before: %w", c.Trace, err)
	}
	if c.JSON {
		return printJSON(e.out, attachedJSON(a))
	}
	return c.print(e.out, a, added)
}

// attached is the output of --json.
type attached struct {
	Trace     activity.Info `json:"trace"`
	HalfWidth int64         `json:"half_width_ns"` // of the bounds of a time, at most
	Used      []string      `json:"used"`          // evidence
	Discarded []string      `json:"discarded"`     // sentences
}

func attachedJSON(a *attach.Attached) attached {
	out := attached{Trace: a.Info, Used: []string{}, Discarded: []string{}}
	out.HalfWidth = max(a.Clock.HalfWidth(a.Info.BeginNS), a.Clock.HalfWidth(a.Info.EndNS))
	for _, e := range a.Used {
		out.Used = append(out.Used, e.Kind+" "+e.Witness)
	}
	for i := range a.Discarded {
		out.Discarded = append(out.Discarded, a.Discarded[i].Sentence(&a.Clock))
	}
	return out
}

// print prints the relation of the clocks.
func (c attachCmd) print(w io.Writer, a *attach.Attached, added bool) error {
	var l terminal.List
	l.Add("trace", "%s", filepath.Join(c.Folder, activity.TracesDir, a.Info.Name))
	l.Add("format", "%s, %s", a.Info.Engine, a.Info.Way)
	l.Add("records", "%d", a.Info.Events)
	l.Add("clock", "%s", a.Clock.Text)
	if added {
		l.Add("report", "%s", filepath.Join(c.Folder, runfolder.PageFile))
		l.Add("late frames", "eideticker profile %s --late", c.Folder)
	}
	if err := l.Print(w); err != nil {
		return err
	}
	notes := slices.Clone(a.Info.Warnings)
	for i := range a.Discarded {
		notes = append(notes, "Discarded: "+a.Discarded[i].Sentence(&a.Clock)+".")
	}
	if added {
		results, err := result.Read(filepath.Join(c.Folder, result.FileName))
		if err == nil && results.Profile != nil {
			for _, f := range results.Profile.Claims {
				if f.Trace == a.Info.Name {
					notes = append(notes, f.Text)
				}
			}
		}
	}
	return terminal.Lines(w, notes)
}
