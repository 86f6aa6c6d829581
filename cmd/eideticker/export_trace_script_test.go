package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// scriptBatch is a page that calls slow (1) with inner (2), and awaits in load (3). Then it throws,
// and loses records. Its clock is that of the recording, and counts from the first frame.
func scriptBatch() *record.Batch {
	b := &record.Batch{Kind: record.Window, Realm: 7, Origin: 1e12, Sent: 150}
	b.Records = []record.Record{
		{Code: record.Start, At: 1}, {Code: record.Asked, At: 1}, {Code: record.Answered, At: 2},
		{Code: record.Rig, At: 1.5e6}, {Code: record.Happened, ID: 0, At: 2},
		{Code: record.Enter, ID: 1, At: 10}, {Code: record.Enter, ID: 2, At: 12}, {Code: record.Leave, ID: 2, At: 20},
		{Code: record.Leave, ID: 1, At: 30}, {Code: record.Idle, At: 30},
		{Code: record.Enter, ID: 3, At: 40}, {Code: record.Suspend, ID: 3, At: 45}, {Code: record.Idle, At: 45},
		{Code: record.Enter, ID: 2, At: 50}, {Code: record.Leave, ID: 4, At: 55}, {Code: record.Idle, At: 55},
		{Code: record.Resume, ID: 3, At: 60}, {Code: record.Enter, ID: 2, At: 62}, {Code: record.Leave, ID: 5, At: 65},
		{Code: record.Leave, ID: 3, At: 70}, {Code: record.Idle, At: 70},
		{Code: record.Enter, ID: 1, At: 80}, {Code: record.Happened, ID: 1, At: 83}, {Code: record.Idle, At: 85},
		{Code: record.Gap, Argument: uint16(record.RingFull), ID: 7, At: 100}, {Code: record.Calls, ID: 10, At: 110},
		{Code: record.Enter, ID: 2, At: 120}, {Code: record.Leave, ID: 11, At: 125}, {Code: record.Idle, At: 125},
		{Code: record.Enter, ID: 99, At: 130}, {Code: record.Leave, ID: 12, At: 131}, {Code: record.Idle, At: 131},
		{Code: record.Happened, ID: 2, At: 5}, {Code: record.Happened, ID: 3, At: 7},
		{Code: record.Happened, ID: 2, At: 70},
		{Code: record.End, At: 140},
	}
	b.Details = []record.Detail{{Kind: "realm", URL: "https://a.test/"},
		{Kind: "error", Message: "Error: no <cart>", URL: "https://a.test/app.js", Line: 12, Column: 90},
		{Kind: "request", URL: "https://b.test/prices.json", What: "fetch", WaitUS: 50_000, TookUS: 60_000},
		{Kind: "request", URL: "https://a.test/a.png", What: "img", WaitUS: -1, TookUS: 55_000}}
	return b
}

// writeScripts adds the records of a page to the folder of a run, with a worker that ran nothing.
func writeScripts(t *testing.T) string {
	t.Helper()
	dir := writeRun(t, func(func(int) har.Moment) []har.Request { return nil })
	r, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first, err := r.Meta(0)
	if err != nil {
		t.Fatal(err)
	}
	info := scripts.Info{Recording: fmt.Sprintf("%x", r.Info().ID), StartNS: int64(first.Sampled.Mid()),
		Moved: []scripts.Moved{{URL: "https://a.test/app.js", Line: 12, Served: 90, Column: 70}},
		Programs: []scripts.Program{{URL: "https://a.test/app.js", First: 1, Functions: []scripts.Function{
			{Name: "slow", Line: 12, Column: 3}, {Name: "inner", Line: 40, Column: 1}, {Name: "load", Line: 7,
				Column: 1}}}}}
	var text, log bytes.Buffer
	w, err := record.NewLogWriter(&log)
	if err != nil {
		t.Fatal(err)
	}
	worker := &record.Batch{Kind: record.Worker, Realm: 8, Origin: 1e12, Sent: 5,
		Records: []record.Record{{Code: record.Start, At: 1}}}
	if err := errors.Join(info.Write(&text), w.Write(151e6, scriptBatch().Append(nil)), w.Write(6e6,
		worker.Append(nil)),
		os.WriteFile(filepath.Join(dir, scripts.InfoFile), text.Bytes(), 0o644),
		os.WriteFile(filepath.Join(dir, scripts.LogFile), log.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

const mainTrack = "main https://a.test/"

func TestTraceOfScripts(t *testing.T) {
	dir := writeScripts(t)
	p := parseTrace(t, exported(t, dir, ".trace.json"))
	wantSlices(t, mainTrack, p.track(mainTrack), []string{"slow 10ms+20", "inner 12ms+8", "inner 50ms+5", "slow 80ms+5",
		"inner 120ms+5", "function 99, which was not served 130ms+1"})
	awaits := p.track(mainTrack + ", suspended calls (1)")
	wantSlices(t, "suspended", awaits, []string{"load 40ms+30", "inner 62ms+3"})
	wantSlices(t, "lost", p.track(mainTrack+", lost records"), []string{"lost records 100ms+10"})
	requests := p.track(mainTrack + ", requests (1)")
	wantSlices(t, "requests", requests,
		[]string{"https://b.test/prices.json 5ms+60", "https://b.test/prices.json 70ms+60"})
	wantSlices(t, "meanwhile", p.track(mainTrack+", requests (2)"), []string{"https://a.test/a.png 7ms+55"})
	if got := fmt.Sprintf("%v %v", requests[0].args["first_byte_us"], requests[0].args["by"]); got != "50000 fetch" {
		t.Errorf("the first byte of a request is %s", got)
	}
	for i, want := range []map[string]string{
		{"url": "https://a.test/app.js", "line": "12", "column": "3", "self_us": "12000.000"}, {"line": "40"}, nil,
		{"threw": "true"},
	} {
		for name, text := range want {
			if got := fmt.Sprint(p.track(mainTrack)[i].args[name]); got != text {
				t.Errorf("%s of call %d is %s, want %s", name, i, got, text)
			}
		}
	}
	if got := fmt.Sprint(awaits[0].args["suspended_us"]); got != "15000.000" {
		t.Errorf("load was suspended for %s", got)
	}
	if len(p.instants) != 1 || p.instants[0].name != "Error: no <cart>" || p.instants[0].at != 83e6 ||
		p.names[p.instants[0].tid] != mainTrack || fmt.Sprint(p.instants[0].args["column"]) != "70" {
		t.Errorf("instants: %v", p.instants)
	}
	if s := p.info.Scripts; s.Calls != 8 || s.Left != 0 || s.Problem != "" {
		t.Errorf("%+v", s)
	}
	part := parseTrace(t, exported(t, dir, ".trace.json", "--frames", "4:6")) // 66.7 to 100 ms
	wantSlices(t, mainTrack, part.track(mainTrack), []string{"slow 80ms+5"})
	wantSlices(t, "suspended", part.track(mainTrack+", suspended calls (1)"), []string{"load 40ms+30"})
	if p := parseTrace(t, exported(t, dir, ".trace.json", "--no-events")); len(p.track(mainTrack)) > 0 {
		t.Error("--no-events leaves calls")
	}
}

// Fault: The records of scripts are damaged, or those of another recording
func TestTraceOfBadScripts(t *testing.T) {
	dir := writeScripts(t)
	log := filepath.Join(dir, scripts.LogFile)
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, whole[:len(whole)-3], 0o644); err != nil {
		t.Fatal(err)
	}
	p := parseTrace(t, exported(t, dir, ".trace.json"))
	if len(p.track(mainTrack)) != 6 || !strings.Contains(p.info.Scripts.Problem, "the file is cut") {
		t.Errorf("of a cut log: %v, %q", p.track(mainTrack), p.info.Scripts.Problem)
	}
	for text, want := range map[string]string{
		"{": "script.json: unexpected end",
		`{"schema":"eideticker.script","version":1,"recording_id":"0f"}`: "another recording",
	} {
		if err := os.WriteFile(filepath.Join(dir, scripts.InfoFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "a.trace.json")
		code, _, errOut := command(t, "export", dir, "-o", out)
		if code != exitFailure || !strings.Contains(errOut, want) || exists(out) {
			t.Errorf("exit code %d: %s", code, errOut)
		}
	}
}

// TestTraceOfLongestCalls: a limit keeps the longest calls with their callers.
func TestTraceOfLongestCalls(t *testing.T) {
	dir := writeScripts(t)
	r, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := filepath.Join(t.TempDir(), "a.trace.json")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	s := export.Selection{Reader: r, To: r.Frames(), Scripts: dir, MaxCalls: 3}
	n, err := s.Trace(t.Context(), out)
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	p := parseTrace(t, path)
	wantSlices(t, mainTrack, p.track(mainTrack), []string{"slow 10ms+20", "inner 12ms+8"})
	wantSlices(t, "suspended", p.track(mainTrack+", suspended calls (1)"), []string{"load 40ms+30"})
	if n.Calls != 3 || p.info.Scripts.Left != 5 || !strings.Contains(p.info.Scripts.Note, "5 shorter") {
		t.Errorf("%+v %+v", n, p.info.Scripts)
	}
}

// TestTraceOfTasks: without the log, the tasks of the results are slices.
func TestTraceOfTasks(t *testing.T) {
	dir := writeScripts(t)
	file := filepath.Join(dir, result.FileName)
	results, err := result.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	w := &results.Windows[0]
	long, _ := w.Results[0].Find("long_frames")
	late := long.Frames[0] + 5
	zero := w.StartNS + w.Times.Time[0]
	results.Script = &result.Script{
		Realms:    []result.ScriptRealm{{Kind: result.RealmWindow, URL: "https://a.test/"}, {Kind: result.RealmWorker}},
		Functions: []result.Function{{Name: "slow", URL: "https://a.test/app.js", Line: 12}},
		Tasks: []result.Task{{BeginNS: -1 << 61, EndNS: zero - 1, Function: -1, Realm: 1},
			{BeginNS: zero + 1e6, EndNS: zero + 21e6, Calls: 4}, {BeginNS: zero + 30e6, EndNS: 1 << 62, Function: -1}},
		Errors: []result.ScriptError{{Kind: result.ErrorResource, URL: "https://a.test/x.png", AtNS: zero, Count: 1,
			Frame: -1}},
		Gaps: []result.Gap{{FromNS: zero, ToNS: zero + 2e6, Cause: "quota"}},
		Late: []result.LateFrame{{Frame: late, FromNS: zero, ToNS: zero + 50e6}},
	}
	if err := errors.Join(result.Write(file, results), os.Remove(filepath.Join(dir, scripts.LogFile))); err != nil {
		t.Fatal(err)
	}
	p := parseTrace(t, exported(t, dir, ".trace.json"))
	tasks := p.track(mainTrack)
	if len(tasks) != 2 || tasks[0].name != "slow" || tasks[0].dur != 20e6 ||
		fmt.Sprint(tasks[0].args["calls"]) != "4" ||
		tasks[1].name != "task" {
		t.Errorf("tasks: %v", tasks)
	}
	if all := p.track("worker "); len(all) != 1 || all[0].at != 0 || all[0].dur <= 0 {
		t.Errorf("a task that began before the trace: %v", all)
	}
	wantSlices(t, "lost", p.track("lost records")[:1], []string{fmt.Sprintf("lost: quota %vms+2",
		float64(p.track("lost records")[0].at)/1e6)})
	if len(p.instants) != 1 || p.instants[0].name != "https://a.test/x.png" {
		t.Errorf("errors: %v", p.instants)
	}
	if got := fmt.Sprint(p.track("frames")[late].args["late"]); !strings.HasSuffix(got,
		"late. Records of its scripts are lost.") {
		t.Errorf("frame %d says %q", late, got)
	}
	if !strings.Contains(p.info.Scripts.Note, "script.log is missing") {
		t.Errorf("%+v", p.info.Scripts)
	}
}
