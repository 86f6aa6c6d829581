package scripts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// planted is a page with slow functions. The clock passes only in rig.pass. Each task calls all of
// the page's functions that begin tasks.
const planted = `
function leaf() { rig.pass(8); }
function small() { rig.pass(1); tiny(); }
function tiny() { rig.pass(0.01); }
function mid() { small(); leaf(); }
function tick() { mid(); quick(); }
function quick() { for (let i = 0; i < 20; i++) tiny(); for (const f of many) f(); }
function bad() { throw 1; }
function catches() { try { bad(); } catch (e) { tiny(); } rig.pass(6); }
function swallows() { try { deep(); } catch (e) {} return 1; }
function deep() { bad(); }
function fib(n) { rig.pass(0.1); return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const arrow = n => fib(n);
async function waits() { rig.pass(1); await 1; rig.pass(1); return tiny(); }
async function works() { rig.pass(3); await 1; rig.pass(4); }
function* numbers() { rig.pass(0.2); yield 1; rig.pass(0.2); yield 2; }
function reads() { return [...numbers()]; }
const many = [FILL];
self.begin = [tick, quick, catches, swallows, () => arrow(9), waits, works, reads];
`

// slowOnes are the functions of planted with more than 5 ms.
var slowOnes = []string{"anonymous", "arrow", "catches", "fib", "leaf", "mid", "tick", "works"}

// pageOf returns planted with so many more functions that are fast.
func pageOf(fill int) string {
	many := strings.TrimSuffix(strings.Repeat("() => { rig.pass(0.001); },", fill), ",")
	return strings.Replace(planted, "FILL", many, 1)
}

// load loads the page in Node with a plan, and calls its functions in so many tasks.
func load(t *testing.T, p *plan.Plan, src string, tasks int) (*scripts.Run, int) {
	t.Helper()
	all := analyzetest.Must(policy.Named("calls"))(t)
	o := instrument.Options{Nonce: "$tests", Secret: "x", Policies: all,
		Collector: func(string, bool) string { return "http://rig.test" }}
	if p != nil {
		c := p.Next()
		o.Active = c.Active
		if gates, live := c.Gates(); gates {
			o.Gate, o.Live = c.Gate, live
		}
	}
	in := analyzetest.Must(instrument.New(o))(t)
	handler := in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, src)
	}))
	request, answer := httptest.NewRequest(http.MethodGet, "http://a.test/a.js", nil), httptest.NewRecorder()
	request.Header.Set("Sec-Fetch-Dest", "worker") // its file has the prelude
	handler.ServeHTTP(answer, request)
	code := fmt.Sprintf(`for (let i = 0; i < %d; i++) for (const f of self.begin) { f(); await rig.turn(); }
		await rig.timers(5000);`, tasks)
	run := infoOf(in)
	batches, bytes := realm(t, answer.Body.String(), code)
	return scripts.New(run, batches), bytes
}

// infoOf describes the programs that were served.
func infoOf(in *instrument.Instrument) *scripts.Info {
	info := &scripts.Info{Policies: []string{"calls"}}
	for _, of := range in.Programs() {
		one := scripts.Program{URL: of.URL, Hash: of.Hash, Goal: of.Goal, First: of.First, Added: int64(of.Added),
			Bytes: int64(of.Bytes)}
		for _, f := range of.Functions {
			one.Functions = append(one.Functions, scripts.Function{Name: f.Name, Line: f.Line, Column: f.Column,
				Start: f.Start, End: f.End, Outside: f.Outside, Caller: f.Caller})
		}
		info.Programs = append(info.Programs, one)
	}
	return info
}

// realm runs a program in Node and returns its batches.
func realm(t *testing.T, program, code string) (all []trace.Arrived, size int) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	input := analyzetest.Must(json.Marshal(map[string]any{"prelude": program, "code": code, "worker": true}))(t)
	runner := filepath.FromSlash("../../netsim/instrument/runtime/testdata/run.mjs")
	cmd := exec.CommandContext(t.Context(), node, runner)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	var result struct {
		Thrown  string
		Batches []struct {
			Kind, Sequence, Bytes int
			Realm                 uint32
			Origin, Sent          float64
			Records               []record.Record
			Details               []record.Detail
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err != nil || result.Thrown != "" {
		t.Fatalf("%+.300v: %v", result, err)
	}
	for _, b := range result.Batches {
		at := timeline.Time(b.Sent * 1e6)
		all = append(all, trace.Arrived{At: at, Batch: &record.Batch{Kind: record.RealmKind(b.Kind), Realm: b.Realm,
			Sequence: uint32(b.Sequence), Origin: b.Origin, Sent: b.Sent, Records: b.Records, Details: b.Details}})
		size += b.Bytes
	}
	return all, size
}

// slow returns the names of a plan's slow functions.
func slow(p *plan.Plan, r *scripts.Run) (names []string) {
	for _, program := range r.Info.Programs {
		for _, f := range program.Functions {
			if f.Caller == 0 && p.Programs[program.Hash].Points[f.Start].Verdict == plan.Slow {
				names = append(names, strings.Trim(f.Name, "()"))
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestStableSet: drill-down across loads and live gates end with the same functions. These are all
// planted ones, and no fast one.
func TestStableSet(t *testing.T) {
	src := pageOf(300)
	full, fullBytes := load(t, nil, src, 60)
	for _, c := range []struct {
		adapt        string
		tasks, loads int
	}{{plan.Loads, 7, 10}, {plan.Live, 60, 3}} {
		name := fmt.Sprintf("%s, %d tasks", c.adapt, c.tasks)
		p := analyzetest.Must(plan.New(c.adapt, 0, 1))(t)
		var run *scripts.Run
		used, report := 0, plan.Report{}
		for used < c.loads && !p.Stable {
			run, _ = load(t, p, src, c.tasks)
			if run.Trace.Lost > 0 {
				t.Errorf("%s: %d records are lost", name, run.Trace.Lost)
			}
			report = p.Update(run.Load(false))
			used++
		}
		if got := slow(p, run); !reflect.DeepEqual(got, slowOnes) || !p.Stable {
			t.Errorf("%s: %v are slow after %d loads (stable: %t), want %v", name, got, used, p.Stable, slowOnes)
		}
		run, bytes := load(t, p, src, 60)
		report = p.Update(run.Load(false))
		points, logged := float64(report.Active)/float64(report.Points), float64(bytes)/float64(fullBytes)
		t.Logf("%s: stable after %d loads: %.1f %% of %d points, %.2f %% of the log's bytes", name, used, 100*points,
			report.Points, 100*logged)
		if points > 0.05 || logged > 0.025 {
			t.Errorf("%s: %.1f %% of the points, %.1f %% of the bytes", name, 100*points, 100*logged)
		}
		if got := slow(p, run); !reflect.DeepEqual(got, slowOnes) {
			t.Errorf("%s: %v are slow in a stable load", name, got)
		}
		// Only leaf calls a native for 8 ms each time. Self and total times are those of a full profile.
		plain, with := functionOf(full, "leaf"), functionOf(run, "leaf")
		if len(plain.Natives) > 0 || len(with.Natives) != 1 || with.Natives[0].Name != "rig.pass()" ||
			with.Natives[0].Line != 2 || with.Natives[0].Column != 19 || with.Natives[0].Self.Value != 60*8e6 ||
			with.Self.Value != plain.Self.Value || with.Total.Value != plain.Total.Value || with.Calls != plain.Calls {
			t.Errorf("%s: %+v, in a full profile %+v", name, with, plain)
		}
		if s := run.Results(nil); s.Programs.Functions != report.Points || s.Programs.CalledOfThem != len(slowOnes) {
			t.Errorf("%s: %+v", name, s.Programs)
		}
	}
	if full.Trace.Lost > 0 {
		t.Errorf("the full profile lost %d records", full.Trace.Lost)
	}
}

// functionOf returns a function of a run's results.
func functionOf(run *scripts.Run, name string) (of result.Function) {
	for _, f := range run.Results(nil).Functions {
		if f.Name == name {
			of = f
		}
	}
	return of
}
