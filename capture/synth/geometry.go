package synth

import "github.com/eideticker/eideticker/capture/frame"

// geometry is the layout of rectangles of pixels in the planes of one format. Package frame has
// this for rows of one frame only, and a sheet may be larger than a frame.
type geometry struct {
	format frame.Format
	layout *frame.Layout
	parts  []samples // of each plane
	planes []frame.Plane
	size   int
	padded bool
}

func newGeometry(f frame.Format) (*geometry, error) {
	l, err := frame.NewLayout(f)
	if err != nil {
		return nil, err
	}
	g := &geometry{format: f, layout: l, parts: arrange(f.Pixel), planes: f.Planes(), size: f.Size()}
	for _, p := range g.planes {
		g.padded = g.padded || p.Stride > p.RowBytes
	}
	return g, nil
}

// samples is how a plane's bytes stand to pixels: one group of unit bytes for every
// 1<<subX by 1<<subY pixels.
type samples struct {
	unit       int
	subX, subY uint
}

func (s samples) byteAt(x int) int  { return x >> s.subX * s.unit }
func (s samples) bytesTo(x int) int { return (x + 1<<s.subX - 1) >> s.subX * s.unit }
func (s samples) rowAt(y int) int   { return y >> s.subY }
func (s samples) rowsTo(y int) int  { return (y + 1<<s.subY - 1) >> s.subY }

// arrange returns how the planes of a format are made of samples.
func arrange(p frame.PixelFormat) []samples {
	switch p {
	case frame.BGR3, frame.RGB3:
		return []samples{{unit: 3}}
	case frame.YUYV, frame.UYVY, frame.YVYU, frame.VYUY:
		return []samples{{4, 1, 0}}
	case frame.Y210:
		return []samples{{8, 1, 0}}
	case frame.NV12:
		return []samples{{unit: 1}, {2, 1, 1}}
	case frame.NV16:
		return []samples{{unit: 1}, {2, 1, 0}}
	case frame.NV24:
		return []samples{{unit: 1}, {unit: 2}}
	case frame.P010:
		return []samples{{unit: 2}, {4, 1, 1}}
	case frame.YU12:
		return []samples{{unit: 1}, {1, 1, 1}, {1, 1, 1}}
	case frame.P422:
		return []samples{{unit: 1}, {1, 1, 0}, {1, 1, 0}}
	case frame.P444:
		return []samples{{unit: 1}, {unit: 1}, {unit: 1}}
	case frame.GREY:
		return []samples{{unit: 1}}
	}
	return []samples{{unit: 4}}
}
