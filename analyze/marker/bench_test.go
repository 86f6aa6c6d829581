package marker

import (
	"fmt"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// BenchmarkAdd is what one more frame costs, by what it is.
func BenchmarkAdd(b *testing.B) {
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 1920, 1080))(b)
	l := analyzetest.Must(frame.NewLayout(f))(b)
	fill := func(c [4]byte) frame.Image {
		pix := make([]byte, l.Size)
		for i := range pix {
			pix[i] = c[i&3]
		}
		return l.View(pix)
	}
	green, content := fill([4]byte{0, 255, 0, 0}), fill([4]byte{200, 210, 220, 0})
	unchanged := &frame.Change{}
	changed := &frame.Change{Spans: []frame.Span{{Row: 500, Start: 0, End: 400}}}
	everything := &frame.Change{}
	for y := range l.Rows {
		everything.Spans = append(everything.Spans, frame.Span{Row: int32(y), End: int32(l.Rows[y].Seen)})
	}
	for _, tc := range []struct {
		kind string
		img  frame.Image
		c    *frame.Change
	}{{"unchanged", content, unchanged}, {"small", content, changed}, {"all", content, everything}} {
		b.Run(fmt.Sprintf("frame=%s", tc.kind), func(b *testing.B) {
			d := New(Options{})
			add := func(step *frame.Step) {
				analyzetest.Check(b, d.Add(step, nil))
			}
			for n := range 4 {
				add(&frame.Step{Number: n, Image: green, Change: unchanged})
			}
			add(&frame.Step{Number: 4, Image: content, Change: everything})
			add(&frame.Step{Number: 5, Image: content, Change: changed})
			b.ReportAllocs()
			step := frame.Step{Number: 6, Image: tc.img, Change: tc.c}
			for b.Loop() {
				add(&step)
				step.Number++
			}
		})
	}
}
