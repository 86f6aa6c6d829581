package compare

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/stats"
)

// TestAnswer: one sentence for each outcome of the primary values.
func TestAnswer(t *testing.T) {
	value := func(name string, verdict stats.Verdict, a, b float64) Value {
		sample := func(v float64) stats.Sample { return stats.Sample{{Run: "r", Value: v, Low: v, High: v + 0.5}} }
		d, err := stats.Compare([]stats.Pair{{Measure: stats.Measure{Name: name, Unit: "ms", Better: analyze.Lower},
			A: sample(a), B: sample(b)}}, stats.Alpha)
		if err != nil {
			t.Fatal(err)
		}
		d[0].Verdict = verdict
		return Value{Key: Key{Measure: "m", Value: name}, Family: PrimaryFamily, Primary: true, Difference: d[0]}
	}
	better, worse := value("x", stats.Improved, 100, 90), value("y", stats.Regressed, 100, 120)
	same, unsure := value("z", stats.Unchanged, 100, 100), value("u", stats.Inconclusive, 100, 101)
	for name, tc := range map[string]struct {
		values []Value
		want   string
	}{
		"better": {[]Value{better, same}, "new is better than old: m.x: faster by 10.0 % (9.5–10.4 %), single runs."},
		"worse":  {[]Value{worse, same}, "new is worse than old: m.y: slower by 20.0 % (19.4–20.5 %), single runs."},
		"both": {[]Value{better, worse},
			"new is better and worse than old: m.x: faster by 10.0 % (9.5–10.4 %), single runs; " +
				"m.y: slower by 20.0 % (19.4–20.5 %), single runs."},
		"like": {[]Value{same, same}, "new is like old: 2 values did not change by the threshold or more."},
		"better, and unsure": {[]Value{better, unsure},
			"new is better than old: m.x: faster by 10.0 % (9.5–10.4 %), single runs; 1 value not decided."},
		"unsure": {[]Value{unsure, same},
			"Not decided whether new differs from old: m.u: slower by 1.0 % (0.5–1.5 %), " +
				"single runs, which may be chance; about 5 more runs each would do."},
	} {
		c := &Comparison{A: &Set{Path: "runs/old/"}, B: &Set{Path: "runs/new/results.json"}, Values: tc.values}
		c.Primary = &c.Values[0]
		if got := c.Answer(); got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, tc.want)
		}
	}
}

// TestMarkdown: names from files stay text in a comment. They cannot end a cell, make a link or
// mention people.
func TestMarkdown(t *testing.T) {
	const evil = "a|b\n\n# <script>`x` [y](https://evil.example) @all *z* \\"
	point := stats.Sample{{Run: "r", Value: 1, Low: 1, High: 1}}
	pair := stats.Pair{Measure: stats.Measure{Name: "x", Unit: "ms"}, A: point, B: point}
	d := analyzetest.Must(stats.Compare([]stats.Pair{pair}, stats.Alpha))(t)
	c := &Comparison{A: &Set{Path: "a"}, B: &Set{Path: "b"}, Warnings: []string{evil},
		Unlike: []Unlike{{Name: evil, A: []string{evil}, B: []string{evil}}}, unpaired: evil,
		Values: []Value{{Key: Key{Window: evil, Measure: "m", Value: "x"}, Primary: true, Difference: d[0]}}}
	c.Primary = &c.Values[0]
	var b strings.Builder
	analyzetest.Check(t, c.WriteMarkdown(&b))
	for _, mark := range []string{"<script", "`", "[", "://", "@", "\\", "\n#", "a|b", "*z"} {
		if strings.Contains(b.String(), mark) {
			t.Errorf("%q is in\n%s", mark, &b)
		}
	}
}
