//go:build !linux || !(amd64 || arm64 || riscv64 || loong64)

package certify

import (
	"errors"
	"fmt"
	"net/url"
)

func openV4L2Output(uri, _ string, _ url.Values, _ OutputOptions) (Output, error) {
	return nil, fmt.Errorf("play on %s: only possible on Linux, on processors of 64 bits: %w", uri,
		errors.ErrUnsupported)
}
