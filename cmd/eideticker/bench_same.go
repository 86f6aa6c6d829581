package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// sameFlags belong to bench --same, which holds a browser against itself: whatever differs then is a false alarm.
type sameFlags struct {
	suiteFolders
	Test        []string `arg:"" optional:"" name:"test" help:"With --same: tests of the suite, which take turns; five short ones of different kinds if none is named."`
	Same        bool     `help:"Only compare a browser with itself, over real runs of tests, and count how often that is said to differ; takes an hour or more and 3 GB, see --output."`
	Comparisons int      `placeholder:"40" help:"With --same: comparisons in all, each from runs of its own."`
	Repeat      int      `short:"n" placeholder:"7" help:"With --same: runs of each of the two sets of a comparison."`
	Device      string   `short:"d" placeholder:"NAME" help:"With --same: device to run on, local if none is given."`
	Devices     string   `placeholder:"FILE" complete:"files" help:"With --same: file of devices, as for run."`
	Browser     string   `short:"b" placeholder:"NAME" help:"With --same: browser to run, the device's first if none is given."`
	Seed        uint64   `placeholder:"N" help:"With --same: same order of turns, same pauses between pings; chosen and printed if not given."`
	Wait        bool     `help:"With --same: wait while the device is in use by another run."`
	Output      string   `short:"o" placeholder:"DIR" complete:"files" help:"With --same: folder of the runs, which must not be there; out/same-DATE-TIME if not given."`
	From        string   `placeholder:"DIR" complete:"files" help:"With --same: make no runs, and count again in the folder of an earlier bench --same."`
}

const (
	sameComparisons = 40
	// sameRepeat leaves the smallest p that so many runs can have below the level after Holm's method for 85 values at once; with the fewest runs that a verdict
	// needs it is 23.
	sameRepeat = stats.FewestRuns + 1
	// samePings are enough for a median, with --quick.
	samePings = 10
)

// sameTests are short, and each is of another kind.
func sameTests() []string { return []string{"framerate", "load", "pingpong", "typing", "tearing-dom"} }

// idle says that no flag of --same is given without it.
func (c sameFlags) idle() bool {
	return len(c.Test) == 0 && c.Comparisons == 0 && c.Repeat == 0 && c.Device == "" && c.Devices == "" && c.Browser == "" && c.Seed == 0 && !c.Wait && c.Output == "" && c.From == ""
}

// same makes the runs, or takes those of an earlier time, and tells what they come to.
func (c benchCmd) same(e *env) error {
	var plan *samePlan
	var err error
	if c.From != "" {
		if len(c.Test) > 0 || c.Comparisons != 0 || c.Repeat != 0 || c.Output != "" {
			return usagef("--from counts what is there: it goes with no test, --comparisons, --repeat or --output")
		}
		plan, err = readSamePlan(c.From)
	} else {
		plan, err = c.makeSame(e)
	}
	if plan == nil {
		return fmt.Errorf("bench --same: %w", orInterrupted(err))
	}
	all := plan.judge(context.WithoutCancel(e.ctx)) // what was made is told also after Ctrl-C
	result := countSame(plan, all)
	if c.JSON {
		err = errors.Join(err, printJSON(e.out, benchJSON{Ceilings: []ceilingJSON{}, Scenes: []benchScene{}, Reading: []readingJSON{}, Notes: []string{}, Same: result.json()}))
	} else {
		err = errors.Join(err, result.print(e.out))
	}
	if err != nil {
		return fmt.Errorf("bench --same: %w", orInterrupted(err))
	}
	return result.failure()
}

// makeSame makes the runs. There is a plan as soon as there may be runs, also on an error.
func (c benchCmd) makeSame(e *env) (*samePlan, error) {
	options, err := c.sameOptions(e)
	if err != nil {
		return nil, err
	}
	first := options[0]
	locks, err := runCmd{Wait: c.Wait}.lock(e, first.Variants)
	if err != nil {
		return nil, err
	}
	plan := newSamePlan(options, c.Comparisons, c.Quick)
	err = plan.write()
	if err == nil {
		fmt.Fprintf(e.err, "%s of %s with itself, %s each; seed %d; runs go to %s\n",
			plural(len(plan.Comparisons), "comparison"), plan.who(), plural(plan.Repeat, "run"), plan.Seed, plan.dir)
		err = plan.run(e, options)
	}
	for _, l := range locks {
		err = errors.Join(err, l.Close())
	}
	return plan, err
}

// sameOptions are the sets of each test, without their folders.
func (c benchCmd) sameOptions(e *env) (all []session.SetOptions, err error) {
	tests := c.Test
	if len(tests) == 0 {
		tests = sameTests()
	}
	if c.Comparisons == 0 {
		c.Comparisons = sameComparisons
	}
	if c.Repeat == 0 {
		c.Repeat = sameRepeat
	}
	if c.Comparisons < 1 || c.Comparisons > stats.MostRuns || c.Repeat < 1 || c.Repeat > stats.MostRuns {
		return nil, usagef("--comparisons and --repeat are 1 to %d", stats.MostRuns)
	}
	if c.Output == "" {
		c.Output = filepath.Join("out", "same-"+time.Now().Format("20060102-150405"))
	}
	names := map[string]bool{}
	for _, name := range tests {
		run := runCmd{suiteFolders: c.suiteFolders, Test: name, Devices: c.Devices, Repeat: &c.Repeat, Seed: c.Seed, Output: c.Output, NoVideo: true}
		if c.Device != "" {
			run.Device = []string{c.Device}
		}
		if c.Browser != "" {
			run.Browser = []string{c.Browser}
		}
		o, err := run.options(e)
		if err != nil {
			return nil, err
		}
		if names[o.Test.Name] {
			return nil, usagef("test %s is given twice", o.Test.Name)
		}
		names[o.Test.Name] = true
		c.Seed = o.Seed
		all = append(all, c.twice(o))
	}
	return all, nil
}

// twice makes of the runs of a browser those of two sets of the same.
func (c benchCmd) twice(o session.SetOptions) session.SetOptions {
	o.Variants, o.Names = []session.Variant{o.Variants[0], o.Variants[0]}, []string{sameA, sameB}
	o.Retries, o.NoPictures, o.Told = 2*o.Repeat, true, silent{}
	if c.Quick {
		quick := *o.Test
		quick.Steps = fewerPings(quick.Steps)
		o.Test = &quick
	}
	return o
}

// fewerPings bounds how often pings are sent.
func fewerPings(steps []suite.Step) []suite.Step {
	fewer := make([]suite.Step, len(steps))
	for i, s := range steps {
		switch a := s.Action.(type) {
		case suite.Ping:
			a.Times = min(a.Times, samePings)
			s.Action = a
		case suite.Loop:
			a.Steps = fewerPings(a.Steps)
			s.Action = a
		}
		fewer[i] = s
	}
	return fewer
}

// silent tells nobody of the phases of hundreds of runs.
type silent struct{}

func (silent) Phase(string, int) (advance func(int), end func()) { return func(int) {}, func() {} }

// The two sets of a comparison, which are folders too.
const sameA, sameB = "a", "b"

// samePlanFile is in the folder of bench --same.
const samePlanFile = "same.json"

// mostSamePlan bounds that file.
const mostSamePlan = 1 << 20

// samePlan is the content of same.json: what the runs are for. What they came to stands in their own folders.
type samePlan struct {
	Schema      string           `json:"schema"`
	Version     int              `json:"version"`
	Program     string           `json:"program"`
	Device      string           `json:"device"`
	Browser     string           `json:"browser"` // "": the device's first
	Seed        uint64           `json:"seed"`
	Repeat      int              `json:"repeat"` // runs of each set
	Quick       bool             `json:"quick"`  // fewer pings than the tests say
	Tests       []samePlanTest   `json:"tests"`
	Comparisons []sameComparison `json:"comparisons"` // in the order in which they are made

	dir string
}

type samePlanTest struct {
	Name       string                   `json:"name"`
	Primary    string                   `json:"primary"`
	Thresholds map[string]suite.Percent `json:"thresholds_percent"`
}

// sameComparison is two sets of runs in a folder.
type sameComparison struct {
	Test string `json:"test"`
	Dir  string `json:"dir"`
}

const (
	samePlanSchema  = "eideticker.same"
	samePlanVersion = 1
)

// newSamePlan deals comparisons to tests in turn, so that an early end leaves something of each.
func newSamePlan(options []session.SetOptions, comparisons int, quick bool) *samePlan {
	if comparisons == 0 {
		comparisons = sameComparisons
	}
	first := options[0]
	p := &samePlan{
		Schema: samePlanSchema, Version: samePlanVersion, Program: program(), Device: first.Variants[0].Device.Name(), Browser: first.Variants[0].Browser,
		Seed: first.Seed, Repeat: first.Repeat, Quick: quick, dir: first.Dir,
	}
	for _, o := range options {
		p.Tests = append(p.Tests, samePlanTest{o.Test.Name, o.Test.Primary, o.Test.Thresholds})
	}
	for i := range comparisons {
		name := p.Tests[i%len(p.Tests)].Name
		p.Comparisons = append(p.Comparisons, sameComparison{name, fmt.Sprintf("%s-%02d", name, i/len(p.Tests)+1)})
	}
	return p
}

// who names what is held against itself.
func (p *samePlan) who() string {
	switch {
	case p.Browser == "":
		return "the first browser of " + p.Device
	case p.Device == "local":
		return p.Browser
	}
	return p.Browser + " on " + p.Device
}

func (p *samePlan) write() error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	return writeWhole(filepath.Join(p.dir, samePlanFile), func(w io.Writer) error { return printJSON(w, p) })
}

// readSamePlan reads the plan of an earlier time.
func readSamePlan(dir string) (*samePlan, error) {
	path := filepath.Join(dir, samePlanFile)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is no folder of bench --same: it has no %s", dir, samePlanFile)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	p := &samePlan{dir: dir}
	if err := json.NewDecoder(io.LimitReader(f, mostSamePlan)).Decode(p); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return p, nil
}

func (p *samePlan) check() error {
	if p.Schema != samePlanSchema || p.Version != samePlanVersion {
		return fmt.Errorf("it is %q of version %d, want %q of version %d", p.Schema, p.Version, samePlanSchema, samePlanVersion)
	}
	if len(p.Comparisons) < 1 || len(p.Comparisons) > stats.MostRuns || p.Repeat < 1 || p.Repeat > stats.MostRuns {
		return fmt.Errorf("it has %d comparisons of %d runs, want 1 to %d each", len(p.Comparisons), p.Repeat, stats.MostRuns)
	}
	for _, c := range p.Comparisons {
		if !filepath.IsLocal(c.Dir) || p.test(c.Test) == nil {
			return fmt.Errorf("comparison %q of test %q is none of this folder's", c.Dir, c.Test)
		}
	}
	return nil
}

func (p *samePlan) test(name string) *samePlanTest {
	for i := range p.Tests {
		if p.Tests[i].Name == name {
			return &p.Tests[i]
		}
	}
	return nil
}

// run makes all comparisons, one after another. A set that gives up ends it, since the next would do the same.
func (p *samePlan) run(e *env, options []session.SetOptions) error {
	began := time.Now()
	for i, c := range p.Comparisons {
		o := options[i%len(options)]
		o.Dir, o.Seed = filepath.Join(p.dir, c.Dir), p.Seed+uint64(i)*uint64(4*p.Repeat+1) // no run has the seed of another
		set, err := session.RunSet(e.ctx, o)
		if err != nil {
			return err
		}
		if len(set.Of(0)) == 0 || len(set.Of(1)) == 0 {
			if failed := set.Failed(); len(failed) > 0 {
				return fmt.Errorf("no run of %s counts: %s", c.Dir, failed[0].Record.Reason)
			}
			return fmt.Errorf("no run of %s counts: they lost too many frames", c.Dir)
		}
		left := time.Since(began) / time.Duration(i+1) * time.Duration(len(p.Comparisons)-i-1)
		fmt.Fprintf(e.err, "%s, %d of %d: %s; %s more\n", c.Dir, i+1, len(p.Comparisons), p.judgeOne(e.ctx, c).text(), left.Round(time.Second))
	}
	return nil
}
