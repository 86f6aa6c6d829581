//go:build unix

package session

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func tryLock(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		by := holder(f)
		_ = f.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &BusyError{By: by}
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	l := &Lock{f}
	l.note()
	return l, nil
}

// unlock ends a lock before its file is closed: a process that another goroutine starts has a copy
// of the file from fork to exec.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// inode returns the number of a file in its file system.
func inode(f *os.File) string {
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	sys, _ := st.Sys().(*syscall.Stat_t)
	return fmt.Sprint(sys.Ino)
}

// ownFolder rejects a folder that another user owns or may write.
func ownFolder(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || !ok || int(sys.Uid) != os.Geteuid() || st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return nil
}

// sharedTemp ignores the environment, which differs between a shell and cron.
func sharedTemp() string { return "/tmp" }
