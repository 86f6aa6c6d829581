package policy

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
)

// TestSums: rows are in descending order of the first field, and the last ones are left out.
func TestSums(t *testing.T) {
	s := newSums([]Field{{"calls", ""}, {"time", "ms"}}, func(points int, sums []float64) string {
		return fmt.Sprint(points, sums)
	})
	for n := range uint32(maxRows + 3) {
		s.Add(Value{Point: n + 1, Number: float64(n)})
		s.Add(Value{Point: n + 1, Field: 1, Number: 2})
		s.Add(Value{Point: n + 1, Number: 1})
	}
	r := s.Report(nil)
	if len(r.Rows) != maxRows || r.Left != 3 || r.Sentence != "203 [20706 406]" ||
		!reflect.DeepEqual(r.Rows[0], Row{Point: 203, Values: []float64{203, 2}}) || r.Rows[199].Values[0] != 4 {
		t.Errorf("%d rows from %+v on, %d left, %s", len(r.Rows), r.Rows[0], r.Left, r.Sentence)
	}
	if r := newSums(nil, func(int, []float64) string { return "none" }).Report(nil); len(r.Rows) != 0 ||
		r.Sentence != "none" {
		t.Errorf("without values: %+v", r)
	}
}

// TestSelect: policies select the nodes of their kinds by names and operators.
func TestSelect(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		points int // the index in Policy.Points
		src    string
		want   []string
	}{
		{loopsPolicy(), 1,
			"function f(n) { f(n - 1) } const g = () => g(), h = () => f(); var i = function j() { j() }",
			[]string{"function f(n) { f(n - 1) }", "() => g()", "function j() { j() }"}},
		{loopsPolicy(), 1, "class A { m() { this.m() } n() { this.m() } #p() {} }" +
			"const o = {k() { this.k() }, l: () => o.l()}",
			[]string{"() { this.m() }", "() { this.k() }"}},
		{concatPolicy(), 0, "a + b; a += b; a - b; a = b; 1 + a; a + .5; a + 'x' /* - */ + /* * */ y; a ++; + a;" +
			"a\n+\nb; a // -\n+ b",
			[]string{"a + b", "a += b", "a + 'x'", "a + 'x' /* - */ + /* * */ y", "a\n+\nb", "a // -\n+ b"}},
		{filter(concatPolicy(), func(t *ecma.Tree, n int) bool { return t.FirstChild(n) == 0 }), 0, "a + b; c + d",
			[]string{"a + b"}},
	} {
		tree, err := ecma.Parse(c.src, ecma.Script)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		p := c.policy.Points[c.points]
		for i, n := range tree.Nodes {
			for _, kind := range p.Kinds {
				if n.Kind == kind && p.Select(tree, i) {
					got = append(got, tree.Text(i))
				}
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s in %q: %q, want %q", c.policy.Name, c.src, got, c.want)
		}
	}
}
