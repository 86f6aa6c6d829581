package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// scribble is a film of a few random rectangles on small frames, with lost frames among them.
func scribble(t testing.TB, rng *rand.Rand, p frame.PixelFormat) *film {
	t.Helper()
	f, err := frame.NewFormat(p, 2*(20+rng.IntN(60)), 2*(10+rng.IntN(20)))
	if err != nil {
		t.Fatal(err)
	}
	m := newFilm(t, f)
	pack := frame.NewPacker(m.layout)
	canvas, pix := make([]byte, 4*f.Width*f.Height), make([]byte, m.layout.Size)
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
		m.shoot(pix, max(0, rng.IntN(12)-9))
	}
	return m
}

// randomLook is a region, masks and a tolerance to look at a film with.
func randomLook(rng *rand.Rand, l *frame.Layout) Options {
	for {
		o := anyLook(rng, l.Format)
		if _, err := NewArea(l, o.Region, o.Masks); err == nil {
			return o
		}
	}
}

// anyLook is one that may leave no pixel.
func anyLook(rng *rand.Rand, f frame.Format) Options {
	box := func() frame.Region {
		x, y := rng.IntN(f.Width/2), rng.IntN(f.Height/2)
		return frame.Region{X: x, Y: y, Width: 6 + rng.IntN(f.Width-x-5), Height: 6 + rng.IntN(f.Height-y-5)}
	}
	var o Options
	if rng.IntN(2) == 0 {
		o.Region = box()
	}
	for range rng.IntN(3) {
		m := box()
		m.Width, m.Height = 1+m.Width/3, 1+m.Height/3
		o.Masks = append(o.Masks, m)
	}
	o.Tolerance = []int{0, 0, 3, 40}[rng.IntN(4)]
	o.share = 1 + rng.IntN(8)
	return o
}

// literalEqual counts pixels that look the same in two frames, one by one.
func (m *film) literalEqual(a *Area, i, j, tau int) (n int) {
	conv := frame.NewConverter(m.layout)
	x, y := m.layout.View(m.pix[i]), m.layout.View(m.pix[j])
	for line := range m.layout.Format.Height {
		for col := range m.layout.Format.Width {
			if a.Holds(col, line) && !m.literalDiffers(conv, x, y, col, line, tau) {
				n++
			}
		}
	}
	return n
}

// literalDiffers looks at one pixel. Exactly, all that Crop cuts out with it must be the same: it
// takes the samples of a block.
func (m *film) literalDiffers(conv *frame.Converter, a, b frame.Image, x, y, tau int) bool {
	if tau == 0 {
		var bit [1]uint64
		d := frame.NewDiffer(m.layout, 0)
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

func TestLoadHistogramLiteral(t *testing.T) {
	formats := []frame.PixelFormat{frame.BGR4, frame.BGR3, frame.YUYV, frame.NV12, frame.P010, frame.YU12}
	for seed := range analyzetest.Seeds(uint64(60)) {
		rng := rand.New(rand.NewPCG(seed, 4))
		m := scribble(t, rng, formats[seed%uint64(len(formats))])
		o := randomLook(rng, m.layout)
		w := FramesWindow(m, rng.IntN(4), 24-rng.IntN(4))
		t.Run(fmt.Sprintf("%d/%v", seed, m.layout.Format.Pixel), func(t *testing.T) {
			area, err := NewArea(m.layout, o.Region, o.Masks)
			if err != nil {
				t.Fatal(err)
			}
			r := one(t, m, w, o, "loadhist")
			pixels := r.Series[1]
			for n := w.Start; n <= w.End; n++ {
				i, exact := slices.BinarySearch(pixels.Frames, n)
				if !exact {
					i--
				}
				if want := m.literalEqual(area, n, w.End, o.Tolerance); pixels.Values[i] != float64(want) {
					t.Fatalf("H of frame %d is %v, want %d", n, pixels.Values[i], want)
				}
			}
		})
	}
}

// TestLoadHistogramLost: half of the picture is what it will be, from the start; frames are lost at
// three places. Behind e there may be another fe, of which nobody knows how much was there.
func TestLoadHistogramLost(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 64, 32)
	for _, tc := range []struct {
		name      string
		before    int // the stored frame that frames are lost before
		low, high float64
		state     State
	}{
		{"nowhere", None, 0.5, 0.5, Exact},
		{"before s", 2, 0.5, 0.5, Bounded},
		{"inside", 4, 0.5, 0.5, Bounded},
		{"before a torn red", 8, 0, 1, Bounded},
		{"before r", 9, 0, 1, Bounded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newFilm(t, f)
			pix := make([]byte, m.layout.Size)
			for n := range 12 {
				switch {
				case n == 2:
					fill(pix[:len(pix)/2], 100)
				case n == 8:
					fill(pix[:len(pix)/4], 211)
				case n == 9:
					fill(pix, 211)
				}
				lost := 0
				if n == tc.before {
					lost = 3
				}
				m.shoot(pix, lost)
			}
			r := one(t, m, Window{Kind: ByMarkers, Green: 1, Start: 2, End: 7, Red: 9}, Options{}, "loadhist")
			if v, _ := r.Find("equal_at_start"); v.Value != 0.5 || v.Low != tc.low || v.High != tc.high {
				t.Errorf("equal at the start is %v, %v to %v, want 0.5, %v to %v", v.Value, v.Low, v.High, tc.low,
					tc.high)
			}
			if r.State != tc.state || (len(r.Warnings) > 0) != (tc.state != Exact) {
				t.Errorf("it is %s, and warns %q; want %s", r.State, r.Warnings, tc.state)
			}
		})
	}
}
