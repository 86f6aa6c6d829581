package certify

import (
	"encoding/binary"
	"image"

	"github.com/eideticker/eideticker/capture/frame"
)

// Exactness is how many pixels equal the sent ones, bit for bit. In formats with computed chroma,
// only luma is compared. The expected luma is that of the sent colours by the format's own matrix
// and range, rounded.
type Exactness struct {
	Judged      bool    `json:"judged"`
	Luma        bool    `json:"luma_only"`
	Most        int     `json:"max_value"` // of a sample: 255 or 1023
	Frames      int     `json:"frames"`
	ExactFrames int     `json:"exact_frames"`
	Pixels      uint64  `json:"pixels"`
	WrongPixels uint64  `json:"wrong_pixels"`
	MaxError    int     `json:"max_error"`  // sample values
	MeanError   float64 `json:"mean_error"` // over all samples compared
	Worst       int     `json:"worst_frame"`

	sum   uint64
	worst uint64
}

// comparer holds frames against the pictures that they show.
type comparer struct {
	Exactness
	layout  *frame.Layout
	painter *painter
	shift   image.Point
	packer  *frame.Packer
	rgba    *frame.Converter
	want    []byte      // the picture as a frame of the layout
	view    frame.Image // of want
	row     []byte      // B G R
}

// newComparer returns nil where frames and pictures cannot be compared pixel by pixel.
func (e *evidence) newComparer(at placement) (*comparer, error) {
	l := e.segment.Layout
	f := l.Format
	shift, ok := at.unscaled(e.pattern)
	whole := shift == image.Point{} && f.Width == e.pattern.Width && f.Height == e.pattern.Height
	if !ok || !whole && !f.Pixel.IsRGB() {
		return nil, nil
	}
	painter, err := newPainter(e.pattern)
	if err != nil {
		return nil, err
	}
	c := &comparer{layout: l, painter: painter, shift: shift, rgba: frame.NewConverter(l), row: make([]byte, f.Width*3)}
	c.Judged, c.Worst, c.Luma, c.Most = true, -1, !f.Pixel.IsRGB(), 1<<f.Pixel.Depth()-1
	if whole {
		c.packer, c.want = frame.NewPacker(l), make([]byte, l.Size)
		c.view = l.View(c.want)
	}
	return c, nil
}

// compare compares frame number with picture n.
func (c *comparer) compare(number int, img frame.Image, n int) error {
	picture, err := c.painter.paint(n)
	if err != nil {
		return err
	}
	var pixels, wrong uint64
	if c.packer != nil {
		c.packer.BGRX(c.want, picture)
	}
	f := c.layout.Format
	for y := range f.Height {
		src := y - c.shift.Y
		x0, x1 := max(0, c.shift.X), min(f.Width, c.painter.Width+c.shift.X)
		if src < 0 || src >= c.painter.Height || x1 <= x0 {
			continue
		}
		pixels += uint64(x1 - x0)
		switch {
		case c.Luma:
			wrong += c.luma(img.Rows[y], c.view.Rows[y])
		case c.packer != nil && c.layout.RowEqual(y, img.Rows[y], c.view.Rows[y]):
		default:
			start := (src*c.painter.Width + x0 - c.shift.X) * 4
			wrong += c.colours(img, y, x0, x1, picture[start:start+(x1-x0)*4])
		}
	}
	c.Frames++
	c.Pixels += pixels
	c.WrongPixels += wrong
	if wrong == 0 {
		c.ExactFrames++
	} else if wrong > c.worst {
		c.worst, c.Worst = wrong, number
	}
	return nil
}

// colours compares a row of a frame with B G R X.
func (c *comparer) colours(img frame.Image, y, x0, x1 int, want []byte) (wrong uint64) {
	row := c.row[:(x1-x0)*3]
	c.rgba.BGRRow(row, img, y, x0, x1)
	for len(row) >= 3 && len(want) >= 4 {
		if row[0] != want[0] || row[1] != want[1] || row[2] != want[2] {
			wrong++
			for i := range 3 {
				c.note(int(row[i]) - int(want[i]))
			}
		}
		row, want = row[3:], want[4:]
	}
	return wrong
}

// luma compares the luma samples of a row of the first plane. A rounding of the last bit in either
// direction is allowed.
func (c *comparer) luma(row, want []byte) (wrong uint64) {
	first, step := 0, 1
	switch c.layout.Format.Pixel {
	case frame.YUYV, frame.YVYU:
		step = 2
	case frame.UYVY, frame.VYUY:
		first, step = 1, 2
	case frame.P010:
		step = 2
	case frame.Y210:
		step = 4
	}
	for x := range c.layout.Format.Width {
		at := first + x*step
		d := 0
		if c.Most > 255 { // 10 bits, the upper ones of 16
			d = int(binary.LittleEndian.Uint16(row[at:])>>6) - int(binary.LittleEndian.Uint16(want[at:])>>6)
		} else {
			d = int(row[at]) - int(want[at])
		}
		c.note(d)
		if d > 1 || d < -1 {
			wrong++
		}
	}
	return wrong
}

func (c *comparer) note(d int) {
	if d < 0 {
		d = -d
	}
	c.MaxError = max(c.MaxError, d)
	c.sum += uint64(d)
}

// result closes the books.
func (c *comparer) result() Exactness {
	if c == nil {
		return Exactness{Worst: -1}
	}
	samples := c.Pixels
	if !c.Luma {
		samples *= 3
	}
	if samples > 0 {
		c.MeanError = float64(c.sum) / float64(samples)
	}
	return c.Exactness
}
