package rig

import "golang.org/x/sys/unix"

// favourThread puts the calling thread into SCHED_FIFO, see sched(7), at the lowest priority there: ahead of
// everything ordinary, behind everything that somebody has put higher. Where that is not permitted the thread
// stays as it is, and a tick that comes late on a busy machine is counted like any other loss.
func favourThread() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
}
