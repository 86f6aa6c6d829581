package compare

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
)

// TestPerfherder: one suite of the test has its first primary value, and each value its direction.
func TestPerfherder(t *testing.T) {
	value := func(name, unit string, better analyze.Better, state analyze.State) analyze.Value {
		return analyze.Value{Name: name, Unit: unit, Better: better, State: state, Threshold: 0.05}
	}
	long := strings.Repeat("x", 90)
	values := []analyze.Value{
		value("longest_freeze", "ms", analyze.Lower, analyze.Exact),
		value("framerate", "frames/s", analyze.Higher, analyze.Exact),
		value("frames", "frames", analyze.Neither, analyze.Exact),
		value("dropped", "fraction", analyze.Lower, analyze.Suspected),
		value(long+"a", "ms", analyze.Lower, analyze.Exact), value(long+"b", "ms", analyze.Lower, analyze.Exact),
		value("beyond", "ms", analyze.Lower, analyze.Exact),
	}
	set := func(test string, factor float64, windows ...string) *Set {
		s := &Set{Path: "p"}
		for i := range 8 {
			r := Run{Name: fmt.Sprint(i), Test: test, Primary: []string{"fps.framerate"}}
			for _, w := range windows {
				own := append([]analyze.Value{}, values...)
				for j := range own {
					v := &own[j]
					v.Value = factor * (100 + float64(i))
					if v.Name == "beyond" && i == 7 {
						v.Value = 2e12
					}
					v.Low, v.High = v.Value, v.Value
				}
				fps := analyze.Result{Measure: "fps", Version: 1, Values: own}
				r.Windows = append(r.Windows, result.Window{Name: w, Results: []analyze.Result{fps}})
			}
			s.Runs = append(s.Runs, r)
		}
		return s
	}
	for _, tc := range []struct {
		name    string
		test    string
		windows []string
		suite   string
		want    []string // name, unit, direction, alert
	}{
		{"a test", "scroll", []string{"page"}, "scroll", []string{
			"fps.framerate frames/s higher true", "fps.longest_freeze ms lower false", "fps.frames frames none false",
			"fps.dropped fraction lower false", "fps." + long[:76] + " ms lower false",
			"fps." + long[:72] + " (2) ms lower false"}},
		{"no test", "", []string{"page"}, "page", nil},
		{"nothing", "", []string{""}, "eideticker", nil},
		{"windows", "tabs", []string{"first", "second"}, "tabs", []string{"first: fps.framerate frames/s higher true",
			"second: fps.framerate frames/s higher true", "first: fps.longest_freeze ms lower false"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Compare(set(tc.test, 1, tc.windows...), set(tc.test, 0.5, tc.windows...), Options{})
			if err != nil {
				t.Fatal(err)
			}
			p := c.perfherder()
			if len(p.Suites) != 1 || p.Suites[0].Name != tc.suite {
				t.Fatalf("%+v", p.Suites)
			}
			suite, first := p.Suites[0], p.Suites[0].Subtests[0]
			if *suite.Value != *first.Value || *suite.Lower != *first.Lower || *suite.Alert != *first.Alert ||
				*suite.Value != 0.5*103.5 || suite.Replicates != nil || len(suite.Tags) == 0 {
				t.Errorf("suite %+v, its first value %+v", suite, first)
			}
			seen := map[string]bool{}
			for i, s := range suite.Subtests {
				if seen[s.Name] || len(s.Replicates) != 8 || strings.Contains(s.Name, "beyond") || s.Subtests != nil {
					t.Errorf("%+v", s)
				}
				seen[s.Name] = true
				direction := "none"
				if s.Lower != nil {
					direction = map[bool]string{true: "lower", false: "higher"}[*s.Lower]
				}
				got := fmt.Sprintf("%s %s %s %t", s.Name, s.Unit, direction, *s.Alert)
				if i < len(tc.want) && got != tc.want[i] {
					t.Errorf("subtest %d is %q, want %q", i, got, tc.want[i])
				}
			}
			if len(suite.Subtests) != 6*len(tc.windows) {
				t.Errorf("%d subtests", len(suite.Subtests))
			}
			if raw, err := json.Marshal(p); err != nil || strings.Contains(string(raw), "null") {
				t.Errorf("%s, %v", raw, err)
			}
		})
	}
}
