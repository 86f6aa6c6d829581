package compare

import (
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
)

// nameWindows gives matching windows of the runs the same key, and returns warnings.
//
//  1. If each run has one window, these match whatever their names.
//  2. Otherwise windows of one name match.
//  3. A run may share no name with the first run of A. If it has as many windows, they match by
//     position. This happens when windows are named after their source files.
func nameWindows(a, b *Set) (warnings []string) {
	if a.oneWindow() && b.oneWindow() {
		a.eachRun(func(r *Run) { r.keys = make([]string, 1) })
		b.eachRun(func(r *Run) { r.keys = make([]string, 1) })
		return nil
	}
	if len(a.Runs) == 0 {
		return nil
	}
	reference := result.WindowNames(a.Runs[0].Windows)
	byPlace := false
	pair := func(set string) func(*Run) {
		return func(r *Run) {
			r.keys = result.WindowNames(r.Windows)
			if len(r.keys) != len(reference) ||
				slices.ContainsFunc(r.keys, func(k string) bool { return slices.Contains(reference, k) }) {
				return
			}
			byPlace = true
			warnings = append(warnings,
				fmt.Sprintf("windows have other names in %s of %s: %s are taken for %s, in this order", r.Name, set,
					wording.Few(r.keys), wording.Few(reference)))
			r.keys = slices.Clone(reference)
		}
	}
	a.eachRun(pair("A"))
	b.eachRun(pair("B"))
	if byPlace {
		rename := func(r *Run) {
			for i, k := range r.keys {
				if at := slices.Index(reference, k); at >= 0 {
					r.keys[i] = fmt.Sprintf("window %d", at+1)
				}
			}
		}
		a.eachRun(rename)
		b.eachRun(rename)
	}
	if more := len(warnings) - 1; more > 0 {
		warnings = []string{fmt.Sprintf("%s; so are those of %s", warnings[0], wording.Plural(more, "more run"))}
	}
	return warnings
}

// oneWindow says that each run has one window, so that windows need no name to belong together.
func (s *Set) oneWindow() bool {
	return !slices.ContainsFunc(s.Runs, func(r Run) bool { return len(r.Windows) != 1 })
}

// windows returns the keys of all runs' windows, each once.
func (s *Set) windows() (keys []string) {
	s.eachRun(func(r *Run) {
		for _, k := range r.keys {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	})
	return keys
}

// nothingInCommon says why no value of A is one of B.
func nothingInCommon(a, b *Set, why []string) error {
	inA, inB := a.windows(), b.windows()
	common := slices.ContainsFunc(inA, func(k string) bool { return slices.Contains(inB, k) })
	if !common && len(inA) > 0 && len(inB) > 0 {
		return fmt.Errorf("no window is common to A and B: A has %s, B has %s: choose one of each by analyze --frames",
			theWindows(inA), theWindows(inB))
	}
	return because(errNothingToCompare, why)
}

func theWindows(keys []string) string {
	if len(keys) == 1 {
		return "window " + keys[0]
	}
	return "windows " + wording.Few(keys)
}
