package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// outFile is an output that appears under its name when it is complete.
type outFile struct {
	*bufio.Writer
	path string
	mode fs.FileMode
	tmp  *os.File
}

// refuseExisting rejects an output that exists, unless force is set.
func refuseExisting(path string, force bool) error {
	if force {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w; overwrite it with --force", path, fs.ErrExist)
	}
	return nil
}

// cannotCreate names the requested output instead of the temporary file.
func cannotCreate(path string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("missing folder %s: %w", filepath.Dir(path), err)
	}
	return fmt.Errorf("create %s: %w", path, err)
}

func createOut(path string, force bool) (*outFile, error) {
	if err := refuseExisting(path, force); err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, cannotCreate(path, err)
	}
	return &outFile{bufio.NewWriterSize(tmp, 1<<20), path, 0o644, tmp}, nil
}

// finish renames the output, or removes it if the work failed.
func (o *outFile) finish(failed error) error {
	err := failed
	if err == nil {
		err = o.Flush()
	}
	err = errors.Join(err, o.tmp.Close())
	if err == nil {
		err = os.Chmod(o.tmp.Name(), o.mode)
	}
	if err == nil {
		err = os.Rename(o.tmp.Name(), o.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(o.tmp.Name()))
	}
	return nil
}

// writeOut writes an output that appears when it is complete.
func writeOut(path string, force bool, write func(io.Writer) error) error {
	out, err := createOut(path, force)
	if err != nil {
		return err
	}
	return out.finish(write(out))
}

// staged is an output whose writer needs a name. It is written in a folder beside its place.
type staged struct {
	path string // the requested one
	dir  string
}

// stage begins an output. Endings name further files, such as the video's map.
func stage(path string, force bool, endings ...string) (*staged, error) {
	for _, ending := range append([]string{""}, endings...) {
		if err := refuseExisting(path+ending, force); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, cannotCreate(path, err)
	}
	return &staged{path, dir}, nil
}

// name is the name to write to.
func (s *staged) name() string { return filepath.Join(s.dir, filepath.Base(s.path)) }

// finish renames the outputs, the requested one last. It removes them if the work failed.
func (s *staged) finish(failed error, endings ...string) error {
	err := failed
	for _, ending := range append(endings, "") {
		if err == nil {
			err = os.Rename(s.name()+ending, s.path+ending)
		}
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
