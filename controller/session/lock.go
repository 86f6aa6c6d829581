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

// BusyError says that somebody else uses a device.
type BusyError struct {
	Device string
	By     string // "process 123", or ""
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("device %s is in use by %s; wait for it with --wait", e.Device, e.Holder())
}

// Holder says who has the device.
func (e *BusyError) Holder() string {
	if e.By == "" {
		return "another run"
	}
	return e.By
}

// Lock keeps a device for one process. It goes with the process, however that ends.
type Lock struct{ file *os.File }

// lockAgain is how often a device that is in use is tried.
const lockAgain = 200 * time.Millisecond

// Locks is a folder of locks. The empty one is the usual folder.
type Locks string

// Take locks a device in the usual folder.
func Take(ctx context.Context, device string, wait bool) (*Lock, error) {
	return Locks("").Take(ctx, device, wait)
}

// Take locks a device, and with wait waits until it is free or ctx ends. Otherwise a device that is
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

// LockVariable is the variable of the environment that names the folder of locks where that is not
// the usual one, such as for a service and whoever is to wait for it.
const LockVariable = "EIDETICKER_LOCK_DIR"

// lockFolder is the same for all that one user runs: what a login shell has in its environment,
// cron and services do not. It goes when the machine is started anew.
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

// holder tells who has a lock.
func holder(f *os.File) string {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0) // an empty file tells nothing
	if pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n]))); err == nil && pid > 0 {
		return "process " + strconv.Itoa(pid)
	}
	return ""
}

// note writes who has the lock into its file, for others to tell.
func (l *Lock) note() {
	if l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0) // it is only told
	}
}

// Close gives the device back. It is idempotent.
func (l *Lock) Close() error {
	if l == nil || l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}
