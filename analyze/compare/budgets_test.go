package compare

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/budget"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
)

// TestBudgets: the runs of a set break a budget only if the bounds of all allow nothing else.
// Suspected values break none, and a value that most runs lack decides nothing.
func TestBudgets(t *testing.T) {
	b := analyzetest.Must(budget.Parse("fps.longest_freeze > 100ms"))(t)
	set := func(n, without int, v analyze.Value) *Set {
		s := &Set{}
		v.Name, v.Unit = "longest_freeze", "ms"
		for i := range n {
			r := Run{Name: string(rune('a' + i)), Windows: []result.Window{{}}}
			if i >= without {
				r.Windows[0].Results = []analyze.Result{{Measure: "fps", Values: []analyze.Value{v}}}
			}
			s.Runs = append(s.Runs, r)
		}
		return s
	}
	beyond, near := analyze.Value{Value: 120, Low: 110, High: 130}, analyze.Value{Value: 100.2, Low: 83, High: 117}
	suspected := beyond
	suspected.State = analyze.Suspected
	for name, tc := range map[string]struct {
		set  *Set
		want budget.State
		says string
	}{
		"one run": {set(1, 0, beyond), budget.Broken,
			"fps.longest_freeze is 120 ms (110 – 130); the limit is 100 ms"},
		"eight runs":       {set(8, 0, beyond), budget.Broken, ""},
		"six near":         {set(6, 0, near), "unsure", ""},
		"two near":         {set(2, 0, near), "unsure", ""},
		"kept":             {set(2, 0, analyze.Value{Value: 90, Low: 80, High: 110}), budget.Kept, ""},
		"suspected":        {set(8, 0, suspected), "unsure", ""},
		"one of ten":       {set(10, 9, beyond), budget.Unmeasured, ""},
		"none":             {set(2, 2, beyond), budget.Unmeasured, "fps.longest_freeze was not measured"},
		"no run at all":    {&Set{}, budget.Unmeasured, ""},
		"seven of the ten": {set(10, 3, beyond), budget.Broken, ""},
	} {
		got := tc.set.Check([]budget.Budget{b})
		if len(got) != 1 || got[0].State != tc.want || tc.says != "" && got[0].Sentence() != tc.says {
			t.Errorf("%s: %+v, %s", name, got, got[0].Sentence())
		}
	}
}

// TestPlannedThresholds: a run keeps the thresholds of its test, so that every later comparison
// judges by them.
func TestPlannedThresholds(t *testing.T) {
	dir := t.TempDir()
	analyzetest.Check(t, os.WriteFile(filepath.Join(dir, runFile), []byte(`{"thresholds": {"fps": 7}}`), 0o600))
	fps := analyze.Result{Measure: "fps", Values: []analyze.Value{{Name: "framerate", Threshold: 0.03}}}
	r := Run{Windows: []result.Window{{Results: []analyze.Result{fps}}}}
	r.planned(dir)
	if got := r.Windows[0].Results[0].Values[0].Threshold; got != 0.07 {
		t.Errorf("threshold %v, want 7 %%", got)
	}
}
