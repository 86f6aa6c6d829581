package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/stats"
)

// runSet is one side of a comparison.
type runSet struct {
	path string // as given
	runs []runResults
	// without are run folders that have no results.
	without []string
}

// runResults are what comparing takes of one run's results; series are not kept.
type runResults struct {
	name        string // of the run folder
	dir         string
	recording   report.Recording
	environment report.Environment
	settings    report.Settings
	retried     int
	windows     []report.Window // without series and times
	keys        []string        // of each window, see nameWindows
}

// loadRuns reads a results.json, a run folder, or all run folders in a folder.
func loadRuns(ctx context.Context, path string) (*runSet, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	s := &runSet{path: path}
	if !st.IsDir() {
		return s, s.add(path, filepath.Dir(path))
	}
	own := filepath.Join(path, report.FileName)
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
		file := filepath.Join(dir, report.FileName)
		switch _, err := os.Stat(file); {
		case err == nil:
			if len(s.runs) == stats.MostRuns {
				return nil, fmt.Errorf("%s has over %d runs; compare fewer at a time", path, stats.MostRuns)
			}
			if err := s.add(file, dir); err != nil {
				return nil, err
			}
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case isRun(dir):
			s.without = append(s.without, f)
		}
	}
	if len(s.runs) == 0 {
		return nil, fmt.Errorf("%s: neither it nor a folder in it has a %s; make one with eideticker analyze RECORDING -o RUN_DIR", path, report.FileName)
	}
	return s, nil
}

// isRun says that a folder was meant to be a run.
func isRun(dir string) bool {
	for _, name := range []string{"run.json", "recording.eid"} {
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
	slices.SortStableFunc(names, naturally)
	return names
}

// naturally compares names, runs of digits in them as numbers.
func naturally(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			na, nb := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if len(na) != len(nb) {
				return len(na) - len(nb)
			}
			if c := strings.Compare(na, nb); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

func (s *runSet) add(file, dir string) error {
	r, err := report.Read(file)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	run := runResults{
		name: filepath.Base(abs), dir: dir, recording: r.Recording, environment: r.Environment, settings: r.Settings,
		retried: r.RetriedRuns, windows: r.Windows,
	}
	for i := range run.windows {
		w := &run.windows[i]
		used(w, &run.settings)
		w.Times = report.FrameTimes{Lost: w.Times.Lost}
		for j := range w.Results {
			w.Results[j] = analyze.Result{
				Measure: w.Results[j].Measure, Version: w.Results[j].Version, State: w.Results[j].State,
				Refusal: w.Results[j].Refusal, Values: w.Results[j].Values,
			}
		}
	}
	s.runs = append(s.runs, run)
	return nil
}

// retried is how many runs of the set had to be begun again, and how often in all.
func (s *runSet) retried() (runs, times int) {
	for _, r := range s.runs {
		if r.retried > 0 {
			runs++
			times += r.retried
		}
	}
	return runs, times
}
