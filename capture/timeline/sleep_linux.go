package timeline

import "golang.org/x/sys/unix"

// sleepUntil sleeps until t of CLOCK_MONOTONIC; a signal may end it early.
func sleepUntil(t Time) {
	ts := unix.NsecToTimespec(int64(t))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil)
}
