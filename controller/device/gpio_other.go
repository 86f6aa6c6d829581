//go:build !linux

package device

import (
	"errors"
	"fmt"
	"os"
)

func holdLine(string, int, bool) (*os.File, error) {
	return nil, fmt.Errorf("GPIO needs Linux: %w", errors.ErrUnsupported)
}
