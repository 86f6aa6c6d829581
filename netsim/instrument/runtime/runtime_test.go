package runtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/record"
	"github.com/eideticker/eideticker/netsim/instrument/runtime"
)

const nonce = "$test"

func prelude(t testing.TB, policies string) string {
	t.Helper()
	all, err := policy.Named(policies)
	if err != nil {
		t.Fatal(err)
	}
	o := runtime.Options{Nonce: nonce, Collector: "http://rig.test/.eideticker/x/", Integrity: true,
		Patience: 50}
	for _, p := range all {
		o.Policies = append(o.Policies, runtime.Policy{Name: p.Name, Text: p.Runtime, Calls: p.Calls(),
			Objects: p.Objects})
	}
	return runtime.Prelude(o)
}

// TestPreludeIsOneLine: a prelude is ASCII without a line break or an end of a script element. Each
// of its statements ends with a semicolon or a brace, so joined lines mean the same.
func TestPreludeIsOneLine(t *testing.T) {
	for _, policies := range []string{"calls", "errors", "calls,errors"} {
		text := prelude(t, policies)
		if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
			t.Errorf("%s: character %q", policies, text[i:])
		}
		for _, bad := range []string{"</", "<!--", "`", " // "} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: contains %s", policies, bad)
			}
		}
		tree, err := ecma.Parse(text, ecma.Script)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range tree.Nodes {
			if n.Flags&ecma.Unterminated != 0 && n.End < uint32(strings.LastIndex(text, "/*")) {
				t.Errorf("%s: no semicolon at the end of %s", policies, text[n.Start:n.End])
			}
		}
		if size := len(text); size > 39<<10 {
			t.Errorf("%s: %d bytes", policies, size)
		}
	}
}

// TestPreludeInModule: a worker's program has classes with the names of natives. It begins with the
// prelude, which uses the natives all the same.
func TestPreludeInModule(t *testing.T) {
	const shadows = `const all = [...new Set(text.match(/\w+/g))].filter(name => name in self &&
		!/^(\d.*|self|eval|undefined|NaN|Infinity)$/.test(name));
		Function(text + all.map(name => ';class ' + name + '{}').join(''))();`
	text, err := json.Marshal(prelude(t, "calls,errors,loops,concat,leaks,cacheable,tracer"))
	if err != nil {
		t.Fatal(err)
	}
	ran(t, realm{Prelude: fmt.Sprintf("{const text=%s;%s}", text, shadows), Worker: true,
		Code: "E$test(1); if (!self.E$test) throw new Error('nothing is recorded')"})
}

// message is a batch as testdata/run.mjs decodes it.
type message struct {
	Magic                                string
	Version, Kind, Sequence, Bytes, Size int
	Realm                                uint32
	Origin, Sent                         float64
	Records                              []struct {
		Code     record.Code
		Argument uint16
		ID       uint32
		At       float64
	}
	Details []record.Detail
}

type result struct {
	Value    json.RawMessage
	Thrown   string
	Failures []string
	Requests []struct {
		URL, Method, Credentials, Mode, Type string
		Keepalive, Beacon, Removed           bool
	}
	Batches []message
}

// records returns all records of codes.
func (r result) records(codes ...record.Code) (all []record.Record) {
	for _, b := range r.Batches {
		for _, one := range b.Records {
			for _, c := range codes {
				if one.Code == c {
					all = append(all, record.Record{Code: one.Code, Argument: one.Argument, ID: one.ID, At: one.At})
				}
			}
		}
	}
	return all
}

// details returns the details at the places of their records.
func (r result) details(t *testing.T) (all []record.Detail) {
	for _, b := range r.Batches {
		for _, one := range b.Records {
			if one.Code == record.Happened {
				if int(one.ID) >= len(b.Details) {
					t.Fatalf("detail %d of %d", one.ID, len(b.Details))
				}
				all = append(all, b.Details[one.ID])
			}
		}
	}
	return all
}

type realm struct {
	Prelude string `json:"prelude"`
	Code    string `json:"code"`
	Worker  bool   `json:"worker"`
}

// realms is a process of Node that runs the realms of one test, one after the other. It ends with
// its input.
type realms struct {
	test    string
	cmd     *exec.Cmd
	input   io.WriteCloser
	results *json.Decoder
}

var running *realms

func newRealms(t *testing.T, test string) *realms {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	cmd := exec.Command(node, "testdata/run.mjs")
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &realms{test, cmd, input, json.NewDecoder(output)}
}

// ran runs a realm in Node. The page must not notice a failure.
func ran(t *testing.T, c realm) (r result) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	if running == nil || running.test != test {
		if running != nil {
			if err := errors.Join(running.input.Close(), running.cmd.Wait()); err != nil {
				t.Errorf("Node after %s: %v", running.test, err)
			}
		}
		running = newRealms(t, test)
	}
	err := json.NewEncoder(running.input).Encode(c)
	if err == nil {
		err = running.results.Decode(&r)
	}
	if err != nil {
		running = nil
		t.Fatal(err)
	}
	if r.Thrown != "" || len(r.Failures) > 0 {
		t.Fatalf("thrown %s, rejections %q", r.Thrown, r.Failures)
	}
	realm, sequence := uint32(0), 0
	for _, b := range r.Batches {
		if b.Magic != "EIDS" || b.Version != 1 || b.Bytes != b.Size || b.Origin != 5000 || b.Realm == 0 ||
			realm != 0 && b.Realm != realm || b.Sequence < sequence || len(b.Records) > 65536 ||
			b.Bytes > 1<<20+64<<10 {
			t.Fatalf("batch %d of realm %d: %d bytes of %d, origin %g", b.Sequence, b.Realm, b.Bytes, b.Size, b.Origin)
		}
		realm, sequence = b.Realm, b.Sequence+1
	}
	return r
}

func codes(all []record.Record) (list []record.Code) {
	for _, r := range all {
		list = append(list, r.Code)
	}
	return list
}

// TestCalls: each inserted function adds one record, and the stack's end another one.
func TestCalls(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "calls"), Code: `
		await rig.timers(2000);
		const d = E$test(70); rig.pass(3);
		if (R$test(d, 'v') !== 'v') throw new Error('R');
		await rig.turn();
		const e = E$test(71), f = E$test(72);
		K$test(e); if (F$test(e) !== e) throw new Error('F'); C$test(e);
		if (s$test(e, 5) !== 5) throw new Error('s');
		await rig.turn();
		if (r$test(e, 6) !== 6) throw new Error('r');
		R$test(e); R$test(0, 1); R$test(undefined, 1); K$test(undefined); C$test(F$test(undefined));
		await rig.turn();
		await rig.timers(2000);
		return [d, e, f];`})
	if string(r.Value) != "[1,2,3]" {
		t.Errorf("calls have the numbers %s", r.Value)
	}
	calls := r.records(record.Enter, record.Leave, record.Caught, record.Reopen, record.Reclose, record.Suspend,
		record.Resume, record.Idle)
	want := []record.Record{{Code: record.Enter, ID: 70}, {Code: record.Leave, ID: 1}, {Code: record.Idle},
		{Code: record.Enter, ID: 71}, {Code: record.Enter, ID: 72}, {Code: record.Caught, ID: 2},
		{Code: record.Reopen, ID: 2}, {Code: record.Reclose, ID: 2}, {Code: record.Suspend, ID: 2}, {Code: record.Idle},
		{Code: record.Resume, ID: 2}, {Code: record.Leave, ID: 2}, {Code: record.Idle}}
	if length := calls[1].At - calls[0].At; length != 3 {
		t.Errorf("the first call has %g ms, want 3", length)
	}
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].At < 100 || i > 0 && calls[i].At < calls[i-1].At {
			t.Errorf("record %d is at %g", i, calls[i].At)
		}
		calls[i].At = 0
	}
	if !reflect.DeepEqual(calls, want) {
		t.Errorf("records %v, want %v", calls, want)
	}
	if d := r.details(t); len(d) != 1 || d[0].Kind != "realm" || d[0].URL != "http://a.test/page" {
		t.Errorf("details %v", d)
	}
	if start := r.records(record.Start); len(start) != 1 || start[0].At != 100 {
		t.Errorf("start %v", start)
	}
	// The fake clock does not move in the calibration, so it ends at the limit.
	if cost := r.records(record.Cost); len(cost) != 1 || cost[0].ID != 16384 || cost[0].At != 0 {
		t.Errorf("cost %v", cost)
	}
	if r.Batches[0].Kind != int(record.Window) {
		t.Errorf("kind %d", r.Batches[0].Kind)
	}
	for _, q := range r.Requests {
		if !q.Removed && (q.Credentials != "omit" || q.Mode != "cors" || q.Keepalive ||
			q.Type != map[string]string{"POST": "text/plain"}[q.Method]) {
			t.Errorf("request %+v", q)
		}
	}
	if !r.Requests[0].Removed {
		t.Error("the prelude's element is not removed")
	}
}

// TestScripts: scripts nest. An exception ends those above a script that goes on, and all of an
// empty stack.
func TestScripts(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "calls"), Code: `
		await rig.timers(2000);
		B$test(70); B$test(71); Q$test(71); B$test(72); E$test(80); k$test(70); Q$test(72); Q$test(70);
		await rig.turn();
		B$test(73); await rig.turn(); k$test(73); Q$test(73);
		for (let i = 0; i < 300; i++) B$test(100 + i);
		Q$test(399); Q$test(100);
		await rig.turn();
		await rig.timers(2000);`})
	calls := r.records(record.Enter, record.Leave, record.Caught, record.Idle)
	want := []record.Record{{Code: record.Enter, ID: 70}, {Code: record.Enter, ID: 71}, {Code: record.Leave, ID: 2},
		{Code: record.Enter, ID: 72}, {Code: record.Enter, ID: 80}, {Code: record.Caught, ID: 1},
		{Code: record.Leave, ID: 1}, {Code: record.Idle}, {Code: record.Enter, ID: 73}, {Code: record.Idle}}
	for i := range uint32(256) {
		want = append(want, record.Record{Code: record.Enter, ID: 100 + i})
	}
	want = append(want, record.Record{Code: record.Leave, ID: 6}, record.Record{Code: record.Idle})
	for i := range calls {
		calls[i].At = 0
	}
	if !reflect.DeepEqual(calls, want) {
		t.Errorf("records %v, want %v", calls, want)
	}
}

// TestClock: eight questions come at the start, then one every 10 s. Their records are consecutive.
func TestClock(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "errors"), Code: `await rig.timers(35000);`})
	all := r.records(record.Asked, record.Answered, record.Rig)
	if len(all) != 3*11 {
		t.Fatalf("%d records of questions", len(all))
	}
	for i := 0; i < len(all); i += 3 {
		asked, answered, rig := all[i], all[i+1], all[i+2]
		if !reflect.DeepEqual(codes(all[i:i+3]), []record.Code{record.Asked, record.Answered, record.Rig}) ||
			int(asked.ID) != i/3 || answered.ID != asked.ID || rig.ID != asked.ID || answered.At-asked.At != 2 ||
			rig.At != (asked.At+1)*1e6 {
			t.Errorf("question %d: %v", i/3, all[i:i+3])
		}
	}
}

// TestFullRing: a full ring drops the newest records. A gap has their number, and the number of
// calls follows.
func TestFullRing(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "calls"), Code: `
		await rig.timers(1000);
		let d;
		for (let i = 0; i < 70000; i++) d = E$test(9);
		rig.pass(1);
		await rig.timers(1000);
		R$test(E$test(10));
		await rig.timers(1000);
		return d;`})
	if string(r.Value) != "70000" {
		t.Errorf("the last call is %s", r.Value)
	}
	enters, gaps, calls := r.records(record.Enter), r.records(record.Gap), r.records(record.Calls)
	lost := uint32(70000 - (len(enters) - 1))
	// The end of the stack is lost, too.
	if len(gaps) != 1 || gaps[0].Argument != 1 || gaps[0].ID != lost+1 || len(calls) != 1 || calls[0].ID != 70000 ||
		lost < 70000-65536 || lost > 70000-65500 {
		t.Errorf("%d of 70001 begins, gaps %v, calls %v", len(enters), gaps, calls)
	}
	if last := r.records(record.Leave); len(last) != 1 || last[0].ID != 70001 {
		t.Errorf("ends %v", last)
	}
	// Fault: the stack was unknown until the next call, and seconds later if none came.
	stack := r.records(record.Calls, record.Idle, record.Enter)
	i := slices.IndexFunc(stack, func(r record.Record) bool { return r.Code == record.Calls })
	if i < 0 || i+1 >= len(stack) || stack[i+1].Code != record.Idle {
		t.Errorf("no end of the stack at %d of %d records", i+1, len(stack))
	}
}

// TestBriefCalls: a task with more brief calls than the ring holds loses no record. They are
// counted, and longer calls around and between them stay. So does a call of a function with a
// finally block, which may run after its return and after others. Calls that leave at the end of
// such a function do not stay.
func TestBriefCalls(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "calls"), Code: `
		await rig.timers(1000);
		const outer = E$test(7);
		for (let i = 0; i < 100000; i++) {
			const d = E$test(8);
			R$test(E$test(9));
			R$test(d);
		}
		const slow = E$test(10);
		rig.pass(2);
		R$test(slow);
		const brief = E$test(11, 0, 1);
		R$test(brief);
		R$test(E$test(9));
		const resumed = F$test(brief);
		rig.pass(2);
		C$test(resumed);
		for (let i = 0; i < 100000; i++) {
			const d = E$test(12, 0, 1);
			const x = F$test(d);
			R$test(E$test(9));
			C$test(x);
			R$test(d, 0, 1);
		}
		R$test(outer);
		await rig.turn();
		R$test(E$test(9));
		await rig.timers(1000);
		return [slow, brief, resumed];`})
	calls, brief := map[uint32]int{}, map[uint32]float64{}
	for _, e := range r.records(record.Enter) {
		calls[e.ID]++
	}
	for _, b := range r.records(record.Brief) {
		brief[b.ID] += b.At
	}
	// The last call is in a task of its own.
	if calls[9]--; calls[9] < 8000 || float64(calls[8])+brief[8] != 100000 || float64(calls[9])+brief[9] != 200001 ||
		float64(calls[12])+brief[12] != 100000 || calls[7] != 1 || calls[10] != 1 || calls[11] != 1 || len(brief) != 3 {
		t.Errorf("calls %v, of them brief %v", calls, brief)
	}
	if lost := r.records(record.Gap); len(lost) != 0 {
		t.Errorf("gaps %v", lost)
	}
	number := len(r.records(record.Enter)) - 2
	if want := fmt.Sprintf("[%d,%d,%[2]d]", number, number+1); string(r.Value) != want {
		t.Errorf("calls have the numbers %s, want %s", r.Value, want)
	}
	if leaves := r.records(record.Leave); len(leaves) != len(r.records(record.Enter)) {
		t.Errorf("%d of %d calls have an end", len(leaves), len(r.records(record.Enter)))
	}
}

// TestCrowdedCalibration: the cost of a call is not measured where brief calls are removed.
func TestCrowdedCalibration(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "calls"), Code: `
		await rig.timers(1000);
		for (let i = 0; i < 40000; i++) E$test(5);
		rig.fire('pagehide');
		await rig.timers(1000);`})
	if brief := r.records(record.Brief); len(brief) != 0 || len(r.records(record.End)) != 1 {
		t.Errorf("brief calls %v", brief)
	}
}

// TestLargeBatches: large batches share their memory. Each keeps its records until it was accepted.
func TestLargeBatches(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "calls"), Code: `
		await rig.timers(1000);
		let tries = 0;
		for (const id of [1, 2, 3]) {
			rig.answer(() => id === 2 && tries++ === 0 ? 0 : 204);
			const all = [];
			for (let i = 0; i < 10000 * id; i++) all.push(E$test(id));
			rig.pass(1);
			while (all.length > 0) R$test(all.pop());
			await rig.timers(2000);
		}
		return tries;`})
	got := map[uint32]int{}
	for _, e := range r.records(record.Enter) {
		got[e.ID]++
	}
	if want := map[uint32]int{1: 10000, 2: 20000, 3: 30000}; !reflect.DeepEqual(got, want) || string(r.Value) != "2" {
		t.Errorf("calls %v, want %v; %s tries", got, want, r.Value)
	}
	if leaves := r.records(record.Leave); len(leaves) != 60000 || leaves[59999].ID != 30001 {
		t.Errorf("%d ends", len(leaves))
	}
}

// TestCollectorGone: lost batches become gaps. After three of them, the realm sends nothing until
// its end.
func TestCollectorGone(t *testing.T) {
	for name, c := range map[string]struct {
		status, gone string
		cause        uint16
	}{
		"unreachable": {"0", "3", 3}, "error": {"500", "3", 3}, "quota": {"429", "1", 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := ran(t, realm{Prelude: prelude(t, "calls"), Code: `
				await rig.timers(1000);
				const posts = () => rig.requests.filter(q => q.method === 'POST').length;
				const before = posts();
				rig.answer(() => ` + c.status + `);
				for (let i = 0; i < 10; i++) R$test(E$test(1));
				await rig.timers(3000);
				const tries = posts() - before;
				rig.answer(() => 204);
				R$test(E$test(2));
				await rig.timers(3000);
				rig.answer(() => ` + c.status + `);
				for (let i = 0; i < 3; i++) { R$test(E$test(3)); await rig.timers(9000); }
				const all = posts();
				for (let i = 0; i < 3; i++) { R$test(E$test(4)); await rig.timers(9000); }
				if (posts() !== all) throw new Error('not stopped');
				rig.fire('pagehide');
				return tries;`})
			if string(r.Value) != c.gone {
				t.Errorf("%s tries, want %s", r.Value, c.gone)
			}
			gaps, calls := r.records(record.Gap), r.records(record.Calls)
			if len(gaps) != 2 || gaps[0].Argument != c.cause || gaps[1].Argument != c.cause || gaps[0].ID != 21 ||
				len(calls) != 2 || calls[0].ID != 10 || calls[1].ID != 17 {
				t.Errorf("gaps %v, calls %v", gaps, calls)
			}
			if enters := r.records(record.Enter); len(enters) != 1 || enters[0].ID != 2 {
				t.Errorf("begins %v", enters)
			}
			if end := r.records(record.End); len(end) != 1 {
				t.Errorf("ends %v", end)
			}
		})
	}
}

// TestPageEnds: the last records go by beacon, as many as browsers send.
func TestPageEnds(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "calls"), Code: `
		await rig.timers(1000);
		for (let i = 0; i < 2500; i++) R$test(E$test(5));
		rig.fire('pagehide');
		await rig.timers(1000);`})
	var beacons, size int
	for i, q := range r.Requests {
		if q.Beacon {
			if beacons++; q.Type != "text/plain" || q.URL != "http://rig.test/.eideticker/x/records" {
				t.Errorf("beacon %+v", r.Requests[i])
			}
		}
	}
	for _, b := range r.Batches {
		if size = max(size, b.Bytes); b.Bytes > 65536 && beacons != 1 {
			t.Errorf("a batch of %d bytes", b.Bytes)
		}
	}
	// The ring still has the rest, which goes by an ordinary request.
	enters, end := r.records(record.Enter), r.records(record.End)
	if beacons != 1 || len(enters) != 2500 || len(end) != 1 {
		t.Errorf("%d beacons, %d begins, %d ends, up to %d bytes", beacons, len(enters), len(end), size)
	}
	// At the start, in idle time after many calls, and at the end.
	if cost := r.records(record.Cost); len(cost) != 3 {
		t.Errorf("costs %v", cost)
	}
}

// TestHostilePage: a page that replaces natives and prototypes neither breaks the records nor is
// broken.
func TestHostilePage(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "calls,errors"), Code: `
		const stop = () => { throw new Error('the runtime uses a patched native'); };
		const turn = rig.turn, timers = rig.timers, fire = rig.fire;
		performance.now = stop; queueMicrotask = stop; fetch = stop; setTimeout = stop; crypto.getRandomValues = stop;
		for (const type of [Array, String, RegExp, Object, Response, TextEncoder, DataView, Uint32Array, Uint8Array]) {
			for (const name of Object.getOwnPropertyNames(type.prototype)) {
				if (name === 'constructor') continue;
				try { Object.defineProperty(type.prototype, name, {get: stop, configurable: true}); } catch (e) {}
			}
		}
		for (const name of ['signal', 'priority', 'toJSON', 'get', 'then', 'type', '0'])
			Object.defineProperty(Object.prototype, name, {get: () => undefined, set: stop, configurable: true});
		JSON.stringify = JSON.parse = Math.floor = Math.min = Object.defineProperty = Reflect.apply = stop;
		Promise.prototype.then = Promise.prototype.catch = stop;
		const d = E$test(3);
		R$test(d);
		for (const name of 'ERKFCsrP') {
			try { globalThis[name + '$test'] = 0; } catch (e) {}
			if (delete globalThis[name + '$test']) throw new Error('deleted ' + name);
		}
		R$test(E$test(4));
		for (const name in globalThis) if (name[1] === '$') throw new Error('listed ' + name);
		fire('error', {message: 'Uncaught E: "x"', filename: 'http://a.test/a.js?q', lineno: 3, colno: 4},
			'ErrorEvent');
		fire('pagehide');`})
	if enters := r.records(record.Enter); len(enters) != 2 || enters[1].ID != 4 {
		t.Errorf("begins %v", enters)
	}
	if d := r.details(t); len(d) != 2 || d[1].Message != "E: \"…\"" || d[1].URL != "http://a.test/a.js" {
		t.Errorf("details %+v", d)
	}
}

// TestErrors: messages are masked, and stacks of all browsers are read.
func TestErrors(t *testing.T) {
	const chromium = `TypeError: Cannot read 'x' of 12\n    at Object.f [as g] (http://a.test/a.js?v=1:2:3)\n` +
		`    at async http://a.test/b.js:40:50\n    at new Foo (http://a.test/c.js:6:7)\n` +
		`    at eval (eval at h (http://a.test/d.js:1:1), <anonymous>:8:9)\n    at Array.map (<anonymous>)`
	const firefox = `f@http://a.test/a.js?v=1:2:3\n@http://a.test/b@1/b.js:40:50\nasync*g@http://a.test/c.js:6:7\n`
	r := ran(t, realm{Prelude: prelude(t, "errors"), Code: `
		const error = (stack, message) => ({stack, message, name: 'TypeError'});
		rig.fire('error', {message: "Uncaught TypeError: Cannot read 'x' of 12", filename: 'http://a.test/a.js?v=1',
			lineno: 2, colno: 3, error: error("` + chromium + `", "Cannot read 'x' of 12")}, 'ErrorEvent');
		rig.fire('unhandledrejection', {reason: error("` + firefox + `",
			'see http://a.test/x?token=abc#d, it’s “it” 7')}, 'PromiseRejectionEvent');
		rig.fire('unhandledrejection', {reason: 'text "a" 1'}, 'PromiseRejectionEvent');
		rig.fire('unhandledrejection', {reason: {get stack() { throw 1; }, get message() { throw 2; }}},
			'PromiseRejectionEvent');
		rig.fire('error', {target: rig.element('img', {src: '../i.png?u=me'})});
		rig.fire('error', {target: rig.element('link', {href: 'http://[bad'})});
		rig.fire('error', {target: rig.element('video', {})});
		const deep = error('x@http://a.test/' + 'long/'.repeat(150) + ':1:1\n', '');
		deep.stack = deep.stack.repeat(60);
		rig.fire('error', {message: 'y'.repeat(5000), filename: '', lineno: 0, colno: 0, error: deep}, 'ErrorEvent');
		const small = {message: 'm', filename: 'f', lineno: 1, colno: 1};
		for (let i = 0; i < 300; i++) rig.fire('error', small, 'ErrorEvent');
		await rig.timers(5000);
		return [rig.listeners('error'), rig.listeners('unhandledrejection')];`})
	if string(r.Value) != "[[true],[true]]" {
		t.Errorf("listeners capture %s", r.Value)
	}
	all := r.details(t)
	if len(all) < 9 {
		t.Fatalf("%d details", len(all))
	}
	want := []record.Detail{
		{Kind: "error", Message: "TypeError: Cannot read '…' of #", URL: "http://a.test/a.js", Line: 2, Column: 3,
			Stack: []record.Place{{Function: "Object.f [as g]", URL: "http://a.test/a.js", Line: 2, Column: 3},
				{URL: "http://a.test/b.js", Line: 40, Column: 50},
				{Function: "new Foo", URL: "http://a.test/c.js", Line: 6, Column: 7},
				{Function: "eval", URL: "<anonymous>", Line: 8, Column: 9}}},
		{Kind: "rejection", Message: "TypeError: see http://a.test/x it’s “…” #", URL: "http://a.test/a.js", Line: 2,
			Column: 3, Stack: []record.Place{{Function: "f", URL: "http://a.test/a.js", Line: 2, Column: 3},
				{URL: "http://a.test/b@1/b.js", Line: 40, Column: 50},
				{Function: "async*g", URL: "http://a.test/c.js", Line: 6, Column: 7}}},
		{Kind: "rejection", Message: `text "…" #`},
		{Kind: "rejection", Message: "object"},
		{Kind: "resource", URL: "http://a.test/i.png", Tag: "img"},
		{Kind: "resource", URL: "http://[bad", Tag: "link"},
	}
	for i := range want {
		if !reflect.DeepEqual(all[i+1], want[i]) {
			t.Errorf("detail %d is\n%+v, want\n%+v", i, all[i+1], want[i])
		}
	}
	deep := all[7]
	if len(deep.Message) != 1000 || len(deep.Stack) == 0 || len(deep.Stack) > 10 || deep.Line != 1 {
		t.Errorf("a deep stack becomes %d entries, a long message %d bytes", len(deep.Stack), len(deep.Message))
	}
	if last := all[len(all)-1]; last.Kind != "blocked" || !strings.HasSuffix(last.What, " errors in excess of 256") {
		t.Errorf("the last detail is %+v", last)
	}
	for _, b := range r.Batches {
		if len(b.Details) > 256 {
			t.Errorf("%d details", len(b.Details))
		}
	}
}

// TestRequests: slow requests have the times that the browser states, without queries. Beacons and
// requests of the runtime are left out, and so are those beyond the limit.
func TestRequests(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "calls"), Code: `
		rig.pass(1000);
		rig.requested('http://b.test/prices.json?key=1#x', 'fetch', 400, 350);
		rig.requested('http://a.test/page', 'navigation', 90, 80);
		rig.requested('http://b.test/other.png', 'img', 50); // of a host that does not let the page see more
		rig.requested('http://a.test/quick.js', 'script', 49, 1);
		rig.requested('http://b.test/count', 'beacon', 400, 350);
		rig.requested(rig.requests[0].url, 'fetch', 400, 350);
		await rig.timers(1000);
		for (let i = 0; i < 250; i++) {
			rig.requested('http://a.test/' + i, 'img', 60);
			if (i % 50 === 0) await rig.timers(1000);
		}
		await rig.timers(5000);`})
	var all []record.Detail
	for _, d := range r.details(t) {
		if d.Kind == "request" {
			all = append(all, d)
		}
	}
	if len(all) != 200 {
		t.Fatalf("%d requests, want 200", len(all))
	}
	want := []record.Detail{
		{Kind: "request", URL: "http://b.test/prices.json", What: "fetch", WaitUS: 350_000, TookUS: 400_000},
		{Kind: "request", URL: "http://a.test/page", What: "navigation", WaitUS: 80_000, TookUS: 90_000},
		{Kind: "request", URL: "http://b.test/other.png", What: "img", WaitUS: -1, TookUS: 50_000},
	}
	if !reflect.DeepEqual(all[:3], want) {
		t.Errorf("%+v, want %+v", all[:3], want)
	}
}

// TestRealms: a worker has no document, a second prelude does nothing, and an old browser is left
// alone.
func TestRealms(t *testing.T) {
	r := ran(t, realm{Prelude: prelude(t, "calls,errors"), Worker: true,
		Code: `R$test(E$test(1)); await rig.timers(1000);`})
	if len(r.Batches) == 0 || r.Batches[0].Kind != int(record.Worker) || len(r.records(record.Enter)) != 1 {
		t.Errorf("a worker sends %+v", r.Batches)
	}
	twice := prelude(t, "calls")
	r = ran(t, realm{Prelude: runtime.Guard(nonce) + twice + ";" + twice, Worker: true,
		Code: `R$test(E$test(1)); await rig.timers(1000);`})
	if len(r.records(record.Start)) != 1 || len(r.records(record.Enter)) != 1 {
		t.Errorf("two preludes send %+v", r.Batches)
	}
	r = ran(t, realm{Prelude: "delete self.queueMicrotask;" + twice, Code: `
		const d = E$test(1);
		return [R$test(d, 'a'), s$test(d, 'b'), r$test(d, 'c')];`})
	if string(r.Value) != `["a","b","c"]` || len(r.Batches) > 0 {
		t.Errorf("an old browser: %s, %+v", r.Value, r.Batches)
	}
	r = ran(t, realm{Prelude: runtime.Guard(nonce), Code: `
		const d = E$test(1), x = F$test(d);
		K$test(d); C$test(x);
		return [R$test(d, 'a'), s$test(d, 'b'), r$test(d, 'c')];`})
	if string(r.Value) != `["a","b","c"]` {
		t.Errorf("without a prelude: %s", r.Value)
	}
}

// TestAnswers: code that a page makes runs with the rig's insertions, or as it is. The page does
// not ask twice for a text, nor after slow or missing answers.
func TestAnswers(t *testing.T) {
	const asks = `const ask = text => v$test(eval, text), made = text => '\v/*$test*/\v' + text, texts = [];
		const many = n => { for (let i = 0; i < n; i++) texts.push(ask('x' + i)); };
		rig.rewrite = text => (`
	for _, c := range []struct {
		name, code, want string
		asked            int
		plain            []string
	}{
		{"answers", `{status: 200, answer: made(text)}); texts.push(ask('1'), ask('1'), ask(''));`,
			"\v/*$test*/\v1 \v/*$test*/\v1 ",
			1, nil},
		{"other text", `{status: 200, answer: made(text) + '!'}); many(1);`, "x0", 1, nil},
		{"not Unicode", `{status: 200, answer: made('\ufffd')}); texts.push(ask('\ud800') === '\ud800');`,
			"true", 1, nil},
		{"refused", `{status: 204}); many(2); many(2);`, "x0 x1 x0 x1", 2, nil},
		{"busy", `{status: 429}); many(1);`, "x0", 1, []string{"no answer"}},
		{"unreachable", `{status: 0}); many(5);`, "x0 x1 x2 x3 x4", 3, []string{"no answer", "slow answers"}},
		{"slow", `{status: 200, answer: made(text), wait: 51}); many(4);`,
			"\v/*$test*/\vx0 \v/*$test*/\vx1 \v/*$test*/\vx2 x3",
			3, []string{"slow answers"}},
		{"long", `{status: 200, answer: made(text)}); texts.push(ask('x'.repeat(262145)).length);`, "262145", 0,
			[]string{"limits"}},
		{"many", `{status: 204}); many(1100); texts.length = 0;`, "", 1000, []string{"limits"}},
		{"not eval", `{status: 200, answer: made(text)}); texts.push(v$test(x => x, 'a'), ask(5), ask(null) === null);`,
			"a 5 true", 0, nil},
		{"page's own natives", `{status: 200, answer: made(text)}); String.prototype.indexOf = Map.prototype.get =
			XMLHttpRequest.prototype.send = WeakMap.prototype.get = Reflect.apply = () => { throw 1; }; many(1);`,
			"\v/*$test*/\vx0", 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ran(t, realm{Prelude: prelude(t, "calls"), Code: asks + c.code + `
				await rig.timers(3000);
				return {text: texts.join(' '), asked: rig.questions.length, first: rig.questions[0]};`})
			var got struct {
				Text  string
				Asked int
				First struct {
					Method, URL string
					Later       bool
				}
			}
			if err := json.Unmarshal(r.Value, &got); err != nil {
				t.Fatal(err)
			}
			const url = "http://rig.test/.eideticker/x/rewrite?goal=eval&url=http%3A%2F%2Fa.test%2Fpage"
			if got.Text != c.want || got.Asked != c.asked || got.Asked > 0 && (got.First.Method != "POST" ||
				got.First.Later || got.First.URL != url) {
				t.Errorf("got %+v, want %q after %d questions", got, c.want, c.asked)
			}
			var plain []string
			for _, d := range r.details(t) {
				if d.Kind == "plain" {
					plain = append(plain, d.What)
				}
			}
			if !slices.Equal(plain, c.plain) {
				t.Errorf("causes %q, want %q", plain, c.plain)
			}
			waits := 0
			for _, e := range r.records(record.Enter) {
				if e.ID == 1<<32-1 {
					waits++
				}
			}
			if waits != c.asked {
				t.Errorf("%d waits are recorded, want %d", waits, c.asked)
			}
		})
	}
}

// TestTexts: the functions of a library have the texts and names of the plain library.
func TestTexts(t *testing.T) {
	src, err := os.ReadFile("../../ecma/testdata/node_modules/lodash/lodash.js")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: make webui", err)
		}
		t.Skipf("%v: make webui", err)
	}
	texts := func(code string) (all []string) {
		r := ran(t, realm{Prelude: prelude(t, "calls"), Code: code + `
			const kinds = [Function, (function* () {}).constructor, (async () => {}).constructor];
			const made = kinds.map(f => f('a', 'return () => a // end')), own = Function.prototype.toString;
			return [..._.functions(_).map(k => _[k]), ...Object.values(_.prototype),
				_.template('<% if (a) { %><%= b %><% } %>'), ...kinds,
				...made, own, own.toString, setTimeout, Blob, URL.createObjectURL,
				class { m() { return () => { return; }; } }, async x => { for await (const y of x) await y; }, x =>
				x].map(f => [f.name, f.length, typeof f === 'function' && own.call(f), String(f)].join('\n'));`})
		if err := json.Unmarshal(r.Value, &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := texts(string(src))
	rewritten, err := instrument.Rewrite(string(src), ecma.Script, instrument.Plan{Shape: instrument.Time, Nonce: nonce,
		Page: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(rewritten.Text); len(want) < 300 || !slices.Equal(got, want) {
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("of %d functions, one has the text\n%.300q\nwant\n%.300q", len(want), got[i], want[i])
			}
		}
		t.Errorf("%d functions, want %d", len(got), len(want))
	}
}
