package runtime_test

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/record"
	"github.com/eideticker/eideticker/netsim/instrument/runtime"
)

// underPolicies runs a script whose places have insertions of policies. It returns the values of
// each place and field in order.
func underPolicies(t *testing.T, names string, breaks bool, before, src, after string) (result, map[string][]float64) {
	t.Helper()
	all, err := policy.Named(names)
	if err != nil {
		t.Fatal(err)
	}
	o := runtime.Options{Nonce: nonce, Collector: "http://rig.test/.eideticker/x/", Break: breaks}
	fields := map[string][]policy.Field{}
	for _, p := range all {
		o.Policies = append(o.Policies, runtime.Policy{Name: p.Name, Text: p.Runtime, Calls: p.Calls()})
		fields[p.Name] = p.Fields
	}
	r, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Shape: instrument.Count, Nonce: nonce, Policies: all,
		FirstPoint: 1})
	if err == nil {
		err = r.Verify(src, ecma.Script)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := ran(t, realm{Prelude: runtime.Prelude(o), Code: before + r.Text + "\n;" + after})
	values := map[string][]float64{}
	for _, v := range got.records(record.Value) {
		if v.ID < 1 || int(v.ID) > len(r.Points) {
			t.Fatalf("value %+v of %d points", v, len(r.Points))
		}
		if v.Argument == record.TimeField {
			continue
		}
		at := r.Points[v.ID-1]
		code, _, _ := strings.Cut(src[at.Start:at.End], ")")
		name := code + " " + fields[at.Policy][v.Argument].Name
		values[name] = append(values[name], v.At)
	}
	return got, values
}

// TestLoops: a loop is warned of once, if it does a million iterations in a task, or lasts for 2 s.
func TestLoops(t *testing.T) {
	const pass = "const pass = ms => rig.pass(ms), turn = rig.turn;"
	for _, c := range []struct {
		name, src string
		want      map[string][2]float64 // least iterations and time by place
	}{
		{"few iterations", "for (let i = 0; i < 999000; i++);", nil},
		{"a million", "for (let i = 0; i < 1100000; i++);",
			map[string][2]float64{"for (let i = 0; i < 1100000; i++": {1e6, 0}}},
		{"every kind", `let i = 0, many = {}; const list = Array(1100000).fill(0);
			while (i < 1100000) i++
			do i--; while (i > 0)
			for (const x of list) i += x; for (let k = 0; k < 1100; k++) many[k] = k;
			for (let k = 0; k < 1000; k++) for (const x in many) i++;`, map[string][2]float64{
			"while (i < 1100000": {1e6, 0}, "do i--; while (i > 0": {1e6, 0}, "for (const x of list": {1e6, 0},
			"for (const x in many": {1e6, 0}}},
		{"two tasks", "const part = () => { for (let i = 0; i < 600000; i++); }; part(); turn().then(part);", nil},
		{"in parts of one task", "const part = () => { for (let i = 0; i < 600000; i++); }; part(); part(); part();",
			map[string][2]float64{"for (let i = 0; i < 600000; i++": {1e6, 0}}},
		{"a long time", "for (let i = 0; i < 8; i++) pass(400);",
			map[string][2]float64{"for (let i = 0; i < 8; i++": {6, 2001}}},
		{"slower than before", "const part = (n, ms) => { for (let i = 0; i < n; i++) pass(ms); };" +
			"part(100000, 0); part(300, 10);", map[string][2]float64{"for (let i = 0; i < n; i++": {1e5, 2001}}},
		// The loop ran only for a part of the time.
		{"in a long task", "const part = () => { for (let i = 0; i < 3; i++); }; for (const k of [1, 2, 3, 4]) {" +
			"part(); pass(900); part(); }", map[string][2]float64{"for (const k of [1, 2, 3, 4]": {4, 2001}}},
		{"recursion", "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } fib(29);",
			map[string][2]float64{"function fib(n": {1e6, 0}}},
		{"a method", "const o = {walk(n) { if (n) { this.walk(n - 1); this.walk(n - 1); } }}; o.walk(19); o.walk(19);",
			map[string][2]float64{"(n": {1e6, 0}}},
		{"other functions", "const f = n => n, g = n => f(n); let i = 0; for (;;) { if (++i > 600000) break; g(i); }",
			nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, values := underPolicies(t, "loops", false, pass, c.src, "await rig.timers(1000)")
			for place, least := range c.want {
				n, ms := values[place+" iterations"], values[place+" last run"]
				if len(n) != 1 || len(ms) != 1 || n[0] < least[0] || n[0] > max(least[0], 100)*1.2 ||
					ms[0] < least[1] || ms[0] > 1.5*least[1] {
					t.Errorf("%s: iterations %v, times %v", place, n, ms)
				}
			}
			if len(values) != 2*len(c.want) {
				t.Errorf("values %v", values)
			}
		})
	}
}

// TestLoopHangs: a warning leaves the page while its loop goes on. Option break ends the loop once.
func TestLoopHangs(t *testing.T) {
	const src = `let i = 0, sent = 0;
		while (i < 3000000) { i++; if (!sent) sent = rig.requests.some(r => r.beacon) ? i : 0 }`
	r, values := underPolicies(t, "loops", false, "", src, "return [i, sent]")
	if got := string(r.Value); got != "[3000000,1000065]" && !strings.HasPrefix(got, "[3000000,10") {
		t.Errorf("the loop ended, and its warning was sent, at %s", got)
	}
	if r.Requests[len(r.Requests)-1].Type != "text/plain" && len(values) != 2 {
		t.Errorf("requests %+v", r.Requests)
	}
	r, values = underPolicies(t, "loops,calls", true, "", `let n = 0; const run = () => { while (n < 5000000) n++ };
		const ends = [];
		for (const k of [1, 2]) try { run(); ends.push(n) } catch (e) { ends.push(e.message.slice(0, 24)) }`,
		"return ends")
	if got := string(r.Value); got != `["Eideticker left a loop a",5000000]` ||
		len(values["while (n < 5000000 iterations"]) != 1 {
		t.Errorf("the loop ends %s, values %v", got, values)
	}
}

// TestConcat: chains are followed through all places, and their bytes are counted.
func TestConcat(t *testing.T) {
	const big = `let s = 'x'.repeat(3000); `
	for _, c := range []struct {
		name, src string
		depth     float64 // of the first warning; 0: none
		places    int
		bytes     float64 // of all places; 0: not checked
	}{
		{"short chain", "let s = 'ab'; for (let i = 0; i < 100; i++) s += 'c'; ", 0, 0, 2 * (101.0*102/2 + 100 - 1)},
		{"long chain", "let s = 'ab'; for (let i = 0; i < 101; i++) s += 'c';", 101, 1, 0},
		{"several places",
			"let s = ''; for (let i = 0; i < 40; i++) { s += '<td>'; s += i; s = s + '</td>' + '\\n'; }", 101, 4, 0},
		{"numbers and members",
			"const o = {s: 'ab'}; let n = 5; for (let i = 0; i < 120; i++) { o.s += n; o['s'] += true; }",
			101, 2, 0},
		{"a long text", big + "for (let i = 0; i < 120; i++) s += 'line';", 101, 1, 0},
		{"chains at a time",
			"let a = 'a!', b = 'b!'; for (let i = 0; i < 120; i++) { a += 'x'; b += 'y'; }", 101, 2, 0},
		{"separate texts", "for (let i = 0; i < 500; i++) { let s = 'item ' + i; s += ': ' + i; s += '.'; }", 0, 0, 0},
		{"join", "const all = []; for (let i = 0; i < 500; i++) all.push('x' + i); all.join('');", 0, 0, 0},
		{"objects", "let s = 'ab'; const o = {toString() { return 'o' + 'p' }};" +
			"for (let i = 0; i < 120; i++) s = o + s;", 0, 0, 0},
		{"numbers", "let n = 0, m = 1; for (let i = 0; i < 500; i++) n += m + m;", 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, values := underPolicies(t, "concat", false, "", c.src, "await rig.timers(1000); await rig.timers(1000);")
			bytes, places, compared := 0.0, 0, 0
			for name, all := range values {
				switch {
				case strings.HasSuffix(name, " bytes"):
					for _, n := range all {
						bytes += n
					}
				case strings.HasSuffix(name, " warned at depth"):
					for _, n := range all {
						if places++; n < 101 || n > 104 {
							t.Errorf("%s has the depth %v", name, n)
						}
					}
				default:
					compared += len(all)
				}
			}
			if places != c.places || c.bytes != 0 && bytes != c.bytes || compared != 2*min(places, 1) {
				t.Errorf("%d places, %v bytes, %d comparisons: %v", places, bytes, compared, values)
			}
		})
	}
}

// TestTally: increments of one batch are one record. None is lost if the ring is full.
func TestTally(t *testing.T) {
	text := `hide('one', (id, x) => { tally(id, 1, x); return x; });
		hide('num', (id, x) => { value(id, 2, x); return x; });`
	r := ran(t, realm{Prelude: withPolicy(text, "one", "num", "fill"), Code: `
		await rig.timers(1000);
		for (let i = 0; i < 1000; i++) one$test(7, 0.5);
		one$test(8, -1);
		await rig.timers(1000);
		one$test(7, 2);
		rig.pass(5);
		num$test(9, -3.5);
		for (let i = 0; i < 33000; i++) num$test(5, i);
		await rig.timers(3000);
		rig.fire('pagehide');`})
	sums, last := map[uint32]float64{}, 0.0
	for i, v := range r.records(record.Value) {
		switch {
		case v.Argument == 1:
			sums[v.ID] += v.At
		case v.ID == 9 && v.Argument == 2 && (v.At != -3.5 || last < 2000):
			t.Errorf("value %d is %+v after the time %v", i, v, last)
		}
		last = v.At
	}
	if want := map[uint32]float64{7: 502, 8: -1}; !reflect.DeepEqual(sums, want) {
		t.Errorf("sums %v, want %v", sums, want)
	}
	// Fault: a gap began at the number of a value.
	for _, g := range r.records(record.Gap) {
		if g.At < 2000 || g.At > 4000 {
			t.Errorf("gap %+v", g)
		}
	}
}

func withPolicy(text string, calls ...string) string {
	return runtime.Prelude(runtime.Options{Nonce: nonce, Collector: "http://rig.test/.eideticker/x/",
		Policies: []runtime.Policy{{Name: "mine", Text: text, Calls: calls}}})
}

// TestPolicyThrows: a function that throws returns the value, and is off after 10 exceptions. A
// runtime that does not begin leaves functions that do nothing. The page gets no exception.
func TestPolicyThrows(t *testing.T) {
	const calls = "await rig.timers(1000); const all = []; for (let i = 0; i < 20; i++) all.push(bad$test(7, i));" +
		"good$test(7, 1); await rig.timers(3000); return [all, good$test(7, 2), none$test(7, 3)]"
	const want = "[[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19],2,3]"
	for _, c := range []struct {
		name, text string
		count      float64 // of tally
	}{
		{"throws", "hide('bad', (id, x) => { tally(id, 0, 1); null.x; });" +
			"hide('good', (id, x) => { tally(id, 1, 1); return x; });", 10},
		{"does not begin", "hide('good', (id, x) => x); const x = null.y; hide('bad', () => 1);", 0},
		{"never ends", "hide('bad', function f(id, x) { f(id, x); }); hide('good', (id, x) => x);", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ran(t, realm{Prelude: withPolicy(c.text, "bad", "good", "none"), Code: calls})
			if string(r.Value) != want {
				t.Errorf("values %s", r.Value)
			}
			sum, failed := 0.0, 0
			for _, v := range r.records(record.Value) {
				if v.Argument == 0 {
					sum += v.At
				}
			}
			for _, d := range r.details(t) {
				if d.Kind == "failed" && d.What == "mine" {
					failed++
				}
			}
			// The recursion of a page may end in a policy's function, so overflows do not count.
			if wantFailed := map[bool]int{false: 1}[c.name == "never ends"]; sum != c.count || failed != wantFailed {
				t.Errorf("called %v times, reported %d times", sum, failed)
			}
		})
	}
}

// TestGuardOfPolicies: programs with insertions run in a realm without a prelude, and next to one.
func TestGuardOfPolicies(t *testing.T) {
	all, err := policy.Named("loops,concat")
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, p := range all {
		calls = append(calls, p.Calls()...)
	}
	guard := runtime.Guard(nonce, calls...)
	const src = "let s = ''; for (let i = 0; i < 3; i++) s += 'x' + i; return s"
	r, err := instrument.Rewrite("(() => {"+src+"})()", ecma.Script, instrument.Plan{Nonce: nonce, Policies: all})
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{"", prelude(t, "loops,concat") + ";"} {
		got := ran(t, realm{Prelude: before + guard, Code: guard + "return " + r.Text})
		if string(got.Value) != `"x0x1x2"` {
			t.Errorf("%.20q: %s", before, got.Value)
		}
	}
}

// BenchmarkLoopCheck runs loops plain and with insertions in Node.
func BenchmarkLoopCheck(b *testing.B) {
	all, err := policy.Named("loops")
	if err != nil {
		b.Fatal(err)
	}
	const src = `function work(n) { let x = 1; for (let i = 0; i < n; i++) x = x * 1103515245 + i | 0; return x }
		function nested(n) { let x = 1;
			for (let k = 0; k < n / 10; k++) for (let i = 0; i < 10; i++) x = x * 69069 + i | 0;
			return x }`
	r, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Nonce: nonce, Policies: all, FirstPoint: 1})
	if err != nil {
		b.Fatal(err)
	}
	const job = `; const time = f => { let best = Infinity;
		for (let i = 0; i < 9; i++) { const begin = process.hrtime.bigint(); f(1e7);
			best = Math.min(best, Number(process.hrtime.bigint() - begin)) }
		return best / 1e7 };
		console.log(time(work), time(nested))`
	stub := "globalThis.self = globalThis; self.location = {href: 'http://a.test/'};"
	for b.Loop() {
		for name, text := range map[string]string{"plain": src, "checked": stub + prelude(b, "loops") + ";" + r.Text} {
			var simple, nested float64
			out := inPlainNode(b, text+job)
			if _, err := fmt.Sscan(out, &simple, &nested); err != nil {
				b.Fatal(err, out)
			}
			b.ReportMetric(simple, name+"-ns/iteration")
			b.ReportMetric(nested, name+"-nested-ns/iteration")
		}
	}
}

func inPlainNode(b *testing.B, code string) string {
	b.Helper()
	cmd := exec.Command("node", "-e", code+";process.exit()")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	return string(out)
}

// TestTracer: the page stops and starts the recording, by functions and by events, and adds labels.
func TestTracer(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "errors,calls,loops,concat,tracer"), Code: `
		const tracer = self[Symbol.for('eideticker.tracer')], call = id => { R$test(E$test(id)); };
		await rig.timers(1000);
		call(1); tracer.start(); tracer.log('label 7'); tracer.stop(); tracer.stop(); call(2); tracer.log('never');
		await rig.timers(1000);
		tracer.start(); call(3);
		await rig.timers(1000);
		rig.fire('eideticker-tracer', {detail: 'stop'}, 'CustomEvent'); call(4);
		rig.fire('eideticker-tracer', {detail: 'start'}, 'CustomEvent'); call(5);
		rig.pass(250); await rig.timers(1000);
		tracer.stop(); call(6); rig.fire('pagehide');
		return Object.keys(self).includes('eideticker');`})
	var called []uint32
	for _, one := range r.records(record.Enter) {
		called = append(called, one.ID)
	}
	if !reflect.DeepEqual(called, []uint32{1, 3, 5}) {
		t.Errorf("recorded calls of %v", called)
	}
	gaps, lags := r.records(record.Gap), r.records(record.Lag)
	for _, g := range gaps {
		if record.Cause(g.Argument) != record.SwitchedOff || g.ID < 2 {
			t.Errorf("gap %+v", g)
		}
	}
	if calls := r.records(record.Calls); len(gaps) != 3 || len(calls) != 3 || calls[2].ID != 6 {
		t.Errorf("gaps %v, calls %v", gaps, calls)
	}
	if len(lags) != 1 || lags[0].ID < 150_000 || lags[0].ID > 250_000 {
		t.Errorf("lags %v", lags)
	}
	var labels []string
	for _, d := range r.details(t) {
		if d.Kind == "log" {
			labels = append(labels, d.Message)
		}
	}
	if !reflect.DeepEqual(labels, []string{"label 7"}) {
		t.Errorf("labels %q", labels)
	}
}
