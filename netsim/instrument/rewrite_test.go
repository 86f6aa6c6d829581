package instrument_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

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
			"function f(){let d$n0=E$n0(0);try{}catch{K$n0(d$n0);}finally{let x$n0=F$n0(d$n0);;C$n0(x$n0)};R$n0(d$n0)}",
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

// TestPrograms verifies rewritten programs: libraries and the valid ones of test262-parser-tests.
// Node must compile them if it compiles the plain ones.
func TestPrograms(t *testing.T) {
	paths := []string{fromNPM + "acorn/dist/acorn.mjs", fromNPM + "jquery/dist/jquery.js",
		fromNPM + "jquery/dist/jquery.min.js", fromNPM + "lodash/lodash.js", fromNPM + "lodash/lodash.min.js",
		typescript}
	tests, err := filepath.Glob(fromNPM + "test262-parser-tests/pass/*.js")
	if err != nil {
		t.Fatal(err)
	}
	var runs []run
	for _, path := range append(paths, tests...) {
		src, goal := fromFile(t, path), ecma.Script
		if strings.HasSuffix(path, ".module.js") || strings.HasSuffix(path, ".mjs") {
			goal = ecma.Module
		}
		runs = append(runs, run{Text: src, Module: goal == ecma.Module})
		for name, shape := range shapes {
			r, err := instrument.Rewrite(src, goal, instrument.Plan{Shape: shape, Nonce: instrument.Nonce(src)})
			runs = append(runs, run{Text: r.Text, Module: goal == ecma.Module})
			if err == nil {
				err = r.Verify(src, goal)
			}
			if err != nil {
				t.Errorf("%s %s: %v", name, path, err)
			}
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

// TestProgramsRun runs jobs of libraries, plain and rewritten. Both must return the same.
func TestProgramsRun(t *testing.T) {
	code := testRuntime(t)
	input, err := json.Marshal(fromFile(t, fromNPM+"jquery/dist/jquery.js"))
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
		src := fromFile(t, job.path)
		add := func(text string) {
			runs = append(runs, run{text + "\n;var input = " + string(input) + ";\n" + job.code, false,
				code, nonce})
		}
		add(src)
		for _, shape := range shapes {
			r, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Shape: shape, Nonce: nonce})
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
	for _, c := range traps(f) {
		f.Add(c.src, c.goal == ecma.Module, true)
		f.Add(c.src, c.goal == ecma.Module, false)
	}
	f.Fuzz(func(t *testing.T, src string, module, time bool) {
		goal, plan := ecma.Script, instrument.Plan{Nonce: instrument.Nonce(src)}
		if module {
			goal = ecma.Module
		}
		if time {
			plan.Shape = instrument.Time
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
