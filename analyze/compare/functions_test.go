package compare

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
)

// scripted returns eight runs of a plan whose pages ran functions. Their times are in ms.
func scripted(times map[string][2]float64, edit func(*result.Script)) *Set {
	s := valued("plan", 8, load(500))
	for i := range s.Runs {
		script := &result.Script{Policies: []string{"calls"}}
		for name, ms := range times {
			self, total := 1e6*(ms[0]+float64(i)/8), 1e6*(ms[1]+float64(i)/8)
			if file, ok := strings.CutPrefix(name, result.RequestPrefix); ok {
				script.Requests = append(script.Requests, result.SlowRequest{URL: "http://a.test/" + file,
					TookNS: int64(total)})
				continue
			}
			script.Functions = append(script.Functions, result.Function{Name: name, Line: 1, Column: 400,
				URL: "http://a.test/" + s.Path + ".js", Source: "src/" + name + ".ts", SourceLine: 7,
				Self:  result.Span{Value: self, Low: self, High: self},
				Total: result.Span{Value: total, Low: total, High: total}})
		}
		if edit != nil {
			edit(script)
		}
		s.Runs[i].functions = functionsOf(&result.Results{Script: script})
	}
	return s
}

// TestFunctions: builds of a program are compared by the total times of their longest functions.
func TestFunctions(t *testing.T) {
	a := map[string][2]float64{"rank": {60, 190}, "same": {50, 50}, "gone": {30, 30}, "short": {4, 90}}
	b := map[string][2]float64{"rank": {70, 110}, "same": {50, 50}, "short": {1, 9}}
	brief := func(s *result.Script) {
		s.Functions = append(s.Functions, result.Function{Name: "each", Brief: 3,
			Self: result.Span{Value: 1e9, Low: 1e9, High: 1e9}})
	}
	c := analyzetest.Must(Compare(scripted(a, brief), scripted(b, nil), Options{}))(t)
	var got []string
	for i := range c.Functions {
		v := &c.Functions[i]
		got = append(got, v.Key.Value+" "+string(v.Verdict))
	}
	// Fault: self times were compared. They are less where callees have records.
	if want := []string{"rank (src/rank.ts:7) improved", "gone (src/gone.ts:7) improved",
		"same (src/same.ts:7) unchanged"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if shift := c.Functions[0].Shift.Estimate; shift != -80 {
		t.Errorf("the total of rank differs by %g ms", shift)
	}
	if j := c.JSON(); len(j.Functions) != 3 || j.Functions[0].Family != FunctionFamily ||
		len(j.Measures) != len(c.Values) {
		t.Errorf("%d functions beside %d values", len(j.Functions), len(j.Measures))
	}
	var text strings.Builder
	if err := c.WriteMarkdown(&text); err != nil ||
		!strings.Contains(text.String(), "| function, with its callees |") ||
		!strings.Contains(text.String(), "| script.rank (src/rank.ts:7) | 190.4 ms | 110.4 ms |") {
		t.Errorf("%v: %s", err, &text)
	}
	// Fault: a function that the list of a run left out had no time there.
	full := func(s *result.Script) {
		s.Functions = slices.DeleteFunc(s.Functions, func(f result.Function) bool { return f.Name == "rank" })
		for i := range result.MaxFunctions - len(s.Functions) {
			s.Functions = append(s.Functions, result.Function{Name: fmt.Sprint("f", i)})
		}
	}
	some := scripted(b, nil)
	some.Runs[3].functions = scripted(b, full).Runs[3].functions
	c = analyzetest.Must(Compare(scripted(a, nil), some, Options{}))(t)
	if v := &c.Functions[0]; v.Key.Value != "rank (src/rank.ts:7)" || len(v.B) != 7 {
		t.Errorf("%s of %d runs", v.Key.Value, len(v.B))
	}
	// Fault: a function whose calls were all brief had no time.
	all := func(s *result.Script) {
		s.Functions = slices.DeleteFunc(s.Functions, func(f result.Function) bool { return f.Name == "rank" })
		s.Brief = &result.BriefCalls{Calls: 500}
	}
	c = analyzetest.Must(Compare(scripted(a, nil), scripted(b, all), Options{}))(t)
	for i := range c.Functions {
		if name := c.Functions[i].Key.Value; strings.HasPrefix(name, "rank") {
			t.Errorf("%s is compared", name)
		}
	}
	for name, edit := range map[string]func(*result.Script){
		"no calls": func(s *result.Script) { s.Policies = []string{"errors"} },
		"adapted":  func(s *result.Script) { s.Plan = &result.ScriptPlan{} },
	} {
		if c := analyzetest.Must(Compare(scripted(a, nil), scripted(b, edit), Options{}))(t); len(c.Functions) > 0 {
			t.Errorf("%s: %d functions are compared", name, len(c.Functions))
		}
	}
	lost := func(s *result.Script) { s.Lost = 1 }
	c = analyzetest.Must(Compare(scripted(a, lost), scripted(b, nil), Options{}))(t)
	for i := range c.Functions {
		if v := c.Functions[i].Verdict; v == stats.Improved || v == stats.Regressed {
			t.Errorf("with lost records a function %s", v)
		}
	}
}

// TestFunctionsMoved: a change that adds lines does not make other functions of those below.
func TestFunctionsMoved(t *testing.T) {
	at := func(line int, more ...result.Function) func(*result.Script) {
		return func(s *result.Script) {
			for i := range s.Functions {
				s.Functions[i].SourceLine = line
			}
			s.Functions = append(s.Functions, more...)
		}
	}
	times := map[string][2]float64{"rank": {60, 190}}
	other := result.Function{Name: "rank", Source: "src/rank.ts", SourceLine: 90}
	minified := func(column int) func(*result.Script) {
		return func(s *result.Script) {
			f := &s.Functions[0]
			f.Name, f.URL, f.Source, f.Line, f.Column = "ae", "http://a.test/app.js", "", 1, column
		}
	}
	inDocument := func(url string) func(*result.Script) {
		return func(s *result.Script) {
			f := &s.Functions[0]
			f.URL, f.Source, f.Line, f.Column = url, "", 3, 1
		}
	}
	unnamed := func(line int) func(*result.Script) {
		return func(s *result.Script) { s.Functions[0].Name, s.Functions[0].SourceLine = "", line }
	}
	for name, c := range map[string]struct {
		a, b func(*result.Script)
		want []string
	}{
		"moved": {at(7), at(12), []string{"rank (src/rank.ts:12) 190.4 190.4"}},
		"two": {at(7), at(12, other),
			[]string{"rank (src/rank.ts:12) 0.0 190.4", "rank (src/rank.ts:7) 190.4 0.0"}},
		"documents": {inDocument("http://127.0.0.1:1/before.html"), inDocument("http://127.0.0.1:2/after.html"),
			[]string{"rank (after.html:3) 190.4 190.4"}},
		"servers": {inDocument("http://localhost:3000/"), inDocument("http://localhost:3001/"),
			[]string{"rank (localhost:3001/:3) 190.4 190.4"}},
		"unnamed": {unnamed(7), unnamed(12),
			[]string{"anonymous function (src/rank.ts:12) 0.0 190.4", "anonymous function (src/rank.ts:7) 190.4 0.0"}},
		"minified": {minified(400), minified(500),
			[]string{"ae (app.js:1:400) 190.4 0.0", "ae (app.js:1:500) 0.0 190.4"}},
	} {
		cmp := analyzetest.Must(Compare(scripted(times, c.a), scripted(times, c.b), Options{}))(t)
		var got []string
		for i := range cmp.Functions {
			v := &cmp.Functions[i]
			got = append(got, fmt.Sprintf("%s %.1f %.1f", v.Key.Value, v.MedianA.Estimate, v.MedianB.Estimate))
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestCause: the sentence names the innermost function that changed about as much as the largest.
// Further runs with measuring code have the functions of plain runs, at a level of their own.
func TestCause(t *testing.T) {
	before := map[string][2]float64{"load": {6, 198}, "price": {190, 190}, "render": {20, 20}}
	after := map[string][2]float64{"load": {6, 298}, "price": {290, 290}, "render": {20, 20}}
	tiny := map[string][2]float64{"load": {16, 208}, "price": {190, 190}, "render": {20, 20}}
	none := map[string][2]float64{"none": {90, 90}}
	other := map[string][2]float64{"load": {6, 198}, "price": {190, 190}, "render": {20, 20}, "cache": {900, 900}}
	others := map[string][2]float64{"load": {6, 298}, "price": {290, 290}, "render": {20, 20}, "cache": {100, 100}}
	// helper runs for price and for draw, and price calls it more often
	helped := map[string][2]float64{"load": {1, 201}, "price": {1, 61}, "helper": {180, 180}, "draw": {1, 121}}
	more := map[string][2]float64{"load": {1, 301}, "price": {1, 161}, "helper": {280, 280}, "draw": {1, 121}}
	const prices = result.RequestPrefix + "prices.json"
	quick := map[string][2]float64{"load": {6, 198}, "render": {20, 20}}
	waits := map[string][2]float64{"load": {6, 198}, "render": {20, 20}, prices: {290, 290}}
	waited := map[string][2]float64{"load": {6, 198}, "render": {20, 20}, prices: {90, 90}}
	// as many requests as there are places do not push the functions out
	busy, busier := maps.Clone(before), maps.Clone(after)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		busy[result.RequestPrefix+name], busier[result.RequestPrefix+name] = [2]float64{400, 400}, [2]float64{400, 400}
	}
	shorter := map[string][2]float64{"price": {20, 20}}
	const slower = "price (src/price.ts:7) ran for 290.4 ms instead of 190.4 ms, slower by 52.5 % ("
	for name, c := range map[string]struct {
		first, second float64 // the first visual change
		a, b          map[string][2]float64
		further       bool
		want          string
	}{
		"in the same runs": {500, 700, before, after, false, slower},
		"in further runs":  {500, 700, before, after, true, slower},
		"improved": {700, 500, after, before, true,
			"price (src/price.ts:7) ran for 190.4 ms instead of 290.4 ms"},
		"beside another": {500, 700, other, others, true, slower},
		"a helper": {500, 700, helped, more, true, "helper (src/helper.ts:7) ran for 280.4 ms " +
			"instead of 180.4 ms, slower by 55.4 % (55.3–55.5 %), 8 blocks with measuring code. " +
			"price (src/price.ts:7) changed by as much: 161.4 ms instead of 61.44 ms."},
		"beside requests": {500, 700, busy, busier, true, slower},
		"a request": {500, 700, waited, waits, true,
			"The request for prices.json took 290.4 ms instead of 90.44 ms, slower by 221 %"},
		"a request of less than 50 ms": {500, 700, quick, waits, true,
			"The request for prices.json took 290.4 ms instead of at most 50 ms, slower by "},
		"little of it":     {500, 700, before, tiny, true, "No measured function explains it."},
		"the other way":    {500, 700, after, before, true, "No measured function explains it."},
		"all short":        {500, 700, nil, nil, true, "No measured function explains it."},
		"unchanged":        {500, 500, shorter, shorter, true, ""},
		"not measured":     {500, 700, nil, nil, false, ""},
		"not instrumented": {500, 700, none, none, true, ""},
	} {
		a, b := valued("plan", 8, load(c.first)), valued("plan", 8, load(c.second))
		for i := range a.Runs { // looks at a growing set share its level, but not that of further runs
			a.Runs[i].Looks = stats.Looks{8, 12, 20}
		}
		for side, times := range map[*Set]map[string][2]float64{a: c.a, b: c.b} {
			measured := scripted(times, nil)
			if times["none"] != [2]float64{} {
				measured.Runs[3].functions = nil
			}
			if c.further {
				side.why = measured
			} else if times != nil {
				for i := range side.Runs {
					side.Runs[i].functions = measured.Runs[i].functions
				}
			}
		}
		if !c.further {
			for i := range a.Runs {
				a.Runs[i].Looks = nil
			}
		}
		got := analyzetest.Must(Compare(a, b, Options{Primary: []string{"speedindex.first_visual_change"}}))(t)
		cause := got.Cause()
		if !strings.HasPrefix(cause, c.want) || c.want == "" && cause != "" {
			t.Errorf("%s: %q, want %q", name, cause, c.want)
		}
		if strings.Contains(cause, "as much") != (name == "a helper") {
			t.Errorf("%s: %q", name, cause)
		}
		if c.further && c.first != c.second {
			of := Change{got.Deciding().Verdict, "ms", math.Abs(c.second - c.first)}
			alone, err := CauseOf(a.why, b.why, of)
			if alone != cause || (err != nil) != (name == "not instrumented") {
				t.Errorf("%s: the further runs alone give %q, %v, want %q", name, alone, err, cause)
			}
			of.Verdict = "" // either way explains it
			if alone, _ = CauseOf(a.why, b.why, of); name == "the other way" && !strings.Contains(alone, "ran for") {
				t.Errorf("%s: without a direction %q", name, alone)
			}
		}
		if strings.Contains(cause, "with measuring code") != (c.further && strings.Contains(cause, "instead of")) {
			t.Errorf("%s: %q", name, cause)
		}
		var text strings.Builder
		if err := got.WriteMarkdown(&text); err != nil || !strings.Contains(text.String(), plainMarkdown(cause)) {
			t.Errorf("%s: %v: %s", name, err, &text)
		}
		if j := got.JSON(); j.Cause != cause || (j.FurtherRuns == 8) != (c.further && name != "not instrumented") {
			t.Errorf("%s: %q of %d further runs", name, j.Cause, j.FurtherRuns)
		}
	}
}

// TestFurtherRuns: the folder why of a set has further runs of its variants.
func TestFurtherRuns(t *testing.T) {
	p := plan{Test: "t", Variants: []string{"a", "b"}}
	dir := setOf(t, p, "a/run-01", "b/run-01", "why/a/run-01", "why/a/run-02", "why/b/failed/run-01.1")
	for variant, want := range map[string]int{"a": 2, "b": 0} {
		s := analyzetest.Must(Load(t.Context(), filepath.Join(dir, variant)))(t)
		if s.why != nil { // without set.json it is any folder
			t.Errorf("%s: further runs of no set", variant)
		}
		analyzetest.Check(t, os.WriteFile(filepath.Join(dir, whyDir, setFile), []byte("{}"), 0o644))
		s = analyzetest.Must(Load(t.Context(), filepath.Join(dir, variant)))(t)
		analyzetest.Check(t, os.Remove(filepath.Join(dir, whyDir, setFile)))
		if got := s.why; (got == nil) != (want == 0) || got != nil && len(got.Runs) != want {
			t.Errorf("%s: %+v", variant, got)
		}
	}
}
