package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// BusyError is the error of a device that is in use.
type BusyError struct {
	Device string
	By     string // "process 123", or ""
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("device %s is in use by %s; wait for it with --wait", e.Device, e.Holder())
}

// Holder returns the user of the device.
func (e *BusyError) Holder() string {
	if e.By == "" {
		return "another run"
	}
	return e.By
}

// Lock reserves a device for one process. It ends with the process.
type Lock struct{ file *os.File }

// lockAgain is the time between two attempts to lock a device.
const lockAgain = 200 * time.Millisecond

// Locks is a folder of locks; "": the usual folder.
type Locks string

// Take locks a device in the usual folder.
func Take(ctx context.Context, device string, wait bool) (*Lock, error) {
	return Locks("").Take(ctx, device, wait)
}

// Take locks a device. With wait, it waits until the device is free or ctx ends. Without, a device
// in use is a *BusyError.
func (in Locks) Take(ctx context.Context, device string, wait bool) (*Lock, error) {
	path, err := in.path(device)
	if err != nil {
		return nil, err
	}
	for {
		l, err := tryLock(path)
		var busy *BusyError
		if !errors.As(err, &busy) {
			return l, err
		}
		busy.Device = device
		if !wait {
			return nil, busy
		}
		select {
		case <-time.After(lockAgain):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

var oddLetters = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// LockVariable is the environment variable with the folder of locks. A service and its clients may
// need another one than the usual folder.
const LockVariable = "EIDETICKER_LOCK_DIR"

// lockFolder returns the folder of all of a user's processes. It does not depend on a login shell's
// environment, which cron and services lack. A reboot empties it.
func lockFolder() string {
	if dir := os.Getenv(LockVariable); dir != "" {
		return dir
	}
	return filepath.Join(sharedTemp(), "eideticker-"+strconv.Itoa(os.Geteuid()))
}

func (in Locks) path(device string) (string, error) {
	dir := string(in)
	if dir == "" {
		dir = lockFolder()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("lock device %s: %w", device, err)
	}
	if err := ownFolder(dir); err != nil {
		return "", fmt.Errorf("lock device %s: %w", device, err)
	}
	return filepath.Join(dir, "device-"+oddLetters.ReplaceAllString(device, "_")+".lock"), nil
}

// holder returns the process that has a lock; "": unknown.
func holder(f *os.File) string {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0) // an empty file has no number
	if pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n]))); err == nil && pid > 0 {
		return "process " + strconv.Itoa(pid)
	}
	return ""
}

// note writes this process's number into the lock's file.
func (l *Lock) note() {
	if l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0) // only for messages
	}
}

// Close releases the device. It is idempotent.
func (l *Lock) Close() error {
	if l == nil || l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}
