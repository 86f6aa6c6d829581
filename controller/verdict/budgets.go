package verdict

import (
	"maps"
	"slices"

	"github.com/eideticker/eideticker/analyze/budget"
	"github.com/eideticker/eideticker/analyze/compare"
)

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
