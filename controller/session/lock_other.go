//go:build !unix

package session

import "os"

// tryLock makes the lock's file anew. An open file cannot be removed, so only one process can.
func tryLock(path string) (*Lock, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, &BusyError{}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return nil, &BusyError{}
	}
	if err != nil {
		return nil, err
	}
	l := &Lock{f}
	l.note()
	return l, nil
}

func unlock(*os.File) error { return nil }

func inode(*os.File) string { return "" }

func ownFolder(string) error { return nil }

func sharedTemp() string { return os.TempDir() }
