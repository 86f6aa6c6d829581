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

func openV4L2Output(uri, target string, query url.Values, o OutputOptions) (Output, error) {
	return openX11Output(uri, target, query, o)
}
