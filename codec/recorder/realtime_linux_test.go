package recorder

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
)

// threadSource calls a function on its thread, in each of its runs.
type threadSource struct {
	fakeSource
	look func()
}

func (s *threadSource) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	s.look()
	return s.fakeSource.Run(ctx, ring, events)
}

func TestCaptureThread(t *testing.T) {
	allowed, err := allowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	want := allowed[len(allowed)-1]
	looked := 0
	src := &threadSource{fakeSource: *thereAndBack(), look: func() {
		looked++
		cpus, err := allowedCPUs()
		if err != nil || !slices.Equal(cpus, []int{want}) {
			t.Errorf("the capture thread may run on %v, want %d; %v", cpus, want, err)
		}
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil || os.Geteuid() == 0 && attr.Policy != unix.SCHED_FIFO { // a deadline needs all processors
			t.Errorf("the capture thread has policy %d, %v", attr.Policy, err)
		}
	}}
	before := runtime.GOMAXPROCS(0)
	if _, err := Record(t.Context(), src, filepath.Join(t.TempDir(), "a.eid"), Options{CPUs: []int{want}}); err != nil {
		t.Fatal(err)
	}
	if looked != 3 {
		t.Errorf("looked at %d runs", looked)
	}
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("%d threads may run Go code, %d before", n, before)
	}
	// Nothing of it stays behind for other goroutines, whichever thread they get.
	if cpus, err := allowedCPUs(); err != nil || !slices.Equal(cpus, allowed) {
		t.Errorf("the program may run on %v, %v before; %v", cpus, allowed, err)
	}
	if locked := procStatus(t, "VmLck"); locked != "0 kB" {
		t.Errorf("%s are still locked", locked)
	}
}

func procStatus(t *testing.T, name string) string {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("no %s", name)
	return ""
}

func TestCheckCPUs(t *testing.T) {
	allowed, err := allowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckCPUs(allowed); err != nil {
		t.Error(err)
	}
	for _, bad := range []int{-1, 1 << 20} {
		if err := CheckCPUs([]int{allowed[0], bad}); err == nil {
			t.Errorf("processor %d was accepted", bad)
		}
	}
}

// TestWhatIsNotPermittedIsSaidOnce records as a user without privileges, in a process of its own.
//
// Fault: Limits forbid real-time priority or locked memory
func TestWhatIsNotPermittedIsSaidOnce(t *testing.T) {
	const inside = "EIDETICKER_TEST_UNPRIVILEGED"
	if os.Getenv(inside) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestWhatIsNotPermittedIsSaidOnce$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	lower := unix.Rlimit{}
	err := errors.Join(unix.Setrlimit(unix.RLIMIT_MEMLOCK, &lower), unix.Setrlimit(unix.RLIMIT_RTPRIO, &lower))
	if os.Geteuid() == 0 { // here, because the binary lies where nobody else may run it
		const nobody = 65534
		err = errors.Join(err, syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
	}
	if err != nil {
		t.Fatal(err)
	}
	src := thereAndBack() // three stages, which all ask
	sink := &fakeSink{}
	rec := newRecorder("fake", Options{RingBytes: 64 << 10})
	rec.out, rec.host = sink, prepare([]Input{{Source: src}})
	defer rec.host.Close()
	if err := rec.enter(src.Info()); err != nil {
		t.Fatal(err)
	}
	res, err := rec.record(t.Context(), src)
	if err != nil || res.Stored != 64 {
		t.Fatalf("%v, %+v", err, res.Account)
	}
	priority, memory := 0, 0
	for _, note := range res.Notes {
		if strings.Contains(note, "RLIMIT_RTPRIO") && strings.Contains(note, "CAP_SYS_NICE") {
			priority++
		}
		if strings.Contains(note, "lock") && strings.Contains(note, "ulimit -l") {
			memory++
		}
	}
	if priority != 1 || memory != 1 {
		t.Errorf("notes %q, want one about priority and one about memory", res.Notes)
	}
}

// TestHostsOverlap: what one has asked for and another has not goes with it, in whatever order they
// end.
func TestHostsOverlap(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	first, second := NewHost(1), NewHost(2)
	first.Close()
	if n := runtime.GOMAXPROCS(0); n != before+spareProcs+1 {
		t.Errorf("%d threads may run Go code for the second, %d before", n, before)
	}
	if locked := procStatus(t, "VmLck"); second.lockErr == nil && locked == "0 kB" {
		t.Error("the memory of the second is not locked any more")
	}
	second.Close()
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("%d threads may run Go code, %d before", n, before)
	}
	if locked := procStatus(t, "VmLck"); locked != "0 kB" {
		t.Errorf("%s are still locked", locked)
	}
}
