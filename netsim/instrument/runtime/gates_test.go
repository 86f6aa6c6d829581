package runtime_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/record"
	"github.com/eideticker/eideticker/netsim/instrument/runtime"
)

// nested is the number of a script that runs within another one.
const nested = 98

// gated runs a program whose functions have gates. It returns the recorded calls by name. A part of
// the program ends with mark().
func gated(t *testing.T, live bool, program, code string) (parts []map[string]int, r result) {
	t.Helper()
	all, err := policy.Named("calls")
	if err != nil {
		t.Fatal(err)
	}
	made, err := instrument.Rewrite(program, ecma.Script, instrument.Plan{Shape: instrument.Time, Nonce: nonce,
		First: 1, Outside: instrument.OfScript,
		Gate: func(start uint32) instrument.Gate {
			switch name := program[start:min(int(start)+20, len(program))]; {
			case strings.HasPrefix(name, "function known_slow"):
				return instrument.Slow
			case strings.HasPrefix(name, "function known_fast"):
				return instrument.Fast
			}
			return instrument.Undecided
		}})
	if err != nil {
		t.Fatal(err)
	}
	o := runtime.Options{Nonce: nonce, Collector: "http://rig.test/.eideticker/x/", Gates: true, Live: live,
		Policies: []runtime.Policy{{Name: "calls", Text: all[0].Runtime}}}
	text, err := json.Marshal(made.Text)
	if err != nil {
		t.Fatal(err)
	}
	r = ran(t, realm{Prelude: runtime.Prelude(o), Code: `
		const mark = async () => { R$test(E$test(99)); await rig.timers(1000); };
		const nested = f => { B$test(98); f(); Q$test(98); };
		const times = async (n, f) => { for (let i = 0; i < n; i++) { f(); await rig.turn(); } };
		(0, eval)(` + string(text) + `);` + code + `
		await mark();`})
	if r.Thrown != "" {
		t.Fatal(r.Thrown)
	}
	part, scripts := map[string]int{}, 0
	for _, e := range r.records(record.Enter, record.Gap) {
		switch {
		case e.Code == record.Gap:
			t.Errorf("%d records are lost", e.ID)
		case e.ID == 99:
			parts, part = append(parts, part), map[string]int{}
		case e.ID != nested && made.Functions[e.ID-1].Caller > 0:
			part[made.Functions[e.ID-1].Name]++
		case e.ID == nested || made.Functions[e.ID-1].Outside:
			scripts++
		default:
			f := made.Functions[e.ID-1]
			name := strings.TrimPrefix(strings.TrimPrefix(program[f.Start:f.End], "async "), "function ")
			name, _, _ = strings.Cut(name, "(")
			part[name]++
		}
	}
	if want := 1 + strings.Count(code, "nested("); scripts != want {
		t.Errorf("%d scripts were recorded, want %d", scripts, want)
	}
	return parts, r
}

// TestGates: calls are recorded as often as the last map wants, in the last part. No function is
// brief.
func TestGates(t *testing.T) {
	for name, c := range map[string]struct {
		loads         bool // the page does not move gates
		program, code string
		want          map[string]int
	}{
		"roots only": {program: `function root() { inner(); } function inner() { rig.pass(0); }`,
			code: `await times(3, root);`, want: map[string]int{"root": 3}},
		"fast roots close": {program: `function root() { inner(); } function inner() { rig.pass(0); }`,
			code: `await times(5, root); await mark(); await times(9, root);`, want: map[string]int{}},
		"slow functions open their callees": {
			program: `function root() { rig.pass(6); inner(); } function inner() { rig.pass(0); }`,
			code:    `await times(5, root); await mark(); await times(2, root);`,
			want:    map[string]int{"root": 2, "inner": 2}},
		"callees of fast callees stay closed": {program: `function root() { rig.pass(6); inner(); }
			function inner() { deep(); } function deep() { rig.pass(0); }`,
			code: `await times(20, root); await mark(); await times(2, root);`, want: map[string]int{"root": 2}},
		"slow callees": {
			program: `function root() { inner(); } function inner() { deep(); } function deep() { rig.pass(6); }`,
			code:    `await times(40, root); await mark(); root();`,
			want:    map[string]int{"root": 1, "inner": 1, "deep": 1}},
		"a slow function that is fast again": {program: `var ms = 6; function root() { rig.pass(ms); }`,
			code: `await times(5, root); ms = 1; await times(20, root); await mark(); root();`,
			want: map[string]int{}},
		"hot callees": {program: `function root() { rig.pass(6); for (let i = 0; i < 1e5; i++) hot(); }
			function hot() { leaf(); } function leaf() { rig.pass(0); }`,
			code: `await times(5, root); await mark(); await times(9, root);`,
			want: map[string]int{"root": 9, "hot": 5, "leaf": 5}},
		"recursion is one call": {program: `function root(n) { rig.pass(1); if (n > 0) root(n - 1); }`,
			code: `await times(2, () => root(9));`, want: map[string]int{"root": 2}},
		"an exception": {program: `function root() { try { bad(); } catch (e) {} }
			function bad() { rig.pass(0); throw 1; }
			function other() { rig.pass(0); }`,
			code: `root(); root(); other();`, want: map[string]int{"root": 2, "other": 1}},
		"callees of code outside functions": {
			program: `function root() { inner(); } function inner() { rig.pass(0); } root(); rig.pass(60); root();`,
			want:    map[string]int{"root": 2}},
		"fast callees of slow code outside functions": {
			program: `function root() { rig.pass(0); } for (let i = 0; i < 9; i++) { rig.pass(9); root(); }`,
			code:    `await mark(); await times(5, root);`, want: map[string]int{}},
		"an exception outside functions": {
			program: `function bad() { rig.pass(0); throw 1; } function other() { rig.pass(0); }
			try { bad(); } catch (e) {} other();`,
			want: map[string]int{"bad": 1, "other": 1}},
		"a script within a call": {
			program: `function root(f) { f(); } function inner() { rig.pass(0); }`,
			code:    `root(() => nested(inner));`, want: map[string]int{"root": 1, "inner": 1}},
		"an exception without a handler": {
			program: `function root() { bad(); } function bad() { rig.pass(0); throw 1; }
			function other() { rig.pass(0); }`,
			code: `await times(2, () => { try { root(); } catch (e) {} }); other();`,
			want: map[string]int{"root": 2, "other": 1}},
		"async functions": {program: `async function root() { inner(); await 1; inner(); }
			function inner() { rig.pass(0); }`,
			code: `await times(3, root);`, want: map[string]int{"root": 3}},
		"async functions with slow parts": {
			program: `async function root() { rig.pass(3); await 1; rig.pass(3); inner(); }
			function inner() { rig.pass(0); }`,
			code: `await times(6, root); await mark(); await times(2, root);`,
			want: map[string]int{"root": 2, "inner": 2}},
		"the plan's verdicts": {loads: true,
			program: `function known_slow() { known_fast(); other(); } function known_fast() { other(); }
			function other() { rig.pass(0); }`,
			code: `await times(4, known_slow);`, want: map[string]int{"known_slow": 4, "other": 4}},
		"natives of slow functions": {loads: true, program: `function known_slow() { rig.pass(9); [1].map(inner); }
			function inner() { rig.pass(0); } function other() { rig.pass(0); }`,
			code: `await times(2, known_slow); other();`,
			want: map[string]int{"known_slow": 2, "rig.pass()": 2, "(call).map()": 2, "inner": 2, "other": 1}},
		"many short natives": {loads: true, program: `function known_slow() { for (let i = 0; i < 999; i++) Math.abs(i);
			rig.pass(9); }`,
			code: `known_slow(); await mark(); known_slow();`,
			want: map[string]int{"known_slow": 1, "rig.pass()": 1}},
		"natives of a function that is fast now": {
			program: `var ms = 6; function known_slow() { rig.pass(ms); }`,
			code:    `await times(5, known_slow); ms = 1; await times(20, known_slow); await mark(); known_slow();`,
			want:    map[string]int{}},
		"a native that throws": {loads: true, program: `function known_slow() { try { JSON.parse('{'); } catch (e) {}
			String(1); }`,
			code: `await times(2, known_slow);`,
			want: map[string]int{"known_slow": 2, "JSON.parse()": 2, "String()": 2}},
		"at most 20 samples": {loads: true, program: `function root() { rig.pass(6); inner(); }
			function inner() { rig.pass(0); }`,
			code: `await times(50, root);`, want: map[string]int{"root": 20}},
		"a long task without a slow call": {program: `var ms = 0; function root() { rig.pass(ms); }`,
			code: `await times(9, root); ms = 60; root(); rig.longTask(60); await mark(); root();`,
			want: map[string]int{"root": 1}},
		"a long task of a slow call": {program: `function slow() { rig.pass(60); } function quick() { rig.pass(0); }`,
			code: `await times(9, quick); slow(); rig.longTask(60); await mark(); quick();`, want: map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			parts, _ := gated(t, !c.loads, c.program, c.code)
			got, _ := json.Marshal(parts[len(parts)-1])
			if want, _ := json.Marshal(c.want); string(got) != string(want) {
				t.Errorf("recorded %s, want %s", got, want)
			}
		})
	}
}
