package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// outFile is an output that appears under its name when it is whole, and not before.
type outFile struct {
	*bufio.Writer
	path string
	tmp  *os.File
}

// refuseExisting is the one answer to an output that is there already.
func refuseExisting(path string, force bool) error {
	if force {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w; overwrite it with --force", path, fs.ErrExist)
	}
	return nil
}

func createOut(path string, force bool) (*outFile, error) {
	if err := refuseExisting(path, force); err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	return &outFile{bufio.NewWriterSize(tmp, 1<<20), path, tmp}, nil
}

// finish gives the output its name, or removes it if the work has failed.
func (o *outFile) finish(failed error) error {
	err := failed
	if err == nil {
		err = o.Flush()
	}
	err = errors.Join(err, o.tmp.Close())
	if err == nil {
		err = os.Chmod(o.tmp.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(o.tmp.Name(), o.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(o.tmp.Name()))
	}
	return nil
}
