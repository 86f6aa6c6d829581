//go:build !cgo

package video

import (
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/capture"
)

func openFile(path string) (capture.Source, error) {
	return nil, fmt.Errorf("video:%s: this program was built without cgo and can't decode video files; convert it with ffmpeg to .y4m or to a folder of pictures, or build with CGO_ENABLED=1: %w", path, errors.ErrUnsupported)
}
