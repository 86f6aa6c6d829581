package recorder

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// pinThread keeps the calling thread on some processors.
func pinThread(cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("the capture thread is not kept on processor %v: %w", cpus, err)
	}
	return nil
}

// allowedCPUs lists the processors that the program may use.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("ask which processors may be used: %w", err)
	}
	var cpus []int
	for c := 0; len(cpus) < set.Count(); c++ {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// lockers counts who wants the program's memory locked: the system does not.
var lockers struct {
	sync.Mutex
	n int
}

// lockProgram keeps in memory what the program has in memory, code above all, and what it will
// touch of that: a capture thread must not wait for a disk to read a page of code back. Memory that
// is mapped later is not covered; rings are locked on their own.
func lockProgram() (unlock func(), err error) {
	lockers.Lock()
	defer lockers.Unlock()
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_ONFAULT); err != nil {
		return nil, fmt.Errorf("lock memory: %w; raise RLIMIT_MEMLOCK (ulimit -l unlimited) or grant CAP_IPC_LOCK", err)
	}
	lockers.n++
	return unlockProgram, nil
}

func unlockProgram() {
	lockers.Lock()
	defer lockers.Unlock()
	if lockers.n--; lockers.n == 0 {
		_ = unix.Munlockall() // it cannot fail, see mlock(2)
	}
}
