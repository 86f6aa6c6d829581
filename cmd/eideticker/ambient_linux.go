package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepRights gives up the ambient capabilities of this process, in all its threads. A service that
// makes networks for tests has some, which are this program's: browsers, adb and the commands of
// devices would inherit them. What the program itself may do stays as it is.
func keepRights() error {
	// A kernel without them (before 4.3) refuses, and has none to inherit.
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0,
		0, 0)
	if errno != unix.ENOTSUP {
		return nil
	}
	// With cgo, no call reaches all threads.
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	if strings.Contains(string(status), "CapAmb:") && !strings.Contains(string(status), "CapAmb:\t0000000000000000") {
		return errors.New("drop ambient capabilities: not possible in a build with cgo; build eideticker with CGO_ENABLED=0")
	}
	return nil
}
