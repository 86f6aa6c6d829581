package instrument_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
)

const (
	fromNPM    = "../ecma/testdata/node_modules/"
	typescript = "../../deploy/server/webui/node_modules/typescript/lib/typescript.js"
)

// fromFile reads a file from npm. Only a laptop may be without.
func fromFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: make webui", err)
		}
		t.Skipf("%v: make webui", err)
	}
	return string(text)
}

var shapes = map[string]instrument.Shape{"time": instrument.Time, "count": instrument.Count}

// planOf returns the plan of a shape. Pages get timed programs.
func planOf(shape instrument.Shape, nonce string) instrument.Plan {
	return instrument.Plan{Shape: shape, Nonce: nonce, Page: shape == instrument.Time}
}

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ src, time, count string }{
		{"", "", ""},
		{"a", "a", "a"},
		{"function f(){}", "function f(){let d$n0=E$n0(0);;R$n0(d$n0)}", "function f(){E$n0(0);}"},
		{"function f(){return!0}", "function f(){let d$n0=E$n0(0);return R$n0(d$n0,!0)}",
			"function f(){E$n0(0);return!0}"},
		{"function f(){'a';'b'}", "function f(){'a';'b';let d$n0=E$n0(0);;R$n0(d$n0)}",
			"function f(){'a';'b';E$n0(0);}"},
		{"x=>x", "x=>R$n0(E$n0(0),x)", "x=>(E$n0(0),x)"},
		{"x=>y=>1", "x=>R$n0(E$n0(1),y=>R$n0(E$n0(0),1))", "x=>(E$n0(1),y=>(E$n0(0),1))"},
		{"x=>()=>{}", "x=>{let d$n0=E$n0(1);return R$n0(d$n0,()=>{let d$n0=E$n0(0);;R$n0(d$n0)})}",
			"x=>{E$n0(1);return ()=>{E$n0(0);}}"},
		{"async x=>await(x)", "async x=>{let d$n0=E$n0(0);return R$n0(d$n0,r$n0(d$n0,await s$n0(d$n0,(x))))}",
			"async x=>(E$n0(0),await(x))"},
		{"function*f(){yield}", "function*f(){let d$n0=E$n0(0);r$n0(d$n0,yield s$n0(d$n0));;R$n0(d$n0)}",
			"function*f(){E$n0(0);yield}"},
		{"function f(){if(a)return;else return 1,2}",
			"function f(){let d$n0=E$n0(0);if(a)return R$n0(d$n0);else return R$n0(d$n0,(1,2));R$n0(d$n0)}",
			"function f(){E$n0(0);if(a)return;else return 1,2}"},
		{"function f(){try{}catch{}finally{}}",
			"function f(){let d$n0=E$n0(0,0,1);try{}catch{K$n0(d$n0);}finally{let x$n0=F$n0(d$n0);;C$n0(x$n0)};" +
				"R$n0(d$n0,0,1)}",
			"function f(){E$n0(0);try{}catch{}finally{}}"},
		{"try{}catch{}finally{}", "try{}catch{}finally{}", "try{}catch{}finally{}"},
		{"function f(){'use asm';function g(){return 1}return g}",
			"function f(){'use asm';function g(){return 1}return g}",
			"function f(){'use asm';function g(){return 1}return g}"},
	} {
		for name, want := range map[string]string{"time": c.time, "count": c.count} {
			r, err := instrument.Rewrite(c.src, ecma.Script, instrument.Plan{Shape: shapes[name], Nonce: nonce})
			if err != nil || r.Text != want {
				t.Errorf("%s %q: %v\n got %s\nwant %s", name, c.src, err, r.Text, want)
			}
			if err := r.Verify(c.src, ecma.Script); err != nil {
				t.Errorf("%s %q: %v", name, c.src, err)
			}
		}
	}
}

func outsideOf(goal ecma.Goal) instrument.Outside {
	if goal == ecma.Module {
		return instrument.OfModule
	}
	return instrument.OfScript
}

// TestLongChain: the time of calls in a slow function is in proportion to its size. The least times
// of rounds are compared, since other programs delay some.
func TestLongChain(t *testing.T) {
	took := func(links, times int) time.Duration {
		src := "function slow(){a?.b" + strings.Repeat(".c()", links) + "}"
		began := time.Now()
		for range times {
			_, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Nonce: nonce, Shape: instrument.Time,
				Gate: func(uint32) instrument.Gate { return instrument.Slow }})
			if err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(began)
	}
	short, long := time.Hour, time.Hour
	for range 3 {
		short, long = min(short, took(4_000, 16)), min(long, took(64_000, 1))
	}
	if long > 5*short {
		t.Errorf("16 times 4,000 links took %v, 64,000 took %v", short, long)
	}
}

// TestOutside: code outside functions is a function with the last number.
func TestOutside(t *testing.T) {
	for _, c := range []struct {
		src, want string
		goal      ecma.Goal
	}{
		{"", "", ecma.Script},
		{"// only", "// only", ecma.Script},
		{"a", "B$n0(0);a;{let x$n0=Q$n0(0)}", ecma.Script},
		{"#!x\na //c", "#!x\nB$n0(0);a;{let x$n0=Q$n0(0)} //c", ecma.Script},
		{"<!-- x\na\n--> c", "<!-- x\nB$n0(0);a;{let x$n0=Q$n0(0)}\n--> c", ecma.Script},
		{"'use strict'", "'use strict';B$n0(0);;{let x$n0=Q$n0(0)}", ecma.Script},
		{"'use strict'\n(a)", "B$n0(0);'use strict'\n(a);{let x$n0=Q$n0(0)}", ecma.Script},
		{"if(a)b\n", "B$n0(0);if(a)b;{let x$n0=Q$n0(0)}\n", ecma.Script},
		{"function f(){}", "B$n0(1);function f(){let d$n0=E$n0(0);;R$n0(d$n0)};{let x$n0=Q$n0(1)}", ecma.Script},
		{"try{}catch{}finally{}", "B$n0(0);try{}catch{k$n0(0);}finally{k$n0(0);};{let x$n0=Q$n0(0)}", ecma.Script},
		{"import 'a';await b", "let d$n0=E$n0(0,3);import 'a';r$n0(d$n0,await s$n0(d$n0,b));R$n0(d$n0)", ecma.Module},
		{"try{}catch{}finally{}",
			"let d$n0=E$n0(0,3);try{}catch{K$n0(d$n0);}finally{let x$n0=F$n0(d$n0);;C$n0(x$n0)};R$n0(d$n0)",
			ecma.Module},
	} {
		r, err := instrument.Rewrite(c.src, c.goal, instrument.Plan{Nonce: nonce, Shape: instrument.Time,
			Outside: outsideOf(c.goal)})
		if err == nil {
			err = r.Verify(c.src, c.goal)
		}
		if err != nil || r.Text != c.want {
			t.Errorf("%q: %v\n got %s\nwant %s", c.src, err, r.Text, c.want)
		}
		if n := len(r.Functions); c.src != c.want && (!r.Functions[n-1].Outside || r.Functions[n-1].Start != 0 ||
			int(r.Functions[n-1].End) != len(c.src)) {
			t.Errorf("%q: functions %+v", c.src, r.Functions)
		}
	}
}

// TestNatives: calls in slow functions have numbers. Those of the program's own functions have
// none, nor have those that would be suspended or change their meaning.
func TestNatives(t *testing.T) {
	call := func(n int, text string) string { return fmt.Sprintf("R$n0(E$n0(%d,4),%s)", n, text) }
	wait := func(text string) string { return "r$n0(d$n0,await s$n0(d$n0," + text + "))" }
	for src, c := range map[string]struct{ want, names string }{
		"function slow(){a(1);own();o.own()}function own(){}": {call(2, "a(1)") + ";own();o.own()", "a()"},
		"function slow(){a(b(c))}":                            {call(1, "a("+call(2, "b(c)")+")"), "a() b()"},
		"function slow(){new A;new B.C(1).d()}": {
			call(3, "new A") + ";" + call(1, call(2, "new B.C(1)")+".d()"), "(call).d() new B.C() new A()"},
		"function slow(){a?.b();a?.b().c;a[b](c);(0,d)()}": {
			call(3, "a?.b()") + ";a?.b().c;" + call(2, "a[b](c)") + ";" + call(1, "(0,d)()"), "(call) (call) a.b()"},
		"async function slow(){a(await b());await c()}": {
			"a(" + wait(call(2, "b()")) + ");" + wait(call(1, "c()")), "c() b()"},
		"function slow(x=a()){eval(x);import(x);b`c`;d(()=>e())}": {
			"(x=a()){let d$n0=E$n0(1,1);eval(x);import(x);b`c`;R$n0(E$n0(2,4),d(()=>{let d$n0=", "d()"},
		"class A extends B{constructor(){super();super.a();this.#b()}#b(){}}": {
			"super();" + call(2, "super.a()") + ";this.#b()", "super.a()"},
		"function slow(){return a()\n(b)}": {
			"return R$n0(d$n0," + call(1, call(2, "a()")+"\n(b)") + ")", "(call) a()"},
		"function slow(){for(a.b of c());f()++}": {"for(a.b of " + call(1, "c()") + ");f()++", "c()"},
		"function slow(){new class{x=a();y(){b()}}}": {
			"R$n0(E$n0(2,4),new class{x=a();y(){let d$n0=G$n0[0]", "new (call)"},
		"function fast(){a()}": {"a()", ""},
	} {
		r, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Nonce: nonce, Shape: instrument.Time,
			Gate: func(start uint32) instrument.Gate {
				if of := src[start:]; strings.HasPrefix(of, "function slow") || strings.HasPrefix(of, "async") ||
					strings.HasPrefix(of, "(){super") {
					return instrument.Slow
				}
				return instrument.Fast
			}})
		if err == nil {
			err = r.Verify(src, ecma.Script)
		}
		if err != nil || !strings.Contains(r.Text, c.want) {
			t.Errorf("%s: %v\n got %s\nwant %s", src, err, r.Text, c.want)
		}
		var got []string
		for _, f := range r.Functions {
			if f.Name != "" {
				got = append(got, f.Name)
			}
			if (f.Caller > 0) != (f.Name != "") && f.Caller > 0 {
				t.Errorf("%s: %+v", src, f)
			}
		}
		if strings.Join(got, " ") != c.names {
			t.Errorf("%s: calls %q, want %s", src, got, c.names)
		}
	}
}

// TestFunctions: numbers begin with First and name functions in the order of their ends.
func TestFunctions(t *testing.T) {
	const src = "function é(){return ()=>1}class A{m(){}}"
	r, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Nonce: nonce, First: 40})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Functions {
		got = append(got, src[f.Start:f.End])
	}
	if want := []string{"()=>1", "function é(){return ()=>1}", "(){}"}; !reflect.DeepEqual(got, want) {
		t.Errorf("functions are %q, want %q", got, want)
	}
	if want := "function é(){E$n0(41);return ()=>(E$n0(40),1)}class A{m(){E$n0(42);}}"; r.Text != want {
		t.Errorf("got %s, want %s", r.Text, want)
	}
}

// TestUnchanged: a program that cannot be instrumented is returned as it was.
func TestUnchanged(t *testing.T) {
	dense := strings.Repeat("x=>x,", 1<<20) + "1"
	for _, c := range []struct{ name, src, nonce, want string }{
		{"syntax", "function f( {", nonce, "1:14: unexpected end"},
		{"JSON", `{"a": 1}`, nonce, "1:5: unexpected :"},
		{"UTF-8", "'\xff'", nonce, "1:2: invalid UTF-8"},
		{"nonce in the program", "let a$n0b", nonce, `nonce "$n0": the program contains it`},
		{"nonce with a line break", "1", "a\n", `nonce "a\n": must consist of ASCII letters, digits, $ and _`},
		{"nonce beyond ASCII", "1", "aé", `nonce "aé": must consist of ASCII letters, digits, $ and _`},
		{"short nonce", "1", "$", `nonce "$": must have 2 to 32 characters`},
		{"too many insertions", dense, "$long_long_long_long_nonce", "exceed 8 times the program"},
	} {
		r, err := instrument.Rewrite(c.src, ecma.Script, instrument.Plan{Shape: instrument.Time, Nonce: c.nonce})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
		if r.Text != c.src || r.Insertions != nil {
			t.Errorf("%s: the program is changed", c.name)
		}
	}
}

// TestVerifyCatches: Verify rejects results that break a law.
func TestVerifyCatches(t *testing.T) {
	const src = "f = x => x; g = () => 1"
	rewrite := func() instrument.Result {
		r, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Nonce: nonce})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, spoil := range map[string]func(*instrument.Result){
		"changed text":      func(r *instrument.Result) { r.Text = strings.Replace(r.Text, "f =", "g =", 1) },
		"changed end":       func(r *instrument.Result) { r.Text += " " },
		"line break":        func(r *instrument.Result) { r.Text = strings.Replace(r.Text, "(E", "\nE", 1) },
		"missing insertion": func(r *instrument.Result) { r.Insertions = r.Insertions[1:] },
		"swapped":           func(r *instrument.Result) { slices.Reverse(r.Insertions) },
		"beyond the end":    func(r *instrument.Result) { r.Insertions[3].Length = 1 << 31 },
		"syntax":            func(r *instrument.Result) { r.Text = strings.Replace(r.Text, "(E", "((", 1) },
	} {
		r := rewrite()
		if spoil(&r); r.Verify(src, ecma.Script) == nil {
			t.Errorf("%s: Verify accepts %s", name, r.Text)
		}
	}
	// The inserted parentheses make the next line an argument.
	merged := instrument.Result{Text: "f = () => (() => {})\n(1)", Insertions: []instrument.Insertion{{10, 1}, {19, 1}}}
	if err := merged.Verify("f = () => () => {}\n(1)", ecma.Script); err == nil ||
		err.Error() != "the code at offset 20 changed its structure" {
		t.Errorf("a call of the next line: %v", err)
	}
	if r := rewrite(); r.Verify(src, ecma.Script) != nil {
		t.Error("Verify rejects the result itself")
	}
}

func TestNonce(t *testing.T) {
	if a, b := instrument.Nonce("a"), instrument.Nonce("b"); a == b || a != instrument.Nonce("a") {
		t.Errorf("nonces are %s and %s", a, b)
	}
	src := "x"
	for range 2000 { // more than there are short ones
		n := instrument.Nonce(src)
		if strings.Contains(src, n) || len(n) < 2 || len(n) > 32 {
			t.Fatalf("nonce %q", n)
		}
		src += n
	}
}

// soak takes whole corpora, of which other tests take a part.
var soak = os.Getenv("EIDETICKER_SOAK") != ""

// programFiles returns libraries, the valid ones of test262-parser-tests and more, with their
// goals.
func programFiles(t testing.TB, more ...string) iter.Seq2[string, ecma.Goal] {
	t.Helper()
	tests, err := filepath.Glob(fromNPM + "test262-parser-tests/pass/*.js")
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, ecma.Goal) bool) {
		for _, path := range slices.Concat([]string{fromNPM + "acorn/dist/acorn.mjs", fromNPM + "jquery/dist/jquery.js",
			fromNPM + "jquery/dist/jquery.min.js", fromNPM + "lodash/lodash.js", fromNPM + "lodash/lodash.min.js"},
			more, tests) {
			goal := ecma.Script
			if strings.HasSuffix(path, ".module.js") || strings.HasSuffix(path, ".mjs") {
				goal = ecma.Module
			}
			if !yield(path, goal) {
				return
			}
		}
	}
}

// inPart returns whether a test takes a program that is dear to it: each library, and one in four
// of test262-parser-tests. make soak takes all.
func inPart() func(path string) bool {
	i := 0
	return func(path string) bool {
		i++
		return soak || i%4 == 0 || !strings.Contains(path, "test262")
	}
}

// TestPrograms verifies rewritten programs: libraries and the valid ones of test262-parser-tests.
// Node must compile a part of them, if it compiles the plain ones.
func TestPrograms(t *testing.T) {
	var runs []run
	compiles := inPart()
	for path, goal := range programFiles(t, typescript) {
		src := fromFile(t, path)
		of := []run{{Text: src, Module: goal == ecma.Module}}
		for name, shape := range shapes {
			plan := planOf(shape, instrument.Nonce(src))
			plan.Page = plan.Page && !(strings.Contains(src, "\v") && strings.Contains(src, "\f")) // no mark is left
			r, err := instrument.Rewrite(src, goal, plan)
			of = append(of, run{Text: r.Text, Module: goal == ecma.Module})
			if err == nil {
				err = r.Verify(src, goal)
			}
			if err != nil {
				t.Errorf("%s %s: %v", name, path, err)
			}
		}
		if compiles(path) {
			runs = append(runs, of...)
		}
	}
	compiled, problems := 0, inNode[string](t, "compile.mjs", runs)
	for i, problem := range problems {
		if problem == "" {
			compiled++
		} else if plain := i - i%3; problems[plain] == "" {
			t.Errorf("%s\n%.300s\n%.300s", problem, runs[plain].Text, runs[i].Text)
		}
	}
	if compiled < len(runs)*9/10 {
		t.Errorf("only %d of %d programs compile", compiled, len(runs))
	}
}

// TestProgramsRun runs jobs of libraries, plain and rewritten. Both must return the same. That of
// TypeScript, with 9 MB, runs in make soak. TestPrograms verifies and compiles it.
func TestProgramsRun(t *testing.T) {
	code := testRuntime(t)
	input, err := json.Marshal(fromFile(t, fromNPM+"react/cjs/react.development.js"))
	if err != nil {
		t.Fatal(err)
	}
	var runs []run
	for _, job := range []struct{ path, code string }{
		{fromNPM + "acorn/dist/acorn.js",
			"JSON.stringify(acorn.parse(input, {ecmaVersion: 'latest', locations: true}))"},
		{fromNPM + "lodash/lodash.min.js", `const words = _.words(input);
			const list = _.template('<% for (const a of b) { %>-<%= a %><% } %>')({b: _.uniq(words).slice(0, 99)});
			JSON.stringify([_.chunk(_.sortBy(_.toPairs(_.countBy(words)), [1, 0]), 7), list,
				_.cloneDeep(_.groupBy(words, 'length')), _.merge({}, _.mapValues(_.keyBy(words), _.camelCase))])`},
		{typescript, `const compilerOptions = {target: 'ES5', module: 'CommonJS'};
			ts.transpileModule(input.slice(0, 40000), {compilerOptions}).outputText`},
	} {
		if job.path == typescript && !soak {
			continue
		}
		src := fromFile(t, job.path)
		add := func(text string) {
			runs = append(runs, run{text + "\n;var input = " + string(input) + ";\n" + job.code, false,
				code, nonce})
		}
		add(src)
		for _, shape := range shapes {
			r, err := instrument.Rewrite(src, ecma.Script, planOf(shape, nonce))
			if err != nil {
				t.Fatal(err)
			}
			add(r.Text)
		}
	}
	results := inNode[ran](t, "run.mjs", runs)
	for i := 0; i < len(results); i += 3 {
		plain := results[i].behaviour
		if len(plain.End) < 1000 || !strings.HasPrefix(plain.End, "value ") {
			t.Errorf("the plain job %d ends with %.200s", i/3, plain.End)
		}
		for _, r := range results[i+1 : i+3] {
			if !reflect.DeepEqual(r.behaviour, plain) || len(r.Problems) > 0 || len(r.Calls) < 100 {
				t.Errorf("job %d ends with %.200s instead of %.200s; %d functions were called, problems %.5v",
					i/3, r.End, plain.End, len(r.Calls), r.Problems)
			}
		}
	}
}

// TestMemory: what parsing and rewriting allocate in all is at most 40 times the text.
func TestMemory(t *testing.T) {
	const size = 1 << 20
	for _, part := range []string{"function f(a){return a+1}\n", "x=>x+y+z,", "async function f(){await a;await b}",
		"a;",
		"f(()=>{a.b(c)});", "function f(){try{a}catch{b}finally{c}}", "function*f(){yield a;yield b}"} {
		src := strings.Repeat(part, size/len(part)) + "a"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Shape: instrument.Time, Nonce: nonce})
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) / size; used > 40 || err != nil {
			t.Errorf("%q takes %d times the text, error %v", part, used, err)
		}
	}
}

func FuzzRewrite(f *testing.F) {
	for _, c := range trapsAndPoints(f) {
		f.Add(c.src, c.goal == ecma.Module, true)
		f.Add(c.src, c.goal == ecma.Module, false)
	}
	f.Add("function*g(){0+yield}", false, true)
	every, _ := everything()
	f.Fuzz(func(t *testing.T, src string, module, time bool) {
		goal, plan := ecma.Script, instrument.Plan{Nonce: instrument.Nonce(src)}
		if module {
			goal = ecma.Module
		}
		if time {
			plan.Shape, plan.Page = instrument.Time, true
		}
		r, err := instrument.Rewrite(src, goal, plan)
		if err != nil {
			if r.Text != src {
				t.Errorf("the program is changed: %v", err)
			}
			return
		}
		if err := r.Verify(src, goal); err != nil {
			t.Errorf("%v\n%s", err, r.Text)
		}
		plan.Policies = every
		if r, err = instrument.Rewrite(src, goal, plan); err != nil {
			return // it has too many insertions
		}
		if err := r.Verify(src, goal); err != nil {
			t.Errorf("with points: %v\n%s", err, r.Text)
		}
	})
}

func BenchmarkRewrite(b *testing.B) {
	for _, path := range []string{typescript, fromNPM + "lodash/lodash.min.js"} {
		src := fromFile(b, path)
		for name, shape := range shapes {
			b.Run(filepath.Base(path)+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				ratio := 0.0
				for b.Loop() {
					r, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Shape: shape, Nonce: nonce})
					if err != nil {
						b.Fatal(err)
					}
					ratio = float64(len(r.Text)) / float64(len(src))
				}
				b.ReportMetric(ratio, "bytes/byte")
			})
		}
	}
}

// BenchmarkBesideAcorn parses typescript.js in turns with acorn, which does not rewrite it.
func BenchmarkBesideAcorn(b *testing.B) {
	src := fromFile(b, typescript)
	const script = `import {parse} from './` + fromNPM + `acorn/dist/acorn.mjs'; import {readFileSync} from 'node:fs';
		const text = readFileSync('` + typescript + `', 'utf8'); let best = Infinity;
		for (let i = 0; i < 3; i++) {
			const begin = performance.now();
			parse(text, {ecmaVersion: 'latest'});
			best = Math.min(best, performance.now() - begin);
		}
		console.log(text.length / 1e3 / best)`
	b.SetBytes(int64(len(src)))
	var acorn float64
	for b.Loop() {
		b.StopTimer()
		out, err := exec.Command("node", "--input-type=module", "-e", script).Output()
		if err == nil {
			err = json.Unmarshal(out, &acorn)
		}
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		_, err = instrument.Rewrite(src, ecma.Script, instrument.Plan{Shape: instrument.Time, Nonce: nonce})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(acorn, "acorn-MB/s")
}
