package render

import (
	"bytes"
	"errors"
	"image"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// changeBetween returns the difference of two frames, row by row.
func changeBetween(l *frame.Layout, a, b []byte) *frame.Change {
	c := new(frame.Change)
	for y, r := range l.Rows {
		if start, end, ok := l.Tighten(y, l.Row(a, y), l.Row(b, y), 0, r.Bytes); ok {
			c.Spans = append(c.Spans, frame.Span{Row: int32(y), Start: int32(start), End: int32(end)})
		}
	}
	return c
}

// scribble changes some rectangles of a frame's bytes.
func scribble(r *rand.Rand, l *frame.Layout, pix []byte) {
	for range r.IntN(4) {
		y, n := r.IntN(len(l.Rows)), 1+r.IntN(5)
		for ; n > 0 && y < len(l.Rows); y, n = y+1, n-1 {
			row := l.Row(pix, y)[:l.Rows[y].Seen]
			from := r.IntN(len(row))
			for i := from; i < min(len(row), from+1+r.IntN(40)); i++ {
				row[i] = byte(r.UintN(256))
			}
		}
	}
}

// picture is a surface in memory. It scales by the mean of areas.
type picture struct {
	pix  []byte
	size image.Point
}

func (s *picture) draw(to image.Rectangle, pix []byte, size image.Point) {
	for y := range to.Dy() {
		for x := range to.Dx() {
			// In units of 1/Dx and 1/Dy, so that borders are whole.
			x0, x1, y0, y1 := x*size.X, (x+1)*size.X, y*size.Y, (y+1)*size.Y
			for c := range 3 {
				sum := 0
				for v := y0 / to.Dy(); v*to.Dy() < y1; v++ {
					for u := x0 / to.Dx(); u*to.Dx() < x1; u++ {
						width := min((u+1)*to.Dx(), x1) - max(u*to.Dx(), x0)
						height := min((v+1)*to.Dy(), y1) - max(v*to.Dy(), y0)
						sum += width * height * int(pix[3*(v*size.X+u)+c])
					}
				}
				s.pix[3*((to.Min.Y+y)*s.size.X+to.Min.X+x)+c] = byte(sum / (size.X * size.Y))
			}
		}
	}
}

// TestChangesAreEnough compares the canvas of a pane that gets changes with that of one that draws
// everything.
func TestChangesAreEnough(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    frame.PixelFormat
		w, h int
		o    VideoOptions
	}{
		{"as it is", frame.BGR4, 64, 48, VideoOptions{}},
		{"odd", frame.RGB3, 33, 27, VideoOptions{}},
		{"3 to 2", frame.BGR4, 96, 54, VideoOptions{MaxHeight: 36}},
		{"half", frame.NV12, 96, 64, VideoOptions{MaxHeight: 32}},
		{"nothing in common", frame.BGR4, 70, 53, VideoOptions{MaxHeight: 40}},
		{"YUYV, odd", frame.YUYV, 62, 55, VideoOptions{MaxHeight: 42}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := layout(t, tc.p, tc.w, tc.h)
			o := analyzetest.Must(tc.o.withDefaults(videoLines))(t)
			var panes [2]*pane
			var pictures [2]*picture
			for i := range panes {
				g, b, size, err := single(l.Format, o)
				if err != nil {
					t.Fatal(err)
				}
				pictures[i] = &picture{pix: make([]byte, 3*size.X*size.Y), size: size}
				panes[i] = newPane(pictures[i], l, g, b)
			}
			r := rand.New(rand.NewPCG(1, uint64(tc.w)))
			now, before := make([]byte, l.Size), make([]byte, l.Size)
			for n := range 200 {
				copy(before, now)
				scribble(r, l, now)
				panes[0].convert(l.View(now), changeBetween(l, before, now))
				panes[1].convert(l.View(now), nil)
				if r.IntN(5) == 0 { // several frames for one slot
					continue
				}
				panes[0].scale()
				panes[1].scale()
				if !bytes.Equal(pictures[0].pix, pictures[1].pix) {
					t.Fatalf("frame %d differs", n)
				}
				switch r.IntN(8) {
				case 0:
					panes[0].hatch()
					panes[1].hatch()
				case 1:
					analyzetest.Check(t, errors.Join(panes[0].blank(), panes[1].blank()))
				}
			}
		})
	}
}
