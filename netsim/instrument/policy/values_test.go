package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
)

// parsed returns the tree of a script, and the first node of a kind.
func parsed(t *testing.T, src string, is func(*ecma.Tree, int) bool) (*ecma.Tree, int) {
	t.Helper()
	tree, err := ecma.Parse(src, ecma.Script)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	for i := range tree.Nodes {
		if is(tree, i) {
			return tree, i
		}
	}
	t.Fatalf("%s: no such node", src)
	return nil, 0
}

func isFunction(t *ecma.Tree, i int) bool {
	return t.Nodes[i].Kind.IsFunction() && !strings.HasPrefix(t.Text(i), "inner") && t.FunctionName(i) != "inner"
}

func TestHints(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"function f(a) { return a + 1 }", ""},
		{"function f(a) { let b = 0, {c, d: [e]} = a; for (b of a) c++; [e] = a; b = c; return e }", ""},
		{"function f(a) { a = 2; return a }", ""},
		{"function f(a) { const o = {}; o.x = 1; o['y']++; return o.x }", ""},
		{"function f(a) { function inner(q) { q = 1 } class K {} try {} catch (e) { e = 1 } inner(); return K }", ""},
		{"function f(a) { const s = 'document', o = {Date: 1, random() {}}; return o.Date + a.window }", ""},
		{"function f(window) { return window.x }", ""},
		{"function f(a) { count++; return a }", "writes outside"},
		{"function f(a) { a.n = 1; return a }", "writes outside"},
		{"function f(a) { delete a.n; return a }", "writes outside"},
		{"function f(a) { (cache)[a] = 1; return a }", "writes outside"},
		{"function f(a) { [g, a] = a; return a }", "writes outside"},
		{"function f(a) { this.n = 1; return a }", "writes outside"},
		{"function f(a) { for (k in a) ; return 1 }", "writes outside"},
		{"x = a => later = a", "writes outside"},
		{"function f() { return Date.now() }", "clock"},
		{"function f() { return new Date() - performance.now() }", "clock"},
		{"function f() { return Math.random() }", "random numbers"},
		{"function f() { return document.body }", "DOM"},
		{"function f(e) { return e.offsetHeight }", "DOM"},
		{"function f(e) { console.log(e); fetch(e); return window.x = Date.now() }",
			"DOM, clock, input or output, writes outside"},
	} {
		tree, node := parsed(t, c.src, isFunction)
		if got := hints(tree, node); got != c.want {
			t.Errorf("%s: %q, want %q", c.src, got, c.want)
		}
	}
}

func TestReturnsValue(t *testing.T) {
	for src, want := range map[string]bool{
		"function f(a, b) { return a }":                              true,
		"function f() { if (x) return 1 }":                           true,
		"x = (a, b) => a":                                            true,
		"x = a => { return a }":                                      true,
		"o = {m(a) { return this.x + a }}":                           true,
		"o = {get m() { return this.x }}":                            true,
		"function f() { return function inner() { this.x } }":        true,
		"function f() { return }":                                    false,
		"function f(a) { a() }":                                      false,
		"function f({a}) { return a }":                               false,
		"function f(...a) { return a }":                              false,
		"function f(a = 1) { return a }":                             false,
		"function f(a) { return arguments[0] }":                      false,
		"function f(a) { return () => arguments }":                   false,
		"x = a => this.b":                                            false,
		"async function f(a) { return a }":                           false,
		"function* f(a) { return a }":                                false,
		"class A { constructor() { return {} } }":                    false,
		"class A { m(a) { return a } }":                              true,
		"function F() { return new.target }":                         false,
		"function f() { return " + strings.Repeat("1+", 3000) + "1}": false,
	} {
		tree, node := parsed(t, src, isFunction)
		if got := returnsValue(tree, node); got != want {
			t.Errorf("%.60s: %t, want %t", src, got, want)
		}
	}
}

func TestStoresObject(t *testing.T) {
	for src, want := range map[string]bool{
		"a.b = c": true, "a[b] = {}": true, "this.x = f()": true, "a.b = (c, d)": true, "a?.b.c": false,
		"a.b = 1": false, "a.b = 'x'": false, "a.b = (1)": false, "a.b = `x`": false, "a.b = !c": false,
		"a.b = c + d": false, "a.b += c": false, "a = c": false, "[a.b] = c": false, "a.b ??= c": false,
	} {
		tree, err := ecma.Parse(src, ecma.Script)
		if err != nil {
			t.Fatal(err)
		}
		got := false
		for i, n := range tree.Nodes {
			got = got || n.Kind == ecma.AssignmentExpression && storesObject(tree, i)
		}
		if got != want {
			t.Errorf("%s: %t, want %t", src, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for _, c := range []struct{ src, want, problem string }{
		{"function f(a) {\n  return a\n}\n", "function f(a) { return a; }", ""},
		{"a =>\n a + 1 // last", "a => a + 1", ""},
		{"function () { // c\n  /* d\n */ let b = 1\n  b\n  ++b\n  return\n  b\n}",
			"function () {     let b = 1; b; ++b; return; b; }", ""},
		{"function(a){if(a)return\nelse a()\nfor(;;)break\ndo a++\nwhile(a)\nreturn'x'}", "", ""},
		{"function(){return 'a\\\nb\u2028'}", `function(){return 'ab\u2028';}`, ""},
		{"() => `a${ `b` /* c */ }${/[/*]\\//.test('//')}`", "", ""},
		{"class A {}", "", "must be one function"},
		{"a => 1, b => 2", "", "must be one function"},
		{"a => 1); (() => 2", "", "must be one function"},
		{"(a => 1", "", "unexpected"},
		{"", "", "unexpected"},
		{"() => `a\nb`", "", "template literal"},
		{"() =>\f 'a\v'", "", "vertical tab"},
		{"() =>\f 1", "() => 1", ""},
		{"() => {}" + strings.Repeat(" ", MaxReplacement), "", "more than 256 KiB"},
	} {
		got, err := oneLine(c.src)
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%.40q: %q, %v", c.src, got, err)
		}
		if c.want != "" && got != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.src, got, c.want)
		}
		if err == nil && strings.ContainsAny(got, lineBreaks) {
			t.Errorf("%q has a line break", got)
		}
	}
}

// reported adds sums of points to the state of a policy. Each field is one value.
func reported(t *testing.T, name string, of map[uint32][]float64, notes map[uint32]string) (Report, map[uint32]Row) {
	t.Helper()
	all, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	state := all[0].New()
	for point, values := range of {
		for field, x := range values {
			state.Add(Value{Point: point, Field: field, Number: x / 2})
			state.Add(Value{Point: point, Field: field, Number: x / 2})
		}
	}
	r := state.Report(func(n uint32) Point { return Point{Number: n, Note: notes[n]} })
	rows := map[uint32]Row{}
	for _, row := range r.Rows {
		rows[row.Point] = row
	}
	return r, rows
}

func TestReportOfLeaks(t *testing.T) {
	// stores, nodes, cycles, detached, collected, kept, unchecked
	r, rows := reported(t, "leaks", map[uint32][]float64{
		1: {4, 4, 0, 4, 0, 4, 0}, 2: {4, 4, 0, 4, 4, 0, 0}, 3: {4, 4, 0, 4, 2, 0, 0}, 4: {4, 4, 0, 0, 0, 0, 0},
		5: {4, 0, 2, 0, 0, 0, 0}, 6: {4, 0, 0, 0, 0, 0, 0}, 7: {-1e300, 1e300, -1, 1, 2, -3, 0},
	}, nil)
	for point, want := range map[uint32]Verdict{1: Fail, 2: Pass, 3: More, 4: More, 5: More, 6: "", 7: Pass} {
		if rows[point].Verdict != want {
			t.Errorf("store %d: %+v, want %q", point, rows[point], want)
		}
	}
	want := "Stores that ran: 7 → with nodes: 6 → that keep detached nodes: 1. Without leaks: 2. Undecided: 3."
	if r.Sentence != want || r.Rows[0].Point != 1 || r.Rows[1].Point != 5 {
		t.Errorf("%q, %+v", r.Sentence, r.Rows)
	}
}

func TestReportOfCacheable(t *testing.T) {
	// calls, hits, mismatches, time, saved, skipped, keys
	r, rows := reported(t, "cacheable", map[uint32][]float64{
		1: {10, 8, 0, 20, 16, 0, 2}, 2: {10, 8, 0, 20, 17, 0, 2}, 3: {10, 7, 1, 20, 14, 0, 2},
		4: {10, 0, 0, 20, 0, 0, 10},
		5: {0, 0, 0, 0, 0, 0, 0},
	}, map[uint32]string{2: "DOM"})
	for point, want := range map[uint32]struct {
		verdict Verdict
		values  []float64
	}{1: {Pass, []float64{10, 80, 2, 16}}, 2: {More, []float64{10, 80, 2, 17}}, 3: {Fail, []float64{10, 70, 2, 0}},
		4: {More, []float64{10, 0, 2, 0}}, 5: {More, []float64{0, 0, 0, 0}}} {
		if row := rows[point]; row.Verdict != want.verdict || !slices.Equal(row.Values, want.values) {
			t.Errorf("function %d: %+v, want %+v", point, row, want)
		}
	}
	want := "Functions that ran: 5 → with repeated arguments: 3 → whose results were always equal: 2 → without a " +
		"sign of side effects: 1. A cache for the last ones saves at most 16 ms."
	if r.Sentence != want || r.Rows[0].Point != 1 {
		t.Errorf("%q, %+v", r.Sentence, r.Rows)
	}
}

// strict is a judge that wants lower times.
type strict struct{}

func (strict) Times(a, b []float64) (Verdict, string) {
	if b[0] < a[0] {
		return Pass, "lower"
	}
	return More, "higher"
}

func (strict) Rates(k, n, l, m int) float64 {
	if n > maxCounted || m > maxCounted || k > n || l > m || k < 0 || l < 0 {
		panic("the counts are out of range")
	}
	return map[bool]float64{true: 1, false: 0.01}[k*m == l*n]
}

func TestReportOfAB(t *testing.T) {
	for name, c := range map[string]struct {
		a, b    []float64 // calls, returns, timed and time
		verdict Verdict
		text    string
	}{
		"lower":  {[]float64{10, 10, 10, 20}, []float64{10, 10, 10, 10}, Pass, "lower"},
		"higher": {[]float64{10, 10, 10, 20}, []float64{10, 10, 10, 30}, More, "higher"},
		"more exceptions": {[]float64{10, 10, 10, 20}, []float64{10, 5, 5, 1}, Fail,
			"lower; exceptions differ: 0 of 10 calls, and 5 of 10"},
		"fewer exceptions":    {[]float64{10, 5, 5, 20}, []float64{10, 10, 10, 10}, Pass, "exceptions differ"},
		"one version":         {[]float64{10, 10, 10, 20}, nil, More, "only the original ran"},
		"the other one":       {nil, []float64{10, 10, 10, 20}, More, "only the replacement ran"},
		"impossible counts":   {[]float64{1e300, -1e300, 1, 20}, []float64{-1e300, 5, 1, 10}, Pass, "lower"},
		"calls without times": {[]float64{10, 0, 0, 0}, []float64{10, 10, 10, 10}, More, "only the replacement ran"},
	} {
		all, err := Named("ab")
		if err != nil {
			t.Fatal(err)
		}
		state := all[0].New()
		state.(Judged).Use(strict{})
		for field, x := range append(append(make([]float64, 0, 8), c.a...), make([]float64, 4-len(c.a))...) {
			state.Add(Value{Realm: 1, Point: 3, Field: field, Number: x})
		}
		for field, x := range c.b {
			state.Add(Value{Realm: 2, Point: 3, Field: abOfVersion + field, Number: x})
		}
		r := state.Report(nil)
		if len(r.Rows) != 1 || r.Rows[0].Verdict != c.verdict || !strings.Contains(r.Rows[0].Text, c.text) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := abPolicy().New().Report(nil); !strings.HasPrefix(r.Sentence, "No function with a replacement ran.") {
		t.Errorf("without values: %+v", r)
	}
}

func TestAB(t *testing.T) {
	for _, c := range []struct {
		o       AB
		problem string
	}{
		{AB{Replacements: []Replacement{{"f", "() => 1"}}, Share: 0.5}, ""},
		{AB{}, "needs a replacement"},
		{AB{Replacements: make([]Replacement, 21)}, "at most 20"},
		{AB{Replacements: []Replacement{{"f", "() => 1"}}, Share: 1.5}, "share 1.5"},
		{AB{Replacements: []Replacement{{"", "() => 1"}}}, `function "": must be a name`},
		{AB{Replacements: []Replacement{{"f", "1 +"}}}, "replacement of f: 2:1"},
	} {
		p, err := c.o.Policy()
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%+v: %v", c.o, err)
		}
		if err == nil && (len(p.Points) != 1 || !strings.HasPrefix(p.Runtime, "const SEED=0,LOAD=0,SHARE=0.5;")) {
			t.Errorf("%+v", p)
		}
	}
	for text, places := range map[string]map[string]bool{
		"f":                               {"f x 3 4": true, "g x 3 4": false},
		"f (app.js)":                      {"f http://h/app.js 3 4": true, "f http://h/my-app.js 3 4": false},
		"f (app.js:3)":                    {"f http://h/app.js 3 4": true, "f http://h/app.js 4 4": false},
		"f (h/:3)":                        {"f http://h/ 3 4": true},
		"f (app.js:3:40)":                 {"f http://h/app.js 3 40": true, "f http://h/app.js 3 41": false},
		"f (http://h/a/app.js:3)":         {"f http://h/a/app.js 3 4": true, "f http://h/app.js 3 4": false},
		"anonymous function (app.js:3)":   {"(anonymous) http://h/app.js 3 4": true},
		"A.prototype.f (app.js:3)":        {"A.prototype.f http://h/app.js 3 4": true},
		"f (not a place) (app.js:9":       {"f http://h/app.js 9 1": false},
		"f (app.js:99999999999999999999)": {"f http://h/app.js 9 1": false},
	} {
		p, err := parsePlace(text)
		for place, want := range places {
			var name, url string
			var line, column int
			if _, scanned := fmt.Sscan(place, &name, &url, &line, &column); err != nil || scanned != nil ||
				p.matches(name, url, line, column) != want {
				t.Errorf("%s at %s: %t, %v", text, place, !want, err)
			}
		}
	}
}
