package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/cmd/eideticker/internal/analysis"
	"github.com/eideticker/eideticker/codec/recording"
)

type demoCmd struct {
	Output  string `short:"o" default:"out/demo" placeholder:"DIR" complete:"files" help:"Folder for what the demo makes; what an earlier one left there is overwritten."`
	Browser string `enum:"auto,chromium,firefox" default:"auto" help:"auto takes the first that is installed."`
	JSON    bool   `help:"Print the summary as one JSON object."`
}

func (demoCmd) Help() string {
	return `Example:

  eideticker demo -o /tmp/demo

Starts a virtual X display and a browser on it, has the browser play the test pages between green and red, clicks with the display's own pointer on the one that answers, and records the display. Then it measures the recording, and holds each number against what the page drew, which is known from the code in each of its pictures and from the page's own account. It ends with 1 if one of them is not as it was drawn. It needs neither a screen nor root, and takes away what it started.`
}

func (c demoCmd) Run(e *env) error {
	if err := os.MkdirAll(c.Output, 0o755); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d := demo{env: e, dir: c.Output}
	if c.Browser != "auto" {
		d.browser = c.Browser
	}
	if err := d.run(); err != nil {
		if e.ctx.Err() != nil {
			return errors.New("demo interrupted; display and browser are gone")
		}
		return fmt.Errorf("demo: %w", err)
	}
	if c.JSON {
		return errors.Join(d.summary.verdict(), printJSON(e.out, d.summary))
	}
	return errors.Join(d.summary.verdict(), d.summary.print(e.out))
}

// demo is one run from the display's start to the summary.
type demo struct {
	*env
	dir     string
	browser string
	played  played
	found   *analysis.Found
	summary demoSummary
}

func (d *demo) recording() string { return filepath.Join(d.dir, "recording.eid") }
func (d *demo) video() string     { return filepath.Join(d.dir, analysis.VideoFile) }
func (d *demo) results() string   { return filepath.Join(d.dir, "summary.json") }

func (d *demo) run() error {
	if err := d.record(); err != nil {
		return err
	}
	r, err := recording.Open(d.recording())
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	if err := d.analyze(r); err != nil {
		return err
	}
	if err := d.verify(); err != nil {
		return err
	}
	if err := d.writeFolder(r); err != nil {
		return err
	}
	out, err := createOut(d.results(), true)
	if err != nil {
		return err
	}
	return out.finish(printJSON(out, d.summary))
}

// verify decodes all frames once more, as eideticker verify does.
func (d *demo) verify() error {
	p := d.phase("verifying", int(d.played.result.Stored))
	report, err := recording.Verify(d.ctx, d.recording(), func(done, _ int) { p.set(done) })
	p.end()
	if err != nil {
		return err
	}
	d.summary.Verified = len(report.Problems) == 0
	for _, problem := range report.Problems {
		d.summary.Problems = append(d.summary.Problems, damageText(problem))
	}
	return nil
}

// writeFolder writes results, page, pictures and video beside the recording. A build without OpenCV makes no video, and says so in the notes.
func (d *demo) writeFolder(r *recording.Reader) error {
	if err := errors.Join(removeIfThere(d.video()), removeIfThere(d.video()+".json")); err != nil {
		return err
	}
	results := &d.found.Results
	results.Recording.File = filepath.Base(d.recording())
	before := len(results.Notes)
	if err := analysis.WriteFolder(d.ctx, d.dir, r, d.found, analysis.FolderOptions{Force: true}, d.env); err != nil {
		return err
	}
	d.summary.Notes = append(d.summary.Notes, results.Notes[before:]...)
	d.summary.Report = filepath.Join(d.dir, analysis.PageFile)
	if _, err := os.Stat(d.video()); err == nil {
		d.summary.Video = d.video()
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
