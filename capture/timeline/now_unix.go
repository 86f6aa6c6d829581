//go:build linux || darwin || freebsd

package timeline

import (
	"time"

	"golang.org/x/sys/unix"
)

var started = time.Now()

func now() Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// Cannot happen with a valid clock id; a clock that runs is better than none.
		return Time(time.Since(started))
	}
	return Time(ts.Nano())
}
