package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
)

// StallWatch sees this machine stand still. On each CPU a thread waits for the ticks of a timer, with a higher priority than all of a line has, so nothing of ours can delay it: a tick that it is
// late for is a stall. How late it is the kernel tells, by how many ticks went by until the thread ran in it; what the thread waits for in this program, on its way from one wait to the next, is
// not seen, and counts as nobody's stall. It takes up to a tenth of each CPU.
type StallWatch struct {
	threads []*stallThread
}

// stallThread watches a CPU.
type stallThread struct {
	cpu, fd int
	began   timeline.Time // of the ticks
	over    atomic.Bool
	done    chan struct{}
	stalls  []Stall // of the thread alone, until it is done
}

const (
	stallTick     = 500 * time.Microsecond
	stallPriority = 2       // the line's threads have 1
	mostStalls    = 1 << 14 // of a CPU; more are not told of, and count as nobody's
)

// WatchStalls begins to watch all CPUs that this program may use. Without the right to real-time priority the error is one of permission.
func WatchStalls() (*StallWatch, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("ask which CPUs may be used: %w", err)
	}
	w := &StallWatch{}
	for cpu := 0; len(w.threads) < allowed.Count(); cpu++ {
		if !allowed.IsSet(cpu) {
			continue
		}
		t, err := watchCPU(cpu)
		if err != nil {
			w.Stop()
			return nil, err
		}
		w.threads = append(w.threads, t)
	}
	return w, nil
}

// Stop ends it, and returns what it saw.
func (w *StallWatch) Stop() Stalls {
	for _, t := range w.threads {
		t.over.Store(true)
	}
	var all []Stall
	for _, t := range w.threads {
		<-t.done
		all = append(all, t.stalls...)
		timeline.AddProcs(-1)
	}
	w.threads = nil
	return merged(all)
}

func watchCPU(cpu int) (*stallThread, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	t := &stallThread{cpu: cpu, fd: fd, done: make(chan struct{}), stalls: make([]Stall, 0, mostStalls)}
	ready := make(chan error, 1)
	timeline.AddProcs(1)
	go t.run(ready)
	if err := <-ready; err != nil {
		<-t.done
		timeline.AddProcs(-1)
		return nil, err
	}
	return t, nil
}

func (t *stallThread) run(ready chan<- error) {
	defer close(t.done)
	defer unix.Close(t.fd)
	// The thread is not given back: what ran on it next would have its rights, and its CPU.
	runtime.LockOSThread()
	if err := t.begin(); err != nil {
		ready <- err
		return
	}
	ready <- nil
	// The clock without a system call, on the way from which a thread may have to wait for others of this program.
	origin, since := timeline.Monotonic().Now(), time.Now()
	next := t.began // tick
	var ticks [8]byte
	for !t.over.Load() {
		waits := origin.Add(time.Since(since))
		switch _, err := unix.Read(t.fd, ticks[:]); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return // it cannot be: what is not seen counts as nobody's
		}
		last := next.Add(time.Duration(binary.NativeEndian.Uint64(ticks[:])-1) * stallTick)
		if waits <= next && last.Sub(next) >= LeastStall && len(t.stalls) < mostStalls {
			t.stalls = append(t.stalls, Stall{next, last})
		}
		next = last.Add(stallTick)
	}
}

// begin pins the thread, and starts the timer.
func (t *stallThread) begin() error {
	var set unix.CPUSet
	set.Set(t.cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("keep a thread on CPU %d: %w", t.cpu, err)
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: stallPriority, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return notUrgent(err)
	}
	t.began = timeline.Monotonic().Now().Add(stallTick)
	spec := unix.ItimerSpec{Interval: unix.NsecToTimespec(int64(stallTick)), Value: unix.NsecToTimespec(int64(t.began))}
	if err := unix.TimerfdSettime(t.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return fmt.Errorf("set a timer: %w", err)
	}
	return nil
}
