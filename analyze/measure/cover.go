package measure

import (
	"math/bits"

	"github.com/eideticker/eideticker/capture/frame"
)

// Cover is the pixels that no change has reached yet.
type Cover struct {
	area   *Area
	bits   []uint64
	Pixels int
	done   []extent // of each line: the extent known to be reached
}

type extent struct{ from, to int }

// NewCover returns the pixels of an area, none of which is reached.
func NewCover(a *Area) *Cover {
	return &Cover{area: a, bits: append([]uint64(nil), a.Bits...), Pixels: a.Pixels,
		done: make([]extent, a.Layout.Format.Height)}
}

// Take removes the pixels that a change reaches.
func (v *Cover) Take(c *frame.Change) {
	for _, s := range c.Spans {
		if v.Pixels == 0 {
			return
		}
		x0, y0, x1, y1 := v.area.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			from, to, ok := v.area.Clip(y, x0, x1)
			if d := &v.done[y]; !ok || from >= d.from && to <= d.to {
				continue
			} else if to-from > d.to-d.from {
				*d = extent{from, to}
			}
			line := v.bits[y*v.area.Words : (y+1)*v.area.Words]
			EachWord(from, to, func(w int, mask uint64) {
				v.Pixels -= bits.OnesCount64(line[w] & mask)
				line[w] &^= mask
			})
		}
	}
}

// Covers reports whether spans reach over every pixel that counts. Where they do not, the two
// frames share an equal pixel.
func (a *Area) Covers(c *frame.Change) bool {
	reached := 0
	for _, s := range c.Spans {
		x0, y0, x1, y1 := a.Layout.Rect(int(s.Row), int(s.Start), int(s.End))
		for y := y0; y < y1; y++ {
			if from, to, ok := a.Clip(y, x0, x1); ok {
				reached += to - from
			}
		}
	}
	if reached < a.Pixels {
		return false
	}
	left := NewCover(a)
	left.Take(c)
	return left.Pixels == 0
}

// Restart resets the reached extents.
func (v *Cover) Restart() {
	copy(v.bits, v.area.Bits)
	v.Pixels = v.area.Pixels
	clear(v.done)
}
