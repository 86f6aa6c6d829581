package instrument_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// TestReplace: a replacement runs in the scope of its function, with its this and arguments.
func TestReplace(t *testing.T) {
	var all []run
	cases := []struct{ name, src, function, text, want string }{
		{"declaration", "let k = 2; function f(a) { return a + k } log(f(1), f.length, f.name)", "f",
			"function (a) {\n // twice\n return a * 10 + k\n}", "12 1 'f'"},
		{"this and arguments", "const o = {x: 3, m(a) { 'use strict'; return 0 }}; log(o.m(1, 2))", "m",
			"function () { return [this.x, arguments.length, arguments[1]].join() }", "'3,2,2'"},
		{"arrow with an expression", "const f = (a, b) => a\n(0); log(f(1, 2))", "f", "(a, b) => b", "2"},
		{"arrow with a function as body", "const f = a => () => {}\n;log(f(1)())", "f", "a => () => a + 6", "7"},
		{"arrow with a block", "const g = function () { return (a => { return this.y })(1) }; log(g.call({y: 1}))",
			"(anonymous)", "a => this.y + 1", "2"},
		{"new", "function F(a) { this.a = a } log(new F(1).a, new F(1) instanceof F)", "F",
			"function (a) { this.a = a + 1 }", "2 true"},
		{"exception", "function f() { return 1 } try { f() } catch (e) { log(e) }", "f", "() => { throw 'x' }", "'x'"},
		{"bare returns", "function f(a) { if (a) return\nelse log(1); return } f(0); log(f(1))", "f", "a => a", "1"},
		{"recursion", "function f(n) { return 0 } log(f(5))", "f", "n => n < 2 ? n : f(n - 1) + f(n - 2)", "5"},
	}
	for _, c := range cases {
		p, err := policy.AB{Share: 1, Replacements: []policy.Replacement{{Function: c.function, Text: c.text}}}.Policy()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		others, runtime := named(t, "leaks,cacheable")
		for _, replaced := range []string{"false", "true"} {
			for _, shape := range []instrument.Shape{instrument.Time, instrument.Count} {
				r, err := instrument.Rewrite(c.src, ecma.Script, instrument.Plan{Shape: shape, Nonce: nonce,
					Policies: append([]policy.Policy{p}, others...)})
				if err == nil {
					err = r.Verify(c.src, ecma.Script)
				}
				if err != nil {
					t.Errorf("%s: %v\n%s", c.name, err, r.Text)
				}
				ab := fmt.Sprintf(`for (const [key, value] of Object.entries({ab: id => id, ab1: (d, x) => x,
					ab2: () => %s, ab3: (d, f, self, given) => Reflect.apply(f, self, given)}))
					Object.defineProperty(globalThis, key + '%s', {value});`, replaced, nonce)
				all = append(all, run{r.Text, false, testRuntime(t) + runtime + ab, nonce})
			}
		}
		all = append(all, run{c.src, false, testRuntime(t), nonce})
	}
	const each = 5
	ended := inNode[ran](t, "run.mjs", all)
	for n, c := range cases {
		runs, results := all[each*n:], ended[each*n:]
		for i, got := range results[:4] {
			if i < 2 && !reflect.DeepEqual(got.behaviour, results[4].behaviour) {
				t.Errorf("%s: plain %+v, original %+v\n%s", c.name, results[4].behaviour, got.behaviour, runs[i].Text)
			}
			if i >= 2 && strings.Join(got.Log, "|") != c.want {
				t.Errorf("%s: %+v, want %q\n%s", c.name, got.behaviour, c.want, runs[i].Text)
			}
			for _, problem := range got.Problems {
				t.Errorf("%s: %s\n%s", c.name, problem, runs[i].Text)
			}
		}
	}
}
