package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/demo"
	"github.com/eideticker/eideticker/deploy/rig"
)

type demoCmd struct {
	Tests   []string `arg:"" optional:"" name:"test" complete:"@tests" help:"Tests or pages (default: nine tests)."`
	Output  string   `short:"o" default:"out/demo" placeholder:"DIR" help:"Folder to overwrite (default: ${default})."`
	Browser string   `enum:"auto,chromium,firefox" default:"auto" help:"Browser to run (default: the first installed)."`
	Serve   bool     `help:"Afterwards serve the runs as a rig on this machine until Ctrl-C."`
	JSON    bool     `help:"Print the summary as one JSON object."`
}

func (demoCmd) Help() string {
	return `Examples:

  eideticker demo
  eideticker demo --serve
  eideticker demo -o /tmp/demo pingpong typing hover

Runs nine tests once each in a browser on a virtual X display. The measured values are compared with the content
that the pages drew. Then a page and a slower one take turns in eight blocks, and are compared.
The exit code is 1 if a value differs, or the slower page is not found. The demo needs neither a screen nor root.

With root, one page is also loaded over the links cable and 3g, for a waterfall of its requests.

Serve the folder later with eideticker serve --data-dir.`
}

func (c demoCmd) Run(e *env) error { return (&demoRun{env: e, cmd: c}).run() }

// demoRun is one run of the command. Tests replace the options' functions.
type demoRun struct {
	*env
	cmd     demoCmd
	options demo.Options
	summary *demo.Summary

	compared *compare.Comparison // nil: nothing was

	timelines, late []string // files of profiled runs, and the sentences of their worst frames
}

func (d *demoRun) run() (err error) {
	o := &d.options
	if o.Tests, err = demo.Tests(d.cmd.Tests); err != nil {
		return usageError{err}
	}
	o.Links, o.Dir, o.Program, o.Progress = len(d.cmd.Tests) == 0, d.cmd.Output, program(), d.env
	o.Log = func(text string) { fmt.Fprintln(d.err, text) }
	if len(d.cmd.Tests) == 0 && o.Compare == nil {
		o.Compare = d.compare
	}
	if d.cmd.Browser != "auto" {
		o.Browser = d.cmd.Browser
	}
	var page *rig.Rig
	if d.cmd.Serve { // before the work, so that a mistake is reported early
		if page, err = d.openPage(); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		defer func() { err = errors.Join(err, page.Close()) }()
	}
	d.summary, err = demo.Run(d.ctx, *o)
	if err == nil {
		err = d.explain()
	}
	switch {
	case d.ctx.Err() != nil:
		return errors.New("demo: interrupted; display and browser were stopped")
	case err != nil:
		return fmt.Errorf("demo: %w", err)
	case d.cmd.JSON:
		err = printJSON(d.out, d.summary)
	default:
		err = d.print(d.out)
	}
	if err != nil {
		return err
	}
	if page != nil {
		err = d.show(page)
	}
	if verdict := d.summary.Verdict(); verdict != nil {
		err = errors.Join(fmt.Errorf("demo: %w", verdict), err)
	}
	return err
}

// timelineFile is the trace of a profiled run, for ui.perfetto.dev.
const timelineFile = "timeline.pftrace"

// explain writes frames, scripts and threads of each profiled run into one file.
func (d *demoRun) explain() error {
	for i, m := range d.summary.Made {
		if m.Found == nil || m.Found.Results.Profile == nil || m.Found.Results.Script == nil {
			continue
		}
		dir := d.summary.Pages[i].Dir
		quiet := *d.env
		quiet.out = io.Discard
		c := profileCmd{Args: []string{dir}, Output: filepath.Join(dir, timelineFile), Force: true}
		if err := c.read(&quiet); err != nil {
			return err
		}
		written, err := result.Read(filepath.Join(dir, result.FileName)) // with its sentences
		if err != nil {
			return err
		}
		d.timelines = append(d.timelines, c.Output)
		d.late = append(d.late, written.Profile.Sentence)
	}
	return nil
}

// compare runs two load pages in turns and compares them, as run does.
func (d *demoRun) compare(_ context.Context, dir string) (*demo.Comparison, error) {
	c := runCmd{Tests: []string{"load", "load-slow"}, Label: demo.Label, Output: dir, Wait: true}
	if b := d.options.Browser; b != "" {
		c.Browser = []string{b}
	}
	r, err := c.measured(d.env)
	if err != nil {
		return nil, err
	}
	sets, err := r.load()
	if err != nil {
		return nil, err
	}
	all, err := r.comparisons(sets)
	if err != nil || len(all) == 0 {
		return nil, errors.Join(err, r.judged().Failure())
	}
	d.compared = all[0]
	outcome, _ := d.compared.Outcome()
	return &demo.Comparison{Answer: d.compared.Answer(), Outcome: outcome,
		Page: filepath.Join(r.set.Dir, compare.PageName)}, nil
}
