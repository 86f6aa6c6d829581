package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepRights gives up the ambient capabilities of all threads, so that browsers, adb and the
// commands of devices do not inherit them. The program itself keeps its capabilities.
func keepRights() error {
	// Kernels before 4.3 do not have them and refuse.
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
		return errors.New("drop ambient capabilities: not possible with cgo; build eideticker with CGO_ENABLED=0")
	}
	return nil
}
