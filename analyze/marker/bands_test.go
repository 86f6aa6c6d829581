package marker

import (
	"image"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestBandsSeeEachMarker draws boxes that are hardly markers. All that they lack is in bands.
func TestBandsSeeEachMarker(t *testing.T) {
	boxes, reds, plain := 0, 0, 0
	for seed := range analyzetest.Seeds(uint64(400)) {
		rng := rand.New(rand.NewPCG(seed, 31))
		w, h := 200+rng.IntN(700), 60+rng.IntN(500)
		f := analyzetest.Must(frame.NewFormat(frame.BGR4, w, h))(t)
		l := analyzetest.Must(frame.NewLayout(f))(t)
		m := l.View(make([]byte, l.Size))
		e := newEye(l)
		b := newBands(e)
		paint := func(r image.Rectangle, pixels int, colour [3]byte) {
			for i := range pixels {
				copy(m.Rows[r.Min.Y+i/r.Dx()][4*(r.Min.X+i%r.Dx()):], colour[:])
			}
		}
		colour := [3]byte{0, 255, 0}
		box := image.Rect(0, 0, w, h)
		if rng.IntN(4) == 0 {
			colour = [3]byte{0, 0, 255}
		} else {
			bw := w/5 + rng.IntN(w-w/5)
			bh := min(h, (w*h/5+bw-1)/bw+rng.IntN(3)*rng.IntN(h/2))
			box = image.Rect(0, 0, bw, bh).Add(image.Pt(rng.IntN(w-bw+1), rng.IntN(h-bh+1)))
		}
		paint(box, area(box), colour)
		if rng.IntN(2) == 0 { // or not, where it is too small
			strip.DrawCopy(m, box, 0, strip.MarkerCode("this", 1, strip.Marker(1)))
		}
		holes := area(box)/onePercent + rng.IntN(3) - 1
		for _, top := range b.tops {
			lines := image.Rect(0, top, w, top+b.lines).Intersect(box)
			n := min(holes, area(lines))
			paint(lines, n, [3]byte{90, 90, 90})
			holes -= n
			if rng.IntN(2) == 0 {
				break
			}
		}
		green, _ := e.box(m, greenHue)
		_, red := e.full(m, e.all(), redHue)
		if may := b.mayShow(m); !may && (!green.Empty() || red) {
			t.Fatalf("seed %d: %dx%d: bands of %d lines at %v do not show the box %v, red %v", seed, w, h, b.lines,
				b.tops, green, red)
		} else if !may {
			plain++
		}
		if !green.Empty() {
			boxes++
		}
		if red {
			reds++
		}
	}
	t.Logf("%d boxes, %d reds, %d without a marker", boxes, reds, plain)
	if n := int(analyzetest.Seeds(uint64(400))) / 16; boxes < n || reds == 0 {
		t.Error("the pictures show too little")
	}
}
