package timeline

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// A favoured thread has a quarter of a processor for itself. It may use the time that other such
// threads leave.
const (
	threadShare  = time.Millisecond
	threadPeriod = 4 * time.Millisecond
)

// FavourThread puts the calling thread before ordinary threads, so that it wakes in time on a busy
// machine. The thread must be locked to its goroutine, and end with it. No thread inherits it.
//
// The thread gets SCHED_DEADLINE (sched(7)) where that is possible: it needs CAP_SYS_NICE, all
// processors, and room beside other deadlines. Otherwise it gets SCHED_FIFO at the lowest priority,
// which RLIMIT_RTPRIO may allow. A thread that returns from the kernel may wait in a loop for a
// garbage collector that scans its stack. In SCHED_FIFO the loop can keep the collector from its
// processor, until the kernel ends that after a second. A thread with a deadline sleeps until its
// next period instead.
//
// Without permission the thread stays as it is. Late ticks on a busy machine are then counted like
// any other loss.
func FavourThread() error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_DEADLINE,
		Flags:   unix.SCHED_FLAG_RESET_ON_FORK | unix.SCHED_FLAG_RECLAIM,
		Runtime: uint64(threadShare), Deadline: uint64(threadPeriod), Period: uint64(threadPeriod)}
	if unix.SchedSetAttr(0, &attr, 0) == nil {
		return nil
	}
	attr = unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return fmt.Errorf("raise the priority: %w; raise RLIMIT_RTPRIO (ulimit -r 1) or grant CAP_SYS_NICE", err)
	}
	return nil
}
