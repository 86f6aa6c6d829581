package staging

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Lock makes a file and locks it, until it is closed or the program ends. The lock shows others
// that the owner lives.
func Lock(path string) (io.Closer, error) {
	f, err := lockOwner(path, os.O_CREATE)
	if errors.Is(err, errOwned) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Clean takes away what killed programs have left of folders that were to be put in place at a
// path.
func Clean(path string) { removeOrphans(path) }
