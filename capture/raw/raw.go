package raw

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// OpenRaw opens a file of raw frames, or standard input for "-". The parameters are:
//
//	size=WxH        pixels, required
//	format=FOURCC   required; see frame.PixelFormats
//	fps=60          frames a second, also 59.94 or 60000/1001
//	stride=N        bytes from row to row, where rows are padded
//
// A frame in the file has frame.Layout.Size bytes: all planes, with the padding of every row.
func OpenRaw(path string, params url.Values) (capture.Source, error) {
	if err := frame.CheckParams("raw:"+path, params, paramNames()...); err != nil {
		return nil, err
	}
	format, period, err := rawParams(params)
	if err != nil {
		return nil, &frame.ParamsError{Err: fmt.Errorf("raw:%s: %w", path, err)}
	}
	layout, err := frame.NewLayout(format)
	if err != nil {
		return nil, fmt.Errorf("raw:%s: %w", path, err)
	}
	in, err := openInput("raw", path)
	if err != nil {
		return nil, err
	}
	s := &source{
		info: capture.Info{URI: "raw:" + path + frame.Query(params, paramNames()...), Format: format, OwnClock: true,
			Period: period},
		in:   in,
		size: layout.Size,
		read: func(n uint64, dst []byte, _ func(timeline.Event)) error { return readFrame(in, n, dst) },
	}
	if in.regular {
		if s.info.Frames, err = count(in, int64(layout.Size)); err != nil {
			in.Close()
			return nil, err
		}
	}
	return s, nil
}

// paramNames are the parameters of a raw source, in the order in which they are written.
func paramNames() []string { return []string{"size", "format", "fps", "stride"} }

func rawParams(params url.Values) (frame.Format, capture.Rational, error) {
	fail := func(err error) (frame.Format, capture.Rational, error) {
		return frame.Format{}, capture.Rational{}, err
	}
	if !params.Has("size") || !params.Has("format") {
		return fail(errors.New("size and format are needed: add ?size=1920x1080&format=BGR4"))
	}
	width, height, err := frame.ParseSize(params.Get("size"))
	if err != nil {
		return fail(err)
	}
	pixel, err := frame.ParsePixelFormat(params.Get("format"))
	if err != nil {
		return fail(err)
	}
	format, err := frame.NewFormat(pixel, width, height)
	if err != nil {
		return fail(err)
	}
	if params.Has("stride") {
		if format.Stride, err = strconv.Atoi(params.Get("stride")); err != nil {
			return fail(fmt.Errorf("bad stride %q: want bytes from row to row", params.Get("stride")))
		}
	}
	period := capture.Rational{Num: 1, Den: 60}
	if params.Has("fps") {
		if period.Num, period.Den, err = frame.ParseRate(params.Get("fps")); err != nil {
			return fail(err)
		}
	}
	return format, period, format.Validate()
}
