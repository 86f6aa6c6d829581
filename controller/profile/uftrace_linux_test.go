package profile

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
)

// called counts the calls of each function.
func called(t *testing.T, trace *activity.Trace) map[string]int {
	t.Helper()
	all := map[string]int{}
	for e, err := range trace.Events(-1<<60, 1<<60) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == activity.Call {
			all[trace.Functions()[e.Ref].Name]++
		}
	}
	return all
}

func TestFunctionsOfProcessTree(t *testing.T) {
	for name, flags := range map[string][]string{"pg": {"-pg"}, "instrumented": {"-finstrument-functions"},
		"patchable": {"-fpatchable-function-entry=5"}, "plain": nil} {
		t.Run(name, func(t *testing.T) {
			path := compile(t, "testdata/tree.c", flags...)
			s := open(t, Options{Native: functions})
			p := start(t, s, path)
			p.run("main", "thread", "main", "child")
			trace, info := p.end(s)
			for function, want := range map[string]int{"main": 2, "in_main": 2, "in_thread": 1, "in_child": 1,
				"after_exec": 1, "burn": 5} {
				if got := called(t, trace)[function]; got != want {
					t.Errorf("%s has %d calls, want %d", function, got, want)
				}
			}
			if info.Way != functions || info.Why == "" || info.Lost > 0 || len(info.Skipped) > 0 {
				t.Errorf("%+v", info)
			}
		})
	}
}

func TestFunctionsOfContent(t *testing.T) {
	path := compile(t, "testdata/tree.c", "-pg")
	s := open(t, Options{Native: functions, Content: true})
	p := start(t, s, path)
	p.run("main", "child")
	s.Content(true)
	p.run("thread")
	s.Content(false)
	p.run("main")
	trace, _ := p.end(s)
	got := called(t, trace)
	if got["main"] != 1 || got["in_thread"] != 1 || got["burn"] != 1 || got["in_main"] != 0 || got["in_child"] != 0 {
		t.Errorf("calls are %v", got)
	}
}

func TestImports(t *testing.T) {
	path := compile(t, "testdata/tree.c")
	s := open(t, Options{Native: imports})
	p := start(t, s, path)
	p.run("wait", "thread", "wait")
	trace, _ := p.end(s)
	got := called(t, trace)
	if got["usleep"] != 2 || got["pthread_create"] != 1 || got["strcmp"] != 0 || got["main"] != 0 {
		t.Errorf("calls are %v", got)
	}
}

// TestCommonImports: those of commonText are left out, also locks, for which a thread may wait.
// Waits for other threads and calls that run further functions are not.
func TestCommonImports(t *testing.T) {
	all := regexp.MustCompile(strings.Join(common, "|"))
	for name, want := range map[string]bool{"memcpy": true, "__strcpy_chk": true, "bcmp": true, "wcrtomb": true,
		"__ctype_b_loc": true, "free": true, "_Znwm": true, "pthread_mutex_lock": true, "pthread_mutex_unlock": true,
		"pthread_mutexattr_settype": true, "pthread_cond_init": true, "clock_gettime": true, "floorf": true,
		"round":  true,
		"lround": true, "llrintf": true, "exp2": true, "expm1f": true, "log10": true, "sincosf": true, "tanh": true,
		"pthread_cond_wait": false, "pthread_cond_signal": false, "pthread_join": false, "read": false,
		"pthread_once": false, "fopen": false, "expat": false, "logger": false, "sinister": false,
		"g_main_context_iteration": false} {
		if got := all.MatchString(name); got != want {
			t.Errorf("%s is left out: %t, want %t", name, got, want)
		}
	}
}

// TestIncompleteCalls: a trace and a direct export warn of the same damage.
func TestIncompleteCalls(t *testing.T) {
	c := &calls{recorder: recorder{o: Options{Dir: t.TempDir()}}}
	c.info.Cut, c.info.Warnings = "uftrace was stopped", append(make([]string, 0, 9), "An own one.")
	if err := os.MkdirAll(c.data(), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"task.txt": "TASK timestamp=1.000000000 tid=7 pid=7\n",
		"7.dat": "of 15 bytes and", "8.dat": strings.Repeat("\x00", 16)} {
		if err := os.WriteFile(filepath.Join(c.data(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	direct, err := c.pass(&activitytest.Sink{})
	want := []string{"1 records were skipped: cut records.", "1 records were skipped: damaged records.",
		"An own one.", "The trace ends early: uftrace was stopped."}
	if err != nil || !slices.Equal(direct.Warnings, want) || direct.Skipped["cut records"] != 1 {
		t.Errorf("%v: %+v", err, direct)
	}
	info, err := c.Convert(t.Context(), "", nil)
	if err != nil || !slices.Equal(info.Warnings, want) || !maps.Equal(info.Skipped, direct.Skipped) {
		t.Errorf("%v: %q, want %q", err, info.Warnings, want)
	}
}

func TestLimitOfFunctions(t *testing.T) {
	path := compile(t, "testdata/tree.c", "-pg")
	s := open(t, Options{Native: functions, Limit: 1 << 20})
	p := start(t, s, path)
	cut := func() bool {
		s.bound()
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.engines[0].(*calls).info.Cut != ""
	}
	for !cut() {
		p.run("main", "main", "wait")
	}
	p.run("child")
	trace, info := p.end(s)
	if got := called(t, trace); got["in_main"] == 0 || !strings.Contains(strings.Join(info.Warnings, " "), "limit") {
		t.Errorf("%+v has calls %v", info, got)
	}
}

func TestAutoTakesTheNextEngine(t *testing.T) {
	stripped, static := compile(t, "testdata/tree.c", "-s"), compile(t, "testdata/tree.c", "-static")
	for _, tc := range []struct{ path, browser, way, why string }{
		{stripped, "", imports, "tree has no symbols and is not instrumented"},
		{stripped, "firefox", Samples, "Firefox hangs"},
		{static, "", Samples, "imports: tree is statically linked"},
	} {
		s := open(t, Options{Native: auto, Browser: tc.browser})
		p := start(t, s, tc.path)
		p.run("main")
		if _, info := p.end(s); info.Way != tc.way || !strings.Contains(info.Why, tc.why) {
			t.Errorf("%s: %+v", tc.browser, info)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for way, want := range map[string]string{Samples: "sudo apt install linux-perf",
		functions: "sudo apt install uftrace", auto: "linux-perf"} {
		s, err := Open(t.Context(), Options{Native: way, Dir: t.TempDir()})
		var lacks *missingError
		if s == nil || !errors.As(err, &lacks) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", way, err)
		}
	}
	if _, err := Open(t.Context(), Options{JS: jsTrace, Dir: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "only the browser of a recorded run is traced") {
		t.Errorf("trace of a program: %v", err)
	}
	for name, o := range map[string]Options{"way": {Native: "x"}, "rate": {Rate: -1}, "js": {JS: "x"},
		"limit": {Limit: 1}} {
		if s, err := Open(t.Context(), o); s != nil || err == nil {
			t.Errorf("%s: %+v is accepted", name, o)
		}
	}
}

func TestRefusedPrograms(t *testing.T) {
	s := open(t, Options{Native: functions})
	script := filepath.Join(t.TempDir(), "script")
	if err := exec.CommandContext(context.Background(), "cp", "testdata/tree.c", script).Run(); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := s.Start(nil)(exec.Command(script)); err == nil || s.Failed() == nil ||
		!strings.Contains(s.Failed().Error(), "script is not an ELF program") {
		t.Errorf("%v, %v", err, s.Failed())
	}
}

// TestProgramIsNotStarted: a run may fail before its browser starts.
func TestProgramIsNotStarted(t *testing.T) {
	for _, o := range []Options{{Native: Samples}, {Native: functions}, {Native: auto}} {
		o.Content = true
		s := open(t, o)
		s.Content(true)
		if infos, err := s.Convert(t.Context(), "id"); len(infos) > 0 || err != nil {
			t.Errorf("%s: %+v, %v", o.Native, infos, err)
		}
	}
}

// TestDiscard: nothing is left of the recording of a warm-up.
func TestDiscard(t *testing.T) {
	path := compile(t, "testdata/tree.c")
	s := open(t, Options{Native: auto, Browser: "firefox"})
	p := start(t, s, path, "once")
	if err := p.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := s.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.o.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", s.o.Dir, err)
	}
}
