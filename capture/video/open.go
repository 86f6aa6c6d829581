package video

import (
	"fmt"
	"net/url"
	"os"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// Open opens a video file, or a folder of pictures. A folder takes one parameter, fps=60, also
// 59.94 or 60000/1001; files have none. Frames are frame.BGR3 without padding.
//
// Without eideticker-media a file gives an error that wraps errors.ErrUnsupported.
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
		return nil, fmt.Errorf("%s: neither a file nor a folder; for pipes, use the sources raw and y4m",
			uri)
	}
	if err := frame.CheckParams(uri, params); err != nil {
		return nil, fmt.Errorf("a video has its own times: %w", err)
	}
	return openFile(path)
}
