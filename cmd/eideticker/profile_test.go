package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/netsim/har"
)

// writeProfiled makes a run whose late frames have a slow function before them.
func writeProfiled(t *testing.T) (dir string, late []result.FrameSpan) {
	t.Helper()
	const period = 1_000_000
	dir = writeRun(t, func(func(int) har.Moment) []har.Request { return nil })
	results, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		t.Fatal(err)
	}
	traces := filepath.Join(dir, activity.TracesDir, "native")
	if err := os.MkdirAll(traces, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := activity.NewWriter(traces, activity.Info{Name: "native", Engine: "perf", Way: "samples",
		Clock: activity.Clock{Exact: true}})
	if err != nil {
		t.Fatal(err)
	}
	thread := w.Thread(activity.Thread{Process: 4711, ID: 4711, Name: "CrRendererMain", ProcessName: "chromium"})
	loop := w.Stack(0, w.Function(activity.Function{Name: "RunLoop::Run", Module: "/opt/chromium",
		Lang: activity.Native}))
	paint := w.Stack(loop, w.Function(activity.Function{Name: "Paint", Module: "/opt/chromium", Lang: activity.Native}))
	slow := w.Stack(loop, w.Function(activity.Function{Name: "heavyLoop", File: "https://a.test/app.js?v=1", Line: 4,
		Lang: activity.Script}))
	for _, s := range result.FrameSpans(results.Windows, 0) {
		stack := paint
		if s.Long {
			late = append(late, s)
			stack = slow
		}
		for at := s.FromNS + period; at < s.ToNS-period; at += period {
			if err := w.Event(activity.Event{At: at, Thread: thread, Kind: activity.Sample, Ref: stack,
				Value: period}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(late) < 10 {
		t.Fatalf("%d late frames", len(late))
	}
	return dir, late
}

// TestProfileOfRun: the slow function is in the listing and in each format.
func TestProfileOfRun(t *testing.T) {
	dir, late := writeProfiled(t)
	code, out, errOut := command(t, "profile", dir, "--late")
	for _, want := range []string{"heavyLoop (app.js:4) took", "took a larger share of ",
		"heavyLoop (app.js:4) ran for ", "CrRendererMain (chromium 4711)", "Native: perf samples"} {
		if code != exitOK || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("exit code %d %s: no %q in\n%s", code, errOut, want, out)
		}
	}
	export := func(ending string, flags ...string) string {
		t.Helper()
		name := filepath.Join(t.TempDir(), "out"+ending)
		args := append([]string{"profile", dir, "-o", name}, flags...)
		if code, _, errOut := command(t, args...); code != exitOK {
			t.Fatalf("%s: exit code %d: %s", ending, code, errOut)
		}
		return name
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	grind := read(export(".callgrind", "--late") + "-01")
	if !strings.Contains(grind, "heavyLoop https://a.test/app.js:4") || strings.Contains(grind, "Paint") {
		t.Errorf("late.callgrind is\n%s", grind)
	}
	if text := read(export(".folded", "--tree", "inverted", "--thread", "CrRendererMain")); !strings.Contains(text,
		"CrRendererMain 4711 (chromium 4711);Paint chromium;RunLoop::Run chromium ") {
		t.Errorf("folded stacks are\n%s", text)
	}
	if text := read(export(".svg", "--window", "1")); !strings.Contains(text, ">heavyLoop") {
		t.Errorf("the flame graph is\n%.2000s", text)
	}
	p, err := pprof.ParseData([]byte(read(export(".pb.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	labelled := 0
	for _, s := range p.Sample {
		if len(s.Label["late"]) > 0 {
			labelled++
		}
	}
	if labelled != len(late) {
		t.Errorf("%d stacks of late frames, want %d", labelled, len(late))
	}
	var table result.Profile
	frame := late[0].Frame
	text := read(export(".json", "--frames", fmt.Sprintf("%d:%d", frame, frame+1)))
	if err := json.Unmarshal([]byte(text), &table); err != nil ||
		len(table.Late) != 1 || table.Late[0].Frame != frame || len(table.Late[0].Threads) != 1 {
		t.Errorf("the table is %+v (error %v)", table.Late, err)
	}
	trace := parseTrace(t, export(".pftrace"))
	bars := trace.track("CrRendererMain 4711")
	count := 0
	for _, b := range bars {
		if b.name == "heavyLoop" {
			count++
		}
	}
	if count != len(late) || len(trace.track("frames")) < 180 {
		t.Errorf("%d slices of heavyLoop in %d, want %d", count, len(bars), len(late))
	}
}

// TestProfileErrors: wrong flags and missing traces are errors with a hint.
func TestProfileErrors(t *testing.T) {
	dir, _ := writeProfiled(t)
	plain := writeRun(t, func(func(int) har.Moment) []har.Request { return nil })
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"profile"}, exitUsage, "name one run folder"},
		{[]string{"profile", dir, "--late", "--window", "1"}, exitUsage, "only one of"},
		{[]string{"profile", dir, "--window", "9"}, exitUsage, "--window 9"},
		{[]string{"profile", dir, "-o", "x.zip"}, exitUsage, "must end in .callgrind"},
		{[]string{"profile", dir, "--thread", "x"}, exitUsage, "--thread can be used with"},
		{[]string{"profile", dir, "--thread", "x", "-o", "x.folded"}, exitFailure, `no thread "x"`},
		{[]string{"profile", dir, "--trace", "x", "-o", "x.folded"}, exitUsage, "no such trace"},
		{[]string{"profile", plain}, exitFailure, "it has no traces; record them with --profile"},
		{[]string{"profile", t.TempDir()}, exitFailure, "results.json"},
	} {
		code, _, errOut := command(t, tc.args...)
		if code != tc.code || !strings.Contains(errOut, tc.want) {
			t.Errorf("%v: exit code %d, want %d: %s", tc.args, code, tc.code, errOut)
		}
	}
	index := filepath.Join(dir, activity.TracesDir, "native", activity.IndexFile)
	if err := os.WriteFile(index, []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := command(t, "profile", dir); code != exitFailure || !strings.Contains(errOut, "not a trace") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}
