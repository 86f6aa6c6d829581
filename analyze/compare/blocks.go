package compare

import (
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// blocks returns the blocks in which both sets have a run, or why the sets are not paired by block.
// Both must be of one plan.
func blocks(a, b *Set) (both []int, unpaired string) {
	if !onePlan(a, b) {
		return nil, "the sets are not of one plan"
	}
	for _, s := range []*Set{a, b} {
		seen := map[int]bool{}
		for _, r := range s.Runs {
			if seen[r.Block] {
				return nil, fmt.Sprintf("block %d has two runs of one set", r.Block)
			}
			seen[r.Block] = true
		}
	}
	for _, r := range a.Runs {
		if slices.ContainsFunc(b.Runs, func(o Run) bool { return o.Block == r.Block }) {
			both = append(both, r.Block)
		}
	}
	if n := len(both); n < stats.FewestBlocks {
		return nil, fmt.Sprintf("only %s of %d complete", wording.Plural(n, "block"), stats.FewestBlocks)
	}
	return both, ""
}

// onePlan reports whether all runs are of one plan, so they took turns.
func onePlan(a, b *Set) bool {
	all := slices.Concat(a.Runs, b.Runs)
	return len(all) > 0 && all[0].Plan != "" &&
		!slices.ContainsFunc(all, func(r Run) bool { return r.Plan != all[0].Plan || r.Block < 1 })
}

// alone warns of runs without a partner in their block.
func (c *Comparison) alone(both []int) {
	var names []string
	for _, s := range []*Set{c.A, c.B} {
		for _, r := range s.Runs {
			if !slices.Contains(both, r.Block) {
				names = append(names, s.Path+" "+r.Name)
			}
		}
	}
	if len(names) > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s without a partner in the block are left out: %s",
			wording.Plural(len(names), "run"), wording.Few(names)))
	}
}

// inBlocks returns what both sets found in the same blocks, in the order of A.
func inBlocks(a, b []found) (pairedA, pairedB []found) {
	for _, f := range a {
		at := slices.IndexFunc(b, func(o found) bool { return o.block == f.block })
		if at >= 0 {
			pairedA, pairedB = append(pairedA, f), append(pairedB, b[at])
		}
	}
	return pairedA, pairedB
}
