//go:build !linux

package main

import (
	"errors"
	"fmt"
	"os"
)

// openDirect is for Linux.
func openDirect(string) (*os.File, error) {
	return nil, fmt.Errorf("%w: O_DIRECT needs Linux", errors.ErrUnsupported)
}
