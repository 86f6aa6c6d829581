package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/budget"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/vitals"
)

// TestClaims: claims of pages are values of a set. They are tested only by name.
func TestClaims(t *testing.T) {
	load := func(lcp float64, measured ...analyze.Value) *Set {
		dir := t.TempDir()
		for i := range 6 {
			at := lcp + float64(i)
			r := &result.Results{Recording: result.Recording{Frames: 10},
				Quality: analyze.Result{Measure: "quality", State: analyze.Exact},
				Windows: []result.Window{{Kind: result.All, Red: -1, End: 9,
					Results: []analyze.Result{{Measure: "fps", Version: 1, State: analyze.Exact,
						Values: measured}}}},
				Vitals: &vitals.Claims{Result: analyze.Result{Measure: vitals.Name, Version: 1, State: analyze.Exact,
					Values: []analyze.Value{
						{Name: "lcp", Unit: "ms", Value: at, Low: at, High: at, State: analyze.Exact,
							Better: analyze.Lower},
						{Name: "cls", Unit: "score", State: analyze.Refused, Note: "not offered"}}}}}
			run := filepath.Join(dir, fmt.Sprint("run-", i+1))
			analyzetest.Check(t, os.Mkdir(run, 0o755))
			analyzetest.Check(t, result.Write(filepath.Join(run, result.FileName), r))
		}
		s := analyzetest.Must(Load(t.Context(), dir))(t)
		return s
	}
	fps, frames, more := rate(60), rate(9), rate(12)
	fps.Threshold, frames.Better, more.Better = 0.03, analyze.Neither, analyze.Neither
	frames.Name, more.Name = "frames", "frames"
	a, b := load(900, fps), load(2000, fps)
	const untested = "vitals.lcp: a claim of the page, which is tested only by name, untested"
	for name, tc := range map[string]struct {
		a, b    *Set
		options Options
		want    []string
		outcome Outcome
	}{
		"as usual": {a, b, Options{}, []string{"fps.framerate: primary, unchanged", untested}, Passed},
		"by name": {a, b, Options{Primary: []string{"vitals.lcp"}}, []string{"vitals.lcp: primary, regressed",
			"fps.framerate: second, unchanged"}, Regressed},
		"declared": {load(900), load(2000), Options{Declared: []string{"lcp"}},
			[]string{"vitals.lcp: primary, regressed"}, Regressed},
		"without another": {load(900), load(2000), Options{}, []string{untested}, Inconclusive},
		"without another to judge": {load(900, frames), load(2000, more), Options{},
			[]string{"fps.frames: no better direction, untested", untested}, Inconclusive},
		"beside one of one side": {load(900, fps), load(2000), Options{Declared: []string{"fps.framerate"}},
			[]string{untested}, Inconclusive},
	} {
		c := analyzetest.Must(Compare(tc.a, tc.b, tc.options))(t)
		if got := families(c); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if got, why := c.Outcome(); got != tc.outcome {
			t.Errorf("%s: %s, %s", name, got, why)
		}
	}
	one := load(900, frames)
	nameWindows(one, one)
	if keys := one.primaries(); len(keys) != 1 || keys[0].Measure != "fps" {
		t.Errorf("primary values of a set: %v", keys)
	}
	for text, want := range map[string]budget.State{"vitals.lcp > 1000": budget.Kept,
		"vitals.lcp > 800 ms": budget.Broken, "vitals.cls > 0.1": budget.Unmeasured} {
		limit := analyzetest.Must(budget.Parse(text))(t)
		if got := a.Check([]budget.Budget{limit}); len(got) != 1 || got[0].State != want {
			t.Errorf("%s: %+v, want %s", text, got, want)
		}
	}
}
