//go:build !linux

package hid

import (
	"context"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/controller/input"
)

// newDriver plugs something in on Linux only.
func newDriver(context.Context, driverOptions) (input.Driver, error) {
	return nil, fmt.Errorf("USB gadgets are a part of Linux: %w", errors.ErrUnsupported)
}
