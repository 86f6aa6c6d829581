package load_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestMovesChangeNoFigure scrolls lines by various steps below a line that stands, beside a box
// that changes. The figures by histogram are the same with the moves that the codec finds and
// without.
func TestMovesChangeNoFigure(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(30)) {
		rng := rand.New(rand.NewPCG(seed, 31))
		pixels := []frame.PixelFormat{frame.BGR4, frame.YUYV, frame.NV12}[seed%3]
		f := analyzetest.Must(frame.NewFormat(pixels, 96, 140))(t)
		m := filmtest.New(t, f)
		page := make([][]byte, 600)
		for y := range page {
			page[y] = make([]byte, m.Layout.Rows[0].Bytes)
			for x := range page[y] {
				page[y][x] = byte(rng.IntN(1 + y%255))
			}
		}
		at := 200
		for range 30 {
			at = max(0, min(len(page)-f.Height, at+rng.IntN(60)-30))
			pix := make([]byte, m.Layout.Size)
			for y := range f.Height {
				from := at + y
				if y < 9 {
					from = y
				}
				copy(m.Layout.Row(pix, y), page[from])
				if y > 50 && y < 70 && rng.IntN(3) == 0 {
					copy(m.Layout.Row(pix, y)[40:], page[rng.IntN(len(page))][:24])
				}
			}
			for _, row := range m.Layout.Rows[f.Height:] { // chroma
				for x := range row.Bytes {
					pix[row.Offset+x] = byte(at + x/3)
				}
			}
			m.Shoot(pix, 0)
		}
		coded := filmtest.NewCoded(m)
		if !slices.ContainsFunc(coded.Found, func(c *frame.Change) bool { return len(c.Moves) > 0 }) {
			t.Fatal("nothing moves")
		}
		o := filmtest.RandomLook(rng, m.Layout)
		o.Load.Variants = []string{"histogram"}
		w := measure.FramesWindow(m, 1, 30)
		plain := filmtest.One(t, m, w, o, "speedindex")
		if moved := filmtest.One(t, coded, w, o, "speedindex"); fmt.Sprint(moved) != fmt.Sprint(plain) {
			t.Errorf("seed %d: with moves\n%v\nwithout\n%v", seed, moved, plain)
		}
	}
}
