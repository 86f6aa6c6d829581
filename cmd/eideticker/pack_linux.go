package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lowerPriority lets other programs go first. Priorities belong to threads. New threads inherit.
func lowerPriority() {
	const nice = 15
	for range 2 { // a thread may start meanwhile
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, t := range tasks {
			if id, err := strconv.Atoi(t.Name()); err == nil {
				_ = unix.Setpriority(unix.PRIO_PROCESS, id, nice)
			}
		}
	}
}
