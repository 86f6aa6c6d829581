//go:build !cgo

// Package decode reads video files with FFmpeg, in builds with cgo.
package decode

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
