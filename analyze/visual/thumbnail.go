package visual

import (
	"fmt"
)

// ThumbnailSide is the side of the square that the script shrinks, or enlarges, frames into.
const ThumbnailSide = 400

// ThumbnailSize returns the size of a frame that fits into a square of the given side: as ffmpeg
// computes "scale=iw*min(S/iw,S/ih):ih*min(S/iw,S/ih)", in float64 from left to right, rounded
// down. 0 would leave a side as it was.
func ThumbnailSize(width, height, side int) (w, h int) {
	fit := min(float64(side)/float64(width), float64(side)/float64(height))
	w, h = int(float64(width)*fit), int(float64(height)*fit)
	if w == 0 {
		w = width
	}
	if h == 0 {
		h = height
	}
	return w, h
}

// Scaler scales pictures of one size to another by area. A pixel is the mean of the area that it
// covers, with parts of pixels by their area. It is rounded to the nearest (halves up), each sample
// by itself, all in integers. It never makes a colour lighter or darker than the covered ones.
// ffmpeg's bicubic scaler, which the script uses, does. So their thumbnails are not the same to the
// bit.
type Scaler struct {
	from, to [2]int
	columns  []share // what each column of the result takes from those of the source
	rows     []share
	line     []uint64 // one row of sums, three samples a pixel
}

// share says that a pixel of the result takes parts of n pixels from the given one on: first of the
// first, last of the last, all of those between. Parts are counted in units of which a pixel of the
// source has as many as the result has pixels.
type share struct {
	at, n       int
	first, last uint64
}

// NewScaler prepares to scale pictures of width×height to toWidth×toHeight pixels.
func NewScaler(width, height, toWidth, toHeight int) (*Scaler, error) {
	if err := checkSize(width, height, 1); err != nil {
		return nil, err
	}
	if err := checkSize(toWidth, toHeight, 1); err != nil {
		return nil, err
	}
	return &Scaler{
		from: [2]int{width, height}, to: [2]int{toWidth, toHeight},
		columns: shares(width, toWidth), rows: shares(height, toHeight),
		line: make([]uint64, toWidth*3),
	}, nil
}

// shares divides n pixels among m.
func shares(n, m int) []share {
	s := make([]share, m)
	for i := range s {
		a, b := i*n, (i+1)*n // in units of a pixel's m-th part
		first, end := a/m, (b+m-1)/m
		s[i] = share{at: first, n: end - first, first: uint64(min((first+1)*m, b) - a), last: uint64(b - (end-1)*m)}
	}
	return s
}

// part returns how much of the k-th of its pixels a share takes.
func (s share) part(k, whole int) uint64 {
	switch k {
	case 0:
		return s.first
	case s.n - 1:
		return s.last
	}
	return uint64(whole)
}

// Scale writes the scaled picture to dst.
func (s *Scaler) Scale(dst, src Picture) error {
	if err := dst.check(); err != nil {
		return err
	}
	if err := src.check(); err != nil {
		return err
	}
	if s.from != [2]int{src.Width, src.Height} || s.to != [2]int{dst.Width, dst.Height} {
		return fmt.Errorf("%w: from %dx%d to %dx%d, want %dx%d to %dx%d", errSize,
			src.Width, src.Height, dst.Width, dst.Height, s.from[0], s.from[1], s.to[0], s.to[1])
	}
	area := uint64(s.from[0]) * uint64(s.from[1])
	for y, r := range s.rows {
		clear(s.line)
		for k := range r.n {
			s.addLine(src.Row(r.at+k, 0, src.Width), r.part(k, s.to[1]))
		}
		out := dst.Row(y, 0, dst.Width)
		for i, sum := range s.line {
			out[i/3*4+i%3] = byte((sum + area/2) / area)
		}
		for x := range dst.Width {
			out[x*4+3] = 255
		}
	}
	return nil
}

func (s *Scaler) addLine(row []byte, weight uint64) {
	for x, c := range s.columns {
		sum := s.line[x*3 : x*3+3]
		for k := range c.n {
			w, p := weight*c.part(k, s.to[0]), row[(c.at+k)*4:]
			sum[0] += w * uint64(p[0])
			sum[1] += w * uint64(p[1])
			sum[2] += w * uint64(p[2])
		}
	}
}
