package profile

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/internal/devtools"
	"github.com/eideticker/eideticker/deploy/built"
)

// packets returns a Perfetto trace with an instant on thread 7 of process 6 at each of some times.
// The clock has a number of Perfetto: 3 is CLOCK_MONOTONIC.
func packets(clock uint64, times ...int64) (trace []byte) {
	number := func(b []byte, field protowire.Number, n uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
	}
	message := func(b []byte, field protowire.Number, inner []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), inner)
	}
	thread := number(number(nil, 1, 6), 2, 7)
	trace = message(trace, 1, message(number(nil, 10, 1), 60, message(number(nil, 1, 5), 4, thread)))
	for _, at := range times {
		event := message(number(number(nil, 9, 3), 11, 5), 23, []byte("MinorGC"))
		packet := number(number(number(nil, 10, 1), 8, uint64(at)), 58, clock)
		trace = message(trace, 1, message(packet, 11, event))
	}
	return trace
}

// peer plays Chromium at the other end of the pipe: it has an answer for each method.
func peer(t *testing.T, cmd *exec.Cmd, answer func(method string) string) {
	var ends [2]*os.File
	for i, f := range cmd.ExtraFiles {
		fd, err := unix.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = os.NewFile(uintptr(fd), "pipe")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer ends[0].Close()
		defer ends[1].Close()
		for from := bufio.NewReader(ends[0]); ; {
			raw, err := from.ReadBytes(0)
			var c struct {
				ID     int
				Method string
			}
			if err != nil || json.Unmarshal(bytes.TrimSuffix(raw, []byte{0}), &c) != nil {
				return
			}
			text := answer(c.Method)
			if text == "" {
				return
			}
			for _, one := range strings.Split(text, "\n") {
				if strings.Contains(one, "%d") {
					one = fmt.Sprintf(one, c.ID)
				}
				if _, err := ends[1].WriteString(one + "\x00"); err != nil {
					return
				}
			}
		}
	}()
	t.Cleanup(func() { <-done })
}

// TestChromiumTrace: a trace is read from the pipe, with the records of the content. An incomplete
// one is reported, and one that is missing has a reason.
//
// Fault: The browser refuses its trace, or ends while the trace is read
func TestChromiumTrace(t *testing.T) {
	const ok = `{"id": %d, "result": {}}`
	const ended = ok + "\n" +
		`{"method": "Tracing.tracingComplete", "params": {"dataLossOccurred": LOST, "stream": "1"}}`
	const part = `{"id": %d, "result": {"data": "DATA"}}`
	for _, tc := range []struct {
		name   string
		change map[string]string // of answers by method
		clock  uint64
		limit  int64
		events int64 // with gaps
		lost   int64
		warns  string
		fails  string
	}{
		{name: "whole", events: 1},
		{name: "lost records", change: map[string]string{"Tracing.end": strings.Replace(ended, "LOST", "true", 1)},
			events: 2, lost: 1},
		{name: "refused", change: map[string]string{"Tracing.start": `{"id": %d, "error": {"message": "no"}}`},
			fails: "trace of chromium: Tracing.start: no"},
		{name: "ends before", change: map[string]string{"Tracing.end": ""},
			fails: "trace of chromium: the browser closed its developer tools"},
		{name: "ends while it is read", change: map[string]string{"IO.read": `{"id": %d, "result": PART}`}, events: 1,
			warns: "The trace ends early: the browser closed"},
		{name: "never ends", limit: 1 << 20, events: 0, warns: "it has more than 1048576 bytes",
			change: map[string]string{"IO.read": strings.Replace(part, "DATA", strings.Repeat("\\n", 1000), 1)}},
		{name: "empty parts", change: map[string]string{"IO.read": strings.Replace(part, "DATA", "", 1)},
			fails: "trace of chromium: IO.read: an empty part"},
		{name: "no base64",
			change: map[string]string{"IO.read": strings.Replace(part, "DATA", `?", "base64Encoded": true, "x": "`, 1)},
			fails:  "trace of chromium: IO.read: illegal base64"},
		{name: "another clock", clock: 1, events: 1, warns: "The times are not those of CLOCK_MONOTONIC"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := open(t, Options{JS: jsTrace, Browser: "chromium", Content: true, Limit: tc.limit})
			cmd := &exec.Cmd{Path: "/usr/bin/chromium", Args: []string{"chromium", "about:blank"}}
			var at atomic.Int64
			now := func() int64 { return int64(timeline.Monotonic().Now()) }
			reads := 0
			begin := func(cmd *exec.Cmd) error {
				if got := strings.Join(cmd.Args, " "); got != "chromium --remote-debugging-pipe about:blank" {
					t.Errorf("arguments %s", got)
				}
				cmd.Process = &os.Process{Pid: os.Getpid()}
				before := now()
				peer(t, cmd, func(method string) string {
					changed, is := tc.change[method]
					switch {
					case method == "IO.read":
						if reads++; reads == 2 && !strings.HasPrefix(tc.name, "never") {
							return "" // it ended
						}
						raw := packets(cmp.Or(tc.clock, 3), before, at.Load())
						part := `{"data": "` + base64.StdEncoding.EncodeToString(raw) + `", "base64Encoded": true`
						if !is {
							return `{"id": %d, "result": ` + part + `, "eof": true}}`
						}
						return strings.Replace(changed, "PART", part+"}", 1)
					case method == "Tracing.end":
						if !is {
							return strings.Replace(ended, "LOST", "false", 1)
						}
						return changed
					case is:
						return changed
					}
					return ok
				})
				return nil
			}
			if err := errors.Join(s.Start(begin)(cmd), s.Failed()); err != nil {
				t.Fatal(err)
			}
			s.Content(true)
			at.Store(now())
			_, err := s.Stop(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			infos, err := s.Convert(t.Context(), "id")
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("%+v, %v", infos, err)
				}
				if _, err := os.Stat(filepath.Join(s.o.Dir, jsDir)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the folder is left: %v", err)
				}
				return
			}
			if err != nil || len(infos) != 1 {
				t.Fatal(infos, err)
			}
			info := infos[0]
			if text := strings.Join(info.Warnings, " "); info.Events != tc.events || info.Lost != tc.lost ||
				tc.warns == "" && text != "" ||
				!strings.Contains(text, tc.warns) || info.Clock.Exact == (tc.clock == 1) || info.Way != jsTrace {
				t.Errorf("%+v", info)
			}
		})
	}
}

// TestTracerIsChosen: names in samples need no trace. A user of developer tools shares them.
func TestTracerIsChosen(t *testing.T) {
	for _, tc := range []struct {
		js, browser string
		args        []string
		why         string // of the trace; "": there is none
		fails       string
	}{
		{jsAuto, "chromium", []string{"chromium", "--js-flags=" + scriptFlags},
			"without scripts, whose names the samples have", ""},
		{jsAuto, "chromium", []string{"chromium"}, "Chromium's sandbox keeps pages from writing files", ""},
		{jsAuto, "chromium", []string{"chromium", "--no-sandbox"}, "samples are missing", ""},
		{jsAuto, "firefox", []string{"firefox"}, "firefox does not write maps of its functions", ""},
		{jsTrace, "chromium", []string{"uftrace", "record", "/usr/bin/chromium"}, "as selected", ""},
		{jsTrace, "chromium", []string{"chromium", pipeFlag}, "as selected", ""},
		{jsTrace, "chromium", []string{"chromium", "file"}, "", "files 3 and 4 of the browser are in use"},
		{jsTrace, "firefox", []string{"other"}, "", "other is not firefox"},
	} {
		s := open(t, Options{JS: tc.js, Browser: tc.browser})
		cmd := &exec.Cmd{Path: tc.args[0], Args: tc.args}
		if slices.Contains(tc.args, "file") {
			cmd.ExtraFiles = []*os.File{os.Stdin}
		}
		err := s.Start(func(*exec.Cmd) error { return os.ErrInvalid })(cmd)
		if failed := s.Failed(); !errors.Is(err, os.ErrInvalid) || (failed != nil) != (tc.fails != "") ||
			failed != nil && !strings.Contains(failed.Error(), tc.fails) || len(s.engines) > 0 != (tc.why != "") {
			t.Errorf("%s %q: %v, %v, %d engines", tc.js, tc.args, err, failed, len(s.engines))
			continue
		}
		for _, e := range s.engines {
			if info, err := e.Stop(t.Context()); err != nil || info.Why != tc.why { // it was not started
				t.Errorf("%s %q: %q, %v", tc.js, tc.args, info.Why, err)
			}
			if d, ok := e.(*chromium); ok {
				d.discard()
			}
		}
	}
	if s, err := Open(t.Context(), Options{JS: jsAuto, Dir: t.TempDir()}); err != nil || len(s.engines) > 0 {
		t.Errorf("%v: a program has a tracer", err)
	}
}

// writes calls itself for each write.
type writes func()

func (w writes) Write(b []byte) (int, error) {
	w()
	return len(b), nil
}

// TestSilentSharedBrowser: the browser of another user's connection does not answer. The wait ends
// with its context, and leaves the session to others.
func TestSilentSharedBrowser(t *testing.T) {
	s := open(t, Options{JS: jsTrace, Browser: "chromium"})
	begin := func(cmd *exec.Cmd) error {
		cmd.Process = &os.Process{Pid: os.Getpid()}
		return nil
	}
	cmd := &exec.Cmd{Path: "chromium", Args: []string{"chromium", pipeFlag}}
	if err := errors.Join(s.Start(begin)(cmd), s.Failed()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer out.Close()
	conn := devtools.New(struct {
		io.Reader
		io.Writer
	}{in, writes(func() {
		go func() {
			s.Engines()
			cancel()
		}()
	})}, devtools.TraceComplete)
	defer conn.Close()
	s.Inspected(ctx, conn)
	if _, err := s.Convert(t.Context(), ""); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Error(err)
	}
}

// TestFirefoxTrace: Firefox writes its profile at a signal, in pieces.
//
// Fault: Firefox writes its profile late, in part or never
func TestFirefoxTrace(t *testing.T) {
	const profile = `{"meta":{"startTimeAsClockMonotonicNanosecondsSinceBoot":%d,"interval":1},"libs":[],` +
		`"threads":[{"name":"GeckoMain","tid":8,"pid":7,"samples":{"schema":{"stack":0,"time":1},"data":[[0,0.001]]},` +
		`"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},` +
		`"frameTable":{"schema":{"location":0},"data":[[0]]},"stringTable":["slow (http://a.test/}a.js:3:1)"]}],` +
		`"processes":[{"threads":[]}],"profileGatheringLog":{"7":{"profileGatheringLogEnd_TSms":5.25}}}`
	const ended = `{"threads":[],"processes":[{"threads":[],"processes":[]}]}` // the first one, of ended processes
	for _, tc := range []struct {
		name, writes, warns, fails string
		limit                      int64
	}{
		{name: "in pieces",
			writes: `cp first $to; sleep 0.5; head -c 100 profile > $to; sleep 0.3; tail -c +101 profile >> $to`},
		{name: "takes no signal", fails: "the browser does not take the signal"},
		{name: "limit", limit: 1 << 20, warns: "its file reached the limit",
			writes: `head -c 3000000 /dev/zero | tr "\\000" "[" > $to`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			trap := ""
			if tc.writes != "" {
				trap = "to=$MOZ_UPLOAD_DIR/profile_0_$$.json; trap '" + tc.writes + "' USR2\n"
			}
			program := filepath.Join(dir, "firefox")
			text := "#!/bin/sh\ncd " + dir + "\n" + trap + "echo ready\nwhile read line; do :; done\n"
			built.Executable(t, program, text)
			s := open(t, Options{JS: jsTrace, Browser: "firefox", Limit: tc.limit})
			p := start(t, s, program)
			_, err := p.out.ReadString('\n') // it runs
			raw := fmt.Sprintf(profile, int64(timeline.Monotonic().Now()))
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, "profile"), []byte(raw), 0o644),
				os.WriteFile(filepath.Join(dir, "first"), []byte(ended), 0o644))
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Stop(t.Context())
			_ = p.cmd.Process.Kill() // with a signal, read ends early in some shells
			_, _ = p.in.Close(), p.cmd.Wait()
			infos, err2 := s.Convert(t.Context(), "id")
			if err = errors.Join(err, err2); tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("%+v, %v", infos, err)
				}
				return
			}
			if err != nil || len(infos) != 1 || !strings.Contains(strings.Join(infos[0].Warnings, " "), tc.warns) ||
				tc.warns == "" && (len(infos[0].Warnings) > 0 || infos[0].Events != 1 || !infos[0].Clock.Exact) {
				t.Errorf("%+v, %v", infos, err)
			}
		})
	}
}

// TestIncompleteProfile: the wait for a profile ends with its context. A profile of the first
// process alone is not complete.
func TestIncompleteProfile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &firefox{dir: t.TempDir()}
	if err := f.await(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	path := filepath.Join(f.dir, "x.json")
	const end = `"profileGatheringLogEnd_TSms":5}}}`
	for text, want := range map[string]bool{"": false, `{"processes":[],"a":{"7":{` + end: true,
		`{"a":[[[[` + end: false, `{"threads":[{"a":1}],"processes":[]}`: false,
		`{"processes":[{"processes":[]}]}`: false} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if complete(path, int64(len(text))) != want {
			t.Errorf("%s is complete: %t", text, !want)
		}
	}
}

// TestBriefTraces: a trace beside named samples has the work of the browser, and no scripts.
func TestBriefTraces(t *testing.T) {
	s := &activitytest.Sink{}
	p := &placed{Sink: s, scripts: map[uint32]bool{}}
	thread := p.Thread(activity.Thread{Process: 6, ID: 1, Name: "main"})
	for _, f := range []activity.Function{{Name: "Layout", Lang: activity.Category},
		{Name: "draw", File: "app.js", Lang: activity.Script}} {
		err := p.Event(activity.Event{At: 1, Thread: thread, Kind: activity.Slice, Ref: p.Function(f), Value: 5})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(s.Lines()); got != "[1 main slice Layout 5]" {
		t.Error(got)
	}
	for brief, want := range map[bool]bool{false: true, true: false} {
		var config any
		raw := (&tracer{brief: brief}).traceConfig()
		if err := json.Unmarshal(raw, &config); err != nil || strings.Contains(string(raw), "cpu_profiler") != want {
			t.Errorf("brief %t: %s, %v", brief, raw, err)
		}
	}
}

// TestPlacedEvents: the content keeps parts of slices. Threads have the numbers of the system.
func TestPlacedEvents(t *testing.T) {
	s := &activitytest.Sink{}
	p := &placed{Sink: s, spans: []timeline.Interval{{Earliest: 20, Latest: 40}, {Earliest: 60, Latest: 70}},
		ids: threadIDs{{6, 1}: {6, 5001}}}
	thread := p.Thread(activity.Thread{Process: 6, ID: 1, Name: "main"})
	p.Function(activity.Function{Name: "f"})
	for _, e := range []activity.Event{{At: 65, Kind: activity.Instant}, {At: 50, Kind: activity.Instant},
		{At: 10, Kind: activity.Slice, Value: 55}, {At: 41, Kind: activity.Slice, Value: 18},
		{At: 35, Kind: activity.Lost, Value: 40}} {
		e.Thread, e.Ref = thread, 1
		if err := p.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	want := "[20 main slice f 20 35 main lost  5 60 main slice f 5 60 main lost  10 65 main instant f 0]"
	if got := fmt.Sprint(s.Lines()); got != want || !p.located || s.Threads[0].ID != 5001 {
		t.Errorf("%s of %+v", got, s.Threads)
	}
}
