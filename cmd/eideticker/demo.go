package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

type demoCmd struct {
	Tests   []string `arg:"" optional:"" name:"test" help:"Names of standard tests or test pages (default: eight tests)."`
	Output  string   `short:"o" default:"out/demo" placeholder:"DIR" complete:"files" help:"Write results into this folder; overwrite an earlier demo (default: out/demo)."`
	Browser string   `enum:"auto,chromium,firefox" default:"auto" help:"Browser to run; auto uses the first that is installed (default: auto)."`
	Serve   bool     `help:"Afterwards serve the runs as a rig on this machine until Ctrl-C."`
	JSON    bool     `help:"Print the summary as one JSON object."`
}

func (demoCmd) Help() string {
	return `Examples:

  eideticker demo
  eideticker demo --serve
  eideticker demo -o /tmp/demo pingpong typing hover

Runs eight tests once each in a browser on a virtual X display. The measured values are compared with the content
that the pages drew. The exit code is 1 if a value differs. The demo needs neither a screen nor root.

With root, one page is also loaded over the links cable and 3g, for a waterfall of its requests.

Serve the folder later with eideticker serve --data-dir.`
}

func (c demoCmd) Run(e *env) error {
	return (&demo{env: e, cmd: c, runSet: session.RunSet, tryLine: tryLine}).run()
}

// demo is one run of the command, from the tests' names to the summary.
type demo struct {
	*env
	cmd     demoCmd
	runSet  func(context.Context, session.SetOptions) (*session.Set, error)
	tryLine func() error
	tests   []*suite.Test
	summary demoSummary
	made    []*session.Made // that the summary tells of, in its order
}

// demoTests show what there is to measure: frames that reach the screen and fewer of them than a
// page claims, a load, torn frames that should not be there and some that are drawn on purpose,
// tiles that come late, a hand at the wheel, and the time until a click is answered.
func demoTests() []string {
	return []string{"framerate", "framerate-boast", "load", "tearing-combined", "tearing-drawn", "checkerboard-pan",
		"scroll", "pingpong"}
}

func (d *demo) runs() string        { return filepath.Join(d.cmd.Output, demoRuns) }
func (d *demo) summaryFile() string { return filepath.Join(d.cmd.Output, "summary.json") }

func (d *demo) run() (err error) {
	if d.tests, err = findDemoTests(d.cmd.Tests); err != nil {
		return usageError{err}
	}
	d.summary = newDemoSummary(d.summaryFile())
	if len(d.cmd.Tests) == 0 {
		d.addLines()
	}
	if err := os.MkdirAll(d.runs(), 0o755); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	var page *rigService
	if d.cmd.Serve { // before the work: what keeps it from being shown is told now
		if page, err = d.openPage(); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		defer func() { err = errors.Join(err, page.store.Close()) }()
	}
	if err := d.make(); err != nil {
		if d.ctx.Err() != nil {
			return errors.New("demo: interrupted; display and browser were stopped")
		}
		return fmt.Errorf("demo: %w", err)
	}
	if err := d.tell(); err != nil {
		return err
	}
	if page != nil {
		err = d.show(page)
	}
	return errors.Join(d.summary.verdict(), err)
}

func (d *demo) tell() error {
	if d.cmd.JSON {
		return printJSON(d.out, d.summary)
	}
	return d.print(d.out)
}

// findDemoTests looks for tests by their names, all of them ours: of others nobody knows what they
// draw.
func findDemoTests(names []string) (tests []*suite.Test, err error) {
	if len(names) == 0 {
		names = demoTests()
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
