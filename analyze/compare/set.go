package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/machine"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Set is one side of a comparison.
type Set struct {
	Path string // as given; where a set is named, this is its name
	Runs []Run
	// Without are run folders that have no results.
	Without []string

	// why are further runs with measuring code, which name the functions of a change; nil: none.
	why    *Set
	unread error // why they cannot be read; nil: they can, or there are none
}

// Run is what comparing takes of one run's results; series are not kept.
type Run struct {
	Name        string // of the run folder
	Dir         string
	Recording   result.Recording
	Environment result.Environment
	Settings    result.Settings
	Retried     int             // how often the run began again
	Windows     []result.Window // without series and times
	// Plan is the folder of the set that the run was made in, and Block its place there, from 1.
	// Empty and 0: unknown.
	Plan    string
	Block   int
	Test    string   // that was run; empty: unknown
	Primary []string // values that its test declares
	// Looks of the plan; none: it did not grow until it was decided.
	Looks stats.Looks
	// Machine is the activity of the machine beside the run; nil: unknown.
	Machine *machine.Activity

	functions *functions // nil: unknown

	made bool     // by eideticker run
	keys []string // of each window, see nameWindows
	file string   // of its results
}

// Load reads a results.json, a run folder, or all run folders in a folder.
func Load(ctx context.Context, path string) (*Set, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	s := &Set{Path: path}
	if !st.IsDir() {
		return s, s.add(path, filepath.Dir(path))
	}
	own := filepath.Join(path, result.FileName)
	if _, err := os.Stat(own); err == nil {
		return s, s.add(own, path)
	}
	folders, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, f := range sortedRuns(folders) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dir := filepath.Join(path, f)
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			continue
		}
		file := filepath.Join(dir, result.FileName)
		switch _, err := os.Stat(file); {
		case err == nil:
			if len(s.Runs) == stats.MaxRuns {
				return nil, fmt.Errorf("%s has over %d runs; compare fewer at a time", path, stats.MaxRuns)
			}
			if err := s.add(file, dir); err != nil {
				return nil, err
			}
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case isRun(dir):
			s.Without = append(s.Without, f)
		}
	}
	if len(s.Runs) == 0 {
		return nil, fmt.Errorf("%s: neither it nor a folder in it has a %s; make one with eideticker analyze",
			path, result.FileName)
	}
	s.why, s.unread = loadWhy(ctx, path)
	return s, ctx.Err()
}

const (
	runFile = "run.json"
	// whyDir is the folder of a set with the runs of run --why-changed.
	whyDir = "why"
)

// loadWhy reads the further runs of a variant with measuring code; nil: it has none.
func loadWhy(ctx context.Context, variant string) (*Set, error) {
	abs, err := filepath.Abs(variant)
	if err != nil {
		return nil, err
	}
	why := filepath.Join(filepath.Dir(abs), whyDir)
	if _, err := os.Stat(filepath.Join(why, setFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	path := filepath.Join(why, filepath.Base(abs))
	if runs, err := filepath.Glob(filepath.Join(escaped(path), "*", result.FileName)); err != nil || len(runs) == 0 {
		return nil, err
	}
	return Load(ctx, path)
}

// isRun says that a folder was meant to be a run.
func isRun(dir string) bool {
	for _, name := range []string{runFile, "recording.eid"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// sortedRuns returns the names of entries, run-2 before run-10. Hidden ones are work in progress.
func sortedRuns(entries []os.DirEntry) []string {
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.SortStableFunc(names, wording.Natural)
	return names
}

func (s *Set) add(file, dir string) error {
	r, err := result.Read(file)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	run := Run{
		Name: filepath.Base(abs), Dir: dir, Recording: r.Recording, Environment: r.Environment, Settings: r.Settings,
		Retried: r.RetriedRuns, Windows: r.Windows, file: file,
	}
	for i := range run.Windows {
		w := &run.Windows[i]
		used(w, &run.Settings)
		w.Times = result.FrameTimes{Lost: w.Times.Lost}
		for j := range w.Results {
			w.Results[j] = analyze.Result{
				Measure: w.Results[j].Measure, Version: w.Results[j].Version, State: w.Results[j].State,
				Refusal: w.Results[j].Refusal, Values: w.Results[j].Values,
			}
		}
	}
	if len(run.Windows) > 0 && r.Vitals != nil {
		w := &run.Windows[0]
		w.Results = append(w.Results, r.Vitals.Result)
	}
	run.functions = functionsOf(r)
	run.planned(abs)
	s.Runs = append(s.Runs, run)
	return nil
}

// setFile is in the folder of a plan, which has the runs, or a folder of them for each variant.
const setFile = "set.json"

// planned reads what run.json says of the run's plan. A run without one is of no plan.
func (r *Run) planned(dir string) {
	raw, err := readBounded(filepath.Join(dir, runFile))
	var record struct {
		Test       string
		Block      int
		Primary    []string
		Thresholds map[string]float64
		Machine    *machine.Activity
	}
	if err != nil || json.Unmarshal(raw, &record) != nil {
		return
	}
	r.made, r.Machine, r.Test = true, record.Machine, record.Test
	r.Block, r.Primary = record.Block, record.Primary[:min(len(record.Primary), MaxPrimary)]
	SetThresholds(&Set{Runs: []Run{*r}}, record.Thresholds)
	for _, plan := range []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		raw, err := readBounded(filepath.Join(plan, setFile))
		if err != nil {
			continue
		}
		var set struct{ Looks stats.Looks }
		if json.Unmarshal(raw, &set) != nil {
			set.Looks = nil
		}
		r.Plan, r.Looks = plan, set.Looks
		return
	}
}

// maxFile limits a file that describes a set or a run.
const maxFile = 16 << 20

// readBounded reads a file from anywhere, up to maxFile.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// retried is how many runs of the set had to be begun again, and how often in all.
func (s *Set) retried() (runs, times int) {
	for _, r := range s.Runs {
		if r.Retried > 0 {
			runs++
			times += r.Retried
		}
	}
	return runs, times
}

// SetThresholds replaces the measures' own thresholds by a test's, in percent. The name
// "fps.framerate" is one value's threshold, "fps" that of the measure's other values.
func SetThresholds[P ~float64](s *Set, thresholds map[string]P) {
	s.eachRun(func(run *Run) {
		for i := range run.Windows {
			for j := range run.Windows[i].Results {
				res := &run.Windows[i].Results[j]
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

// clone returns a set whose runs' windows can be named without naming those of this one.
func (s *Set) clone() *Set {
	own := *s
	own.Runs = slices.Clone(s.Runs)
	return &own
}

func (s *Set) eachRun(do func(*Run)) {
	for i := range s.Runs {
		do(&s.Runs[i])
	}
}

// each returns what the runs have, each value once, sorted.
func (s *Set) each(of func(*Run) string) []string {
	seen := map[string]bool{}
	for i := range s.Runs {
		seen[of(&s.Runs[i])] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// describe says what a set is, and which run is shown for all; -1: none.
func (s *Set) describe(shown int) string {
	if len(s.Runs) == 1 {
		return s.Path + ", a single run"
	}
	text := fmt.Sprintf("%s, %s", s.Path, wording.Plural(len(s.Runs), "run"))
	if shown >= 0 {
		text += "; closest to the median: " + s.Runs[shown].Name
	}
	return text
}
