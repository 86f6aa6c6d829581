package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/analysis"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// tell prints what came out, and returns as an error what makes the exit code.
func (r *testRun) tell() error {
	if r.set == nil || len(r.set.Made) == 0 {
		return nil
	}
	if r.cmd.JSON {
		out, cmp, err := r.json()
		return errors.Join(err, printJSON(r.out, out), r.verdict(cmp))
	}
	if r.alone() {
		return errors.Join(r.printOne(r.set.Made[len(r.set.Made)-1]), r.verdict(nil))
	}
	cmp, err := r.printSet()
	return errors.Join(err, r.verdict(cmp))
}

// verdict is the error for runs that failed, and for what a comparison found.
func (r *testRun) verdict(cmp *comparison) error {
	failed := r.set.Failed()
	if r.alone() {
		if len(failed) > 0 {
			return fmt.Errorf("the run failed: %s", r.set.Made[len(r.set.Made)-1].Record.Reason)
		}
		if last := r.set.Made[len(r.set.Made)-1].Record; last.State == session.Rejected {
			return fmt.Errorf("the run does not count: %s", last.Reason)
		}
		return nil
	}
	lossy := len(failed) == 0 && r.set.Counts()[session.Rejected] > 0 && r.ctx.Err() == nil
	for i, v := range r.options.Variants {
		if n, want := len(r.set.Of(i)), r.options.Repeat; lossy && n < want && !r.options.UntilFail {
			return fmt.Errorf("%s of %s count, and not %d: the others lost too many frames, see --retries and --max-lost", plural(n, "run"), v.Name(), want)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s of %s failed: %s", countText(len(failed)), plural(len(r.set.Made), "run"), failed[0].Record.Reason)
	}
	if cmp != nil && r.cmd.FailOnRegression {
		return cmp.failure()
	}
	return nil
}

// printOne prints a single run: its results as analyze does, and where its folder is.
func (r *testRun) printOne(m *session.Made) error {
	if m.Found != nil && m.Record.State != session.Failed {
		if err := printResults(r.out, &m.Found.Results); err != nil {
			return err
		}
		fmt.Fprintln(r.out)
	}
	var l list
	rec := m.Record
	l.add("run", "%s", rec.State) // the reason is told as the error
	l.add("test", "%s", rec.Test)
	l.add("browser", "%s", firstOf(rec.Environment["browser"], rec.Browser))
	if rec.Environment["machine_shared"] == "yes" {
		l.add("", "browser and recorder shared this machine: each took time from the other")
	}
	if rec.Input != nil {
		l.add("input", "%s, %s", rec.Input.Driver, rec.Input.Realism)
	}
	if rec.Pings > 0 {
		l.add("pings", "%d sent, %d without an answer", rec.Pings, rec.MissedPings)
	}
	if n := len(r.set.Made) - 1; n > 0 {
		l.add("begun again", "%s; the earlier ones are in %s-rejected", map[bool]string{true: "once", false: fmt.Sprintf("%d times", n)}[n == 1], r.set.Dir)
	}
	l.add("folder", "%s", r.set.Dir)
	if m.Found != nil {
		l.add("report", "%s", filepath.Join(r.set.Dir, analysis.PageFile))
		if video := filepath.Join(r.set.Dir, analysis.VideoFile); exists(video) {
			l.add("video", "%s", video)
		}
	}
	l.add("log", "%s", filepath.Join(r.set.Dir, session.LogFile))
	for _, n := range rec.Notes {
		l.add("note", "%s", n)
	}
	return l.print(r.out)
}

// printSet prints the values of each variant with their intervals, and of two how they compare.
func (r *testRun) printSet() (*comparison, error) {
	var cmp *comparison
	sets := r.load()
	switch {
	case len(sets) == 2 && sets[0] != nil && sets[1] != nil:
		var err error
		if cmp, err = r.compare(sets[0], sets[1]); err != nil {
			return nil, err
		}
		if err := cmp.print(r.out); err != nil {
			return nil, err
		}
	default:
		for i, s := range sets {
			if s == nil {
				continue
			}
			if err := r.printVariant(i, s); err != nil {
				return nil, err
			}
		}
	}
	fmt.Fprintln(r.out)
	return cmp, r.printCounts()
}

// compare holds the second variant against the first. What the test looks at first may not have been measured; what the user asks for must have been.
func (r *testRun) compare(a, b *runSet) (*comparison, error) {
	if r.cmd.Primary != "" {
		return compareRuns(a, b, r.cmd.Threshold, r.cmd.Primary)
	}
	cmp, err := compareRuns(a, b, r.cmd.Threshold, r.options.Test.Primary)
	var unknown usageError
	if errors.As(err, &unknown) {
		return compareRuns(a, b, r.cmd.Threshold, "")
	}
	return cmp, err
}

// load reads the runs of each variant that count, as compare does; nil where there are none.
func (r *testRun) load() []*runSet {
	var sets []*runSet
	for i, dir := range r.set.Dirs {
		var s *runSet
		if len(r.set.Of(i)) > 0 {
			if loaded, err := loadRuns(context.WithoutCancel(r.ctx), dir); err == nil { // what was made is shown also after Ctrl-C
				s = loaded
				setThresholds(s, r.options.Test.Thresholds)
			}
		}
		sets = append(sets, s)
	}
	return sets
}

// setThresholds puts a test's thresholds in the place of the measures' own.
func setThresholds(s *runSet, thresholds map[string]suite.Percent) {
	s.eachRun(func(run *runResults) {
		for i := range run.windows {
			for j := range run.windows[i].Results {
				res := &run.windows[i].Results[j]
				for k := range res.Values {
					v := &res.Values[k]
					if t, ok := thresholds[res.Measure+"."+v.Name]; ok {
						v.Threshold = float64(t) / 100
					} else if t, ok := thresholds[res.Measure]; ok {
						v.Threshold = float64(t) / 100
					}
				}
			}
		}
	})
}

// printVariant prints the median of each value, with its interval.
func (r *testRun) printVariant(i int, s *runSet) error {
	nameWindows(s, s)
	order, all := s.values()
	var rows [][]string
	for _, key := range order {
		var values []float64
		for _, f := range all[key] {
			values = append(values, f.point.Value)
		}
		rows = append(rows, valueRow(key, all[key][0].value, values))
	}
	fmt.Fprintf(r.out, "%s, %s\n", r.options.Variants[i].Name(), plural(len(s.runs), "run"))
	return printTable(r.out, []string{"measure", ">median", "unit", "95 % interval", ">least", ">most"}, rows)
}

func valueRow(key valueKey, v analyze.Value, values []float64) []string {
	m := stats.Summarize(values)
	interval := "too few runs"
	if m.Exists {
		interval = numberText(m.Low) + " – " + numberText(m.High)
	}
	least, most := values[0], values[0]
	for _, x := range values {
		least, most = min(least, x), max(most, x)
	}
	return []string{key.String(), numberText(m.Estimate), v.Unit, interval, numberText(least), numberText(most)}
}

// printCounts says how many runs there are of which kind, and where.
func (r *testRun) printCounts() error {
	counts := r.set.Counts()
	var l list
	l.add("runs", "%d count", counts[session.Passed])
	for _, kind := range []struct {
		state session.State
		what  string
	}{{session.Rejected, "lost too many frames and did not count"}, {session.Failed, "failed"}} {
		if dirs := r.dirs(kind.state); len(dirs) > 0 {
			l.add(string(kind.state), "%s %s: %s", plural(len(dirs), "run"), kind.what, few(dirs))
		}
	}
	l.add("seed", "%d", r.options.Seed)
	l.add("folder", "%s", r.set.Dir)
	return l.print(r.out)
}

// dirs are those of the runs in a state, and of warm-ups that failed.
func (r *testRun) dirs(state session.State) (dirs []string) {
	for _, m := range r.set.Made {
		if m.Record.State == state && (state == session.Failed || !m.Record.WarmUp) {
			dirs = append(dirs, filepath.Join(r.set.Dir, m.Dir))
		}
	}
	return dirs
}

// shown is the value that people look at first, of one run.
func (r *testRun) shown(m *session.Made) (string, bool) {
	if m.Found == nil {
		return "", false
	}
	for _, w := range m.Found.Results.Windows {
		for _, name := range [][2]string{{"response", "latency_p50"}, {"fps", "framerate"}, {"speedindex", "pixel.speed_index"}} {
			for i := range w.Results {
				res := &w.Results[i]
				if res.Measure != name[0] || res.State == analyze.Refused {
					continue
				}
				if v, ok := res.Find(name[1]); ok {
					return fmt.Sprintf("%s %s %s (%s)", name[1], figure(v.Value), v.Unit, bounds(v)), true
				}
			}
		}
	}
	return "", false
}

// runSetJSON is what run --json prints.
type runSetJSON struct {
	Test   string        `json:"test"`
	Dir    string        `json:"dir"`
	Seed   uint64        `json:"seed"`
	Counts runCountsJSON `json:"counts"`
	Runs   []runMadeJSON `json:"runs"`
	// Comparison is there where two variants were run: the second against the first, as compare --json has it.
	Comparison *compareJSON `json:"comparison,omitempty"`
}

type runCountsJSON struct {
	OK       int `json:"ok"`
	Rejected int `json:"rejected"`
	Failed   int `json:"failed"`
}

type runMadeJSON struct {
	Variant string          `json:"variant"`
	Dir     string          `json:"dir"` // within the set's folder
	Run     *session.Record `json:"run"` // as in run.json
}

func (r *testRun) json() (out runSetJSON, cmp *comparison, err error) {
	counts := r.set.Counts()
	out = runSetJSON{
		Test: r.options.Test.Name, Dir: r.set.Dir, Seed: r.options.Seed,
		Counts: runCountsJSON{counts[session.Passed], counts[session.Rejected], counts[session.Failed]}, Runs: []runMadeJSON{},
	}
	for _, m := range r.set.Made {
		out.Runs = append(out.Runs, runMadeJSON{r.options.Variants[m.Variant].Name(), filepath.ToSlash(m.Dir), m.Record})
	}
	if sets := r.load(); len(sets) == 2 && sets[0] != nil && sets[1] != nil {
		if cmp, err = r.compare(sets[0], sets[1]); err == nil {
			compared := cmp.json()
			out.Comparison = &compared
		}
	}
	return out, cmp, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
