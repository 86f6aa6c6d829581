package staging

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file that appears under its name when it is complete. It is not synced, so it is for
// outputs that can be made again.
type File struct {
	*bufio.Writer
	Mode fs.FileMode
	path string
	tmp  *os.File
}

// Create begins a file. Finish ends it.
func Create(path string) (*File, error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, CannotCreate(path, err)
	}
	return &File{bufio.NewWriterSize(tmp, 1<<20), 0o644, path, tmp}, nil
}

// Finish renames the output, or removes it if the work failed.
func (f *File) Finish(failed error) error {
	err := failed
	if err == nil {
		err = f.Flush()
	}
	err = errors.Join(err, f.tmp.Close())
	if err == nil {
		err = os.Chmod(f.tmp.Name(), f.Mode)
	}
	if err == nil {
		err = os.Rename(f.tmp.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.tmp.Name()))
	}
	return nil
}

// CannotCreate names the requested output instead of the temporary file.
func CannotCreate(path string, err error) error {
	err = WithoutPath(err)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("missing folder %s: %w", filepath.Dir(path), err)
	}
	return fmt.Errorf("create %s: %w", path, err)
}

// Named is an output whose writer needs a name. It is written in a folder beside its place.
type Named struct {
	path string // the requested one
	dir  string
}

// CreateNamed begins an output.
func CreateNamed(path string) (*Named, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, CannotCreate(path, err)
	}
	return &Named{path, dir}, nil
}

// Name is the name to write to.
func (s *Named) Name() string { return filepath.Join(s.dir, filepath.Base(s.path)) }

// Finish renames the outputs, the requested one last. Endings name further files, such as a video's
// map. It removes them if the work failed.
func (s *Named) Finish(failed error, endings ...string) error {
	err := failed
	for _, ending := range append(endings, "") {
		if err == nil {
			err = os.Rename(s.Name()+ending, s.path+ending)
		}
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
