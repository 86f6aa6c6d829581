package staging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// lockName is the file in a folder in the making by which its owner is known to live. It is never
// put in place.
const lockName = ".owner.lock"

// Folder is one in the making.
type Folder struct {
	path    string // the requested path, absolute
	dir     string // where it is made
	lock    *os.File
	parents []string // those that were not there, the uppermost first
}

// Begin prepares to write a folder, or into one that is there, and fails at once where that cannot
// be. Finish or Abandon ends it in any case.
func Begin(path string) (*Folder, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f := &Folder{path: abs}
	if err := f.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write into %s: %w", path, WithoutPath(err)), f.remove())
	}
	return f, nil
}

// Temp makes a folder below the system's one for temporary files. It removes those of killed
// programs. Abandon removes it.
func Temp(name string) (*Folder, error) {
	f := &Folder{path: filepath.Join(os.TempDir(), name)}
	removeOrphans(f.path)
	if err := f.makeOwn(); err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", WithoutPath(err))
	}
	return f, nil
}

func (f *Folder) begin() error {
	st, err := os.Stat(f.path)
	switch {
	case err == nil && !st.IsDir():
		return errors.New("it is there and is not a folder")
	case err == nil:
		if err := writable(f.path); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := f.makeParents(); err != nil {
		return err
	}
	removeOrphans(f.path)
	return f.makeOwn()
}

// WithoutPath returns an error without the name of a file or folder that nobody has asked for.
func WithoutPath(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// writable tries whether names can be made in a folder.
func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".writable.*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func (f *Folder) makeParents() error {
	var missing []string
	for dir := filepath.Dir(f.path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break // if it is not a folder, making the next one fails
		}
		missing = append([]string{dir}, missing...)
	}
	for _, dir := range missing {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		f.parents = append(f.parents, dir)
	}
	return nil
}

// makeOwn makes and locks the folder beside. Between the two another program may take it for one
// whose owner is dead: then it makes another.
func (f *Folder) makeOwn() error {
	for {
		dir, err := os.MkdirTemp(filepath.Dir(f.path), prefix(f.path)+"*")
		if err != nil {
			return err
		}
		lock, err := lockOwner(filepath.Join(dir, lockName), os.O_CREATE)
		if err == nil {
			f.dir, f.lock = dir, lock
			return nil
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if !errors.Is(err, errOwned) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// prefix is how the names of folders in the making begin.
func prefix(path string) string { return "." + filepath.Base(path) + "." }

// Dir is the folder in the making.
func (f *Folder) Dir() string { return f.dir }

// Finish moves the folder into place, replacing one of the same name. If failed is not nil, it
// removes the folder.
func (f *Folder) Finish(failed error) error {
	err := failed
	if err == nil {
		err = f.place()
	}
	if err == nil {
		f.parents = nil
	}
	return errors.Join(err, f.remove())
}

// Abandon removes the written files. A nil folder was not requested.
func (f *Folder) Abandon() error {
	if f == nil {
		return nil
	}
	return f.remove()
}

func (f *Folder) place() error {
	if err := os.MkdirAll(f.path, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockName {
			continue
		}
		target := filepath.Join(f.path, e.Name())
		if err := os.RemoveAll(target); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(f.dir, e.Name()), target); err != nil {
			return err
		}
	}
	return nil
}

// remove removes temporary files.
func (f *Folder) remove() error {
	var err error
	if f.dir != "" {
		err = os.RemoveAll(f.dir)
	}
	if f.lock != nil {
		f.lock.Close() // holds no data
	}
	for i := len(f.parents) - 1; i >= 0; i-- {
		if os.Remove(f.parents[i]) != nil {
			break // somebody else has put something there
		}
	}
	return err
}

// removeOrphans removes folders that were begun for a path by programs that were killed.
func removeOrphans(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return // nothing is lost but a clean-up
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix(path)) {
			continue
		}
		dir := filepath.Join(filepath.Dir(path), e.Name())
		lock, err := lockOwner(filepath.Join(dir, lockName), 0)
		if err != nil {
			continue // its owner lives, or it is none of ours
		}
		_ = os.RemoveAll(dir)
		lock.Close() // holds no data
	}
}
