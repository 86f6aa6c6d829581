package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/raw"
)

// Raw writes the frames' bytes as captured, padding included, and returns their format.
func (s *Selection) Raw(ctx context.Context, w io.Writer) (format frame.Format, err error) {
	var buf []byte
	err = s.Pictures(ctx, func(l *frame.Layout) error {
		buf, format = make([]byte, l.Size), l.Format
		return nil
	}, func(_ int, _ frame.Meta, img frame.Image) error {
		img.CopyTo(buf)
		_, err := w.Write(buf)
		return err
	})
	return format, err
}

// Y4M writes the frames with a Y4M header. It rejects formats that Y4M does not have.
func (s *Selection) Y4M(ctx context.Context, w io.Writer) error {
	var y4m *raw.Y4MWriter
	return s.Pictures(ctx, func(l *frame.Layout) error {
		rateNum, rateDen, err := s.rate()
		if err != nil {
			return err
		}
		y4m, err = raw.NewY4MWriter(w, l.Format, rateDen, rateNum, s.y4mHeader())
		return err
	}, func(_ int, _ frame.Meta, img frame.Image) error { return y4m.WriteFrame(img) })
}

// y4mHeader returns the header of the recorded stream, so that its export is equal to the byte. A
// part of the picture has no such header.
func (s *Selection) y4mHeader() string {
	for _, m := range s.Reader.Metadata() {
		var header string
		if m.Name == raw.HeaderMetadata && s.Edit.Cut == nil && s.From == 0 && json.Unmarshal(m.Value, &header) == nil {
			return header
		}
	}
	return ""
}

// defaultRate is the rate of a recording whose rate is unknown.
const defaultRate = 60

// rate returns frames per second as num/den: the nominal rate of the frames' segment, or else the
// measured rate. It rejects frames of several rates, since a video has one.
func (s *Selection) rate() (num, den int64, err error) {
	num, den = defaultRate, 1
	for i, g := range s.Segments() {
		n, d := runfolder.Rate(g)
		if n == 0 {
			n, d = defaultRate, 1
		}
		if i > 0 && n*den != num*d {
			return 0, 0, fmt.Errorf("frames %d:%d change from %.6g to %.6g frames/s at %d; "+
				"select frames of one rate with --frames",
				s.From, s.To, float64(num)/float64(den), float64(n)/float64(d), g.First)
		}
		num, den = n, d
	}
	return num, den, nil
}

// MP4 writes a video and its map, path.json. Each captured frame is one frame of it, and missing
// ones are shown as missing.
func (s *Selection) MP4(ctx context.Context, path string) error {
	var v *render.Video
	err := s.Pictures(ctx, func(l *frame.Layout) error {
		num, den, err := s.rate()
		if err != nil {
			return err
		}
		v, err = render.NewVideo(path, l, render.VideoOptions{RateNum: num, RateDen: den})
		return err
	}, func(n int, m frame.Meta, img frame.Image) error {
		return v.Add(img, render.Slot{Frame: n, Sequence: m.Sequence, Time: m.Sampled.Mid()})
	})
	if v != nil {
		err = errors.Join(err, v.Close())
	}
	return err
}
