//go:build unix

package staging

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Adopt gives a file or folder made by root the owner and group of its parent folder. A service
// must be able to read its files even if another user wrote them.
func Adopt(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	st, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	owner, is := st.Sys().(*syscall.Stat_t)
	if !is {
		return fmt.Errorf("the system does not tell who owns %s", filepath.Dir(path))
	}
	return os.Lchown(path, int(owner.Uid), int(owner.Gid))
}

// LockFolder waits for the lock on a folder, which the function that it returns gives up.
func LockFolder(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close() // holds no data
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { lock{f}.Close() }, nil // holds no data
}
