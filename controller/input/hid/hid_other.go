//go:build !linux

package hid

import (
	"context"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/controller/input"
)

// New plugs something in on Linux only.
func New(context.Context, Options) (input.Driver, error) {
	return nil, fmt.Errorf("USB gadgets are a part of Linux: %w", errors.ErrUnsupported)
}
