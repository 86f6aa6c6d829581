package fps

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestTakeSpansLiteral compares the tiles of a change with those of its spans, one after another.
func TestTakeSpansLiteral(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(40)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		format := []frame.PixelFormat{frame.BGR4, frame.NV12, frame.YUYV, frame.P422}[seed%4]
		l := analyzetest.Must(frame.NewLayout(analyzetest.Must(frame.NewFormat(format, 640, 200))(t)))(t)
		var region frame.Region
		if seed%3 > 0 {
			region = frame.Region{X: 100 + 2*rng.IntN(60), Y: 2 * rng.IntN(30), Width: 400, Height: 120}
		}
		area := analyzetest.Must(measure.NewArea(l, region, nil))(t)
		got := newRestless(&measure.Case{Layout: l, Area: area})
		want := got.fork()
		for range 500 {
			clear(got.now)
			clear(want.now)
			got.box, want.box = measure.Rect{}, measure.Rect{}
			var c frame.Change
			y := rng.IntN(len(l.Rows) - 6)
			for i := range 2 + rng.IntN(4) { // few rows, and ends that are often the same or in no tile
				most := l.Rows[y+i].Seen
				at := func() int { return most*rng.IntN(11)/10 + rng.IntN(3) }
				start := min(at(), most-1)
				c.Spans = append(c.Spans, frame.Span{Row: int32(y + i), Start: int32(start),
					End: int32(min(max(start+1, at()), most))})
			}
			got.takeSpans(&c)
			for _, s := range c.Spans {
				x0, y0, x1, y1 := l.Rect(int(s.Row), int(s.Start), int(s.End))
				want.take(measure.Box(x0, y0, x1, y1))
			}
			if !slices.Equal(got.now, want.now) || got.box != want.box {
				t.Fatalf("seed %d: tiles %x in %v, want %x in %v", seed, got.now, got.box, want.now, want.box)
			}
		}
	}
}
