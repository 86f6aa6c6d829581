package video

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// Open opens a video file, or a folder of pictures. A folder takes one parameter, fps=60, also 59.94 or
// 60000/1001; files have none. Frames are frame.BGR3 without padding.
//
// Without cgo a file gives an error that wraps errors.ErrUnsupported.
func Open(path string, params url.Values) (capture.Source, error) {
	uri := "video:" + path
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", uri, err)
	}
	switch {
	case st.IsDir():
		if err := frame.CheckParams(uri, params, "fps"); err != nil {
			return nil, err
		}
		return openPictures(path, params.Get("fps"))
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: neither a file nor a folder; frames from a pipe go through the sources raw and y4m", uri)
	}
	if err := frame.CheckParams(uri, params); err != nil {
		return nil, fmt.Errorf("a video has its own times: %w", err)
	}
	return openFile(path)
}

// fits reports a ring whose slots are too small.
func fits(info capture.Info, ring *capture.Ring) error {
	if size := info.Format.Size(); ring.SlotSize() < size {
		return fmt.Errorf("%s: a frame of %d bytes does not fit into the ring's slots of %d", info.URI, size, ring.SlotSize())
	}
	return nil
}

// unlessEnded drops an error that only says that the context has ended.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
