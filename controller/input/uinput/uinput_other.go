//go:build !linux

package uinput

import (
	"context"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/controller/input"
)

// newDriver makes devices on Linux only.
func newDriver(context.Context, options) (input.Driver, error) {
	return nil, fmt.Errorf("uinput is a part of Linux: %w", errors.ErrUnsupported)
}
