package compare

import (
	"fmt"
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
			script.Functions = append(script.Functions, result.Function{Name: name, Line: 1, Column: 400,
				URL: "http://a.test/" + s.Path + ".js", Source: "src/" + name + ".ts", SourceLine: 7,
				Self:  result.Span{Value: self, Low: self, High: self},
				Total: result.Span{Value: total, Low: total, High: total}})
		}
		if edit != nil {
			edit(script)
		}
		s.Runs[i].functions = functionsOf(script)
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
