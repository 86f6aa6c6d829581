package groundtruth

import (
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/netsim/site"
)

// TestScript: a wrong count, a wrong function behind a late frame, and a wrong time differ.
func TestScript(t *testing.T) {
	ms := func(x float64) result.Span {
		return result.Span{Value: x * 1e6, Low: (x - 1) * 1e6, High: (x + 1) * 1e6}
	}
	slow := result.Function{Name: "slow", URL: "http://page.test/assets/stutter.js", Calls: 2, Total: ms(401),
		Max: ms(250)}
	other := result.Function{Name: "move", URL: slow.URL, Calls: 150, Total: ms(20), Max: ms(1)}
	because := func(function int) result.LateFrame {
		return result.LateFrame{Frame: 70, Functions: []result.RanMeantime{{Function: function, Self: ms(140)}}}
	}
	changed := func(change func(*result.Function)) []result.Function {
		f := slow
		change(&f)
		return []result.Function{f, other}
	}
	late := []result.LateFrame{because(0), because(0)}
	for _, tc := range []struct {
		name      string
		functions []result.Function
		late      []result.LateFrame
		differ    []string
	}{
		{"as drawn", []result.Function{slow, other}, append(late, because(1), result.LateFrame{}), nil},
		{"a call is missing", changed(func(f *result.Function) { f.Calls = 1 }), late, []string{"calls of slow"}},
		{"another function", []result.Function{slow, other}, []result.LateFrame{because(0), because(1)},
			[]string{"late frames because of slow"}},
		{"too long", changed(func(f *result.Function) { f.Total, f.Max = ms(480), ms(260) }), late,
			[]string{"time in slow", "longest call of slow"}},
		{"too short", changed(func(f *result.Function) { f.Total, f.Max = ms(390), ms(240) }), late,
			[]string{"time in slow", "longest call of slow"}},
		{"not called", []result.Function{other}, nil, []string{"calls of slow", "late frames because of slow",
			"time in slow", "longest call of slow"}},
		{"in another file", changed(func(f *result.Function) { f.URL = "http://page.test/slow.js" }), late,
			[]string{"calls of slow", "late frames because of slow", "time in slow", "longest call of slow"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &played{Input: Input{Script: &result.Script{Functions: tc.functions, Late: tc.late}}}
			p.Report.Truth.Claims = []site.Claim{{Name: "slow_calls", Unit: "calls", Value: 2},
				{Name: "slow_total_inside", Unit: "ms", Value: 400},
				{Name: "slow_total_around", Unit: "ms", Value: 402},
				{Name: "slow_longest_inside", Unit: "ms", Value: 250},
				{Name: "slow_longest_around", Unit: "ms", Value: 251}}
			var differ []string
			all := p.checkScript()
			for _, c := range all {
				if c.Failed() {
					differ = append(differ, c.What)
				}
			}
			if len(all) != 4 || !slices.Equal(differ, tc.differ) {
				t.Errorf("%d checks, different: %q, want %q", len(all), differ, tc.differ)
			}
		})
	}
	script := slow
	script.Name, script.URL, script.Calls = "(script)", "http://page.test/assets/late.js", 1
	p := &played{Input: Input{Script: &result.Script{Functions: []result.Function{other, script},
		Late: []result.LateFrame{because(1)}}}}
	p.Report.Truth.Claims = []site.Claim{{Name: "slow_calls", Unit: "calls"},
		{Name: "late_calls", Unit: "calls", Value: 1}, {Name: "late_total_inside", Unit: "ms", Value: 310},
		{Name: "late_total_around", Unit: "ms", Value: 402}, {Name: "late_longest_inside", Unit: "ms", Value: 160},
		{Name: "late_longest_around", Unit: "ms", Value: 251}}
	for _, c := range p.checkScript() {
		if c.Failed() || !strings.HasSuffix(c.What, "(script)") {
			t.Errorf("a script: %+v", c)
		}
	}
	untimed := &played{Input: Input{Script: &result.Script{Policies: []string{"errors", "loops"}}}}
	untimed.Report.Truth.Claims = []site.Claim{{Name: "slow_calls", Unit: "calls", Value: 2}}
	for _, selected := range []result.ScriptPlan{{Adapt: "live"}, {Probability: 0.2}, {Plain: true}} {
		some := &played{Input: Input{Script: &result.Script{Plan: &selected}}}
		some.Report.Truth.Claims = []site.Claim{{Name: "slow_calls", Unit: "calls", Value: 2}}
		if got := some.checkScript(); got != nil {
			t.Errorf("checks of a run that measured some functions: %+v", got)
		}
	}
	if got := untimed.checkScript(); got != nil {
		t.Errorf("without calls: %+v", got)
	}
	p = &played{Input: Input{Script: &result.Script{}}}
	if all := p.checkScript(); len(all) > 0 {
		t.Errorf("a page without claims has %d checks", len(all))
	}
}
