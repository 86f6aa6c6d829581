// Package verdict judges the runs of a set. It finds failed and missing runs, compares variants
// and holds the runs against budgets.
//
// The runs are of this machine, or were fetched from a rig. Each step takes a [Set] and returns
// values, which commands print. A [compare.PrimaryError] is a mistake of the caller. Other errors
// are failures of runs, or a [compare.VerdictError].
package verdict

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/eideticker/eideticker/analyze/budget"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
)

// Set is a set of runs, which may still grow. Failure and Regression are for one that has ended.
type Set struct {
	Options *session.SetOptions
	Made    *session.Set
	// Interrupted states that runs may be missing.
	Interrupted bool
}

// Load reads the accepted runs of each variant; nil: none, or somebody has removed them.
func (s Set) Load(ctx context.Context) (sets []*compare.Set, err error) {
	for i, dir := range s.Made.Dirs {
		var of *compare.Set
		if len(s.Made.Of(i)) > 0 {
			of, err = compare.Load(ctx, dir)
			if errors.Is(err, fs.ErrNotExist) {
				of, err = nil, nil
			}
			if err != nil {
				return nil, err
			}
		}
		sets = append(sets, of)
	}
	return sets, nil
}

// Comparisons compares each variant with the first. They share one level. A variant without an
// accepted run is left out. The test's primary values need not be measured, those of the options
// must be. An error is that of the first variant that cannot be compared, beside the others.
func (s Set) Comparisons(sets []*compare.Set, by compare.Options) (all []*compare.Comparison, first error) {
	sides := s.Options.Compared()
	if len(sets) < 2 || len(sides) < 2 || sets[sides[0]] == nil {
		return nil, nil
	}
	by.Declared, by.Sharing = s.Options.TestOf(0).Primary, len(sides)-1
	for _, i := range sides[1:] {
		if sets[i] == nil {
			continue
		}
		c, err := compare.Compare(sets[sides[0]], sets[i], by)
		if err == nil {
			all = append(all, c)
		} else if first == nil {
			first = err
		}
	}
	return all, first
}

// Costs compares the plain runs with the profiled ones of each profile. unknown has a sentence
// about each profile whose cost is unknown.
func (s Set) Costs(sets []*compare.Set, primary []string) (all []*compare.Comparison, unknown []string, err error) {
	for i, v := range s.Options.Variants {
		if !v.Plain || i+1 >= len(sets) || sets[i] == nil || sets[i+1] == nil {
			continue
		}
		c, err := compare.Compare(sets[i], sets[i+1], compare.Options{Primary: primary,
			Declared: s.Options.TestOf(i).Primary})
		if err != nil {
			return nil, unknown, err
		}
		if c.Cost() {
			all = append(all, c)
		} else {
			unknown = append(unknown, compare.UnknownCost(s.Options.Variants[i+1].Name()))
		}
	}
	return all, unknown, nil
}

// Failure returns the error of failed and of missing runs.
func (s Set) Failure() error {
	o, failed := s.Options, s.Made.Failed()
	if o.Alone() {
		switch last := s.Made.Made[len(s.Made.Made)-1].Record; {
		case len(failed) > 0:
			return fmt.Errorf("run failed: %s", last.Reason)
		case last.State == session.Rejected:
			return fmt.Errorf("run rejected: %s", last.Reason)
		}
		return nil
	}
	fixed := !o.UntilFail && o.Looks == nil
	lossy := fixed && len(failed) == 0 && s.Made.Counts()[session.Rejected] > 0 && !s.Interrupted
	for i, v := range o.Variants {
		if n := len(s.Made.Of(i)); lossy && n < o.Repeat {
			return fmt.Errorf("%s of %s accepted, not %d: the others lost too many; see --retries and --max-lost",
				wording.Plural(n, "run"), v.Name(), o.Repeat)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s of %s failed: %s", wording.Count(len(failed)),
			wording.Plural(len(s.Made.Made), "run"), failed[0].Record.Reason)
	}
	for i, v := range o.Variants {
		if len(s.Made.Of(i)) == 0 && !s.Interrupted {
			return fmt.Errorf("no run of %s was accepted; see --retries and --max-lost", v.Name())
		}
	}
	return nil
}

// Regression returns the error of the first comparison with the worst outcome, or of a missing one.
func (s Set) Regression(all []*compare.Comparison) error {
	if n := len(s.Options.Compared()) - 1; len(all) < n && !s.Interrupted {
		return fmt.Errorf("%d of %s made", len(all), wording.Plural(n, "comparison"))
	}
	var found []error
	for _, c := range all {
		found = append(found, c.Err())
	}
	return compare.Gravest(found...)
}

// Budget is a budget held against the runs of a variant.
type Budget struct {
	Variant string
	compare.Checked
}

// Budgets holds each variant's runs against the budgets of its test and further ones. Plain runs
// stand for the profiled ones beside them.
func (s Set) Budgets(sets []*compare.Set, further []budget.Budget) (all []Budget, err error) {
	for i, of := range sets {
		if s.Options.HasPlain(i) {
			continue
		}
		if of == nil {
			of = &compare.Set{} // its budgets are not measured
		}
		own := slices.Clone(further)
		if runs := s.Made.Of(i); len(runs) > 0 {
			limits := runs[0].Record.Budgets
			for _, name := range slices.Sorted(maps.Keys(limits)) {
				b, err := budget.Of(name, string(limits[name]))
				if err != nil {
					return nil, err
				}
				own = append(own, b)
			}
		}
		for _, c := range of.Check(own) {
			all = append(all, Budget{s.Options.Variants[i].Name(), c})
		}
	}
	return all, nil
}

// Broken returns the error of the first broken budget, else of the first that cannot be decided.
func Broken(all []Budget) error {
	var found []error
	for _, c := range all {
		switch c.State {
		case budget.Kept:
		case budget.Broken:
			found = append(found, compare.Regressed.Err("budget broken: "+c.Sentence()))
		default:
			found = append(found, compare.Inconclusive.Err("budget not decided: "+c.Sentence()))
		}
	}
	return compare.Gravest(found...)
}
