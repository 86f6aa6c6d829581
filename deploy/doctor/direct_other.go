//go:build !linux

package doctor

import (
	"errors"
	"fmt"
	"os"
)

// OpenDirect is for Linux.
func OpenDirect(string) (*os.File, error) {
	return nil, fmt.Errorf("%w: O_DIRECT needs Linux", errors.ErrUnsupported)
}
