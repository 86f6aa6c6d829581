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
	"time"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
)

type compareCmd struct {
	Base string   `placeholder:"A" complete:"files" help:"Base of the comparison, as if named first."`
	Runs []string `arg:"" name:"runs" complete:"files" help:"A (the base) and B, see above."`
	judging
	JSON       bool   `help:"Print one JSON object."`
	JUnit      string `name:"junit" placeholder:"FILE" help:"Write a test case per measure as JUnit XML."`
	Perfherder string `placeholder:"FILE" help:"Write B's values as Perfherder JSON."`
	All        bool   `help:"Print all values."`
	Output     string `short:"o" placeholder:"DIR" help:"Write compare.html, pictures and a video."`
	SingleFile bool   `help:"Embed pictures and video in compare.html, to share one file."`
	filmstrip
	Force bool `help:"Overwrite an earlier comparison in DIR."`
}

// judging is how a comparison is judged.
type judging struct {
	Threshold        fraction `placeholder:"3%" help:"Ignore smaller differences (default: set per measure)."`
	Primary          []string `placeholder:"VALUE" help:"Up to 5 values that decide (default: the test's)."`
	JudgeAll         bool     `help:"Let other tested values decide too."`
	JudgeUnlike      bool     `help:"Judge sides that were not measured alike."`
	Markdown         string   `placeholder:"FILE" help:"Write the answer as Markdown, for a comment in a code review."`
	FailOnRegression bool     `help:"Exit with 3 if a primary value regressed, else with 4 if one is inconclusive."`
}

// fewPrimary rejects more primary values than a comparison can decide.
func (j judging) fewPrimary() error {
	if n := len(j.Primary); n > compare.MaxPrimary {
		return usagef("--primary has %d values: at most %d", n, compare.MaxPrimary)
	}
	return nil
}

// options are those of a comparison.
func (j judging) options() compare.Options {
	o := compare.Options{Primary: j.Primary, JudgeAll: j.JudgeAll, JudgeUnlike: j.JudgeUnlike}
	if j.Threshold.given {
		o.Threshold = &j.Threshold.value
	}
	return o
}

func (compareCmd) Help() string {
	return `Examples:

  eideticker compare runs/before runs/after
  eideticker compare --base runs/release runs/nightly --threshold 5% \
      --fail-on-regression --junit compare.xml
  eideticker compare before/results.json after/results.json
  eideticker compare monday/run-3 tuesday/run-1 -o difference

A and B are sets of runs or single runs. Up to 5 primary values are judged first: those of --primary, else of the test,
else the usual ones of a load, an animation or a response. Other values are a second family with a level of its own.
Duplicates, values without a better direction and figures as other tools compute them are not tested.

  regressed, improved   p after Holm's method is below 0.05 in its family,
                        and the difference reaches the threshold
  unchanged             the 95 % interval of the difference is within it
  inconclusive          otherwise, and with too few runs; the needed number
                        of runs is estimated

Sets of one plan, such as two browsers of one run, have the signed-rank test over at least 8 blocks. Other sets have the
Mann-Whitney U test, with at least 6 runs each. Single runs are compared by the bounds of their values, without
statistics.

Sides that were measured one after the other have no verdict if one side was disturbed more by other programs, or if
processors or governors differ. --judge-unlike judges them. Sides that took turns saw the same noise. Runs of older
programs do not state their noise.

-o writes compare.html: the verdict, every run of each value, both filmstrips and the differences. Open it without a
server. The two runs closest to the median of the first primary value are shown.

With --fail-on-regression the exit code is 3 if a primary value regressed. Otherwise it is 4 if one is inconclusive.
Single runs that differ also give 4. With --judge-all, all tested values count.`
}

// filmstrip is the step of filmstrips, for commands that draw them.
type filmstrip struct {
	FilmstripStep filmStep `placeholder:"500ms" help:"Time between pictures of filmstrips (default: by length)."`
}

// needs rejects a step without a folder for filmstrips.
func (f filmstrip) needs(folder string) error {
	if f.FilmstripStep != 0 && folder == "" {
		return usagef("--filmstrip-step needs -o")
	}
	return nil
}

// filmStep is the time between two pictures; 0: not given.
type filmStep time.Duration

func (s *filmStep) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < api.MinFilmstripStep || d > api.MaxFilmstripStep {
		return fmt.Errorf("filmstrip step %q: must be between 20ms and 1m, such as 500ms", text)
	}
	*s = filmStep(d)
	return nil
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
	return cmp.Err()
}

// tell prints the comparison and writes what was asked for beside it. The table comes first, so
// that a full disk does not take it away; the one object of --json says what was written, and comes
// behind.
func (c compareCmd) tell(e *env, cmp *compare.Comparison, folder *compare.Folder) error {
	if !c.JSON {
		if err := terminal.Comparison(e.out, cmp, c.All); err != nil {
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
	if err := c.fewPrimary(); err != nil {
		return nil, err
	}
	cmp, err := compare.Compare(a, b, c.options())
	return cmp, wrongPrimary(err)
}

// wrongPrimary makes an unknown primary value a mistake in the command line.
func wrongPrimary(err error) error {
	if none := (*compare.PrimaryError)(nil); errors.As(err, &none) {
		return usageError{err}
	}
	return err
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
	folder, err := compare.BeginFolder(c.Output)
	if err == nil {
		folder.SingleFile, folder.FilmstripStep = c.SingleFile, time.Duration(c.FilmstripStep)
	}
	return folder, err
}

// paths returns where A and B are.
func (c compareCmd) paths() (a, b string, err error) {
	runs := c.Runs
	if c.Base != "" {
		runs = append([]string{c.Base}, runs...)
	}
	if c.SingleFile && c.Output == "" {
		return "", "", usagef("--single-file needs -o")
	}
	if err := c.filmstrip.needs(c.Output); err != nil {
		return "", "", err
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
	if err := c.writeMarkdown(cmp); err != nil {
		return err
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
	var l terminal.List
	for _, e := range cmp.Evidence() {
		l.Add(e.Name, "%s", e.Text)
	}
	l.Add("JUnit", "%s", c.JUnit)
	l.Add("Perfherder", "%s", c.Perfherder)
	l.Add("Markdown", "%s", c.Markdown)
	return l.Print(w)
}

// writeWhole writes a file that is there as a whole or not at all. What is written here is made
// anew with every comparison, so one that is there is overwritten.
func writeWhole(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return writeOut(path, true, write)
}

// writeMarkdown writes comparisons into the file of --markdown, if it is given.
func (j judging) writeMarkdown(all ...*compare.Comparison) error {
	if j.Markdown == "" {
		return nil
	}
	err := writeWhole(j.Markdown, func(w io.Writer) (err error) {
		for _, c := range all {
			err = errors.Join(err, c.WriteMarkdown(w))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", j.Markdown, err)
	}
	return nil
}
