package recording

import (
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

const benchFrames = 32

// benchContent is frames of 1280x720 BGR4: a screen that stands still, one that scrolls a text-like
// page by 8 rows a frame, and noise.
func benchContent(b *testing.B, content string) (frame.Format, [][]byte) {
	b.Helper()
	f := format(b, frame.BGR4, 1280, 720, 0)
	l, err := frame.NewLayout(f)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	page := make([]byte, l.Size+8*benchFrames*f.Stride)
	for y := range len(page) / f.Stride {
		row := page[y*f.Stride:][:f.Stride]
		for x := 0; x < f.Stride; x += 4 {
			if y%20 < 14 && rng.IntN(4) == 0 {
				row[x], row[x+1], row[x+2] = 0x20, 0x20, 0x20
			} else {
				row[x], row[x+1], row[x+2] = 0xff, 0xff, 0xff
			}
		}
	}
	all := make([][]byte, benchFrames)
	for i := range all {
		all[i] = make([]byte, l.Size)
		switch content {
		case "noise":
			for k := range all[i] {
				all[i][k] = byte(rng.Uint32())
			}
		case "scroll":
			copy(all[i], page[8*i*f.Stride:])
		default: // memory of its own, or comparing would run in the cache
			copy(all[i], page)
		}
	}
	return f, all
}

var benchContents = []string{"static", "scroll", "noise"}

// BenchmarkWrite writes to a disk that costs nothing.
func BenchmarkWrite(b *testing.B) {
	for _, content := range benchContents {
		b.Run("content="+content, func(b *testing.B) {
			f, all := benchContent(b, content)
			w := newWriter(discard{}, testOptions())
			if err := w.Segment(f, 1, 60); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(all[0])))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if err := w.WriteFrame(all[n%len(all)], metaOf(n), nil); err != nil {
					b.Fatal(err)
				}
				n++
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(w.Stats().BytesOut)/float64(n), "stored-B/frame")
		})
	}
}

// benchReader records content so that there are checkpoints in it, and opens it.
func benchReader(b *testing.B, content string) (*Reader, int64) {
	b.Helper()
	f, all := benchContent(b, content)
	d := &memDisk{}
	w := newWriter(d, testOptions())
	if err := w.Segment(f, 1, 60); err != nil {
		b.Fatal(err)
	}
	for n := range 3 * len(all) {
		if err := w.WriteFrame(all[n%len(all)], metaOf(n), nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		b.Fatal(err)
	}
	return r, int64(len(all[0]))
}

// BenchmarkImage decodes frames in random order.
func BenchmarkImage(b *testing.B) {
	for _, content := range benchContents {
		b.Run("content="+content, func(b *testing.B) {
			r, size := benchReader(b, content)
			pix := make([]byte, size)
			rng := rand.New(rand.NewPCG(2, 2))
			b.SetBytes(size)
			for b.Loop() {
				if err := r.ReadFrame(rng.IntN(r.Frames()), pix); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPlay decodes frames in order; one operation is one frame.
func BenchmarkPlay(b *testing.B) {
	for _, content := range benchContents {
		b.Run("content="+content, func(b *testing.B) {
			r, size := benchReader(b, content)
			b.SetBytes(size)
			var p *Player
			for b.Loop() {
				for p == nil || !p.Next() {
					if p != nil {
						if err := p.Err(); err != nil {
							b.Fatal(err)
						}
						p.Close()
					}
					var err error
					if p, err = r.Play(0, r.Frames()); err != nil {
						b.Fatal(err)
					}
				}
			}
			p.Close()
		})
	}
}

// BenchmarkTimeline goes through the changes of frames; one operation is one frame.
func BenchmarkTimeline(b *testing.B) {
	for _, content := range benchContents {
		b.Run("content="+content, func(b *testing.B) {
			r, size := benchReader(b, content)
			b.SetBytes(size)
			tl := r.Timeline(0, r.Frames())
			for b.Loop() {
				if !tl.Next() {
					if err := tl.Err(); err != nil {
						b.Fatal(err)
					}
					tl = r.Timeline(0, r.Frames())
					tl.Next()
				}
			}
		})
	}
}
