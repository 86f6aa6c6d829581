package verdict

import (
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/budget"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/controller/session"
)

// JSON is a set as run --json prints it. Its fields are promised in docs/reference/json.md.
type JSON struct {
	Test   string     `json:"test"`
	Dir    string     `json:"dir"`
	Seed   uint64     `json:"seed"` // of the order and of the pauses between pings
	Counts countsJSON `json:"counts"`
	Runs   []madeJSON `json:"runs"`
	// Comparison of the second variant with the first, as in compare --json.
	Comparison *compare.JSON `json:"comparison,omitempty"`
	// Comparisons of all others with the first, if there are more than two.
	Comparisons []*compare.JSON `json:"comparisons,omitempty"`
	// Costs of profiles: comparisons of plain runs with the profiled ones beside them.
	Costs   []*compare.JSON `json:"costs,omitempty"`
	Budgets []budgetJSON    `json:"budgets,omitempty"`
}

type countsJSON struct {
	OK       int `json:"ok"`
	Rejected int `json:"rejected"`
	Failed   int `json:"failed"`
}

type madeJSON struct {
	Variant string          `json:"variant"` // browser or device
	Dir     string          `json:"dir"`     // within the set's folder
	Run     *session.Record `json:"run"`     // as in run.json
}

// budgetJSON is a checked budget.
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

// JSON describes the set. dir is the folder of its runs, here or on a rig.
func (s Set) JSON(dir string, all, costs []*compare.Comparison, budgets []Budget) JSON {
	counts := s.Made.Counts()
	out := JSON{Test: s.Options.Test.Name, Dir: dir, Seed: s.Options.Seed, Runs: []madeJSON{},
		Counts: countsJSON{counts[session.Passed], counts[session.Rejected], counts[session.Failed]}}
	for _, m := range s.Made.Made {
		out.Runs = append(out.Runs, madeJSON{s.Options.Variants[m.Variant].Name(), filepath.ToSlash(m.Dir), m.Record})
	}
	for _, c := range all {
		out.Comparisons = append(out.Comparisons, c.JSON())
	}
	for _, c := range costs {
		out.Costs = append(out.Costs, c.JSON())
	}
	for _, c := range budgets {
		b := c.Budget
		out.Budgets = append(out.Budgets, budgetJSON{c.Variant, b.Name, b.Operator, b.Limit, b.Unit, c.Key.Window,
			c.Runs, c.Value, c.Low, c.High, c.State})
	}
	if len(all) > 0 {
		out.Comparison = out.Comparisons[0]
	}
	if len(all) == 1 {
		out.Comparisons = nil
	}
	return out
}
