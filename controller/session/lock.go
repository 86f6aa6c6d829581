package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/pattern"
)

// BusyError is the error of a device that is in use.
type BusyError struct {
	Device string
	By     string // "process 123 (eideticker run of ada)", or ""
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

var oddLetters = pattern.New(`[^A-Za-z0-9._-]`)

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

// Holder returns the user of a device; "": none, or unknown. Programs that lock the device at the
// same time are not disturbed. It needs Linux.
func (in Locks) Holder(device string) string {
	path, err := in.path(device)
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() // was only read
	table, _ := os.ReadFile("/proc/locks")
	by := holder(f)
	for line := range strings.Lines(string(table)) { // 1: FLOCK ADVISORY WRITE 123 fd:00:4567 0 EOF
		if l := strings.Fields(line); len(l) > 5 && l[1] == "FLOCK" && strings.HasSuffix(l[5], ":"+inode(f)) &&
			strings.HasPrefix(by+" ", "process "+l[4]+" ") {
			return by
		}
	}
	return ""
}

// holder returns the program that has a lock, or had it last; "": unknown.
func holder(f *os.File) string {
	b := make([]byte, 200)
	n, _ := f.ReadAt(b, 0) // an empty file has no number
	number, about, _ := strings.Cut(string(b[:n]), "\n")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 0 {
		return ""
	}
	if about = strings.TrimSpace(strings.ToValidUTF8(about, "")); about != "" {
		about = " (" + about + ")"
	}
	return "process " + number + about
}

var commandWord = pattern.New(`^[a-z]+$`)

// note writes this process's number, command and user into the lock's file. Arguments may be
// secret.
func (l *Lock) note() {
	about := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && commandWord.MatchString(os.Args[1]) {
		about += " " + os.Args[1]
	}
	if u, err := user.Current(); err == nil {
		about += " of " + u.Username
	}
	if l.file.Truncate(0) == nil {
		_, _ = fmt.Fprintf(l.file, "%d\n%s\n", os.Getpid(), about) // only for messages
	}
}

// Close releases the device. It is idempotent.
func (l *Lock) Close() error {
	if l == nil || l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return errors.Join(unlock(f), f.Close())
}

// TakeAll locks the devices of variants, in one order for every caller, which prevents deadlocks.
// With waiting, it reports and waits for a device in use. Else such a device is a *BusyError.
func TakeAll(ctx context.Context, variants []Variant, waiting func(text string)) (locks []*Lock, err error) {
	var names []string
	for _, v := range variants {
		names = append(names, v.Device.Name())
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		l, err := Locks("").Take(ctx, name, false)
		var busy *BusyError
		if errors.As(err, &busy) && waiting != nil {
			waiting(fmt.Sprintf("waiting for device %s, which is in use by %s", name, busy.Holder()))
			l, err = Locks("").Take(ctx, name, true)
		}
		if err != nil {
			return nil, errors.Join(err, CloseAll(locks))
		}
		locks = append(locks, l)
	}
	return locks, nil
}

// CloseAll closes locks.
func CloseAll(locks []*Lock) (err error) {
	for _, l := range locks {
		err = errors.Join(err, l.Close())
	}
	return err
}
