package measure

import (
	"fmt"
	"math/bits"

	"github.com/eideticker/eideticker/capture/frame"
)

// Area is the pixels of a frame that count: a region without its masks.
//
// A region shrinks to whole blocks of pixels that share their chroma, and a mask grows to whole
// blocks. So the rest does not depend on a sample of a masked pixel.
type Area struct {
	Layout *frame.Layout
	Region frame.Region // after snapping
	Pixels int          // how many count
	Words  int          // of a line
	Bits   []uint64     // a bit per pixel, line by line
	Masked bool         // some pixels of the region don't count
}

// NewArea returns the area of a region without masks. An empty region is the whole frame. It fails
// if the region is not inside the frame, or if no pixel is left.
func NewArea(l *frame.Layout, region frame.Region, masks []frame.Region) (*Area, error) {
	f := l.Format
	if region == (frame.Region{}) {
		region = frame.Region{Width: f.Width, Height: f.Height}
	}
	crop, err := l.NewCrop(region)
	if err != nil {
		return nil, err
	}
	a := &Area{Layout: l, Region: crop.Region, Words: l.Words()}
	a.Bits = make([]uint64, a.Words*f.Height)
	r := crop.Region
	for y := r.Y; y < r.Y+r.Height; y++ {
		SetBits(a.Line(y), r.X, r.X+r.Width)
	}
	bx, by := l.Block()
	for _, m := range masks {
		x0, x1 := m.X/bx*bx, (m.X+m.Width+bx-1)/bx*bx
		y0, y1 := m.Y/by*by, (m.Y+m.Height+by-1)/by*by
		for y := max(y0, r.Y); y < min(y1, r.Y+r.Height); y++ {
			if x0, x1 := max(x0, r.X), min(x1, r.X+r.Width); x0 < x1 {
				clearBits(a.Line(y), x0, x1)
			}
		}
	}
	for _, w := range a.Bits {
		a.Pixels += bits.OnesCount64(w)
	}
	a.Masked = a.Pixels < r.Width*r.Height
	if a.Pixels == 0 {
		return nil, fmt.Errorf("masks cover all of region %v: no pixel is left to look at", r)
	}
	return a, nil
}

// Line returns the bits of picture line y.
func (a *Area) Line(y int) []uint64 { return a.Bits[y*a.Words : (y+1)*a.Words] }

// Holds reports whether a pixel counts.
func (a *Area) Holds(x, y int) bool { return a.Bits[y*a.Words+x/64]>>(x&63)&1 != 0 }

// Count returns how many pixels of a region count.
func (a *Area) Count(r frame.Region) (n int) {
	for y := r.Y; y < r.Y+r.Height; y++ {
		EachWord(r.X, r.X+r.Width, func(w int, mask uint64) { n += bits.OnesCount64(a.Line(y)[w] & mask) })
	}
	return n
}

// Clip narrows pixels [x0, x1) of line y to those within the region.
func (a *Area) Clip(y, x0, x1 int) (int, int, bool) {
	r := a.Region
	x0, x1 = max(x0, r.X), min(x1, r.X+r.Width)
	return x0, x1, x0 < x1 && y >= r.Y && y < r.Y+r.Height
}

// Runs calls do with each run of pixels of [x0, x1) in line y that count.
func (a *Area) Runs(y, x0, x1 int, do func(from, to int)) {
	if !a.Masked {
		do(x0, x1)
		return
	}
	for x := x0; x < x1; {
		for x < x1 && !a.Holds(x, y) {
			x++
		}
		from := x
		for x < x1 && a.Holds(x, y) {
			x++
		}
		if from < x {
			do(from, x)
		}
	}
}

// EachWord calls do with each word that has bits of [from, to), and these bits.
func EachWord(from, to int, do func(word int, mask uint64)) {
	for w := from / 64; w*64 < to; w++ {
		mask := ^uint64(0)
		if lo := from - w*64; lo > 0 {
			mask &= ^uint64(0) << lo
		}
		if hi := to - w*64; hi < 64 {
			mask &= 1<<hi - 1
		}
		do(w, mask)
	}
}

// SetBits sets bits from ≤ i < to.
func SetBits(line []uint64, from, to int) {
	EachWord(from, to, func(w int, mask uint64) { line[w] |= mask })
}

func clearBits(line []uint64, from, to int) {
	EachWord(from, to, func(w int, mask uint64) { line[w] &^= mask })
}
