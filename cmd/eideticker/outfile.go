package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

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

// createOut begins an output that appears when it is complete.
func createOut(path string, force bool) (*staging.File, error) {
	if err := refuseExisting(path, force); err != nil {
		return nil, err
	}
	return staging.Create(path)
}

// writeOut writes an output that appears when it is complete.
func writeOut(path string, force bool, write func(io.Writer) error) error {
	out, err := createOut(path, force)
	if err != nil {
		return err
	}
	return out.Finish(write(out))
}
