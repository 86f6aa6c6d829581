package terminal

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
)

// TestScriptSet: the functions of a set are sorted by their median. Plain runs do not count.
func TestScriptSet(t *testing.T) {
	function := func(name string, ms float64) result.Function {
		return result.Function{Name: name, URL: "http://a.test:81/app.js", Line: 2,
			Self: result.Span{Value: ms * 1e6}}
	}
	run := func(all ...result.Function) *result.Script { return &result.Script{Functions: all} }
	plain := run(function("plain", 99))
	plain.Plan = &result.ScriptPlan{Plain: true}
	last := run(function("slow", 30), function("quick", 1))
	last.Plan = &result.ScriptPlan{Adapt: "loads", Active: 2, Points: 5, Slow: 1, Loads: 3}
	for name, c := range map[string]struct {
		runs []*result.Script
		want string
	}{
		"none":  {nil, ""},
		"plain": {[]*result.Script{nil, plain, run()}, ""},
		"three": {[]*result.Script{run(function("slow", 20), function("slow", 5)), plain, run(function("quick", 3),
			function("rare", 2)), last}, "\nScripts: time of functions, without others that they called\n" +
			"function          runs  median ms  min  max\n" +
			"slow app.js:2   2 of 3       27.5   25   30\n" +
			"quick app.js:2  2 of 3          2    1    3\n" +
			"rare app.js:2   1 of 3          2    2    2\n" +
			"Calls of 2 of 5 functions were measured. The time of others is in their callers. Slow functions,\n" +
			"above 5 ms: 1. The selection is not stable after 3 loads.\n"},
	} {
		var out strings.Builder
		if err := ScriptSet(&out, c.runs); err != nil || out.String() != c.want {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}
