package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// storage is where a recording is written: a file, or in tests a disk that is slow, full or loses
// its power.
type storage interface {
	WriteAt(p []byte, off int64) (int, error)
	Sync() error // returns when the written bytes are on disk
	Close() error
}

// diskFile is a recording's file. Where the filesystem takes it, writes bypass the page cache: the
// data will not be read again soon, and copying it there costs a core.
type diskFile struct {
	*os.File
	note atomic.Pointer[string] // why writes do not bypass the page cache; empty: they do
}

func (f *diskFile) Sync() error { return syncData(f.File) }

// createFile creates path, refusing to overwrite unless force is set.
func createFile(path string, force, noDirect bool) (*diskFile, error) {
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
	if force {
		var err error
		if path, err = makeRoom(path); err != nil {
			return nil, fmt.Errorf("create recording: %w", err)
		}
		flags = os.O_RDWR | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, existsError{path}
	}
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}
	note := "switched off"
	if !noDirect {
		note = setDirect(f)
	}
	d := &diskFile{File: f}
	d.note.Store(&note)
	syncFolder(path)
	return d, nil
}

// existsError is fs.ErrExist with a hint.
type existsError struct{ path string }

func (e existsError) Error() string {
	return e.path + " exists already; choose another name or use --force to overwrite it"
}

func (existsError) Is(target error) bool { return target == fs.ErrExist }

// makeRoom removes the name of a file that is overwritten, and keeps its content. A run folder may
// hold the same recording as a hard link, and a program may be reading it. It returns the path
// without symbolic links. The new file has the old one's path.
func makeRoom(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return path, nil // none there, or one that opening will judge
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return path, os.Remove(path)
}

// WriteAt writes p. A filesystem may accept O_DIRECT and refuse the first write: it is then given
// up.
func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	if note := f.note.Load(); err != nil && note != nil && *note == "" && refusesDirect(err) {
		refused := "the filesystem refused a direct write"
		f.note.Store(&refused)
		if err := clearDirect(f.File); err != nil {
			return n, err
		}
		return f.File.WriteAt(p, off)
	}
	return n, err
}

// syncFolder makes a new file's name durable, since a power cut may lose a name that is not. It
// ignores errors: filesystems that cannot do it do not need it.
func syncFolder(path string) {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return
	}
	_ = d.Sync()
	d.Close()
}
