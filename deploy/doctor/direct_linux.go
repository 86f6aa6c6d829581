package doctor

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenDirect creates a file whose writes pass the page cache by. Where the filesystem does not do
// that the error is an errors.ErrUnsupported.
func OpenDirect(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_DIRECT, 0o644)
	if errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("%w: this filesystem does not support O_DIRECT", errors.ErrUnsupported)
	}
	return f, err
}
