package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/config/spelling"
)

type compareCmd struct {
	Base             string   `placeholder:"A" complete:"files" help:"Base of the comparison; the same as naming it first."`
	Runs             []string `arg:"" name:"runs" complete:"files" help:"A (the base) and B, each a run folder, a results.json, or a folder of run folders."`
	Threshold        fraction `placeholder:"3%" help:"Ignore smaller differences (default: set per measure)."`
	Primary          string   `placeholder:"MEASURE" help:"Show this measure first, such as fps.framerate. Only it decides about exit code 4."`
	FailOnRegression bool     `help:"Exit with 3 if a measure regressed, or with 4 if the result is inconclusive."`
	JSON             bool     `help:"Print one JSON object."`
	JUnit            string   `name:"junit" placeholder:"FILE" complete:"files" help:"Write a test case per measure as JUnit XML."`
	Perfherder       string   `placeholder:"FILE" complete:"files" help:"Write B's values as Perfherder JSON."`
	Output           string   `short:"o" placeholder:"DIR" complete:"files" help:"Write heat map differences, the first different frames and a video of both runs into this folder."`
	Force            bool     `help:"Overwrite an earlier comparison in DIR."`
}

func (compareCmd) Help() string {
	return `Examples:

  eideticker compare runs/before runs/after
  eideticker compare --base runs/release runs/nightly --threshold 5% --fail-on-regression --junit compare.xml
  eideticker compare before/results.json after/results.json
  eideticker compare monday/run-3 tuesday/run-1 -o difference

A and B are sets of runs or single runs. Each measure of two sets gets a verdict:

  regressed, improved   Holm-adjusted p is below 0.05, and the difference reaches the threshold
  unchanged             the 95 % interval of the difference is within the threshold
  inconclusive          otherwise, and below 6 runs per set; the needed number of runs is estimated

Single runs are compared by the bounds of their values, without statistics.

With --fail-on-regression the exit code is 3 if any measure regressed. Otherwise it is 4 if a measure, or the one of
--primary, is inconclusive. Single runs that differ also give 4. Suspected values and measures without a better
direction are not considered.`
}

// fraction is a threshold on the command line: 3% or 0.03.
type fraction struct {
	value float64
	given bool
}

func (f *fraction) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || math.IsNaN(v) || v < 0 || v > 10 {
		return fmt.Errorf("threshold %q: must be a percentage such as 3%%", text)
	}
	if !percent && v >= 1 {
		return fmt.Errorf("threshold %q means %s %%: write %s%% or %s", text, wording.Number(100*v), wording.Number(v),
			wording.Number(v/100))
	}
	*f = fraction{v, true}
	return nil
}

// verdictError ends the program with the exit code of a comparison.
type verdictError struct {
	code int
	what string
}

func (v verdictError) Error() string { return v.what }

func (c compareCmd) Run(e *env) error {
	pathA, pathB, err := c.paths()
	if err != nil {
		return err
	}
	cmp, err := c.compare(e, pathA, pathB)
	if err != nil {
		return err
	}
	folder, err := c.beginFolder()
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if err := c.tell(e, cmp, folder); err != nil || !c.FailOnRegression {
		return err
	}
	return failure(cmp)
}

// tell prints the comparison and writes what was asked for beside it. The table comes first, so
// that a full disk does not take it away; the one object of --json says what was written, and comes
// behind.
func (c compareCmd) tell(e *env, cmp *compare.Comparison, folder *compare.Folder) error {
	if !c.JSON {
		if err := printComparison(e.out, cmp); err != nil {
			return errors.Join(err, folder.Abandon())
		}
	}
	wrote := c.write(e, cmp, folder)
	if wrote != nil {
		wrote = fmt.Errorf("compare: %w", orInterrupted(wrote))
	}
	if c.JSON {
		return errors.Join(wrote, printJSON(e.out, cmp.JSON()))
	}
	return errors.Join(wrote, c.printWritten(e.out, cmp))
}

func (c compareCmd) compare(e *env, pathA, pathB string) (*compare.Comparison, error) {
	a, err := compare.Load(e.ctx, pathA)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", orInterrupted(err))
	}
	b, err := compare.Load(e.ctx, pathB)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", orInterrupted(err))
	}
	return compareSets(a, b, c.Threshold, c.Primary)
}

// compareSets compares as the command line says, on which a primary that there is not is a mistake.
func compareSets(a, b *compare.Set, threshold fraction, primary string) (*compare.Comparison, error) {
	o := compare.Options{Primary: primary}
	if threshold.given {
		o.Threshold = &threshold.value
	}
	cmp, err := compare.Compare(a, b, o)
	var none *compare.PrimaryError
	if errors.As(err, &none) {
		if near := spelling.Nearest(none.Name, none.There); near != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, near)
		}
		err = usageError{err}
	}
	return cmp, err
}

// compareTest compares runs of a test: what it looks at first may not have been measured, and is
// not asked for then.
func compareTest(a, b *compare.Set, threshold fraction, primary string) (*compare.Comparison, error) {
	cmp, err := compareSets(a, b, threshold, primary)
	var none *compare.PrimaryError
	if errors.As(err, &none) {
		return compareSets(a, b, threshold, "")
	}
	return cmp, err
}

// beginFolder says before the work whether the folder that was asked for can be written; nil: none
// was.
func (c compareCmd) beginFolder() (*compare.Folder, error) {
	if c.Output == "" {
		return nil, nil
	}
	for _, name := range compare.FolderFiles() {
		if err := refuseExisting(filepath.Join(c.Output, name), c.Force); err != nil {
			return nil, err
		}
	}
	return compare.BeginFolder(c.Output)
}

// paths returns where A and B are.
func (c compareCmd) paths() (a, b string, err error) {
	runs := c.Runs
	if c.Base != "" {
		runs = append([]string{c.Base}, runs...)
	}
	if len(runs) != 2 {
		return "", "", usagef("compare needs two runs or sets of runs, A and B, not %d", len(runs))
	}
	return runs[0], runs[1], nil
}

// write writes what was asked for beside the table.
func (c compareCmd) write(e *env, cmp *compare.Comparison, folder *compare.Folder) error {
	if folder != nil {
		if err := folder.Write(e.ctx, cmp, e); err != nil {
			return err
		}
	}
	if c.JUnit != "" {
		if err := writeWhole(c.JUnit, cmp.WriteJUnit); err != nil {
			return fmt.Errorf("write %s: %w", c.JUnit, err)
		}
	}
	if c.Perfherder != "" {
		if err := writeWhole(c.Perfherder, cmp.WritePerfherder); err != nil {
			return fmt.Errorf("write %s: %w", c.Perfherder, err)
		}
	}
	return nil
}

// printWritten tells what was written beside the table.
func (c compareCmd) printWritten(w io.Writer, cmp *compare.Comparison) error {
	var l list
	for _, e := range cmp.Evidence() {
		l.add(e.Name, "%s", e.Text)
	}
	l.add("JUnit", "%s", c.JUnit)
	l.add("Perfherder", "%s", c.Perfherder)
	return l.print(w)
}

// writeWhole writes a file that is there as a whole or not at all. What is written here is made
// anew with every comparison, so one that is there is overwritten.
func writeWhole(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := createOut(path, true)
	if err != nil {
		return err
	}
	return out.finish(write(out))
}

// failure is what a comparison found as an error, nil if it passed.
func failure(c *compare.Comparison) error {
	switch o, why := c.Outcome(); o {
	case compare.Regressed:
		return verdictError{exitRegression, why}
	case compare.Inconclusive:
		return verdictError{exitInconclusive, why}
	}
	return nil
}
