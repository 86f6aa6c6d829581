//go:build !cgo

// Package encode writes videos with FFmpeg, in builds with cgo.
package encode

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/capture/video/media"
)

// Serve returns an error that wraps errors.ErrUnsupported.
func Serve(*media.Conn, json.RawMessage) error {
	return fmt.Errorf("%w: eideticker-media was built without cgo", errors.ErrUnsupported)
}
