//go:build !linux

package x11

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/eideticker/eideticker/capture"
)

// Open captures X displays on Linux only.
func Open(display string, params url.Values) (capture.Source, error) {
	return nil, fmt.Errorf("x11:%s: X displays need Linux: %w", display, errors.ErrUnsupported)
}

// Displays finds none here.
func Displays() []Display { return nil }
