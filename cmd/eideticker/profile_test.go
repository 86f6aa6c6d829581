package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
	"github.com/eideticker/eideticker/analyze/activity/perfetto"
	"github.com/eideticker/eideticker/analyze/export/pftrace/pftracetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/serve"
)

// writeProfiled makes a run whose late frames have a slow function before them.
func writeProfiled(t *testing.T) (dir string, late []result.FrameSpan) {
	t.Helper()
	const period = 1_000_000
	dir = writeRun(t, func(at func(int) har.Moment) (all []har.Request) {
		for i, path := range []string{"app.js?v=1", "data?token=secret", "data?token=other"} {
			all = append(all, har.Request{Sent: at(10 * i), FirstByte: at(10*i + 3), Ended: at(10*i + 8),
				Served: serve.Exchange{Method: "GET", URL: "https://a.test/" + path, Status: 200}})
		}
		return all
	})
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

// TestProfileSelectsListedFrames: --late selects the late frames of the results. Some of them are
// not late by the median, and some are answers to inputs. No time counts twice.
func TestProfileSelectsListedFrames(t *testing.T) {
	dir, late := writeProfiled(t)
	r, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		t.Fatal(err)
	}
	spans := result.FrameSpans(r.Windows, 0)
	other := spans[slices.IndexFunc(spans, func(s result.FrameSpan) bool { return !s.Long })]
	r.Profile = &result.Profile{Late: []result.ProfileLate{{Frame: other.Frame, FromNS: other.FromNS,
		ToNS: other.ToNS}}}
	answers := analyze.Series{Name: "latency", Frames: []int{late[0].Frame, other.Frame}, Values: []float64{5, 1}}
	r.Windows[0].Results = append(r.Windows[0].Results, analyze.Result{Measure: "response",
		Series: []analyze.Series{answers}})
	for _, s := range result.FrameSpans(r.Windows, 0)[len(spans):] {
		r.Profile.Late = append(r.Profile.Late, result.ProfileLate{Frame: s.Frame, FromNS: s.FromNS, ToNS: s.ToNS,
			Response: true})
	}
	if n := len(r.Profile.Late); n != 3 {
		t.Fatalf("%d listed frames", n)
	}
	chosen, err := profileCmd{Late: true}.chosen(r)
	if err != nil || len(chosen) != len(late)+1 || !slices.Contains(chosen, other) ||
		!slices.IsSortedFunc(chosen, func(a, b result.FrameSpan) int { return int(a.ToNS - b.ToNS) }) {
		t.Errorf("%d frames, %d of them late by the median: %+v, %v", len(chosen), len(late), chosen, err)
	}
}

// TestProfileOfRun: the slow function is in the listing and in each format.
func TestProfileOfRun(t *testing.T) {
	dir, late := writeProfiled(t)
	code, out, errOut := command(t, "profile", dir, "--late")
	for _, want := range []string{"heavyLoop (app.js:4) took", "took a larger share of ",
		"heavyLoop (app.js:4) ran for ", "heavyLoop ← RunLoop::Run", "CrRendererMain (chromium 4711)",
		"Native: perf samples"} {
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
	if text := read(export(".folded", "--tree", "inverted", "--thread", "main thread")); !strings.Contains(text,
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
}

// TestProfileOfProgram: a profile without a recording has the activity of each thread.
func TestProfileOfProgram(t *testing.T) {
	dir, _ := writeProfiled(t)
	if err := os.Remove(filepath.Join(dir, result.FileName)); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := command(t, "profile", dir)
	if code != exitOK || !strings.Contains(out, "CrRendererMain (chromium 4711) ran ") ||
		strings.Contains(out, "frame") {
		t.Errorf("exit code %d: %s%s", code, out, errOut)
	}
}

// TestProfileAsPerfetto: the file has the frames, and the threads by their own numbers. Only the
// selected frames are marked.
func TestProfileAsPerfetto(t *testing.T) {
	dir, late := writeProfiled(t)
	out := filepath.Join(t.TempDir(), "out.pftrace")
	for _, args := range [][]string{{"export", dir, "-o", out}, {"profile", dir, "--late", "-o", out, "--force"}} {
		if code, text, errOut := command(t, args...); code != exitOK || !strings.Contains(text, "3 requests") {
			t.Fatalf("%v: exit code %d: %s %s", args, code, text, errOut)
		}
		raw, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		trace := pftracetest.Decode(t, raw)
		process, thread := trace.Named("chromium"), trace.Named("CrRendererMain")
		if len(process) != 1 || len(thread) != 1 || thread[0].Thread != 4711 || thread[0].Parent != process[0].ID {
			t.Fatalf("processes %+v, threads %+v", process, thread)
		}
		count := 0
		for _, s := range thread[0].Slices {
			if s.Name == "heavyLoop" && s.Category == "samples" && s.Depth == 1 {
				count++
			}
		}
		marked := trace.Named("selected frames")
		if count != len(late) || len(trace.Named("frames")[0].Slices) < 180 ||
			(len(marked) > 0) != (args[0] == "profile") || len(marked) > 0 && len(marked[0].Slices) != len(late) {
			t.Errorf("%v: %d slices of heavyLoop in %d, want %d", args, count, len(thread[0].Slices), len(late))
		}
		var s activitytest.Sink
		claims, err := perfetto.Read(bytes.NewReader(raw), &s)
		if err != nil || len(claims.Skipped) > 0 || len(s.Threads) != 1 || len(s.Events) < 2*len(late) {
			t.Errorf("the reader of attached traces has %+v, %d events, error %v", claims, len(s.Events), err)
		}
	}
}

// TestAddressesWithoutQueries: derived files have no queries, unless the user wants them.
func TestAddressesWithoutQueries(t *testing.T) {
	dir, _ := writeProfiled(t)
	for _, ending := range []string{".callgrind", ".folded", ".svg", ".json", ".pb.gz", ".pftrace"} {
		for urls, want := range map[string][]string{"cut": {}, "full": {"app.js?v=1"}} {
			out := filepath.Join(t.TempDir(), "out"+ending)
			if code, _, errOut := command(t, "profile", dir, "--urls", urls, "-o", out); code != exitOK {
				t.Fatalf("%s: exit code %d: %s", ending, code, errOut)
			}
			if ending == ".callgrind" {
				out += "-01"
			}
			raw, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if ending == ".pb.gz" {
				p, err := pprof.ParseData(raw)
				if err != nil {
					t.Fatal(err)
				}
				raw = fmt.Append(nil, p.Function[0].Filename, p.Function[1].Filename, p.Function[2].Filename)
			}
			if urls == "full" && ending == ".pftrace" {
				want = []string{"https://a.test/data?token=secret", "https://a.test/data?token=other"}
			}
			for _, address := range want {
				if !bytes.Contains(raw, []byte(address)) {
					t.Errorf("%s %s: no %s", ending, urls, address)
				}
			}
			if urls == "cut" && (bytes.Contains(raw, []byte("?v")) || bytes.Contains(raw, []byte("token"))) {
				t.Errorf("%s has a query", ending)
			}
		}
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
		{[]string{"profile", dir, "--late", "--at-change", "8by8"}, exitUsage, "--at-change: bad region"},
		{[]string{"profile", dir, "--at-change", "8x8+999+0"}, exitUsage, "is not within the frames"},
		{[]string{"profile", dir, "--symbols", "missing"}, exitFailure, "read symbols missing: "},
		{[]string{"profile", dir, "--urls", "some"}, exitUsage, "must be one of"},
		{[]string{"profile", dir, "--window", "9"}, exitUsage, "--window 9"},
		{[]string{"profile", dir, "-o", "x.zip"}, exitUsage, "must end in .callgrind"},
		{[]string{"profile", dir, "--thread", "x"}, exitUsage, "--thread can be used with"},
		{[]string{"profile", dir, "--thread", "x", "-o", "x.folded"}, exitFailure, `no thread "x"`},
		{[]string{"profile", dir, "--trace", "x", "-o", "x.folded"}, exitUsage, "no such trace"},
		{[]string{"profile", plain}, exitFailure, "it has no traces; record them with --profile"},
		{[]string{"profile", t.TempDir()}, exitFailure, "results.json"},
		{[]string{"profile", "--native", "none", "--", "true"}, exitUsage, "nothing to record"},
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
