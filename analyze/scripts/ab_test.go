package scripts

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// abRun returns a run of a version. Its function had calls with a mean time.
func abRun(replaced bool, calls, thrown, mean float64) *result.Script {
	none, of := []float64{0, 0, 0, 0}, []float64{1, calls, thrown, mean}
	values := append(of, none...)
	if replaced {
		values = append(none, of...)
	}
	return &result.Script{Reports: []result.PolicyReport{{Policy: "calls"}, {Policy: policy.NameAB,
		Rows: []result.PolicyRow{{Name: "slow", URL: "http://h/app.js", Line: 12, Values: values}}}}}
}

// TestCompareAB: runs of a set are loads. Clear differences are found, and equal versions are not.
func TestCompareAB(t *testing.T) {
	set := func(thrown, b float64) (all []*result.Script) {
		for i := range 12 {
			other := abRun(true, 20, thrown, b+0.01*float64(i))
			other.Reports[1].Rows[0].URL = "http://h:8080/app.js"
			all = append(all, abRun(false, 20, 0, 10+0.01*float64(i)), nil, other)
		}
		return all
	}
	for name, c := range map[string]struct {
		runs    []*result.Script
		verdict policy.Verdict
		text    string
	}{
		"faster":     {set(0, 4), policy.Pass, "→ 4.05 (4.02 to 4.09) ms, −60 (−60 to −59) %: improved"},
		"slower":     {set(0, 14), policy.Fail, "%: regressed"},
		"equal":      {set(0, 10), policy.Pass, "unchanged"},
		"exceptions": {set(5, 4), policy.Fail, "improved; exceptions differ: 0 of 240 calls, and 60 of 240"},
		"few runs":   {set(0, 4)[:6], policy.More, "more loads of each can decide"},
		"one side":   {set(0, 4)[:1], policy.More, "only the original ran"},
	} {
		r := CompareAB(c.runs)
		if r == nil || len(r.Rows) != 1 || r.Rows[0].Verdict != string(c.verdict) || r.Rows[0].Place != "app.js:12" ||
			!strings.Contains(r.Rows[0].Text, c.text) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := CompareAB([]*result.Script{nil, {Reports: []result.PolicyReport{{Policy: "calls"}}}}); r != nil {
		t.Errorf("without an A/B test: %+v", r)
	}
	if r := CompareAB([]*result.Script{{Reports: []result.PolicyReport{{Policy: policy.NameAB}}}}); r == nil ||
		!strings.HasPrefix(r.Sentence, "No function") {
		t.Errorf("without a function: %+v", r)
	}
	broken := abRun(false, 20, 0, 10)
	broken.Reports[1].Rows[0].Values = []float64{1, 2}
	if r := CompareAB([]*result.Script{broken}); r == nil || len(r.Rows) != 0 {
		t.Errorf("with too few values: %+v", r)
	}
}
