package link

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Urge has all threads of this program, and those that they start, go before all that has no deadline (sched(7)), until back is called. It is for a program that measures lines and does nothing
// else meanwhile: a line's own threads do so anyway, but wait for locks of Go's scheduler, and who has one of those may not be run for long on a busy machine. Programs that are started meanwhile
// have that priority too. Without the right to it the error is one of permission.
func Urge() (back func(), err error) {
	normal := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	urged := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	back = func() {
		_ = eachThread(&urged, &normal) // nothing that was allowed to rise is kept from falling
	}
	if err := eachThread(&normal, &urged); err != nil {
		back()
		return nil, notUrgent(err)
	}
	return back, nil
}

// notUrgent says what a priority takes.
func notUrgent(err error) error {
	return fmt.Errorf("go before all that has no deadline, which takes root or the capability CAP_SYS_NICE: %w", err)
}

// eachThread has threads of this program scheduled otherwise that are scheduled in one way, until there are none: those that begin meanwhile inherit it.
func eachThread(from, to *unix.SchedAttr) error {
	for changed := true; changed; {
		changed = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list this program's threads: %w", err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return fmt.Errorf("list this program's threads: %w", err)
			}
			is, err := unix.SchedGetAttr(id, 0)
			if err != nil || is.Policy != from.Policy || is.Priority != from.Priority || is.Flags != from.Flags {
				continue // it has ended, or somebody wants it as it is
			}
			as := *to
			if nice, err := unix.Getpriority(unix.PRIO_PROCESS, id); err == nil {
				as.Nice = int32(20 - nice) // as the kernel has it: a thread keeps its nice value while it has no use for it
			}
			err = unix.SchedSetAttr(id, &as, 0)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			changed = changed || err == nil
		}
	}
	return nil
}
