package profile

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/deploy/built"
)

// program is a child process that runs its parts on request.
type program struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// compile builds a C program.
func compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	args := append([]string{"-g", "-O1", "-fno-omit-frame-pointer", "-o", path, source, "-lpthread"}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	return path
}

// open opens a session, or skips the test where the tools are not there.
func open(t testing.TB, o Options) *Session {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), activity.TracesDir)
	s, err := Open(t.Context(), o)
	if lacks := (*missingError)(nil); errors.As(err, &lacks) && os.Getenv("CI") != "true" {
		t.Skip(lacks)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start starts a program with a session.
func start(t *testing.T, s *Session, path string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(path, args...)}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr, p.out = os.Stderr, bufio.NewReader(out)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := errors.Join(s.Start(nil)(p.cmd), s.Failed()); err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs parts, and returns the CPU time so far.
func (p *program) run(parts ...string) (cpu int64) {
	p.t.Helper()
	for _, part := range parts {
		if _, err := io.WriteString(p.in, part+"\n"); err != nil {
			p.t.Fatal(err)
		}
		line, err := p.out.ReadString('\n')
		if err == nil {
			cpu, err = strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return cpu
}

// end ends session and program, and returns the trace.
func (p *program) end(s *Session) (*activity.Trace, activity.Info) {
	p.t.Helper()
	_, err := s.Stop(context.Background())
	if err = errors.Join(err, p.in.Close(), p.cmd.Wait()); err != nil {
		p.t.Fatal(err)
	}
	infos, err := s.Convert(context.Background(), "id")
	if err != nil || len(infos) != 1 {
		p.t.Fatal(infos, err)
	}
	trace, err := activity.Open(filepath.Join(s.o.Dir, infos[0].Name))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { trace.Close() })
	return trace, infos[0]
}

// usage has the CPU time of each stack of functions with names, outermost first.
func usage(t *testing.T, trace *activity.Trace, kind activity.Kind) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for e, err := range trace.Events(-1<<60, 1<<60) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != kind {
			continue
		}
		names := []string{}
		for id := e.Ref; id != 0; {
			callers, f := trace.Stack(id)
			names, id = append(names, trace.Functions()[f].Name), callers
		}
		slices.Reverse(names)
		thread := trace.Threads()[e.Thread]
		all[thread.Name+": "+strings.Join(names, ";")] += max(e.Value, 1)
	}
	return all
}

func total(all map[string]int64, parts ...string) (sum int64) {
	for stack, n := range all {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(stack, part) }) {
			sum += n
		}
	}
	return sum
}

func TestSamplesOfProcessTree(t *testing.T) {
	path := compile(t, "testdata/tree.c")
	var cpu int64
	var trace *activity.Trace
	var info activity.Info
	for range 5 {
		s := open(t, Options{Native: Samples})
		p := start(t, s, path)
		cpu = p.run("main", "wait", "thread", "child")
		if trace, info = p.end(s); cpu < 2*4*60e6 {
			break
		}
		t.Logf("the program ran for %d ns: the host was busy", cpu)
	}
	samples := usage(t, trace, activity.Sample)
	for _, want := range [][]string{{"tree: ", "in_main;burn"}, {"second thread: ", "in_thread;burn"},
		{"in_child;burn"}, {"after_exec;burn"}} {
		// A busy host takes virtual processors away. Timers that are due meanwhile make one sample.
		if got := total(samples, want...); got < 10e6 || got > 120e6 {
			t.Errorf("%q ran %d ns, want 60 ms", want, got)
		}
	}
	ids := map[[3]int64]bool{}
	if sum := total(samples); sum < cpu*3/10 || sum > cpu*15/10 {
		t.Errorf("samples stand for %d ns of %d ns", sum, cpu)
	}
	for _, thread := range trace.Threads()[1:] {
		ids[[3]int64{int64(thread.Process), int64(thread.ID), thread.Start}] = true
		if thread.Process == int32(os.Getpid()) {
			t.Errorf("%+v is a thread of this process", thread)
		}
	}
	if len(ids) != 3 || info.Engine != "perf" || !info.Clock.Exact || info.Recording != "id" ||
		info.EndNS-info.BeginNS < 200e6 {
		t.Errorf("%+v has threads %+v", info, trace.Threads())
	}
	if waits := usage(t, trace, activity.Out); len(info.Warnings) == 0 && total(waits, "main;", "nanosleep") == 0 {
		t.Errorf("waits have the stacks %v", waits)
	}
	if len(usage(t, trace, activity.In)) == 0 {
		t.Error("no thread ran again")
	}
}

func TestSamplesOfContent(t *testing.T) {
	path := compile(t, "testdata/tree.c")
	s := open(t, Options{Native: Samples, Content: true})
	p := start(t, s, path)
	p.run("main", "child")
	s.Content(true)
	p.run("thread")
	s.Content(false)
	p.run("main")
	trace, _ := p.end(s)
	samples := usage(t, trace, activity.Sample)
	if total(samples, "in_thread;burn") < 10e6 || total(samples, "in_main") > 0 || total(samples, "in_child") > 0 {
		t.Errorf("samples are %v", samples)
	}
}

// TestContentBeginsBeforeTheProgram: the start of a program may be in the content.
func TestContentBeginsBeforeTheProgram(t *testing.T) {
	path := compile(t, "testdata/tree.c")
	s := open(t, Options{Native: Samples, Content: true})
	s.Content(true)
	p := start(t, s, path)
	p.run("main")
	trace, info := p.end(s)
	if total(usage(t, trace, activity.Sample), "in_main;burn") < 10e6 {
		t.Errorf("%+v has samples %v", info, usage(t, trace, activity.Sample))
	}
}

func TestPerfEndsEarly(t *testing.T) {
	for name, limit := range map[string]int64{"killed": 0, "limit": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			path := compile(t, "testdata/tree.c")
			s := open(t, Options{Native: Samples, Rate: 20_000, Limit: limit})
			p := start(t, s, path)
			p.run("main")
			tool := s.engines[0].(*perf).tool
			if limit == 0 {
				if err := unix.Kill(tool.cmd.Process.Pid, unix.SIGKILL); err != nil {
					t.Fatal(err)
				}
				<-tool.ended
			}
			for !tool.over() { // until its file is full
				p.run("thread")
			}
			p.run("main")
			trace, info := p.end(s)
			if t.Log(info.Cut); !strings.Contains(strings.Join(info.Warnings, " "), "perf ended before the program") {
				t.Errorf("warnings are %q", info.Warnings)
			}
			if limit > 0 && total(usage(t, trace, activity.Sample), "in_main") == 0 {
				t.Error("there are no samples before the end")
			}
		})
	}
}

// TestPerfStopsAfterALongTime: the deadline of an earlier command does not delay the end.
func TestPerfStopsAfterALongTime(t *testing.T) {
	path := compile(t, "testdata/tree.c")
	s := open(t, Options{Native: Samples})
	p := start(t, s, path)
	p.run("main")
	if err := s.engines[0].(*perf).control.SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	p.end(s)
	if err := s.engines[0].(*perf).tool.err; err != nil {
		t.Errorf("perf was ended by a signal: %v", err)
	}
}

// TestFailedPerfClosesItsPipes: a perf that ends at once leaves no file of this process open.
func TestFailedPerfClosesItsPipes(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // it has no perf; or one that ends
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	const times = 20
	var all []*perf // keeps files from being closed as garbage
	before := open()
	for i := range times {
		if i == times/2 {
			built.Executable(t, filepath.Join(os.Getenv("PATH"), "perf"), "#!/bin/sh\nexit 1\n")
		}
		p := &perf{recorder: recorder{o: Options{Native: Samples, Dir: t.TempDir(), Limit: defaultLimit}}}
		if err := p.Prepare(t.Context(), nil); err == nil {
			t.Fatal("perf was prepared")
		}
		all = append(all, p)
	}
	if more := open() - before; more >= times/2 {
		t.Errorf("%d more files are open after %d failures", more, len(all))
	}
}
