package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/controller/session"
)

const (
	// demoRuns is where the runs are in the demo's folder, which is laid out as a rig's data
	// directory.
	demoRuns = "runs"
	// demoLabel is how the demo knows its runs again.
	demoLabel = "demo"
	// demoMaxLost is how many frames a run may lack. What is checked holds whatever is lost, and
	// browser and recorder share this machine; of a run that has lost most of its frames there is
	// little to see.
	demoMaxLost = 0.5
)

// make makes all runs, and writes the summary.
func (d *demo) make() (err error) {
	on := session.Variant{Device: session.Local()}
	if d.cmd.Browser != "auto" {
		on.Browser = d.cmd.Browser
	}
	locks, err := runCmd{Wait: true}.lock(d.env, []session.Variant{on})
	if err != nil {
		return err
	}
	defer func() {
		for _, l := range locks {
			err = errors.Join(err, l.Close())
		}
	}()
	if err := removeEarlierDemo(d.runs()); err != nil {
		return err
	}
	for i := range d.tests {
		if err := d.makeOne(i, on); err != nil {
			return err
		}
	}
	return d.write()
}

// makeOne makes the run of a test. Where not even the first has got as far as a frame, the others
// would not either.
func (d *demo) makeOne(i int, on session.Variant) error {
	t := d.tests[i]
	fmt.Fprintf(d.err, "%s, %d of %d\n", t.Name, i+1, len(d.tests))
	var set *session.Set
	var m *session.Made
	for try := range lineTries {
		var err error
		set, err = d.runSet(d.ctx, session.SetOptions{
			Test: t, Variants: []session.Variant{on}, Repeat: 1, Retries: 1, MaxLost: demoMaxLost,
			Seed: session.NewSeed(),
			Dir:  freeFolder(filepath.Join(d.runs(), t.Name)), Program: program(), Progress: d.env,
			Labels: session.Labels{Label: demoLabel},
		})
		if err != nil {
			return err
		}
		m = set.Made[len(set.Made)-1]
		if try == lineTries-1 || !lineOff(m.Record.State, m.Record.Reason) {
			break
		}
		if err := os.RemoveAll(set.Dir); err != nil {
			return err
		}
	}
	if i == 0 && m.Record.State == session.Failed && m.Record.Frames == 0 {
		return errors.New(m.Record.Reason)
	}
	return d.take(t, filepath.Join(set.Dir, m.Dir), m)
}

func (d *demo) write() error {
	out, err := createOut(d.summaryFile(), true)
	if err != nil {
		return err
	}
	return out.finish(printJSON(out, d.summary))
}

// removeEarlierDemo removes the runs of an earlier demo, and nothing else that may be there.
func removeEarlierDemo(runs string) error {
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

// ofDemo reports whether a folder is a run of a demo, or has such runs and nothing else: tries that
// were begun again stand together.
func ofDemo(dir string) bool {
	if demo, is := demoRun(dir); is {
		return demo
	}
	within, err := os.ReadDir(dir)
	for _, entry := range within {
		if demo, is := demoRun(filepath.Join(dir, entry.Name())); !is || !demo {
			return false
		}
	}
	return err == nil && len(within) > 0
}

// pinnedFile is how package store marks a run that is to stay.
const pinnedFile = "pinned"

// demoRun reports whether a folder is a run, and whether it is a demo's that nobody wants to keep.
func demoRun(dir string) (demo, is bool) {
	f, err := os.Open(filepath.Join(dir, session.RecordFile))
	if err != nil {
		return false, false
	}
	defer f.Close() // was only read
	r, err := session.ReadRecord(f)
	return err == nil && r.Label == demoLabel && !exists(filepath.Join(dir, pinnedFile)), true
}
