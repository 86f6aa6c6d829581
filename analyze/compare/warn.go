package compare

import (
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
)

// warn notes what to know about one set before believing the numbers.
func (c *Comparison) warn(name string, s *Set, keys []Key, other map[Key][]found) {
	if runs, times := s.retried(); runs > 0 {
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("%s of %s began again, %s in all; their results are among the values",
				wording.Plural(runs, "run"), name, wording.Plural(times, "time")))
	}
	if n := len(s.Without); n > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s of %s without results are left out: %s",
			wording.Plural(n, "run"), name, wording.Few(s.Without)))
	}
	var lossy []string
	for _, r := range s.Runs {
		if slices.ContainsFunc(r.Windows, func(w result.Window) bool { return len(w.Times.Lost) > 0 }) {
			lossy = append(lossy, r.Name)
		}
	}
	if len(lossy) > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s of %s lost frames in a window: %s",
			wording.Plural(len(lossy), "run"), name, wording.Few(lossy)))
	}
	var only []string
	for _, key := range keys {
		if len(other[key]) == 0 {
			only = append(only, key.String())
		}
	}
	if len(only) > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("only %s has %s", name, wording.Few(only)))
	}
}
