package staging

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// A started process has a copy of its owner's lock from fork to exec. It keeps the copy if the
// owner is killed. So Lock tries again for this time.
const (
	lockPatience = time.Second
	lockEvery    = 10 * time.Millisecond
)

// Lock makes a file and locks it, until it is closed or the program ends. The lock shows others
// that the owner lives.
func Lock(path string) (io.Closer, error) {
	f, err := lockOwner(path, os.O_CREATE)
	for until := time.Now().Add(lockPatience); errors.Is(err, errOwned) && time.Now().Before(until); {
		time.Sleep(lockEvery)
		f, err = lockOwner(path, os.O_CREATE)
	}
	if errors.Is(err, errOwned) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		return nil, err
	}
	return lock{f}, nil
}

type lock struct{ *os.File }

// Close ends the lock for copies of its file too.
func (l lock) Close() error {
	unlock(l.File)
	return l.File.Close()
}

// Clean takes away what killed programs have left of folders that were to be put in place at a
// path.
func Clean(path string) { removeOrphans(path) }

// Claim locks a file that no program keeps, until release. claimed is false if one keeps it. A file
// that cannot be locked is claimed too.
func Claim(path string) (release func(), claimed bool) {
	f, err := lockOwner(path, 0)
	if err != nil {
		return func() {}, !errors.Is(err, errOwned)
	}
	return func() { lock{f}.Close() }, true // holds no data
}
