package session

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

const (
	runFolderLock = "owner.lock" // held while the run lives
	// Folders younger than this may not have been locked yet.
	runFolderSettled = time.Minute
)

// runFolder is a folder that a run needs while it lives.
type runFolder struct {
	dir  string
	lock *Lock
}

// newRunFolder makes one whose name begins with a prefix.
func newRunFolder(in, prefix string) (*runFolder, error) {
	dir, err := os.MkdirTemp(in, prefix)
	if err != nil {
		return nil, err
	}
	f := &runFolder{dir: dir}
	if f.lock, err = tryLock(filepath.Join(dir, runFolderLock)); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

func (f *runFolder) remove() error {
	var err error
	if f.lock != nil {
		err = f.lock.Close()
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}

// removeRunFolders removes those with a prefix whose runs were killed.
func removeRunFolders(in, prefix string) {
	dirs, err := filepath.Glob(filepath.Join(in, prefix+"*"))
	if err != nil {
		return // a name of the temporary folder that is no pattern: nothing is lost but a clean-up
	}
	for _, dir := range dirs {
		st, err := os.Lstat(dir)
		if err != nil || time.Since(st.ModTime()) < runFolderSettled || ownFolder(dir) != nil {
			continue
		}
		lock, err := tryLock(filepath.Join(dir, runFolderLock))
		if err != nil {
			continue // its run lives
		}
		_ = (&runFolder{dir, lock}).remove() // nothing that could be done about it
	}
}
