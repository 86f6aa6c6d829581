package link

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
)

// TestWatchStalls: a CPU that somebody of a higher priority has for himself stands still for all others, and is seen to, by as much. A thread that watches and waits for something in this program
// does not see it, so on a busy machine it is tried again.
func TestWatchStalls(t *testing.T) {
	const busy = 20 * time.Millisecond
	before := runtime.GOMAXPROCS(0)
	for try := 1; ; try++ {
		cpu, from, to, stalls := watchedWhile(t, busy)
		for _, s := range stalls {
			if s.To.Sub(s.From) < LeastStall {
				t.Errorf("%v is told of", s)
			}
		}
		// Go has the thread pause every ten milliseconds, and a stall is told of from its first tick to its last.
		if seen := stalls.within(from, to); seen >= busy/2 {
			break
		} else if try == busyTries {
			t.Errorf("CPU %d was busy for %v, of which %v were seen: %v", cpu, busy, seen, stalls)
			break
		}
	}
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("%d threads may run Go code, %d before", n, before)
	}
}

// watchedWhile returns what is seen while one CPU is busy, and when that was.
func watchedWhile(t *testing.T, busy time.Duration) (cpu int, from, to timeline.Time, stalls Stalls) {
	t.Helper()
	w, err := WatchStalls()
	if errors.Is(err, os.ErrPermission) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cpu, clock := w.threads[len(w.threads)-1].cpu, timeline.Monotonic()
	from = clock.Now()
	done := make(chan error, 1)
	go func() { done <- occupy(cpu, busy) }()
	err = <-done
	to = clock.Now()
	stalls = w.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return cpu, from, to, stalls
}

// occupy has a CPU for so much of its time, before all of less priority than it.
func occupy(cpu int, busy time.Duration) error {
	runtime.LockOSThread() // not given back
	var set unix.CPUSet
	set.Set(cpu)
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: stallPriority + 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if err := errors.Join(unix.SchedSetaffinity(0, &set), unix.SchedSetAttr(0, &attr, 0)); err != nil {
		return err
	}
	var began, now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &began)
	for err == nil && time.Duration(now.Nano()-began.Nano()) < busy {
		err = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	}
	return err
}
