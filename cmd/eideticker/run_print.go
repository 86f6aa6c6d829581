package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/verdict"
)

// tell prints the results and returns the error for the exit code.
func (r *testRun) tell() error {
	if r.set == nil || len(r.set.Made) == 0 {
		return nil
	}
	sets, err := r.load()
	if err != nil {
		return err
	}
	asked, err := r.cmd.failIf()
	if err != nil {
		return err
	}
	of := r.judged()
	budgets, err := of.Budgets(sets, asked)
	if err != nil {
		return err
	}
	all, err := r.comparisons(sets)
	costs, unknown, failed := of.Costs(sets, r.cmd.Primary)
	for _, text := range unknown {
		fmt.Fprintln(r.err, text)
	}
	err = errors.Join(err, wrongPrimary(failed))
	switch {
	case r.cmd.JSON:
		err = errors.Join(err, printJSON(r.out, of.JSON(r.folder(), all, costs, budgets)))
	case r.options.Alone():
		err = r.printOne(r.set.Made[len(r.set.Made)-1])
	default:
		err = errors.Join(err, r.printSet(sets, all, costs))
	}
	if !r.cmd.JSON {
		err = errors.Join(err, r.printBudgets(budgets))
	}
	if len(all) > 0 {
		err = errors.Join(err, r.cmd.writeMarkdown(all...))
	}
	var regression error
	if r.cmd.FailOnRegression {
		regression = of.Regression(all)
	}
	return errors.Join(err, compare.Gravest(of.Failure(), regression, verdict.Broken(budgets)))
}

// printBudgets prints a line per budget.
func (r *testRun) printBudgets(all []verdict.Budget) error {
	var l terminal.List
	for _, c := range all {
		name := "budget"
		if len(r.options.Variants) > 1 {
			name += " of " + c.Variant
		}
		l.Add(name, "%s: %s", c.State, c.Sentence())
	}
	return l.Print(r.out)
}

// printOne prints the results and the folder of a single run.
func (r *testRun) printOne(m *session.Made) error {
	if m.Found != nil && m.Record.State != session.Failed {
		if err := terminal.Results(r.out, &m.Found.Results, r.cmd.All); err != nil {
			return err
		}
		fmt.Fprintln(r.out)
	}
	var l terminal.List
	rec := m.Record
	l.Add("run", "%s", rec.State) // the error has the reason
	l.Add("test", "%s", rec.Test)
	l.Add("browser", "%s", cmp.Or(rec.Environment["browser"], rec.Browser))
	if rec.Environment["machine_shared"] == "yes" {
		l.Add("", "browser and recorder shared this machine")
	}
	if rec.Input != nil {
		l.Add("input", "%s, %s", rec.Input.Driver, rec.Input.Realism)
	}
	if rec.Pings > 0 {
		l.Add("pings", "%d sent, %d without an answer", rec.Pings, rec.MissedPings)
	}
	l.Add("checks", "%s", verdict.ChecksText(m))
	if n := len(r.set.Made) - 1; n > 0 {
		l.Add("begun again", "%s; the earlier ones are in %s-rejected",
			map[bool]string{true: "once", false: fmt.Sprintf("%d times", n)}[n == 1], r.folder())
	}
	r.placeOf(&l, m)
	for _, n := range rec.Notes {
		l.Add("note", "%s", n)
	}
	return l.Print(r.out)
}

// placeOf adds the files of a single run.
func (r *testRun) placeOf(l *terminal.List, m *session.Made) {
	if r.at != "" {
		l.Add("page", "%s%s", r.at, r.options.Dir)
		return
	}
	l.Add("folder", "%s", r.set.Dir)
	if m.Found != nil {
		l.Add("report", "%s", filepath.Join(r.set.Dir, runfolder.PageFile))
		if video := filepath.Join(r.set.Dir, runfolder.VideoFile); exists(video) {
			l.Add("video", "%s", video)
		}
	}
	l.Add("log", "%s", filepath.Join(r.set.Dir, session.LogFile))
}

// printSet prints the comparison of each variant with the first, or the values of the only one.
// Then it prints the costs of profiles.
func (r *testRun) printSet(sets []*compare.Set, all, costs []*compare.Comparison) error {
	for i, s := range sets {
		if s == nil || len(all) > 0 {
			continue
		}
		if err := r.printVariant(i, s); err != nil {
			return err
		}
	}
	for i, c := range slices.Concat(all, costs) {
		if i > 0 || len(all) == 0 {
			fmt.Fprintln(r.out)
		}
		if err := terminal.Comparison(r.out, c, r.cmd.All); err != nil {
			return err
		}
	}
	if err := r.printAB(); err != nil {
		return err
	}
	fmt.Fprintln(r.out)
	return r.printCounts()
}

// printVariant prints the primary values of a variant, or all.
func (r *testRun) printVariant(i int, s *compare.Set) error {
	fmt.Fprintf(r.out, "%s, %s\n", r.options.Variants[i].Name(), plural(len(s.Runs), "run"))
	if err := terminal.Samples(r.out, s, r.primary(), r.cmd.All); err != nil {
		return err
	}
	return terminal.ScriptSet(r.out, r.scripts(i))
}

// primary is what to look at first, as asked for or by the test. Tests of other rigs are not known.
func (r *testRun) primary() []string {
	if r.options.Test == nil {
		return slices.Clone(r.cmd.Primary)
	}
	return slices.Concat(r.cmd.Primary, r.options.Test.Primary)
}

// printCounts prints the number of runs of each kind and their folders.
func (r *testRun) printCounts() error {
	counts := r.set.Counts()
	var l terminal.List
	l.Add("runs", "%d count", counts[session.Passed])
	for i, v := range r.options.Variants {
		l.Add("checks", "%s", variantChecks(v.Name(), verdict.ChecksText(r.set.Of(i)...)))
	}
	for _, kind := range []struct {
		state session.State
		what  string
	}{{session.Rejected, "lost too many frames"}, {session.Failed, "failed"}} {
		if dirs := r.dirs(func(rec *session.Record) bool {
			return rec.State == kind.state && (rec.State == session.Failed || !rec.WarmUp)
		}); len(dirs) > 0 {
			l.Add(string(kind.state), "%s %s: %s", plural(len(dirs), "run"), kind.what, wording.Few(dirs))
		}
	}
	if dirs := r.dirs(func(rec *session.Record) bool { return rec.Noise() != "" && !rec.WarmUp }); len(dirs) > 0 {
		l.Add("noisy", "%s: %s", plural(len(dirs), "run"), wording.Few(dirs))
	}
	l.Add("no answer", "%s", r.judged().MissesText())
	l.Add("redirected", "%s", r.judged().RedirectsText())
	l.Add("seed", "%d", r.options.Seed)
	if r.at != "" {
		l.Add("page", "%s%s", r.at, r.options.Dir)
	} else {
		l.Add("folder", "%s", r.set.Dir)
	}
	for _, page := range r.pages {
		l.Add("page", "%s", page)
	}
	return l.Print(r.out)
}

// writePages writes the page of a set that is here, and the comparison of two variants. Without
// them the runs are whole.
func (r *testRun) writePages() (err error) {
	if r.set.Single || r.ctx.Err() != nil || r.set.Counts()[session.Passed] == 0 {
		return nil
	}
	r.pages, err = compare.WritePages(r.ctx, r.set.Dir, filepath.Join(r.set.Dir, report.PageName), compare.PageOptions{
		NoVideo: r.options.NoVideo, FilmstripStep: r.options.FilmstripStep, Options: r.cmd.judging.options()}, r.env)
	if err != nil {
		return fmt.Errorf("write the pages of %s: %w", r.set.Dir, orInterrupted(err))
	}
	return nil
}

// folder returns the folder of the runs, here or on the rig.
func (r *testRun) folder() string {
	if r.at != "" {
		return r.options.Dir
	}
	return r.set.Dir
}

func variantChecks(name, text string) string {
	if text == "" {
		return ""
	}
	return name + ": " + text
}

// dirs returns the folders of some runs.
func (r *testRun) dirs(of func(*session.Record) bool) (dirs []string) {
	for _, m := range r.set.Made {
		if of(m.Record) {
			dirs = append(dirs, filepath.Join(r.folder(), m.Dir))
		}
	}
	return dirs
}

// shown returns the first value of a run.
func (r *testRun) shown(m *session.Made) (string, bool) {
	if m.Found == nil {
		return "", false
	}
	for i := range m.Found.Results.Windows {
		w := &m.Found.Results.Windows[i]
		for _, name := range result.NewAnswer(w, r.primary()).Primary {
			measure, name, _ := strings.Cut(name, ".")
			for i := range w.Results {
				res := &w.Results[i]
				if res.Measure != measure || res.State == analyze.Refused {
					continue
				}
				if v, ok := res.Find(name); ok {
					return fmt.Sprintf("%s %s (%s)", name, result.ValueText(v), terminal.Bounds(v)), true
				}
			}
		}
	}
	return "", false
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// scripts returns those of a variant's runs.
func (r *testRun) scripts(variant int) (all []*result.Script) {
	for _, m := range r.set.Of(variant) {
		if m.Found != nil {
			all = append(all, m.Found.Results.Script)
		}
	}
	return all
}

// printAB prints the A/B test of the functions, if there is one.
func (r *testRun) printAB() error {
	var runs []*result.Script
	for i := range r.options.Variants {
		runs = append(runs, r.scripts(i)...)
	}
	found := scripts.CompareAB(runs)
	if found == nil {
		return nil
	}
	fmt.Fprintf(r.out, "\n%s\n", found.Sentence)
	for _, row := range found.Rows {
		if _, err := fmt.Fprintf(r.out, "%s (%s): %s.\n", row.Name, row.Place, row.Text); err != nil {
			return err
		}
	}
	return nil
}
