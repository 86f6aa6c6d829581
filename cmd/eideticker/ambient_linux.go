//go:build linux && !cgo

package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// keepRights gives up the ambient capabilities of this process, in all its threads. A service that makes networks for tests has some, which are this program's: browsers, adb and the
// commands of devices would inherit them. What the program itself may do stays as it is.
func keepRights() {
	// A kernel without them (before 4.3) refuses, and has none to inherit.
	_, _, _ = syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
}
