//go:build !linux || !(amd64 || arm64 || riscv64 || loong64)

package v4l2

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/eideticker/eideticker/capture"
)

var errElsewhere = fmt.Errorf("capture devices need 64-bit Linux: %w",
	errors.ErrUnsupported)

// Open captures on Linux only.
func Open(_ context.Context, target string, params url.Values) (capture.Source, error) {
	return nil, fmt.Errorf("v4l2:%s: %w", target, errElsewhere)
}

// List finds no devices here.
func List() ([]Device, error) { return nil, nil }

// Inspect asks devices on Linux only.
func Inspect(path string) (Device, error) { return Device{Path: path}, errElsewhere }

// SetControl sets a control on Linux only.
func SetControl(path, name string, value int64) error { return errElsewhere }
