package activity

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var exact = Info{Name: "native", Engine: "perf", Clock: Clock{Exact: true}}

// writer returns a writer with threads and functions 1 to n, and a stack of each function.
func writer(t testing.TB, n int) (*Writer, string) {
	t.Helper()
	dir := t.TempDir()
	w, err := NewWriter(dir, exact)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		w.Thread(Thread{Process: 1, ID: int32(i + 1), Name: fmt.Sprint("thread ", i+1)})
		w.Stack(w.Stack(0, w.Function(Function{Name: fmt.Sprint("f", i+1), Lang: Native})), 1)
	}
	return w, dir
}

func closed(t testing.TB, w *Writer, dir string) *Trace {
	t.Helper()
	info, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	trace, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close() })
	info.Schema, info.Version = Schema, Version
	if !reflect.DeepEqual(trace.Info(), info) {
		t.Fatalf("info %+v, want %+v", trace.Info(), info)
	}
	return trace
}

func events(t testing.TB, trace *Trace, from, to int64) (all []Event) {
	t.Helper()
	for e, err := range trace.Events(from, to) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// history returns the records of a thread in order: nested calls, slices within calls, switches,
// samples and gaps.
func history(random *rand.Rand, thread uint32, n int) (all []Event) {
	var open []uint32
	at, running, ends := int64(random.IntN(1e9)), true, []int64(nil)
	for range n {
		at += 1 + int64(random.ExpFloat64()*2e7)
		if random.IntN(100) == 0 {
			at += 3e9
		}
		for len(ends) > 0 && ends[len(ends)-1] <= at {
			ends = ends[:len(ends)-1]
		}
		f := 1 + random.Uint32N(5)
		e := Event{At: at, Thread: thread}
		switch k := random.IntN(10); {
		case k < 3 && len(open) < 20 && len(ends) == 0:
			e.Kind, e.Ref, open = Call, f, append(open, f)
		case k < 5 && len(open) > 0 && len(ends) == 0:
			e.Kind, e.Ref, open = Return, open[len(open)-1], open[:len(open)-1]
		case k == 5:
			e.Kind, e.Ref, e.Value = Slice, f, int64(random.IntN(5e8))
			if len(ends) > 0 {
				e.Value = min(e.Value, ends[len(ends)-1]-at)
			}
			ends = append(ends, at+e.Value)
		case k == 6 && running:
			e.Kind, e.Ref, e.Value, running = Out, f, int64(random.IntN(2)), false
		case k == 6 && random.IntN(2) == 0:
			e.Kind, e.Ref = Woken, 1
		case k == 6:
			e.Kind, running = In, true
		case k == 7 && random.IntN(20) == 0:
			e.Kind, e.Value, running = Lost, int64(random.IntN(5e8)), true
			if random.IntN(2) == 0 {
				e.Thread = 0
			}
		default:
			e.Kind, e.Ref, e.Value = Sample, 1+random.Uint32N(5), 1_003_009
		}
		all = append(all, e)
	}
	return append(all, Event{At: at + 1, Thread: thread, Kind: Out, Value: Waits})
}

// TestLimitCutsTheTrace: a trace at its limit keeps what it has, and ends with a gap.
func TestLimitCutsTheTrace(t *testing.T) {
	w, dir := writer(t, 1)
	w.most, w.info.BeginNS, w.info.EndNS = 3, 5, 100
	for i := range int64(6) {
		err := w.Event(Event{At: 10 * (i + 1), Thread: 1, Kind: Sample, Ref: 1, Value: 1})
		if (err != nil) != (i >= 3) {
			t.Errorf("event %d: %v", i, err)
		}
	}
	trace := closed(t, w, dir)
	all := events(t, trace, minTime, maxTime)
	if n := len(all); n != 4 || all[2].At != 30 || all[3] != (Event{At: 30, Kind: Lost, Value: 70}) ||
		trace.Info().Lost != 1 || trace.Info().EndNS != 100 {
		t.Errorf("events %+v of %+v", all, trace.Info())
	}
	w, dir = writer(t, 1)
	w.tables.size = maxStrings
	if w.Event(Event{At: 10, Thread: 1, Kind: Sample, Ref: 1}) != nil || w.Function(Function{Name: "more"}) != 0 ||
		w.Event(Event{At: 20, Thread: 1, Kind: Sample, Ref: 1}) == nil {
		t.Error("a name over the limit is accepted")
	}
	if all := events(t, closed(t, w, dir), minTime, maxTime); len(all) != 1 {
		t.Errorf("events %+v", all)
	}
}

// TestWindowsAreThoseOfAllEvents compares windows and states with those of a plain list.
func TestWindowsAreThoseOfAllEvents(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 1))
		w, dir := writer(t, 5)
		w.room = 100 + random.IntN(2000)
		var all []Event
		for thread := range uint32(5) {
			all = append(all, history(random, thread+1, 1500)...)
		}
		for _, e := range all { // one thread after the other
			if err := w.Event(e); err != nil {
				t.Fatal(err)
			}
		}
		trace := closed(t, w, dir)
		if len(trace.blocks) < 20 || len(trace.Info().Skipped) > 0 {
			t.Fatalf("%d blocks, skipped %v", len(trace.blocks), trace.Info().Skipped)
		}
		slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
		last := all[len(all)-1].At
		for range 200 {
			from := random.Int64N(last + 2)
			to := from + random.Int64N(1<<random.IntN(36))
			var want []Event
			states := make([]State, 6)
			for i := range states {
				states[i].Thread = uint32(i)
			}
			for _, e := range all {
				for i := range states[1:] {
					if e.At < from && (e.Thread == 0 || e.Thread == uint32(i+1)) {
						states[i+1].Step(e)
					}
				}
				if e.At >= from && e.At < to {
					want = append(want, e)
				}
			}
			if got := events(t, trace, from, to); !slices.Equal(got, want) {
				t.Fatalf("seed %d: from %d to %d: %d events %v, want %d %v", seed, from, to, len(got), got,
					len(want), want)
			}
			got, err := trace.At(from)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range states[1:] {
				one.end(from)
				if i := slices.IndexFunc(got, func(s State) bool { return s.Thread == one.Thread }); i >= 0 {
					if !same(got[i], one, from) {
						t.Fatalf("seed %d: state at %d: %+v, want %+v", seed, from, got[i], one)
					}
				} else if len(one.Calls) > 0 || one.On != Unseen || one.Lost > from {
					t.Fatalf("seed %d: no state at %d, want %+v", seed, from, one)
				}
			}
		}
	}
}

// same compares the parts of states that matter at a time.
func same(a, b State, at int64) bool {
	for _, s := range []*State{&a, &b} {
		if s.Lost <= at {
			s.Lost = 0
		}
		if s.On != OffCPU {
			s.Reason, s.Stack, s.Woken, s.WokenBy = 0, 0, 0, 0
		}
		if s.On == Unseen {
			s.Since = 0
		}
		s.Calls = append([]OpenCall{}, s.Calls...)
	}
	return reflect.DeepEqual(a, b)
}

// TestCallsAreNested: faulty records become nested calls, and their number is known.
func TestCallsAreNested(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in, want []Event
		skipped  map[string]int64
	}{
		{"order of arrival",
			[]Event{{5, 1, Call, 2, 0}, {9, 1, Return, 2, 0}, {1, 1, Call, 1, 0}, {9, 1, Return, 1, 0}},
			[]Event{{1, 1, Call, 1, 0}, {5, 1, Call, 2, 0}, {9, 1, Return, 2, 0}, {9, 1, Return, 1, 0}}, nil},
		{"longjmp", []Event{{1, 1, Call, 1, 0}, {2, 1, Call, 2, 0}, {3, 1, Call, 3, 0}, {4, 1, Return, 1, 0}},
			[]Event{{1, 1, Call, 1, 0}, {2, 1, Call, 2, 0}, {3, 1, Call, 3, 0}, {4, 1, Return, 3, 1},
				{4, 1, Return, 2, 1}, {4, 1, Return, 1, 0}},
			map[string]int64{"calls that returned with an outer one": 2}},
		{"return without a call", []Event{{1, 1, Call, 1, 0}, {2, 1, Return, 2, 0}},
			[]Event{{1, 1, Call, 1, 0}}, map[string]int64{"returns without a call": 1}},
		{"end of a running thread",
			[]Event{{1, 1, In, 0, 0}, {4, 1, Sample, 1, 1}, {2, 2, In, 0, 0}, {3, 2, Out, 1, Ended},
				{9, 3, Call, 1, 0}},
			[]Event{{1, 1, In, 0, 0}, {2, 2, In, 0, 0}, {3, 2, Out, 1, Ended}, {4, 1, Sample, 1, 1},
				{4, 1, Out, 0, Ended}, {9, 3, Call, 1, 0}}, nil},
		{"inner slice first", []Event{{1, 1, Slice, 2, 3}, {1, 1, Slice, 1, 9}},
			[]Event{{1, 1, Slice, 1, 9}, {1, 1, Slice, 2, 3}}, nil},
		{"slice over an end", []Event{{1, 1, Slice, 1, 9}, {5, 1, Slice, 2, 9}},
			[]Event{{1, 1, Slice, 1, 9}, {5, 1, Slice, 2, 5}}, map[string]int64{"slices that end after outer ones": 1}},
		{"impossible", []Event{{1 << 62, 1, Call, 1, 0}, {1, 7, Call, 1, 0}, {1, 1, Call, 9, 0}, {1, 1, 99, 1, 0},
			{1, 1, Slice, 1, -1}, {1, 0, Call, 1, 0}, {1, 1, Sample, 7, 1}, {1, 1, Out, 1, 3}}, nil,
			map[string]int64{"impossible times": 2, "events of unknown threads": 2, "events with unknown numbers": 2,
				"events of unknown kinds": 1, "unknown reasons": 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, dir := writer(t, 3)
			for _, e := range tc.in {
				if err := w.Event(e); err != nil {
					t.Fatal(err)
				}
			}
			trace := closed(t, w, dir)
			if got := events(t, trace, 0, 100); !slices.Equal(got, tc.want) {
				t.Errorf("events %v, want %v", got, tc.want)
			}
			if got := trace.Info().Skipped; len(got) != len(tc.skipped) || len(got) > 0 && !reflect.DeepEqual(got,
				tc.skipped) {
				t.Errorf("skipped %v, want %v", got, tc.skipped)
			}
		})
	}
}

// TestDepthIsLimited: endless recursion keeps the outermost calls.
func TestDepthIsLimited(t *testing.T) {
	w, dir := writer(t, 1)
	stack := uint32(0)
	for i := range int64(MaxDepth + 10) {
		stack = w.Stack(stack, 1)
		if err := w.Event(Event{i, 1, Call, 1, 0}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(MaxDepth + 10) {
		if err := w.Event(Event{10_000 + i, 1, Return, 1, 0}); err != nil {
			t.Fatal(err)
		}
	}
	trace := closed(t, w, dir)
	all := events(t, trace, 0, 1e6)
	if states, err := trace.At(10_010); err != nil || len(states) != 1 || len(states[0].Calls) != MaxDepth {
		t.Errorf("states %v (error %v)", states, err)
	}
	if last := all[len(all)-1]; len(all) != 2*MaxDepth || last.At != 10_000+MaxDepth+9 {
		t.Errorf("%d events, last %v", len(all), last)
	}
	if got := trace.Info().Skipped["functions beyond the depth"]; got != 20 {
		t.Errorf("skipped %d, want 10 calls and 10 functions of a stack", got)
	}
}

func TestTablesKeepNames(t *testing.T) {
	w, dir := writer(t, 0)
	in := []Function{
		{Name: "run\x1b[31m\n", Module: "/usr/lib/a\u202e.so", BuildID: "0a", Lang: Native},
		{Module: "libc.so", Offset: 1 << 40, Lang: Kernel},
		{Name: "g", File: "https://example.org/app.js?token=SECRET#x", Line: 12, Lang: Script},
		{Name: "g", File: "what?.c", Line: -5}, {Name: strings.Repeat("ä", 1000), Offset: 9},
	}
	for i, f := range in {
		if id := w.Function(f); id != uint32(i+1) || w.Function(f) != id {
			t.Errorf("function %d has number %d", i, id)
		}
	}
	thread := Thread{Process: -1, ID: 1<<31 - 1, Name: "Chrome_IOThread", ProcessName: "chromium", Start: -5}
	if w.Thread(Thread{Process: -1, ID: 1<<31 - 1, Start: -5, Name: "early", ProcessName: "chromium"}) != 1 ||
		w.Thread(Thread{Process: -1, ID: 1<<31 - 1, Start: -5, Name: thread.Name}) != 1 {
		t.Error("a thread with a new name has another number")
	}
	stack := w.Stack(w.Stack(0, 1), 2)
	trace := closed(t, w, dir)
	in[0].Name, in[0].Module, in[2].File, in[3].Line = "run?[31m ", "/usr/lib/a?.so", "https://example.org/app.js", 0
	in[4].Name, in[4].Offset = strings.Repeat("ä", 148)+"…", 0
	if got := trace.Functions()[1:]; !slices.Equal(got, in) {
		t.Errorf("functions %+v, want %+v", got, in)
	}
	if got := trace.Threads()[1:]; !slices.Equal(got, []Thread{thread}) {
		t.Errorf("threads %+v", got)
	}
	callers, f := trace.Stack(stack)
	outermost, g := trace.Stack(callers)
	if none, h := trace.Stack(outermost); f != 2 || g != 1 || outermost != 0 || none != 0 || h != 0 {
		t.Errorf("stack %d %d %d %d %d", f, g, h, outermost, none)
	}
}

// TestErrorsLeaveNoFiles: a trace that cannot be written has no index.
func TestErrorsLeaveNoFiles(t *testing.T) {
	w, dir := writer(t, 1)
	w.room = 10
	for i := range 100 {
		_ = w.Event(Event{int64(i), 1, Sample, 1, 1})
	}
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err == nil || !strings.HasPrefix(err.Error(), "write trace: ") {
		t.Errorf("error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("files %v", left)
	}
}

// TestDamagedFilesAreErrors: each changed or missing byte is an error or does not matter.
func TestDamagedFilesAreErrors(t *testing.T) {
	w, dir := writer(t, 3)
	random := rand.New(rand.NewPCG(7, 7))
	for _, e := range history(random, 1, 300) {
		_ = w.Event(e)
	}
	whole := events(t, closed(t, w, dir), 0, 1<<60)
	path := filepath.Join(dir, IndexFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(raw []byte) (all []Event, err error) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		trace, err := Open(dir)
		if err != nil {
			return nil, err
		}
		defer trace.Close()
		for e, err := range trace.Events(-1<<62, 1<<62) {
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
		_, err = trace.At(1e9)
		return all, err
	}
	if all, err := read(good); err != nil || !slices.Equal(all, whole) {
		t.Fatalf("%d events, error %v", len(all), err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << random.IntN(8)
		if all, err := read(bad); err == nil && !slices.Equal(all, whole) {
			t.Fatalf("byte %d: other events without an error", i)
		} else if err != nil && !strings.Contains(err.Error(), "trace") {
			t.Fatalf("byte %d: error %v", i, err)
		}
		if _, err := read(good[:i]); err == nil {
			t.Fatalf("%d of %d bytes have no error", i, len(good))
		}
	}
}

func TestInfoIsChecked(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct{ text, want string }{
		{`{"schema":"eideticker.trace","version":1,"clock":{"exact":true}}`, ""},
		{`{"schema":"eideticker.trace","version":2,"clock":{"exact":true}}`, "version 2"},
		{`{"schema":"eideticker.trace","version":1}`, "impossible corners"},
		{`{"schema":"eideticker.trace","version":1,"clock":{"corners":[{"offset_ns":1,"drift":0.5}]}}`, "drift 0.5"},
		{`{"schema":"eideticker.trace","version":1,"events":-1,"clock":{"exact":true}}`, "count"},
		{strings.Repeat(" ", maxInfo+1), "more than"},
	} {
		if err := os.WriteFile(filepath.Join(dir, infoFile), []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadInfo(dir); (err == nil) != (tc.want == "") || err != nil &&
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.80s: error %v, want %q", tc.text, err, tc.want)
		}
	}
}

// FuzzBlock reads hostile blocks, tables and directories, which are unpacked.
func FuzzBlock(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	b := block{begin: 1e9}
	all := history(random, 1, 200)
	b.begin = all[0].At
	for _, e := range all {
		if e.Kind != Return {
			b.events = append(b.events, e)
		}
	}
	f.Add(b.append(nil), uint8(0))
	w, _ := writer(f, 5)
	f.Add(w.tables.append(nil), uint8(1))
	f.Add(appendDirectory(nil, []entry{{8, 100, 1, 5}, {108, 50, 5, 9}}), uint8(2))
	_, _ = w.Close()
	f.Fuzz(func(t *testing.T, raw []byte, part uint8) {
		in := &input{raw: raw, name: "fuzz"}
		switch part % 3 {
		case 0:
			b := block{begin: 1e9}
			if b.read(in, bounds{5, 5, 5}) == nil {
				last := b.begin
				for _, e := range b.events {
					if e.At < last || e.Thread > 5 || e.Ref > 5 && e.Kind < FlowOut {
						t.Fatalf("event %+v after %d", e, last)
					}
					last = e.At
				}
			}
		case 1:
			var read tables
			if read.read(in) == nil {
				for i, s := range read.stacks[1:] {
					if int(s.callers) > i || s.function == 0 {
						t.Fatalf("stack %d: %+v", i+1, s)
					}
				}
			}
		case 2:
			all, err := readDirectory(in, 2, 158)
			if err == nil && (all[1].at+all[1].size != 158 || all[0].last > all[1].first) {
				t.Fatalf("directory %+v", all)
			}
		}
	})
}

// TestNamesHaveNoQueries: the index of a trace has addresses without queries. Rename replaces
// functions.
func TestNamesHaveNoQueries(t *testing.T) {
	for in, want := range map[string]string{
		"load (https://a.test/b?token=1:2:3)": "load (https://a.test/b)",
		"f https://a.test/#x g":               "f https://a.test/ g",
		"http://a/?x http://b/?y":             "http://a/ http://b/",
		"a ? b : c":                           "a ? b : c",
		"std::map<a://b>::f":                  "std::map<a://b>::f",
		"blob:https://a.test/1?x":             "blob:https://a.test/1",
	} {
		dir := t.TempDir()
		w, err := NewWriter(dir, Info{Clock: Clock{Exact: true}})
		if err != nil {
			t.Fatal(err)
		}
		w.Thread(Thread{ID: 1, Name: in})
		w.Function(Function{Name: in, File: "https://a.test/c?d"})
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		trace, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer trace.Close()
		f := trace.Functions()[1]
		if f.Name != want || f.File != "https://a.test/c" || trace.Threads()[1].Name != want {
			t.Errorf("%q is %q, file %q, thread %q", in, f.Name, f.File, trace.Threads()[1].Name)
		}
		trace.Rename(func(f Function) Function { f.Name += "\x1b"; return f })
		if f := trace.Functions()[1]; f.Name != want+"?" {
			t.Errorf("%q is renamed to %q", want, f.Name)
		}
	}
}
