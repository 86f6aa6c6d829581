//go:build !linux

package certify

import (
	"errors"
	"fmt"
	"net/url"
)

func openX11Output(uri, _ string, _ url.Values, _ OutputOptions) (Output, error) {
	return nil, fmt.Errorf("play on %s: only possible on Linux: %w", uri, errors.ErrUnsupported)
}
