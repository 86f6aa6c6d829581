//go:build !linux

package timeline

import (
	"errors"
	"fmt"
)

// FavourThread needs Linux.
func FavourThread() error {
	return fmt.Errorf("a thread's priority needs Linux: %w", errors.ErrUnsupported)
}
