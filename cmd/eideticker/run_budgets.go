package main

import (
	"maps"
	"slices"

	"github.com/eideticker/eideticker/analyze/budget"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/terminal"
)

// failIf parses the conditions of the command line.
func (c runCmd) failIf() (all []budget.Budget, err error) {
	for _, text := range c.FailIf {
		b, err := budget.Parse(text)
		if err != nil {
			return nil, usagef("--fail-if: %w", err)
		}
		all = append(all, b)
	}
	return all, nil
}

// checkedBudget is a budget held against the runs of a variant.
type checkedBudget struct {
	variant string
	compare.Checked
}

// budgets holds each variant's runs against the budgets of its test and of the command line. Plain
// runs stand for the profiled ones beside them.
func (r *testRun) budgets(sets []*compare.Set) (all []checkedBudget, err error) {
	asked, err := r.cmd.failIf()
	if err != nil {
		return nil, err
	}
	for i, s := range sets {
		if r.options.HasPlain(i) {
			continue
		}
		if s == nil {
			s = &compare.Set{} // its budgets are not measured
		}
		own := slices.Clone(asked)
		if runs := r.set.Of(i); len(runs) > 0 {
			limits := runs[0].Record.Budgets
			for _, name := range slices.Sorted(maps.Keys(limits)) {
				b, err := budget.Of(name, string(limits[name]))
				if err != nil {
					return nil, err
				}
				own = append(own, b)
			}
		}
		for _, c := range s.Check(own) {
			all = append(all, checkedBudget{r.options.Variants[i].Name(), c})
		}
	}
	return all, nil
}

// printBudgets prints a line per budget.
func (r *testRun) printBudgets(all []checkedBudget) error {
	var l terminal.List
	for _, c := range all {
		name := "budget"
		if len(r.options.Variants) > 1 {
			name += " of " + c.variant
		}
		l.Add(name, "%s: %s", c.State, c.Sentence())
	}
	return l.Print(r.out)
}

// broken returns the error of the first broken budget, else of the first that cannot be decided.
func broken(all []checkedBudget) error {
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

// budgetJSON is a checked budget in run --json.
type budgetJSON struct {
	Variant  string       `json:"variant"`
	Name     string       `json:"name"`
	Operator string       `json:"operator"` // of the condition that breaks it
	Limit    float64      `json:"limit"`
	Unit     string       `json:"unit"`
	Window   string       `json:"window"`
	Runs     int          `json:"runs"`
	Value    float64      `json:"value"`
	Low      float64      `json:"low"`
	High     float64      `json:"high"`
	State    budget.State `json:"state"`
}

func budgetsJSON(all []checkedBudget) (out []budgetJSON) {
	for _, c := range all {
		b := c.Budget
		out = append(out, budgetJSON{c.variant, b.Name, b.Operator, b.Limit, b.Unit, c.Key.Window, c.Runs, c.Value,
			c.Low, c.High, c.State})
	}
	return out
}
