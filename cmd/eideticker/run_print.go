package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
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
func (r *testRun) verdict(cmp *compare.Comparison) error {
	failed := r.set.Failed()
	if r.alone() {
		if len(failed) > 0 {
			return fmt.Errorf("run failed: %s", r.set.Made[len(r.set.Made)-1].Record.Reason)
		}
		if last := r.set.Made[len(r.set.Made)-1].Record; last.State == session.Rejected {
			return fmt.Errorf("run rejected: %s", last.Reason)
		}
		return nil
	}
	lossy := len(failed) == 0 && r.set.Counts()[session.Rejected] > 0 && r.ctx.Err() == nil
	for i, v := range r.options.Variants {
		if n, want := len(r.set.Of(i)), r.options.Repeat; lossy && n < want && !r.options.UntilFail {
			return fmt.Errorf("%s of %s accepted, not %d: the others lost too many frames; see --retries and --max-lost", plural(n, "run"), v.Name(), want)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s of %s failed: %s", countText(len(failed)), plural(len(r.set.Made), "run"),
			failed[0].Record.Reason)
	}
	if cmp != nil && r.cmd.FailOnRegression {
		return failure(cmp)
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
	l.add("checks", "%s", checksText(m))
	if n := len(r.set.Made) - 1; n > 0 {
		l.add("begun again", "%s; the earlier ones are in %s-rejected",
			map[bool]string{true: "once", false: fmt.Sprintf("%d times", n)}[n == 1], r.folder())
	}
	r.placeOf(&l, m)
	for _, n := range rec.Notes {
		l.add("note", "%s", n)
	}
	return l.print(r.out)
}

// placeOf says where what there is of a single run can be looked at.
func (r *testRun) placeOf(l *list, m *session.Made) {
	if r.at != "" {
		l.add("page", "%s%s", r.at, r.options.Dir)
		return
	}
	l.add("folder", "%s", r.set.Dir)
	if m.Found != nil {
		l.add("report", "%s", filepath.Join(r.set.Dir, runfolder.PageFile))
		if video := filepath.Join(r.set.Dir, runfolder.VideoFile); exists(video) {
			l.add("video", "%s", video)
		}
	}
	l.add("log", "%s", filepath.Join(r.set.Dir, session.LogFile))
}

// printSet prints the values of each variant with their intervals, and of two how they compare.
func (r *testRun) printSet() (*compare.Comparison, error) {
	var cmp *compare.Comparison
	sets := r.load()
	switch {
	case len(sets) == 2 && sets[0] != nil && sets[1] != nil:
		var err error
		if cmp, err = r.compare(sets[0], sets[1]); err != nil {
			return nil, err
		}
		if err := printComparison(r.out, cmp); err != nil {
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

// compare holds the second variant against the first. What the test looks at first may not have
// been measured; what the user asks for must have been.
func (r *testRun) compare(a, b *compare.Set) (*compare.Comparison, error) {
	if r.cmd.Primary != "" {
		return compareSets(a, b, r.cmd.Threshold, r.cmd.Primary)
	}
	return compareTest(a, b, r.cmd.Threshold, r.options.Test.Primary)
}

// load reads the runs of each variant that count, as compare does; nil where there are none.
func (r *testRun) load() []*compare.Set {
	var sets []*compare.Set
	for i, dir := range r.set.Dirs {
		var s *compare.Set
		if len(r.set.Of(i)) > 0 {
			// what was made is shown also after Ctrl-C
			if loaded, err := compare.Load(context.WithoutCancel(r.ctx), dir); err == nil {
				s = loaded
				compare.SetThresholds(s, r.options.Test.Thresholds)
			}
		}
		sets = append(sets, s)
	}
	return sets
}

// printVariant prints the median of each value, with its interval.
func (r *testRun) printVariant(i int, s *compare.Set) error {
	var rows [][]string
	all := s.Samples()
	slices.SortStableFunc(all, func(a, b compare.Sample) int { return r.rank(a) - r.rank(b) })
	for _, sample := range all {
		rows = append(rows, sampleRow(sample))
	}
	fmt.Fprintf(r.out, "%s, %s\n", r.options.Variants[i].Name(), plural(len(s.Runs), "run"))
	return printTable(r.out, []string{"measure", ">median", "unit", "95 % interval", ">least", ">most", ">variation"},
		rows)
}

// rank puts first what is to be looked at first.
func (r *testRun) rank(s compare.Sample) int {
	for i, wanted := range []string{r.cmd.Primary, r.primary()} {
		if wanted != "" && s.Key.Called(wanted) {
			return i
		}
	}
	return 2
}

// primary is what the test looks at first; "": nothing is known of it, as of one that another rig
// has.
func (r *testRun) primary() string {
	if r.options.Test == nil {
		return ""
	}
	return r.options.Test.Primary
}

func sampleRow(s compare.Sample) []string {
	m := stats.Summarize(s.Values)
	interval := "too few runs"
	if m.Exists {
		interval = wording.Number(m.Low) + " – " + wording.Number(m.High)
	}
	spread := newSpread(s.Values)
	return []string{s.Key.String(), wording.Number(m.Estimate), s.Unit, interval, wording.Number(spread.least),
		wording.Number(spread.most), spread.variationText()}
}

// printCounts says how many runs there are of which kind, and where.
func (r *testRun) printCounts() error {
	counts := r.set.Counts()
	var l list
	l.add("runs", "%d count", counts[session.Passed])
	for i, v := range r.options.Variants {
		l.add("checks", "%s", variantChecks(v.Name(), checksText(r.set.Of(i)...)))
	}
	for _, kind := range []struct {
		state session.State
		what  string
	}{{session.Rejected, "captured too badly to count"}, {session.Failed, "failed"}} {
		if dirs := r.dirs(kind.state); len(dirs) > 0 {
			l.add(string(kind.state), "%s %s: %s", plural(len(dirs), "run"), kind.what, wording.Few(dirs))
		}
	}
	l.add("seed", "%d", r.options.Seed)
	if r.at != "" {
		l.add("page", "%s%s", r.at, r.options.Dir)
	} else {
		l.add("folder", "%s", r.set.Dir)
	}
	return l.print(r.out)
}

// folder is how the folder of the runs is called, here or on the rig that has them.
func (r *testRun) folder() string {
	if r.at != "" {
		return r.options.Dir
	}
	return r.set.Dir
}

// checksText says how many numbers of runs are as their pages drew them, and which are not; ""
// where nothing is known of what was drawn.
func checksText(runs ...*session.Made) string {
	made, failed, left := 0, map[string]int{}, 0
	wrong := 0
	for _, m := range runs {
		made, left, wrong = made+m.Record.Checks, left+len(m.Record.ChecksNotMade), wrong+len(m.Record.ChecksFailed)
		for _, what := range m.Record.ChecksFailed {
			failed[what]++
		}
	}
	if made+left == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %s measured as drawn", made-wrong, plural(made, "number"))
	if left > 0 {
		text += fmt.Sprintf(", %d not to be checked", left)
	}
	var names []string
	for _, what := range slices.Sorted(maps.Keys(failed)) {
		if n := failed[what]; n > 1 {
			what += fmt.Sprintf(" (%d times)", n)
		}
		names = append(names, what)
	}
	if len(names) > 0 {
		text += "; DIFFERENT: " + strings.Join(names, ", ")
	}
	return text
}

func variantChecks(name, text string) string {
	if text == "" {
		return ""
	}
	return name + ": " + text
}

// dirs are those of the runs in a state, and of warm-ups that failed.
func (r *testRun) dirs(state session.State) (dirs []string) {
	for _, m := range r.set.Made {
		if m.Record.State == state && (state == session.Failed || !m.Record.WarmUp) {
			dirs = append(dirs, filepath.Join(r.folder(), m.Dir))
		}
	}
	return dirs
}

// shown is the value that people look at first, of one run.
func (r *testRun) shown(m *session.Made) (string, bool) {
	if m.Found == nil {
		return "", false
	}
	names := [][2]string{{"response", "latency_p50"}, {"fps", "framerate"}, {"speedindex", "pixel.speed_index"}}
	for _, wanted := range []string{r.primary(), r.cmd.Primary} {
		if measure, value, ok := strings.Cut(wanted, "."); ok {
			names = slices.Insert(names, 0, [2]string{measure, value})
		}
	}
	for _, w := range m.Found.Results.Windows {
		for _, name := range names {
			for i := range w.Results {
				res := &w.Results[i]
				if res.Measure != name[0] || res.State == analyze.Refused {
					continue
				}
				if v, ok := res.Find(name[1]); ok {
					return fmt.Sprintf("%s %s (%s)", name[1], result.ValueText(v), shownBounds(v)), true
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
	// Comparison is there where two variants were run: the second against the first, as compare
	// --json has it.
	Comparison *compare.JSON `json:"comparison,omitempty"`
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

func (r *testRun) json() (out runSetJSON, cmp *compare.Comparison, err error) {
	counts := r.set.Counts()
	out = runSetJSON{
		Test: r.options.Test.Name, Dir: r.folder(), Seed: r.options.Seed,
		Counts: runCountsJSON{counts[session.Passed], counts[session.Rejected], counts[session.Failed]},
		Runs:   []runMadeJSON{},
	}
	for _, m := range r.set.Made {
		out.Runs = append(out.Runs, runMadeJSON{r.options.Variants[m.Variant].Name(), filepath.ToSlash(m.Dir),
			m.Record})
	}
	if sets := r.load(); len(sets) == 2 && sets[0] != nil && sets[1] != nil {
		if cmp, err = r.compare(sets[0], sets[1]); err == nil {
			out.Comparison = cmp.JSON()
		}
	}
	return out, cmp, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
