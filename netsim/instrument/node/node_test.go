package node_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/trace/lines"
	"github.com/eideticker/eideticker/analyze/trace/profile"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/netsim/instrument/node"
)

// soak runs each program with each version of Node.
var soak = os.Getenv("EIDETICKER_SOAK") != ""

// forNode runs a test with Node 18 and with Node 22.
func forNode(t *testing.T, test func(t *testing.T, program string)) {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	for _, version := range []string{"node18", "node22"} {
		t.Run(version, func(t *testing.T) {
			program, err := filepath.Abs("testdata/node_modules/" + version + "-linux-" + arch + "/bin/node")
			if err == nil {
				_, err = os.Stat(program)
			}
			switch {
			case err == nil:
				test(t, program)
			case os.Getenv("CI") == "true":
				t.Fatalf("%v: make webui", err)
			default:
				t.Skipf("%v: make webui", err)
			}
		})
	}
}

// traced is a program that has ended.
type traced struct {
	out, text string
	code      int
	run       *scripts.Run
	plain     map[string]string // reasons by file
}

// command starts a program in a folder, and returns a function that waits for its end.
func command(t *testing.T, o node.Options, dir string, prepare func(*exec.Cmd), args ...string) traced {
	t.Helper()
	tracer, err := node.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tracer.Close(); err != nil {
			t.Error(err)
		}
	}()
	cmd := exec.Command(args[0], args[1:]...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if prepare != nil {
		prepare(cmd)
	}
	if err := tracer.Run(cmd); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	result := traced{out: out.String(), code: node.ExitCode(cmd.ProcessState), plain: map[string]string{}}
	logs, err := tracer.Logs()
	if err != nil {
		t.Fatal(err)
	}
	var arrived []trace.Arrived
	for _, path := range logs {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		all, err := scripts.ReadLog(f, tracer.Start)
		if f.Close(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		arrived = append(arrived, all...)
	}
	info := &scripts.Info{StartNS: int64(tracer.Start), Programs: session.Programs(tracer.Programs())}
	for _, p := range info.Programs {
		if p.Plain != "" {
			result.plain[filepath.Base(p.URL)] = p.Plain
		}
	}
	result.run = scripts.New(info, arrived)
	result.run.Trace.Realms = slices.DeleteFunc(result.run.Trace.Realms,
		func(r *trace.Realm) bool { return len(r.Calls) == 0 })
	for _, p := range result.run.Trace.Problems {
		t.Error(p)
	}
	var text bytes.Buffer
	names := func(number uint32) profile.Function {
		p, f := result.run.Function(number)
		if f == nil {
			t.Errorf("function %d is unknown", number)
			return profile.Function{}
		}
		return profile.Function{Name: f.Name, URL: filepath.Base(p.URL), Line: f.Line,
			Column: f.Column, Generator: f.Generator}
	}
	if err := lines.Write(&text, result.run.Trace, names, lines.Text); err != nil {
		t.Fatal(err)
	}
	result.text = text.String()
	result.check(t)
	return result
}

var record = regexp.MustCompile(
	`^TRACER (FNI|FNR|CBI|CBR) \d+\.\d\dms \d+  ( *)(\S+)( throw| await| yield| open| resume)?$`)

// check checks the form of the text. Calls and callbacks are nested, and each has an end.
func (r traced) check(t *testing.T) {
	t.Helper()
	var stack, callbacks []string
	for line := range strings.Lines(r.text) {
		m := record.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case m == nil:
			if !regexp.MustCompile(`^TRACER (OVERHEAD \d+\.\d{5}ms per timing|LOG \d+\.\d\dms .*|EV LAG \d+ms|` +
				`GAP \d+\.\d\dms \d+ records: [a-z ]+|TOTAL OVERHEAD \d+\.\d\dms|` +
				`TOTAL \d+\.\d\dms \d+\.\d\dms \d+\.\d\dms \d+ \S+( \(\d+ open\))?)\n$`).MatchString(line) {
				t.Fatalf("line %q", line)
			}
		case m[1] == "FNI":
			if len(m[2]) != min(len(stack), 100) {
				t.Fatalf("%d blanks at depth %d: %s", len(m[2]), len(stack), line)
			}
			stack = append(stack, m[3])
		case m[1] == "FNR":
			if len(stack) == 0 || stack[len(stack)-1] != m[3] {
				t.Fatalf("%swithin %q", line, stack)
			}
			stack = stack[:len(stack)-1]
		case m[1] == "CBI":
			callbacks = append(callbacks, m[3])
		case m[1] == "CBR":
			if len(callbacks) == 0 || callbacks[len(callbacks)-1] != m[3] {
				t.Fatalf("%swithin %q", line, callbacks)
			}
			callbacks = callbacks[:len(callbacks)-1]
		}
	}
	if len(stack) > 0 {
		t.Fatalf("calls without an end: %q", stack)
	}
	for _, of := range r.run.Trace.Totals() {
		if of.Min.Value > of.Mean.Value || of.Mean.Value > of.Max.Value || of.Lasted[0] > of.Lasted[1] ||
			of.Lasted[1] > of.Lasted[2] || of.Lasted[0] < 0 {
			t.Errorf("min, mean and max: %+v", of)
		}
	}
}

// calls returns the number of calls by the functions' names.
func (r traced) calls() map[string]int {
	all := map[string]int{}
	for _, of := range r.run.Trace.Totals() {
		if _, f := r.run.Function(of.Function); f != nil {
			all[f.Name] += int(of.Calls)
		}
	}
	return all
}

// write writes the files of a program.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestProgram: a program of all kinds of functions runs as without the tracer. Its own counters are
// those of the totals.
func TestProgram(t *testing.T) {
	forNode(t, func(t *testing.T, program string) {
		plain, err := exec.Command(program, "testdata/app/main.js").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, plain)
		}
		got := command(t, node.Options{Callbacks: true}, "", nil, program, "testdata/app/main.js")
		if got.out != string(plain) || got.code != 0 || len(got.plain) > 0 {
			t.Errorf("exit code %d, plain %q: %s\nwithout the tracer: %s", got.code, got.plain, got.out, plain)
		}
		var counted map[string]int
		if err := json.Unmarshal(plain, &counted); err != nil {
			t.Fatal(err)
		}
		calls := got.calls()
		for name, n := range counted {
			if name[0] != '#' && calls[name] != n { // else a place within a function
				t.Errorf("%s: %d calls, counted %d", name, calls[name], n)
			}
		}
		for _, want := range []string{
			`(?m)^TRACER FNR .* {3}main.js.thrower throw$`, `(?m)main.js.numbers yield$`, `(?m)main.js.wait await$`,
			// The timer that find planned calls done. The total of find lasts until then.
			`(?m)^TRACER CBI .*main.js.find\nTRACER FNI .*main.js.\(anonymous\):9:47\n(.*\n)*?` +
				`TRACER CBR .*main.js.find$`,
			`(?m)^TRACER TOTAL [1-9]\d+\.\d\dms \S+ \S+ 1 main.js.find$`,
			`(?m)^TRACER CBI .*\nTRACER FNI .*  main.js.reaction\n`,
			`(?m)^TRACER FNI \S+ [1-9]\d{5,}  main.js$`, `(?m)^TRACER FNI .* {90}main.js.deep$`,
		} {
			if !regexp.MustCompile(want).MatchString(got.text) {
				t.Errorf("no match of %s", want)
			}
		}
		if t.Failed() {
			t.Logf("%.6000s", regexp.MustCompile(`(?m)^.*deep.*\n`).ReplaceAllString(got.text, ""))
		}
	})
}

// TestKinds: entry points, threads, child processes and damaged files behave as without the tracer.
// Versions of Node differ in how they load modules, start threads and report errors. Programs
// without these run with one version, and in make soak with both.
func TestKinds(t *testing.T) {
	dir := write(t, map[string]string{
		"strict.js": `#!/usr/bin/env node
'use strict';
function f() { return this === undefined; }
console.log(f(), String(f), String((function* () { yield 1; })), Function.prototype.toString.toString());
return;
`,
		"empty.js": "#!/usr/bin/env node",
		"eval.js": "function f(x) { return eval('x + 1') }\n" +
			"console.log(f(1), (0, eval)('2'), Function('return 3')());\n",
		"stack.js": `#!/usr/bin/env node
const f = () => { throw new Error('x'); };
try { f(); } catch (e) { console.log(e.stack.split('\n')[1].replace(/.*stack.js:(\d+).*/, '$1')); }
function g() { return 1 } console.log(g());
`,
		"module.mjs": `import {named} from './named.cjs';
import fs, {readFileSync} from 'node:fs';
const f = async () => named();
console.log(await f(), import.meta.url.endsWith('module.mjs'), fs.readFileSync === readFileSync);
export {f as default};
`,
		"named.cjs": `
Object.defineProperty(exports, 'named', { enumerable: true, get: function () { return q.p; } });
var q = {p: function p() { return 7; }};
`,
		"bad.js":   "function f() {\n  return 1 +;\n}\n",
		"one.js":   "f() +;\n",
		"bad.mjs":  "export const a = ;\n",
		"throw.js": "function f() { null.x; }\nf();\n",
		"exit.js": `
function f() { process.exit(3); }
process.on('exit', function last() { console.log('last'); });
f();
`,
		"thread.js": `
const {Worker, isMainThread} = require('worker_threads');
function inThread() { console.log('in'); }
if (isMainThread) new Worker(__filename).on('exit', code => console.log('out', code));
else inThread();
`,
		"child.js": `
const {fork} = require('child_process');
function inChild() { console.log('in'); }
if (process.argv[2]) inChild();
else fork(__filename, ['x']).on('exit', code => console.log('out', code));
`,
		"async.js": `
async function f(n) { if (n) await f(n - 1); }
f(20).then(() => console.log('done'));
async function *g() { yield 1; try { yield await 2; } finally { await 3; } }
(async function all() { for await (const x of g()) console.log(x); })();
`,
		"deep.js": `
exports.f = n => n ? 1 + exports.f(n - 1) : 0;
const forever = () => forever();
console.log(exports.f(4000));
try { forever(); } catch (e) { console.log(e instanceof RangeError); }
`,
		"node_modules/lib/index.js": "exports.lib = function lib() {};\n",
		"uses.js":                   "require('lib').lib();\nfunction own() {}\nown();\n",
		"a\"b\"é.js":                "function f() {}\nf();\n",
	})
	type want struct {
		calls map[string]int // 0: not traced
		code  int
		plain string // reason of the file
		text  string // regular expression
		one   string // the version of Node that suffices
	}
	forNode(t, func(t *testing.T, program string) {
		for name, w := range map[string]want{
			"strict.js": {calls: map[string]int{"f": 1, "(module)": 1}, one: "18"}, "empty.js": {one: "22"},
			"stack.js":   {calls: map[string]int{"f": 1, "g": 1}, one: "22"},
			"eval.js":    {calls: map[string]int{"f": 1}, one: "18"},
			"module.mjs": {calls: map[string]int{"f": 1, "p": 1}},
			"bad.js":     {code: 1, plain: "2:13: unexpected ;", one: "22"},
			"bad.mjs":    {code: 1, plain: "1:18: unexpected ;"},
			"one.js":     {code: 1, plain: "1:6: unexpected ;", one: "18"},
			"throw.js":   {calls: map[string]int{"f": 1}, code: 1, text: `throw.js.f (throw|open)\n`},
			"exit.js": {calls: map[string]int{"f": 1, "last": 1}, code: 3, text: `TOTAL .* 1 exit.js.f \(1 open\)`,
				one: "22"},
			"thread.js": {calls: map[string]int{"inThread": 1, "(module)": 2}},
			"child.js":  {calls: map[string]int{"inChild": 1, "(module)": 2}},
			"async.js": {calls: map[string]int{"f": 21, "g": 1, "all": 1}, text: `FNR .*async.js.f await\n`,
				one: "18"},
			"deep.js":    {calls: map[string]int{"exports.f": 4001}},
			"uses.js":    {calls: map[string]int{"lib": 1, "own": 1}, one: "22"},
			"a\"b\"é.js": {calls: map[string]int{"f": 1}, one: "18"},
		} {
			if w.one != "" && !strings.Contains(program, "node"+w.one+"-") && !soak {
				continue
			}
			t.Run(name, func(t *testing.T) {
				cmd := exec.Command(program, name)
				cmd.Dir = dir
				plain, _ := cmd.CombinedOutput()
				got := command(t, node.Options{Callbacks: true}, dir, nil, program, name)
				if got.code != w.code || got.code != cmd.ProcessState.ExitCode() {
					t.Errorf("exit code %d, plain %d", got.code, cmd.ProcessState.ExitCode())
				}
				if w.code == 0 && got.out != string(plain) {
					t.Errorf("output %s\nplain: %s", got.out, plain)
				}
				if !strings.Contains(got.plain[name], w.plain) || w.plain == "" && len(got.plain) > 0 {
					t.Errorf("not traced: %q", got.plain)
				}
				calls := got.calls()
				for f, n := range w.calls {
					if calls[f] != n {
						t.Errorf("%s: %d calls, want %d", f, calls[f], n)
					}
				}
				if !regexp.MustCompile(w.text).MatchString(got.text) {
					t.Errorf("no match of %s: %.2000s", w.text, got.text)
				}
			})
		}
		got := command(t, node.Options{Only: filepath.Join(dir, "node_modules")}, dir, nil, program, "uses.js")
		if calls := got.calls(); calls["lib"] != 1 || calls["own"] != 0 || strings.Contains(got.text, "CBI") {
			t.Errorf("only node_modules: %v", calls)
		}
	})
}

// TestSwitch: a program starts and stops the recording, also within a call and twice.
func TestSwitch(t *testing.T) {
	dir := write(t, map[string]string{"app.js": `
const tracer = require(process.argv[2]);
function inside(n) { if (n === 2) tracer.stop(); if (n > 0) inside(n - 1); if (n === 3) tracer.start(); }
function before() {} function after() {} function never() {}
before(); tracer.log('the label\n'); inside(5); tracer.start(); tracer.start(); after();
tracer.stop(); tracer.stop(); never(); tracer.log('never');
setTimeout(() => { tracer.stop(); never(); tracer.start(); after(); }, 1);
`})
	file, err := filepath.Abs("tracer.js")
	if err != nil {
		t.Fatal(err)
	}
	forNode(t, func(t *testing.T, program string) {
		for _, stopped := range []bool{false, true} {
			got := command(t, node.Options{Stopped: stopped, Callbacks: true}, dir, nil, program, "app.js", file)
			want := map[string]int{"before": 1, "after": 2, "never": 0, "inside": 4}
			if stopped {
				want["before"], want["inside"] = 0, 0
			}
			calls := got.calls()
			for name, n := range want {
				if calls[name] != n {
					t.Errorf("stopped %t: %s has %d calls, want %d", stopped, name, calls[name], n)
				}
			}
			if strings.Contains(got.text, "the label") == stopped || strings.Contains(got.text, "LOG 0 never") ||
				!strings.Contains(got.text, "records: switched off") {
				t.Errorf("stopped %t: %s", stopped, got.text)
			}
			if !stopped && !regexp.MustCompile(`TOTAL .* 4 app.js.inside \([1-4] open\)`).MatchString(got.text) {
				t.Errorf("calls that were stopped: %s", got.text)
			}
		}
	})
}

// reaction calls a function for each line that a program prints.
type reaction struct {
	line []byte
	to   func(line string)
}

func (r *reaction) Write(b []byte) (int, error) {
	for _, c := range b {
		if r.line = append(r.line, c); c == '\n' {
			r.to(strings.TrimSuffix(string(r.line), "\n"))
			r.line = nil
		}
	}
	return len(b), nil
}

// TestSignals: SIGUSR2 switches. Ctrl-C ends the program as without the tracer, and loses nothing.
func TestSignals(t *testing.T) {
	dir := write(t, map[string]string{"app.js": `
function first() {} function switched() {} function last() {}
first();
process.on('SIGUSR2', () => { switched(); console.log('switched'); });
process.on('SIGUSR1', () => { last(); setTimeout(() => console.log('last'), 1); });
setTimeout(() => console.log('ready'), 1);
setInterval(() => {}, 1e6);
`})
	forNode(t, func(t *testing.T, program string) {
		signals := []struct {
			line string
			syscall.Signal
		}{{"ready", syscall.SIGUSR2}, {"switched", syscall.SIGUSR2}, {"switched", syscall.SIGUSR1},
			{"last", syscall.SIGINT}}
		got := command(t, node.Options{Signal: "SIGUSR2"}, dir, func(cmd *exec.Cmd) {
			cmd.Stdout = &reaction{to: func(line string) {
				if len(signals) == 0 || line != signals[0].line {
					t.Errorf("line %q, want %v", line, signals)
					_ = cmd.Process.Kill()
					return
				}
				_ = cmd.Process.Signal(signals[0].Signal)
				signals = signals[1:]
			}}
		}, program, "app.js")
		calls := got.calls()
		if got.code != 130 || calls["first"] != 1 || calls["switched"] != 1 || calls["last"] != 1 {
			t.Errorf("exit code %d, calls %v:\n%s", got.code, calls, got.text)
		}
	})
}

// TestHang: the calls of a program that hangs and is killed are kept.
func TestHang(t *testing.T) {
	dir := write(t, map[string]string{"app.js": `
const {readdirSync, statSync} = require('fs'), folder = /"(.*)preload/.exec(process.env.NODE_OPTIONS)[1];
function size() {
  for (const name of readdirSync(folder)) if (/watch.log$/.test(name)) return statSync(folder + name).size;
  return 0;
}
function before() {}
function hangs() {
  for (const begin = size(); size() <= begin;);
  process.kill(process.pid, 'SIGKILL');
}
setTimeout(function late() { before(); hangs(); }, 1);
`})
	forNode(t, func(t *testing.T, program string) {
		got := command(t, node.Options{}, dir, nil, program, "app.js")
		if calls := got.calls(); got.code != 137 || calls["before"] != 1 || calls["hangs"] != 1 || calls["late"] != 1 ||
			!strings.Contains(got.text, " 1 app.js.hangs (1 open)\n") {
			t.Errorf("exit code %d: %s", got.code, got.text)
		}
	})
}

// TestForwarding: signals of this process reach the program, which ends regularly.
func TestForwarding(t *testing.T) {
	dir := write(t, map[string]string{"app.js": `
process.on('SIGTERM', function ended() { console.log('ended'); process.exit(5); });
setTimeout(() => console.log('ready'), 1);
setInterval(() => {}, 1e6);
`})
	forNode(t, func(t *testing.T, program string) {
		got := command(t, node.Options{}, dir, func(cmd *exec.Cmd) {
			cmd.Stdout = &reaction{to: func(line string) {
				if line == "ready" {
					_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
				}
			}}
		}, program, "app.js")
		if got.code != 5 || got.calls()["ended"] != 1 {
			t.Errorf("exit code %d: %s", got.code, got.text)
		}
	})
}

// randomProgram returns the files of a program that calls random functions and counts the calls.
func randomProgram(random *rand.Rand) map[string]string {
	const functions = 14
	statements := func(async bool) string {
		var b strings.Builder
		for range 1 + random.IntN(4) {
			n, m := random.IntN(functions), random.IntN(functions)
			all := []string{
				fmt.Sprintf("call(%d);", n),
				fmt.Sprintf("try { call(%d); if (random() < 0.3) throw 1; call(%d); } catch { call(%[1]d); }", n, m),
				fmt.Sprintf("try { call(%d); } finally { call(%d); }", n, m),
				fmt.Sprintf("setTimeout(() => { try { call(%d); } catch {} }, 1);", n),
				fmt.Sprintf("Promise.resolve().then(() => call(%d)).catch(() => call(%d)).catch(() => 0);", n, m),
				fmt.Sprintf("if (random() < 0.2) throw %d;", n),
				fmt.Sprintf("[1, 2].forEach(() => call(%d));", n),
				"if (random() < 0.3) return;",
			}
			if async {
				all = append(all, fmt.Sprintf("await call(%d);", n),
					fmt.Sprintf("try { await call(%d); } finally { await 0; }", n))
			}
			b.WriteString(all[random.IntN(len(all))])
		}
		return b.String()
	}
	files := [2]string{"'use strict'; const {count, call, random, F} = require('./common.js');\n",
		"import common from './common.js';\nconst {count, call, random, F} = common;\n"}
	for i := range functions {
		name := fmt.Sprintf("f%d", i)
		counted := fmt.Sprintf("count('%s');", name)
		sync, async := counted+statements(false), counted+statements(true)
		const some = "if (random() < 0.3) break;"
		forms := []string{
			fmt.Sprintf("F[%d] = function %s() { %s };", i, name, sync),
			fmt.Sprintf("const %[2]s = () => { %[3]s }; F[%[1]d] = %[2]s;", i, name, sync),
			fmt.Sprintf("const %[2]s = () => %[3]s; F[%[1]d] = %[2]s;", i, name, strings.TrimSuffix(counted, ";")),
			fmt.Sprintf("F[%d] = {%s() { %s }}.%[2]s;", i, name, sync),
			fmt.Sprintf("async function %[2]s() { %[3]s } F[%[1]d] = %[2]s;", i, name, async),
			fmt.Sprintf("const %[2]s = async () => { %[3]s }; F[%[1]d] = %[2]s;", i, name, async),
			fmt.Sprintf("function *%[2]s() { %[3]s yield 1; %[4]s }\n"+
				"F[%[1]d] = () => { for (const x of %[2]s()) %[5]s };", i, name, sync, statements(false), some),
			fmt.Sprintf("async function *%[2]s() { %[3]s yield 1; yield await 2; %[4]s }\n"+
				"F[%[1]d] = async () => { for await (const x of %[2]s()) %[5]s };", i, name, async,
				statements(true), some),
			fmt.Sprintf("F[%d] = () => class { static %s() { %s } }.%[2]s();", i, name, sync),
			fmt.Sprintf("F[%d] = () => ({get %s() { %s }}).%[2]s;", i, name, sync),
		}
		files[random.IntN(2)] += forms[random.IntN(len(forms))] + "\n"
	}
	return map[string]string{
		"a.js": files[0], "b.mjs": files[1] + "import './a.js';\n",
		"common.js": fmt.Sprintf(`
const counts = {__proto__: null}, F = [];
let seed = %d, left = 400, depth = 0;
const random = () => (seed = (seed * 1103515245 + 12345) %% 2147483648) / 2147483648;
const count = name => { counts[name] = (counts[name] || 0) + 1; };
const call = n => {
  counts.call = (counts.call || 0) + 1;
  if (left-- <= 0 || depth > 20) return;
  depth++;
  try { const result = F[n](); if (result instanceof Promise) return result.catch(() => 0); } finally { depth--; }
};
module.exports = {count, call, random, F};
process.on('exit', () => console.log(JSON.stringify(counts)));
`, random.IntN(1<<30)),
		"main.mjs": "import './b.mjs';\nimport {createRequire} from 'node:module';\n" +
			"const {call, F} = createRequire(import.meta.url)('./common.js');\n" +
			"for (let i = 0; i < F.length; i++) try { await call(i); } catch {}\n",
	}
}

// TestRandomPrograms: the counters of random programs are those of the totals. Programs run as
// without the tracer. Each version of Node has some seeds, and in make soak all of them.
func TestRandomPrograms(t *testing.T) {
	forNode(t, func(t *testing.T, program string) {
		for seed := range uint64(8) {
			if !soak && (seed >= 4 || strings.Contains(program, "node18-") != (seed%2 == 0)) {
				continue
			}
			dir := write(t, randomProgram(rand.New(rand.NewPCG(seed, 3))))
			cmd := exec.Command(program, "main.mjs")
			cmd.Dir = dir
			plain, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("seed %d: %v: %s", seed, err, plain)
			}
			got := command(t, node.Options{Callbacks: true}, dir, nil, program, "main.mjs")
			var counted map[string]int
			if err := json.Unmarshal([]byte(got.out), &counted); err != nil || got.code != 0 || len(got.plain) > 0 {
				t.Fatalf("seed %d: exit code %d, plain %q, %v: %s", seed, got.code, got.plain, err, got.out)
			}
			if counted["call"] < 50 {
				t.Fatalf("seed %d is too small: %v", seed, counted)
			}
			calls := got.calls()
			for name, n := range counted {
				if calls[name] != n {
					t.Errorf("seed %d: %s has %d calls, counted %d", seed, name, calls[name], n)
				}
			}
		}
	})
}
