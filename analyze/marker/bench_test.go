package marker

import (
	"fmt"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// BenchmarkAdd is what one more frame costs, by what it is.
func BenchmarkAdd(b *testing.B) {
	f, err := frame.NewFormat(frame.BGR4, 1920, 1080)
	if err != nil {
		b.Fatal(err)
	}
	l, err := frame.NewLayout(f)
	if err != nil {
		b.Fatal(err)
	}
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
	for _, tc := range []struct {
		kind string
		img  frame.Image
		c    *frame.Change
	}{{"unchanged", content, unchanged}, {"content", content, changed}} {
		b.Run(fmt.Sprintf("frame=%s", tc.kind), func(b *testing.B) {
			d := New(Options{})
			for n := range 4 {
				d.Add(n, green, unchanged)
			}
			d.Add(4, content, changed)
			b.ReportAllocs()
			for n := 5; b.Loop(); n++ {
				d.Add(n, tc.img, tc.c)
			}
		})
	}
}
