package compare

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
)

// TestCost: profiled runs have no verdict against plain ones. If they took turns, the differences
// are the cost of the profile.
func TestCost(t *testing.T) {
	all := func(int) bool { return true }
	none := func(int) bool { return false }
	for _, tc := range []struct {
		name string
		plan string
		test string         // of B; A's has no name
		a, b func(int) bool // is a run profiled?
		o    Options
		cost bool
		want Outcome
		text string // of the answer
	}{
		{"in turns", "p", "", none, all, Options{}, true, Inconclusive, "Cost of the profile (samples): "},
		{"one after the other", "", "", none, all, Options{}, false, Inconclusive, "one side is profiled"},
		{"the other way round", "p", "", all, none, Options{}, false, Inconclusive, "one side is profiled"},
		{"another test", "p", "b", none, all, Options{}, false, Inconclusive, "one side is profiled"},
		{"mixed", "p", "", none, func(i int) bool { return i > 2 }, Options{}, false, Inconclusive, "are mixed"},
		{"both profiled", "p", "", all, all, Options{}, false, Regressed, "is worse"},
		{"both plain", "p", "", none, none, Options{}, false, Regressed, "is worse"},
		{"asked for", "p", "", none, all, Options{JudgeUnlike: true}, false, Regressed, "is worse"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			of := func(ms float64, test string, profiled func(int) bool) *Set {
				s := valued(tc.plan, 8, load(ms))
				for i := range s.Runs {
					s.Runs[i].Environment, s.Runs[i].Test = result.Environment{}, test
					if profiled(i) {
						s.Runs[i].Environment[result.EnvProfile] = "samples"
					}
				}
				return s
			}
			tc.o.Primary = []string{"speedindex.first_visual_change"}
			c := analyzetest.Must(Compare(of(1000, "", tc.a), of(3000, tc.test, tc.b), tc.o))(t)
			if o, _ := c.Outcome(); o != tc.want || c.Cost() != tc.cost || !strings.Contains(c.Answer(), tc.text) {
				t.Errorf("%s, cost %t: %s", o, c.Cost(), c.Answer())
			}
			v := c.Primary
			if tc.cost && (v.Verdict != stats.Untested || !v.Change.Exists || v.Change.Low > 1.9 ||
				v.Change.High < 1.9 ||
				!strings.HasSuffix(c.Answer(), v.Key.String()+" "+v.Size()+".") || v.Test != stats.SignedRank) {
				t.Errorf("cost %+v: %s", v.Difference, c.Answer())
			}
		})
	}
}

// TestProfiledVariants: a set compares its profiled variants with each other, or its only one with
// the plain runs. A set that measures the observer effect has a verdict, as when it was made.
func TestProfiledVariants(t *testing.T) {
	for name, tc := range map[string]struct {
		plan  string // set.json
		want  Outcome
		text  string // of the answer
		costs int
	}{
		"one profile": {`{"variants": ["plain", "profiled"], "plain": ["plain"]}`, Inconclusive,
			"Cost of the profile (samples): ", 1},
		"two profiles": {`{"variants": ["a-plain", "a", "b-plain", "b"],
			"plain": ["a-plain", "b-plain"]}`, Regressed, "b is worse than a", 2},
		"observer effect": {`{"variants": ["plain", "instrumented"], "observer_effect": true}`, Regressed,
			"instrumented is worse than plain", 0},
		"nothing stated": {`{"variants": ["x", "y"]}`, Inconclusive, "Cost of the profile (samples): ", 0},
	} {
		s := &SetFolder{}
		if err := s.plan.read([]byte(tc.plan)); err != nil {
			t.Fatal(err)
		}
		for i, name := range s.plan.Variants {
			one := valued("p", 8, load(float64(1000*(i+1))))
			one.Path = name
			for k := range one.Runs {
				if one.Runs[k].Environment = (result.Environment{}); i%2 == 1 {
					one.Runs[k].Environment[result.EnvProfile] = "samples"
				}
			}
			s.variants = append(s.variants, one)
		}
		c, err := s.Compare(Options{Primary: []string{"speedindex.first_visual_change"}})
		if err != nil || c == nil {
			t.Fatalf("%s: %v, %v", name, c, err)
		}
		costs := strings.Join(s.costs(), " ")
		if o, _ := c.Outcome(); o != tc.want || !strings.HasPrefix(c.Answer(), tc.text) ||
			strings.Count(costs, "Cost of the profile (samples): ") != tc.costs || strings.Contains(costs, "unknown") {
			t.Errorf("%s: %s, %s, costs %q", name, o, c.Answer(), costs)
		}
		page, err := s.Page(SetLinks{Compared: true})
		if last := s.plan.Variants[len(s.plan.Variants)-1]; err != nil ||
			!strings.Contains(string(page), `"`+last+`"],"costs":[`) {
			t.Errorf("%s: %v, %s", name, err, page)
		}
	}
}
