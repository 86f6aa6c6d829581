package raw

import (
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/capture/frame"
)

// Y4MWriter writes frames as Y4M. Nothing is converted: samples of packed and semi-planar formats
// are only put into planes. It belongs to one goroutine and keeps one frame in memory.
type Y4MWriter struct {
	w      io.Writer
	format frame.Format // of the frames that come
	order  string       // of the samples of two pixels, where they are packed: the format's name spells it
	lines  []string     // of the frames; the last one for all the rest
	n      int          // frames written
	buf    []byte
}

// NewY4MWriter writes a stream header for frames of format f and returns the writer for them.
//
// header is metadata HeaderMetadata of a recording that came from Y4M. It must fit the format, and
// the stream is then the same to the byte. If header is empty, the writer makes its own, with a
// period of num/den seconds.
func NewY4MWriter(w io.Writer, f frame.Format, periodNum, periodDen int64, header string) (*Y4MWriter, error) {
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("write Y4M: %w", err)
	}
	pixel, tag, ok := planarOf(f.Pixel)
	switch {
	case !ok:
		need := "needs YUV or grey"
		if f.Pixel.Depth() > 8 {
			need = "has 8 bits"
		}
		return nil, fmt.Errorf("write Y4M: frames are %v (%s), and Y4M %s; export to .raw, .png or .mp4",
			f.Pixel, f.Pixel.About(), need)
	}
	y := &Y4MWriter{w: w, format: f, order: f.Pixel.String(), lines: []string{frameMagic}}
	if header == "" {
		if periodNum <= 0 || periodDen <= 0 {
			return nil, fmt.Errorf("write Y4M: the frame rate is unknown or varies")
		}
		ranged := "LIMITED"
		if f.Range == frame.FullRange {
			ranged = "FULL"
		}
		header = fmt.Sprintf("%s W%d H%d F%d:%d Ip A1:1 C%s XCOLORRANGE=%s", streamMagic, f.Width, f.Height, periodDen,
			periodNum, tag, ranged)
	} else {
		var err error
		if header, y.lines, err = splitHeader(header); err != nil {
			return nil, fmt.Errorf("write Y4M: header: %w", err)
		}
		h, err := parseHeader(header)
		if err != nil {
			return nil, fmt.Errorf("write Y4M: header: %w", err)
		}
		if h.format.Width != f.Width || h.format.Height != f.Height || h.format.Pixel != pixel {
			return nil, fmt.Errorf("write Y4M: the header says %v and the frames are %v", h.format, f)
		}
	}
	if _, err := io.WriteString(w, header+"\n"); err != nil {
		return nil, fmt.Errorf("write Y4M header: %w", err)
	}
	return y, nil
}

// planarOf returns the pixel format of a format's samples in a stream, and its usual C parameter.
func planarOf(p frame.PixelFormat) (frame.PixelFormat, string, bool) {
	switch p {
	case frame.YU12, frame.NV12:
		return frame.YU12, "420jpeg", true
	case frame.P422, frame.NV16, frame.YUYV, frame.UYVY, frame.YVYU, frame.VYUY:
		return frame.P422, "422", true
	case frame.P444, frame.NV24:
		return frame.P444, "444", true
	case frame.GREY:
		return p, "mono", true
	}
	return 0, "", false
}

// WriteFrame writes one frame, in one call of Write. Padding is left out.
func (y *Y4MWriter) WriteFrame(m frame.Image) error {
	if m.Layout.Format != y.format {
		return fmt.Errorf("write Y4M frame %d: it is %v, the stream is %v", y.n, m.Layout.Format, y.format)
	}
	y.buf = append(y.buf[:0], y.lines[min(y.n, len(y.lines)-1)]...)
	y.buf = append(y.buf, '\n')
	switch y.format.Pixel {
	case frame.YUYV, frame.UYVY, frame.YVYU, frame.VYUY:
		y.every(m, 0, strings.IndexByte(y.order, 'Y'), 2)
		y.every(m, 0, strings.IndexByte(y.order, 'U'), 4)
		y.every(m, 0, strings.IndexByte(y.order, 'V'), 4)
	case frame.NV12, frame.NV16, frame.NV24:
		y.every(m, 0, 0, 1)
		y.every(m, 1, 0, 2)
		y.every(m, 1, 1, 2)
	default:
		for i, row := range m.Rows {
			y.buf = append(y.buf, row[:m.Layout.Rows[i].Seen]...)
		}
	}
	if _, err := y.w.Write(y.buf); err != nil {
		return fmt.Errorf("write Y4M frame %d: %w", y.n, err)
	}
	y.n++
	return nil
}

// every appends each step-th byte of a plane's rows, beginning with the given one.
func (y *Y4MWriter) every(m frame.Image, plane uint8, first, step int) {
	for i, row := range m.Rows {
		r := &m.Layout.Rows[i]
		if r.Plane != plane {
			continue
		}
		for at := first; at < r.Seen; at += step {
			y.buf = append(y.buf, row[at])
		}
	}
}
