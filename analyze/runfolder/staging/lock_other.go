//go:build !unix

package staging

import (
	"errors"
	"os"
)

var errOwned = errors.New("another program has the folder")

// lockOwner tells nothing here: what a killed program leaves stays.
func lockOwner(path string, create int) (*os.File, error) {
	if create == 0 {
		return nil, errors.ErrUnsupported
	}
	return os.OpenFile(path, os.O_RDWR|create, 0o600)
}

func unlock(*os.File) {}

// Keep does nothing: an open file cannot be removed here.
func Keep(*os.File) {}
