package profile

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/profile/sockets"
)

// fake is an engine that may stop its target, or lose records.
type fake struct {
	recorder
	stops  bool
	fails  error // of Prepare
	losing activity.Info
}

func (f *fake) Prepare(context.Context, *exec.Cmd) error    { return f.fails }
func (f *fake) Content(bool)                                {}
func (f *fake) bound(string)                                {}
func (f *fake) Stop(context.Context) (activity.Info, error) { return f.info, nil }
func (f *fake) Convert(context.Context, string, []timeline.Interval) (activity.Info, error) {
	return f.losing, nil
}

func (f *fake) Started(pid int) {
	if f.stops {
		_ = unix.Kill(pid, unix.SIGSTOP)
	}
}

// faked starts a program with an engine.
func faked(t *testing.T, o Options, f *fake) (*Session, *exec.Cmd, error) {
	t.Helper()
	o.Dir = t.TempDir()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f.info.Way = imports
	s.engines = []engine{f}
	cmd := exec.Command("sleep", "1000")
	if err := s.Start(nil)(cmd); err != nil {
		return s, nil, err
	}
	t.Cleanup(func() {
		_, _ = s.Stop(context.Background())
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return s, cmd, nil
}

// TestStoppedProgramIsHung: a profiler that stops its target is named, unless there is progress.
//
// Fault: A profiler hangs or crashes the browser
func TestStoppedProgramIsHung(t *testing.T) {
	const limit = 100 * time.Millisecond
	still := func() int64 { return 7 }
	s, cmd, err := faked(t, Options{}, &fake{stops: true})
	if err != nil {
		t.Fatal(err)
	}
	var hung *TargetError
	if err := s.Watch(t.Context(), limit, still); !errors.As(err, &hung) || hung.Way != imports ||
		!strings.Contains(err.Error(), "no progress for 100ms before its content, by the profiler; use samples") {
		t.Errorf("error %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var count atomic.Int64
	if err := s.Watch(ctx, limit, func() int64 { // frames change for some time
		if count.Add(1) == 50 {
			stop()
		}
		return count.Load()
	}); err != nil {
		t.Errorf("a program with frames: %v", err)
	}
	if err := s.Ended(); err != nil {
		t.Errorf("the program runs: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := s.Ended(); !errors.As(err, &hung) || hung.Why != "the program ended" {
		t.Errorf("the program ended: %v", err)
	}
	s.Content(true)
	if err := errors.Join(s.Watch(t.Context(), limit, still), s.Ended()); err != nil {
		t.Errorf("after the begin of the content: %v", err)
	}
}

func TestProgress(t *testing.T) {
	begin := time.Now()
	var p progress
	for i, tc := range []struct {
		at    time.Duration
		count int64
		cpu   time.Duration
		hung  bool
	}{
		{0, 3, time.Second, false}, {9 * time.Second, 3, 1400 * time.Millisecond, false},
		{10 * time.Second, 3, 1400 * time.Millisecond, true}, {11 * time.Second, 3, 1500 * time.Millisecond, false},
		{20 * time.Second, 4, 1500 * time.Millisecond, false}, {29 * time.Second, 4, 1900 * time.Millisecond, false},
		{30 * time.Second, 4, time.Second, false}, {40 * time.Second, 4, time.Second, true},
	} {
		if hung := p.hung(begin.Add(tc.at), 10*time.Second, tc.count, tc.cpu); hung != tc.hung {
			t.Errorf("%d: hung %t", i, hung)
		}
	}
}

// TestProcessorTime is that of all processes of a tree; a profiler does not count.
func TestProcessorTime(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do :; done & wait")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
	}()
	for cpuTime(cmd.Process.Pid) < 50*time.Millisecond {
		if t.Context().Err() != nil || ended(cmd.Process.Pid) {
			t.Fatal("the program ended")
		}
	}
}

// TestStrictProfile: a strict session has all engines and all records, or an error.
func TestStrictProfile(t *testing.T) {
	gone := &missingError{imports, "it is missing", "install it"}
	for name, tc := range map[string]struct {
		engine fake
		strict string // error
		start  bool   // of it
	}{
		"whole":            {fake{}, "", false},
		"lost records":     {fake{losing: activity.Info{Name: "native", Lost: 5}}, "5 records are lost", false},
		"early end":        {fake{losing: activity.Info{Name: "native", Cut: "it was killed"}}, "it was killed", false},
		"refused programs": {fake{fails: gone}, "it is missing; install it", true},
	} {
		for _, strict := range []bool{false, true} {
			engine := tc.engine
			s, cmd, err := faked(t, Options{Strict: strict}, &engine)
			if cmd != nil {
				_ = cmd.Process.Kill()
				_, err = s.Convert(t.Context(), "")
			}
			if wrong := err != nil; wrong != (strict && tc.strict != "") || tc.start != (cmd == nil) && strict ||
				wrong && !strings.Contains(err.Error(), tc.strict) {
				t.Errorf("%s, strict %t: %v", name, strict, err)
			}
		}
	}
	t.Setenv("PATH", t.TempDir())
	dir := filepath.Join(t.TempDir(), activity.TracesDir)
	if s, err := Open(t.Context(), Options{Native: Samples, Sockets: true, Strict: true, Dir: dir}); s != nil ||
		err == nil || !strings.Contains(err.Error(), "run sudo apt install linux-perf") {
		t.Errorf("missing tools: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// TestAlmostFullDiskStopsEngines: engines stop while there is room for the recording. The program
// goes on.
//
// Fault: The disk fills up while a profile is recorded
func TestAlmostFullDiskStopsEngines(t *testing.T) {
	for name, o := range map[string]Options{"samples": {Native: Samples}, "functions": {Native: functions},
		"sockets": {Sockets: true}} {
		t.Run(name, func(t *testing.T) {
			var lacks *sockets.MissingError
			if o.Sockets && errors.As(sockets.Check(), &lacks) && lacks.Kernel {
				t.Skip(lacks)
			}
			path := compile(t, "testdata/tree.c", "-finstrument-functions")
			s := open(t, o)
			p := start(t, s, path)
			p.run("main")
			s.mu.Lock()
			s.reserve = 1 << 62
			s.mu.Unlock()
			s.bound()
			p.run("main", "child")
			_, info := p.end(s)
			if !strings.Contains(info.Cut, "the disk has less than") || !strings.Contains(
				strings.Join(info.Warnings, " "), "The trace ends early: ") || info.EndNS <= info.BeginNS {
				t.Errorf("%+v", info)
			}
		})
	}
}
