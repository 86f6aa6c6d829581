// Package demo runs built-in tests on this machine and compares the measured values with the drawn
// content.
//
// Its folder has the layout of a rig's data directory.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// Options of a demo.
type Options struct {
	Tests    []*suite.Test
	Links    bool   // also run the load test over links, if this machine can make them
	Dir      string // an earlier demo in it is overwritten
	Browser  string // "": the first that is installed
	Program  string // for the recordings
	Progress runfolder.Progress
	Log      func(text string)

	// Compare measures two pages in turns, into a folder; nil: nothing is compared.
	Compare func(ctx context.Context, dir string) (*Comparison, error)

	// RunSet and TryLink replace session.RunSet and the test for links; nil: they are not replaced.
	RunSet  func(context.Context, session.SetOptions) (*session.Set, error)
	TryLink func() error
}

const (
	runsDir     = "runs"
	summaryFile = "summary.json"
	// Label is the label of the demo's runs.
	Label = "demo"
	// maxLost is the largest share of lost frames. Browser and recorder share this machine. Checks
	// hold whatever is lost, but with most frames lost there is little to see.
	maxLost = 0.5
)

// demo is a run of the demo.
type demo struct {
	Options
	summary *Summary
}

// DefaultTests are the names of the tests that run by default.
func DefaultTests() []string {
	return []string{"framerate", "framerate-boast", "load", "tearing-combined", "tearing-drawn", "checkerboard-pan",
		"scroll", "pingpong", "stutter"}
}

// Tests finds tests by their names. They must be built in, so that their drawn content is known.
// Without names it returns the default tests.
func Tests(names []string) (tests []*suite.Test, err error) {
	if len(names) == 0 {
		names = DefaultTests()
	}
	given := map[string]bool{}
	for _, name := range names {
		t, err := suite.Find(name, session.Known(), suite.Standard())
		if err != nil {
			p, notOurs := site.Find(name)
			if notOurs != nil {
				return nil, fmt.Errorf("%w; give a test of eideticker suite list, or a test page", err)
			}
			t = session.PageTest(p)
		}
		if given[t.Name] {
			return nil, fmt.Errorf("%s is given twice", t.Name)
		}
		given[t.Name] = true
		tests = append(tests, t)
	}
	return tests, nil
}

// Run runs the tests once each and writes the summary. An error means that the demo did not end.
// [Summary.Verdict] judges the values.
func Run(ctx context.Context, o Options) (*Summary, error) {
	d := &demo{Options: o, summary: newSummary(filepath.Join(o.Dir, summaryFile))}
	if d.RunSet == nil {
		d.RunSet, d.TryLink = session.RunSet, tryLink
	}
	if d.Links {
		d.addLinks()
	}
	if err := os.MkdirAll(d.runs(), 0o755); err != nil {
		return nil, err
	}
	if err := errors.Join(d.run(ctx), ctx.Err()); err != nil {
		return nil, err
	}
	if err := d.compare(ctx); err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(d.summary, "", "  ")
	if err != nil {
		return nil, err
	}
	return d.summary, staging.WriteFile(d.summary.Summary, append(b, '\n'), 0o644)
}

func (d *demo) runs() string { return filepath.Join(d.Dir, runsDir) }

func (d *demo) run(ctx context.Context) (err error) {
	on := session.Variant{Device: session.Local(), Browser: d.Browser}
	locks, err := session.TakeAll(ctx, []session.Variant{on}, d.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.CloseAll(locks)) }()
	if err := removeEarlier(d.runs()); err != nil {
		return err
	}
	for i := range d.Tests {
		if err := d.runOne(ctx, i, on); err != nil {
			return err
		}
	}
	return nil
}

// compared is the folder of the comparison.
const compared = "load-against-slow"

// compare measures two pages in turns.
func (d *demo) compare(ctx context.Context) (err error) {
	if d.Compare == nil {
		return nil
	}
	d.Log("load against a slower load, in turns")
	d.summary.Comparison, err = d.Compare(ctx, session.FreeFolder(filepath.Join(d.runs(), compared)))
	return err
}

// runOne runs a test. If the first run has no frame, the others would not have any either.
func (d *demo) runOne(ctx context.Context, i int, on session.Variant) error {
	t := d.Tests[i]
	if t.Script.Given() {
		explained := *t
		if err := session.Explain(&explained, false); err != nil {
			return err
		}
		t = &explained
	}
	d.Log(fmt.Sprintf("%s, %d of %d", t.Name, i+1, len(d.Tests)))
	var set *session.Set
	var m *session.Made
	for try := range linkTries {
		var err error
		set, err = d.RunSet(ctx, session.SetOptions{
			Test: t, Variants: []session.Variant{on}, Repeat: 1, Retries: 3, MaxLost: maxLost, Seed: session.NewSeed(),
			Dir: session.FreeFolder(filepath.Join(d.runs(), t.Name)), Program: d.Program, Progress: d.Progress,
			Labels: session.Labels{Label: Label},
		})
		if err != nil {
			return err
		}
		m = set.Made[len(set.Made)-1]
		if try == linkTries-1 || !linkOff(m.Record.State, m.Record.Reason) {
			break
		}
		if err := os.RemoveAll(set.Dir); err != nil {
			return err
		}
	}
	if i == 0 && m.Record.State == session.Failed && m.Record.Frames == 0 {
		return errors.New(m.Record.Reason)
	}
	return d.take(ctx, t, filepath.Join(set.Dir, m.Dir), m)
}

// removeEarlier removes the runs of an earlier demo, and keeps everything else.
func removeEarlier(runs string) error {
	there, err := os.ReadDir(runs)
	if err != nil {
		return err
	}
	for _, entry := range there {
		if dir := filepath.Join(runs, entry.Name()); ofDemo(dir) {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// errOther is the error of a run that is not one of a demo.
var errOther = errors.New("not a run of a demo")

// ofDemo reports whether a folder has runs, and only those of a demo.
func ofDemo(dir string) bool {
	runs := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != session.RecordFile {
			return err
		}
		if demo, _ := demoRun(filepath.Dir(path)); !demo {
			return errOther
		}
		runs++
		return nil
	})
	return err == nil && runs > 0
}

// pinnedFile is package store's mark of a run to keep.
const pinnedFile = "pinned"

// demoRun reports whether a folder is a run, and whether it is an unpinned run of a demo.
func demoRun(dir string) (demo, is bool) {
	f, err := os.Open(filepath.Join(dir, session.RecordFile))
	if err != nil {
		return false, false
	}
	defer f.Close() // was only read
	r, err := session.ReadRecord(f)
	return err == nil && r.Label == Label && !exists(filepath.Join(dir, pinnedFile)), true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
