package export

import (
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestPixelCounter holds the counter against counting pixel by pixel.
func TestPixelCounter(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, pixel := range frame.PixelFormats() {
		f := analyzetest.Must(frame.NewFormat(pixel, 70, 6))(t)
		l := analyzetest.Must(frame.NewLayout(f))(t)
		var c pixelCounter
		c.start(l)
		for range 50 {
			var change frame.Change
			seen := map[[2]int]bool{}
			for y := range l.Rows {
				for at := random.IntN(l.Rows[y].Seen); at < l.Rows[y].Seen && random.IntN(3) > 0; {
					end := at + 1 + random.IntN(l.Rows[y].Seen-at)
					change.Spans = append(change.Spans, frame.Span{Row: int32(y), Start: int32(at), End: int32(end)})
					x0, y0, x1, y1 := l.Rect(y, at, end)
					for py := y0; py < y1; py++ {
						for px := x0; px < x1; px++ {
							seen[[2]int{px, py}] = true
						}
					}
					at = end + 1
				}
			}
			if got := c.count(&change); got != len(seen) {
				t.Fatalf("%v: %d pixels, want %d", pixel, got, len(seen))
			}
		}
	}
}
