//go:build !windows || !(amd64 || arm64)

package windows

import (
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// New works on Windows of 64 bits only.
func New(input.Layout) (input.Driver, timeline.Clock, error) {
	return nil, nil, fmt.Errorf("SendInput is a part of Windows of 64 bits: %w", errors.ErrUnsupported)
}
