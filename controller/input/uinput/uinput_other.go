//go:build !linux

package uinput

import (
	"context"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/controller/input"
)

// New makes devices on Linux only.
func New(context.Context, Options) (input.Driver, error) {
	return nil, fmt.Errorf("uinput is a part of Linux: %w", errors.ErrUnsupported)
}
