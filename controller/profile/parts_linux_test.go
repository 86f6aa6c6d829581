package profile

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
	"github.com/eideticker/eideticker/capture/timeline"
)

func TestScriptNames(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string // arguments; "" if functions have no names
		why  string
	}{
		{"chromium", []string{"/usr/lib/chromium/chromium", "--no-sandbox", "about:blank"},
			"--js-flags=" + scriptFlags + "|--no-sandbox|about:blank", ""},
		{"flags of its own", []string{"/opt/chrome", "--js-flags=--jitless", "--no-sandbox"},
			"--js-flags=--jitless " + scriptFlags + "|--no-sandbox", ""},
		{"sandbox", []string{"/usr/bin/chromium", "about:blank"}, "", "sandbox"},
		{"node", []string{"/usr/bin/node", "x.js"}, strings.ReplaceAll(scriptFlags, " ", "|") +
			"|--logfile=/raw/v8.log|x.js", ""},
		{"firefox", []string{"/usr/bin/firefox"}, "", "firefox does not write maps"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := &exec.Cmd{Path: tc.args[0], Args: slices.Clone(tc.args)}
			named, why := nameScripts(cmd, "/raw")
			if got := strings.Join(cmd.Args[1:], "|"); named != (tc.want != "") || named && got != tc.want ||
				!strings.Contains(why, tc.why) || !named && !slices.Equal(cmd.Args, tc.args) {
				t.Errorf("%t, %q, arguments %s", named, why, got)
			}
		})
	}
}

func TestNamesOfNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	script := filepath.Join(t.TempDir(), "loop.js")
	// The CPU time may include time that the host took away. So the work has a least amount.
	const text = `
function heavyLoop(n) { let sum = 0; for (let i = 0; i < n; i++) sum += Math.sqrt(i); return sum; }
require('readline').createInterface({input: process.stdin}).on('line', () => {
	const end = process.cpuUsage().user + 200000;
	for (let n = 0; n < 200 || process.cpuUsage().user < end; n++) heavyLoop(1e5);
	console.log(process.cpuUsage().user * 1000);
});`
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{JS: jsMap})
	p := start(t, s, node, script)
	p.run("once")
	trace, _ := p.end(s)
	if got := total(usage(t, trace, activity.Sample), "heavyLoop"); got < 20e6 {
		t.Errorf("heavyLoop ran %d ns", got)
	}
	i := slices.IndexFunc(trace.Functions(), func(f activity.Function) bool { return f.Name == "heavyLoop" })
	if f := trace.Functions()[i]; f.File != script || f.Line != 2 || f.Lang != activity.Script {
		t.Errorf("%+v", f)
	}
	if logs, _ := filepath.Glob("isolate*.log"); len(logs) > 0 {
		t.Errorf("%q are left", logs)
	}
	if maps, _ := filepath.Glob(fmt.Sprintf("/tmp/perf-%d.map", p.cmd.Process.Pid)); len(maps) > 0 {
		t.Errorf("%q are left", maps)
	}
}

func TestPlacesOfStrippedPrograms(t *testing.T) {
	path := compile(t, "testdata/tree.c", "-Wl,--build-id=0xabcd")
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	stripped := compile(t, "testdata/tree.c", "-Wl,--build-id=0xabcd", "-s")
	places, n := newPlaces(), 0
	for _, s := range symbols {
		if s.Size == 0 || elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		n++
		for _, offset := range []uint64{s.Value, s.Value + s.Size - 1} { // this part of the file is at its address
			if begin, build := places.begin(stripped, offset); begin != s.Value || build != "abcd" {
				t.Errorf("%#x of %s is in %#x of %q, not in %#x", offset, s.Name, begin, build, s.Value)
			}
		}
	}
	if n < 7 {
		t.Errorf("the program has %d functions", n)
	}
	bare := compile(t, "testdata/tree.c", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
		"-Wl,--build-id=0xabcd")
	if f, err = elf.Open(bare); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if symbols, err = f.Symbols(); err != nil {
		t.Fatal(err)
	}
	n = 0
	for _, s := range symbols {
		if s.Name == "main" || s.Name == "burn" || s.Name == "waits" {
			n++
			if begin, build := places.begin(bare, s.Value+1); begin != s.Value+1 || build != "abcd" {
				t.Errorf("without an entry, %#x of %s is in %#x of %q", s.Value+1, s.Name, begin, build)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d functions without an entry", n)
	}
	for _, path := range []string{"missing", "testdata/tree.c"} {
		if begin, build := places.begin(path, 5); begin != 5 || build != "" {
			t.Errorf("%s: %d, %q", path, begin, build)
		}
	}
}

func TestSpansCutCalls(t *testing.T) {
	s := &activitytest.Sink{}
	w := &within{Sink: s, open: map[uint32][]uint32{}, spans: []timeline.Interval{{Earliest: 20, Latest: 40},
		{Earliest: 60, Latest: 70}}}
	thread := w.Thread(activity.Thread{ID: 1})
	for _, name := range []string{"a", "b"} {
		w.Function(activity.Function{Name: name})
	}
	for _, e := range []activity.Event{{At: 10, Kind: activity.Call, Ref: 1}, {At: 30, Kind: activity.Call, Ref: 2},
		{At: 50, Kind: activity.Return, Ref: 2}, {At: 65, Kind: activity.Return, Ref: 1},
		{At: 80, Kind: activity.Call, Ref: 2}} {
		e.Thread = thread
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	want := []activity.Event{{At: 20, Kind: activity.Call, Ref: 1}, {At: 30, Kind: activity.Call, Ref: 2},
		{At: 40, Kind: activity.Return, Ref: 2, Value: 1}, {At: 40, Kind: activity.Return, Ref: 1, Value: 1},
		{At: 60, Kind: activity.Call, Ref: 1}, {At: 65, Kind: activity.Return, Ref: 1}}
	for i := range want {
		want[i].Thread = thread
	}
	if !slices.Equal(s.Events, want) {
		t.Errorf("events are %+v", s.Events)
	}
}

// TestSpansKeepSlices: a slice that began before the content may end in it.
func TestSpansKeepSlices(t *testing.T) {
	s := &activitytest.Sink{}
	w := &within{Sink: s, open: map[uint32][]uint32{}, spans: []timeline.Interval{{Earliest: 20, Latest: 40},
		{Earliest: 60, Latest: 70}}}
	for i, slice := range [][2]int64{{5, 10}, {10, 20}, {15, 90}, {30, 45}, {41, 59}, {50, 65}, {75, 80}} {
		if err := w.Event(activity.Event{At: slice[0], Thread: 1, Kind: activity.Slice, Ref: uint32(i),
			Value: slice[1] - slice[0]}); err != nil {
			t.Fatal(err)
		}
	}
	var kept []uint32
	for _, e := range s.Events {
		kept = append(kept, e.Ref)
	}
	if !slices.Equal(kept, []uint32{1, 2, 3, 5}) {
		t.Errorf("slices %v are kept", kept)
	}
}

// TestCutTraceStatesItsEnd: a reader may fail after some records.
func TestCutTraceStatesItsEnd(t *testing.T) {
	info, err := convert(t.TempDir(), activity.Info{}, nil, func(to activity.Sink) (map[string]int64, error) {
		return nil, errors.Join(to.Event(activity.Event{At: 10, Kind: activity.Lost, Ref: 5, Value: 10}),
			errors.New("damaged"))
	})
	if err != nil || info.Cut != "damaged" || info.Events != 1 || info.Wall == 0 || !slices.Contains(info.Warnings,
		"The trace ends early: damaged.") {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestLostRecordsCountOnce: an engine may count the lost records of the trace's gaps itself.
func TestLostRecordsCountOnce(t *testing.T) {
	info, err := convert(t.TempDir(), activity.Info{Lost: 5}, nil, func(to activity.Sink) (map[string]int64, error) {
		return nil, to.Event(activity.Event{At: 10, Kind: activity.Lost, Ref: 5, Value: 10})
	})
	if err != nil || info.Lost != 5 {
		t.Errorf("%d records are lost, want 5 (%v)", info.Lost, err)
	}
}

// TestDamageIsWarnedOf: each kind of damaged records has a warning. A slice that began before the
// trace is counted without one.
func TestDamageIsWarnedOf(t *testing.T) {
	info, err := convert(t.TempDir(), activity.Info{}, nil, func(activity.Sink) (map[string]int64, error) {
		return map[string]int64{"cut records": 2, activity.FromBefore: 1}, nil
	})
	if err != nil || info.Skipped[activity.FromBefore] != 1 ||
		!slices.Equal(info.Warnings, []string{"2 records were skipped: cut records."}) {
		t.Errorf("%+v, %v", info, err)
	}
}
