package filmtest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// Scribble is a film of a few random rectangles on small frames, with lost frames among them.
func Scribble(t testing.TB, rng *rand.Rand, p frame.PixelFormat) *Film {
	t.Helper()
	f, err := frame.NewFormat(p, 2*(20+rng.IntN(60)), 2*(10+rng.IntN(20)))
	if err != nil {
		t.Fatal(err)
	}
	m := New(t, f)
	pack := frame.NewPacker(m.Layout)
	canvas, pix := make([]byte, 4*f.Width*f.Height), make([]byte, m.Layout.Size)
	for range 24 {
		for range rng.IntN(3) {
			x, y := rng.IntN(f.Width), rng.IntN(f.Height)
			w, h := 1+rng.IntN(f.Width-x), 1+rng.IntN(f.Height-y)
			colour := [4]byte{byte(64 * rng.IntN(4)), byte(64 * rng.IntN(4)), byte(rng.IntN(12)), 255}
			for line := y; line < y+h; line++ {
				for col := x; col < x+w; col++ {
					copy(canvas[4*(line*f.Width+col):], colour[:])
				}
			}
		}
		pack.BGRX(pix, canvas)
		m.Shoot(pix, max(0, rng.IntN(12)-9))
	}
	return m
}

// RandomLook is a region, masks and a tolerance to look at a film with.
func RandomLook(rng *rand.Rand, l *frame.Layout) analyze.Options {
	for {
		o := anyLook(rng, l.Format)
		if _, err := measure.NewArea(l, o.Region, o.Masks); err == nil {
			return o
		}
	}
}

// anyLook is one that may leave no pixel.
func anyLook(rng *rand.Rand, f frame.Format) analyze.Options {
	box := func() frame.Region {
		x, y := rng.IntN(f.Width/2), rng.IntN(f.Height/2)
		return frame.Region{X: x, Y: y, Width: 6 + rng.IntN(f.Width-x-5), Height: 6 + rng.IntN(f.Height-y-5)}
	}
	var o analyze.Options
	if rng.IntN(2) == 0 {
		o.Region = box()
	}
	for range rng.IntN(3) {
		m := box()
		m.Width, m.Height = 1+m.Width/3, 1+m.Height/3
		o.Masks = append(o.Masks, m)
	}
	o.Tolerance = []int{0, 0, 3, 40}[rng.IntN(4)]
	o.MinShare = 1 + rng.IntN(8)
	return o
}

// Glimmer is a film in which a few small places change now and then, with frames lost among them.
func Glimmer(t testing.TB, rng *rand.Rand, p frame.PixelFormat, frames int, period time.Duration) *Film {
	t.Helper()
	f, err := frame.NewFormat(p, 2*(8+rng.IntN(20)), 2*(6+rng.IntN(8)))
	if err != nil {
		t.Fatal(err)
	}
	m := New(t, f)
	m.Period = period
	pack := frame.NewPacker(m.Layout)
	canvas, pix := make([]byte, 4*f.Width*f.Height), make([]byte, m.Layout.Size)
	busy, lossy := rng.Float64(), rng.Float64()/20
	for range frames {
		if rng.Float64() < busy {
			for range 1 + rng.IntN(3) {
				canvas[rng.IntN(len(canvas))] = byte(rng.IntN(256))
			}
		}
		pack.BGRX(pix, canvas)
		lost := 0
		if rng.Float64() < lossy {
			lost = 1 + rng.IntN(12)
		}
		m.Shoot(pix, lost)
	}
	return m
}

// Fill sets all bytes.
func Fill(p []byte, v byte) {
	for i := range p {
		p[i] = v
	}
}

// LiteralRow says which pixels of line y differ, as LiteralDiffers does, and is quicker.
func (m *Film) LiteralRow(a, b frame.Image, y, tau int) []bool {
	f := m.Layout.Format
	differs := make([]bool, f.Width)
	if tau == 0 {
		bits := make([]uint64, m.Layout.Words())
		frame.NewDiffer(m.Layout, 0).Line(bits, y, 0, len(bits), a, b)
		for x := range differs {
			differs[x] = bits[x/64]>>(x&63)&1 != 0
		}
		return differs
	}
	conv := frame.NewConverter(m.Layout)
	p, q := make([]byte, 4*f.Width), make([]byte, 4*f.Width)
	conv.RGBARow(p, a, y, 0, f.Width)
	conv.RGBARow(q, b, y, 0, f.Width)
	for i := range p {
		if d := int(p[i]) - int(q[i]); i%4 < 3 && (d > tau || -d > tau) {
			differs[i/4] = true
		}
	}
	return differs
}

// LiteralEqual counts pixels that look the same in two frames, one by one.
func (m *Film) LiteralEqual(a *measure.Area, i, j, tau int) (n int) {
	conv := frame.NewConverter(m.Layout)
	x, y := m.Layout.View(m.Pix[i]), m.Layout.View(m.Pix[j])
	for line := range m.Layout.Format.Height {
		for col := range m.Layout.Format.Width {
			if a.Holds(col, line) && !m.LiteralDiffers(conv, x, y, col, line, tau) {
				n++
			}
		}
	}
	return n
}

// LiteralDiffers looks at one pixel. Exactly, all that Crop cuts out with it must be the same: it
// takes the samples of a block.
func (m *Film) LiteralDiffers(conv *frame.Converter, a, b frame.Image, x, y, tau int) bool {
	if tau == 0 {
		var bit [1]uint64
		d := frame.NewDiffer(m.Layout, 0)
		d.Line(bit[:], y, x/64, x/64+1, a, b)
		return bit[0]>>(x&63)&1 != 0
	}
	var p, q [4]byte
	conv.RGBARow(p[:], a, y, x, x+1)
	conv.RGBARow(q[:], b, y, x, x+1)
	for i := range 3 {
		if d := int(p[i]) - int(q[i]); d > tau || -d > tau {
			return true
		}
	}
	return false
}

// Blinking is a film of two pictures of which one is shown all the time, or both in turn.
func Blinking(t *testing.T, frames int, both bool) *Film {
	f, err := frame.NewFormat(frame.BGR4, 64, 36)
	if err != nil {
		t.Fatal(err)
	}
	m := New(t, f)
	one := make([]byte, m.Layout.Size)
	two := slices.Clone(one)
	two[4*64*10+40] = 200
	for n := range frames {
		m.Shoot(nil, 0)
		if m.Pix[n] = one; both && n%2 == 1 {
			m.Pix[n] = two
		}
	}
	return m
}
