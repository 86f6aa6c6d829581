package compare

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
)

// valued makes a set of runs, of one plan if it is named. Each run has the values of some names.
func valued(plan string, runs int, of func(run int) map[string]float64) *Set {
	s := &Set{Path: "s"}
	for i := range runs {
		r := Run{Name: fmt.Sprint("run-", i+1), Plan: plan, Block: i + 1}
		results := map[string][]analyze.Value{}
		values := of(i)
		for _, name := range []string{"speedindex.first_visual_change", "speedindex.pixel.speed_index",
			"speedindex.pixel.complete_85", "speedindex.pixel.crossed_85", "speedindex.pixel.complete_100",
			"speedindex.script.speed_index", "fps.frames", "fps.unchanged_p95", "fps.framerate",
			"response.latency_p50"} {
			v, ok := values[name]
			if !ok {
				continue
			}
			measure, value, _ := strings.Cut(name, ".")
			better := analyze.Lower
			switch value {
			case "frames":
				better = analyze.Neither
			case "framerate":
				better = analyze.Higher
			}
			results[measure] = append(results[measure], analyze.Value{Name: value, Unit: "ms", Value: v, Low: v,
				High: v, Better: better, Threshold: 0.03})
		}
		w := result.Window{Kind: result.Markers}
		for _, measure := range []string{"speedindex", "fps", "response"} {
			if v := results[measure]; v != nil {
				w.Results = append(w.Results, analyze.Result{Measure: measure, Version: 1, Values: v})
			}
		}
		r.Windows = []result.Window{w}
		s.Runs = append(s.Runs, r)
	}
	return s
}

// load is a run of a load that paints first after so many ms.
func load(first float64) func(int) map[string]float64 {
	return func(run int) map[string]float64 {
		at := first + 10*float64(run*7%11)
		return map[string]float64{
			"speedindex.first_visual_change": at, "speedindex.pixel.speed_index": 5000 + float64(run*5%7),
			"speedindex.pixel.complete_85": at + 900, "speedindex.pixel.crossed_85": at + 900,
			"speedindex.pixel.complete_100": 7000 + float64(run*3%5), "speedindex.script.speed_index": at + 2000,
			"fps.frames": 100 + float64(run),
		}
	}
}

func families(c *Comparison) (all []string) {
	for i := range c.Values {
		v := &c.Values[i]
		family := string(v.Family)
		if family == "" {
			family = v.Untested
		}
		all = append(all, fmt.Sprintf("%s: %s, %s", v.Key, family, v.Verdict))
	}
	return all
}

// TestFamilies: 6 runs each without overlap come to a verdict, whatever else was measured.
func TestFamilies(t *testing.T) {
	a, b := valued("", 6, load(4000)), valued("", 6, load(1800))
	for name, tc := range map[string]struct {
		options Options
		want    []string
		outcome Outcome
	}{
		"usual of a load": {Options{}, []string{
			"speedindex.first_visual_change: primary, improved",
			"speedindex.pixel.speed_index: primary, unchanged",
			"speedindex.pixel.complete_100: primary, unchanged",
			"speedindex.pixel.complete_85: second, improved",
			"speedindex.pixel.crossed_85: equal to speedindex.pixel.complete_85, untested",
			"speedindex.script.speed_index: as another tool computes it, untested",
			"fps.frames: no better direction, untested",
		}, Passed},
		"declared": {Options{Declared: []string{"fps.framerate", "speedindex.pixel.crossed_85"}}, []string{
			"speedindex.pixel.crossed_85: primary, improved",
			"speedindex.first_visual_change: second, improved",
			"speedindex.pixel.speed_index: second, unchanged",
			"speedindex.pixel.complete_100: second, unchanged",
			"speedindex.pixel.complete_85: equal to speedindex.pixel.crossed_85, untested",
			"speedindex.script.speed_index: as another tool computes it, untested",
			"fps.frames: no better direction, untested",
		}, Passed},
		"asked for": {Options{Primary: []string{"speedindex.script.speed_index", "frames"},
			Declared: []string{"speedindex.pixel.crossed_85"}}, []string{
			"speedindex.script.speed_index: primary, improved",
			"fps.frames: no better direction, untested",
			"speedindex.first_visual_change: second, improved",
			"speedindex.pixel.speed_index: second, unchanged",
			"speedindex.pixel.complete_85: second, improved",
			"speedindex.pixel.complete_100: second, unchanged",
			"speedindex.pixel.crossed_85: equal to speedindex.pixel.complete_85, untested",
		}, Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			c := analyzetest.Must(Compare(a, b, tc.options))(t)
			o, why := c.Outcome()
			if got := families(c); !slices.Equal(got, tc.want) || o != tc.outcome {
				t.Errorf("%s\nwant\n%s\n%s %s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"), o, why)
			}
		})
	}
}

// TestSecondFamilyDecidesNothing: unless all values are asked to decide.
func TestSecondFamilyDecidesNothing(t *testing.T) {
	o := Options{Primary: []string{"pixel.speed_index"}}
	a, b := valued("", 6, load(1800)), valued("", 6, load(4000))
	c, err := Compare(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	if got, why := c.Outcome(); got != Passed || why != "" {
		t.Errorf("%s, %s", got, why)
	}
	o.JudgeAll = true
	c = analyzetest.Must(Compare(a, b, o))(t)
	if got, why := c.Outcome(); got != Regressed || !strings.Contains(why, "first_visual_change: slower by 1") {
		t.Errorf("%s, %s", got, why)
	}
	const want = "1 primary value: 1 unchanged; 3 others: 2 regressed, 1 unchanged; 3 untested values"
	if got := c.Sum(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPrimaryThatCannotDecide: a primary value without a verdict is never a pass.
func TestPrimaryThatCannotDecide(t *testing.T) {
	sets := func() (a, b *Set) { return valued("", 6, load(1800)), valued("", 6, load(1800)) }
	eachResult := func(s *Set, do func(*analyze.Result)) {
		for i := range s.Runs {
			for j := range s.Runs[i].Windows[0].Results {
				do(&s.Runs[i].Windows[0].Results[j])
			}
		}
	}
	const index = "speedindex.pixel.speed_index"
	for _, tc := range []struct {
		name, want string
		change     func(a, b *Set) Options
	}{
		{"as it is", "", func(_, _ *Set) Options { return Options{Declared: []string{index}} }},
		{"suspected in one run", "inconclusive: " + index + " is not tested: suspected", func(_, b *Set) Options {
			for i, v := range b.Runs[2].Windows[0].Results[0].Values {
				if v.Name == "pixel.speed_index" {
					b.Runs[2].Windows[0].Results[0].Values[i].State = analyze.Suspected
				}
			}
			return Options{Declared: []string{index}}
		}},
		{"without direction", "inconclusive: fps.frames is not tested: no better direction", func(_, _ *Set) Options {
			return Options{Primary: []string{"fps.frames"}}
		}},
		{"in one set only", "inconclusive: " + index + " was measured in one set only", func(_, b *Set) Options {
			eachResult(b, func(r *analyze.Result) {
				r.Values = slices.DeleteFunc(r.Values, func(v analyze.Value) bool {
					return v.Name == "pixel.speed_index"
				})
			})
			return Options{Declared: []string{"speedindex.first_visual_change", index}}
		}},
		{"in neither set", "", func(_, _ *Set) Options {
			return Options{Declared: []string{"speedindex.first_visual_change", "fps.dropped"}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := sets()
			c := analyzetest.Must(Compare(a, b, tc.change(a, b)))(t)
			if o, why := c.Outcome(); why != tc.want || (o == Passed) != (tc.want == "") {
				t.Errorf("%s, %q; want %q", o, why, tc.want)
			}
		})
	}
}

// TestPrimaryFamilyIsSmall: the values of several windows are at most five, so that 8 blocks can
// decide.
func TestPrimaryFamilyIsSmall(t *testing.T) {
	windows := func(s *Set) *Set {
		for i := range s.Runs {
			r := &s.Runs[i]
			r.Windows = append(r.Windows, r.Windows[0], r.Windows[0])
			for j, name := range []string{"one", "two", "three"} {
				r.Windows[j].Name = name
			}
		}
		return s
	}
	c, err := Compare(windows(valued("p", 8, load(1800))), windows(valued("p", 8, load(4000))), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if o, why := c.Outcome(); o != Regressed || c.Tested(PrimaryFamily) != MaxPrimary {
		t.Errorf("%s, %s, %d primary values", o, why, c.Tested(PrimaryFamily))
	}
	if warned := strings.Join(c.Warnings, "; "); !strings.Contains(warned, "5 of 9 primary values decide") {
		t.Error(warned)
	}
}

// TestBaseDeclares: the primary values of A decide, where those of B differ.
func TestBaseDeclares(t *testing.T) {
	a, b := valued("", 6, load(1800)), valued("", 6, load(4000))
	a.Runs[0].Primary, b.Runs[0].Primary = []string{"speedindex.first_visual_change"}, []string{"fps.frames"}
	c := analyzetest.Must(Compare(a, b, Options{}))(t)
	warned := strings.Join(c.Warnings, "; ")
	if o, _ := c.Outcome(); o != Regressed || !strings.Contains(warned, "those of A decide") {
		t.Errorf("%s, %s", o, warned)
	}
}

// TestBlocks: sets of one plan are paired by block, so a drift that is far more than the difference
// hides nothing.
func TestBlocks(t *testing.T) {
	drifting := func(factor float64) func(int) map[string]float64 {
		return func(run int) map[string]float64 {
			return map[string]float64{"response.latency_p50": factor * (100 + 40*float64(run))}
		}
	}
	without := func(s *Set, runs ...int) *Set {
		s.Runs = slices.DeleteFunc(s.Runs, func(r Run) bool { return slices.Contains(runs, r.Block) })
		return s
	}
	twice := func(s *Set) *Set {
		s.Runs[1].Block = 1
		return s
	}
	for _, tc := range []struct {
		name    string
		a, b    *Set
		verdict stats.Verdict
		test    string
		warning string
	}{
		{"one plan", valued("p", 8, drifting(1)), valued("p", 8, drifting(1.1)), stats.Regressed,
			"signed-rank test over 8 blocks", ""},
		{"incomplete blocks", without(valued("p", 10, drifting(1)), 3), without(valued("p", 10, drifting(1.1)), 7),
			stats.Regressed, "signed-rank test over 8 blocks",
			"2 runs without a partner in the block are left out: s run-7, s run-3"},
		{"too few blocks", valued("p", 7, drifting(1)), valued("p", 7, drifting(1.1)), stats.Inconclusive,
			"Mann-Whitney U test: only 7 blocks of 8 complete", ""},
		{"other plans", valued("p", 8, drifting(1)), valued("q", 8, drifting(1.1)), stats.Inconclusive,
			"Mann-Whitney U test: the sets are not of one plan", ""},
		{"no plan", valued("", 8, drifting(1)), valued("", 8, drifting(1.1)), stats.Inconclusive,
			"Mann-Whitney U test: the sets are not of one plan", ""},
		{"a block with two runs", valued("p", 8, drifting(1)), twice(valued("p", 8, drifting(1.1))), stats.Inconclusive,
			"Mann-Whitney U test: block 1 has two runs of one set", ""},
		{"single runs", valued("p", 1, drifting(1)), valued("p", 1, drifting(1.1)), stats.Inconclusive,
			"bounds of single runs, without statistics", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := analyzetest.Must(Compare(tc.a, tc.b, Options{}))(t)
			if c.Primary.Verdict != tc.verdict || c.Test() != tc.test || strings.Join(c.Warnings, "; ") != tc.warning {
				t.Errorf("%s %s; %s; %q", c.Primary.Verdict, c.Primary.Sentence(), c.Test(), c.Warnings)
			}
			if c.Level() != "5 % over 1 primary value, by Holm's method" {
				t.Error(c.Level())
			}
		})
	}
}

// TestPlanOfFolders: the plan of runs is the folder with set.json above them.
func TestPlanOfFolders(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		analyzetest.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		analyzetest.Check(t, os.WriteFile(path, []byte(text), 0o600))
	}
	results := analyzetest.Must(json.Marshal(&result.Results{Schema: result.Schema, Version: result.Version,
		Quality: analyze.Result{Measure: "quality", Version: 1, State: analyze.Exact}}))(t)
	write("set/set.json", "{}")
	for _, run := range []string{"set/a/run-2", "set/run-1", "alone/run-1", "broken/run-1"} {
		write(run+"/results.json", string(results))
		write(run+"/run.json", `{"block": 4, "primary": ["fps.framerate"]}`)
	}
	write("broken/run-1/run.json", "{")
	for folder, want := range map[string]Run{
		"set/a": {Plan: "set", Block: 4}, "set": {Plan: "set", Block: 4}, "alone": {Block: 4}, "broken": {},
	} {
		s := analyzetest.Must(Load(t.Context(), filepath.Join(dir, folder)))(t)
		r := s.Runs[0]
		plan, err := filepath.Rel(dir, r.Plan)
		if r.Plan != "" && err != nil {
			t.Fatal(err)
		}
		if r.Plan != "" && plan != want.Plan || r.Plan == "" && want.Plan != "" || r.Block != want.Block ||
			(len(r.Primary) == 1) != (want.Block > 0) {
			t.Errorf("%s: %+v", folder, r)
		}
	}
}
