package certify

import (
	"errors"
	"fmt"
	"net/url"
)

func openV4L2Output(uri, _ string, _ url.Values, _ OutputOptions) (Output, error) {
	return nil, fmt.Errorf("play on %s: this version plays on X displays only: %w", uri, errors.ErrUnsupported)
}
