package frame

import (
	"bytes"
	"image"
	"math/rand/v2"
	"testing"
)

func TestEveryFormatIsTested(t *testing.T) {
	for _, p := range PixelFormats() {
		tested := false
		for _, size := range [][2]int{{2, 2}, {6, 4}} {
			if _, err := NewFormat(p, size[0], size[1]); err == nil {
				tested = true
			}
		}
		if !tested {
			t.Errorf("%v is in no test", p)
		}
	}
}

// The rows of a layout cover each byte of the frame once. The visible bytes are the bytes of
// pixels.
func TestRowsCoverTheFrame(t *testing.T) {
	eachFormat(t, func(t *testing.T, l *Layout) {
		if want := literalSize(l.Format); l.Size != want || l.Format.Size() != want {
			t.Fatalf("size %d and %d, want %d", l.Size, l.Format.Size(), want)
		}
		seen := literalSeen(l.Format)
		at := 0
		for y, r := range l.Rows {
			if r.Offset != at {
				t.Fatalf("row %d starts at %d, want %d", y, r.Offset, at)
			}
			at += r.Bytes
			for i := range r.Bytes {
				want := seen[r.Offset+i]
				got := byte(0)
				for bit := range 8 { // that are seen to change
					a, b := make([]byte, r.Bytes), make([]byte, r.Bytes)
					b[i] = 1 << bit
					if _, _, differs := l.Tighten(y, a, b, 0, r.Bytes); differs {
						got |= 1 << bit
					}
				}
				if got != want {
					t.Fatalf("row %d byte %d: bits %08b are seen, want %08b", y, i, got, want)
				}
			}
		}
		if at != l.Size {
			t.Errorf("rows end at %d of %d", at, l.Size)
		}
		hides := false
		for _, s := range seen {
			hides = hides || s != 0xff
		}
		if l.hides() != hides {
			t.Errorf("Hides: %v, want %v", l.hides(), hides)
		}
	})
}

func TestViewAndCopy(t *testing.T) {
	eachFormat(t, func(t *testing.T, l *Layout) {
		pix := random(1, l.Size)
		m := l.View(pix)
		got := make([]byte, l.Size)
		m.CopyTo(got)
		if !bytes.Equal(got, pix) {
			t.Error("a view's copy is not the frame")
		}
		for y := range m.Rows {
			if cap(m.Rows[y]) != l.Rows[y].Bytes {
				t.Fatalf("row %d can grow into the next", y)
			}
		}
	})
}

// literalTighten looks at each byte by itself.
func literalTighten(l *Layout, seen []byte, y int, a, b []byte, start, end int) (int, int, bool) {
	first, last := -1, -1
	for i := start; i < end; i++ {
		if (a[i]^b[i])&seen[l.Rows[y].Offset+i] != 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return first, last + 1, first >= 0
}

func TestTightenAndRowEqual(t *testing.T) {
	eachFormat(t, func(t *testing.T, l *Layout) {
		rng := rand.New(rand.NewPCG(7, uint64(l.Size)))
		seen := literalSeen(l.Format)
		pix := random(2, l.Size)
		for round := range 60 {
			other := bytes.Clone(pix)
			for range rng.IntN(4) {
				other[rng.IntN(len(other))] ^= byte(1 + rng.IntN(255))
			}
			if round == 0 { // everything that is hidden differs
				for i := range other {
					other[i] ^= ^seen[i]
				}
			}
			for y, r := range l.Rows {
				a, b := l.Row(pix, y), l.Row(other, y)
				start := rng.IntN(r.Bytes + 1)
				end := start + rng.IntN(r.Bytes-start+1)
				for _, span := range [][2]int{{0, r.Bytes}, {start, end}} {
					s, e, ok := l.Tighten(y, a, b, span[0], span[1])
					ws, we, wok := literalTighten(l, seen, y, a, b, span[0], span[1])
					if ok != wok || ok && (s != ws || e != we) {
						t.Fatalf("row %d of %v: [%d,%d) %v, want [%d,%d) %v", y, span, s, e, ok, ws, we, wok)
					}
				}
				_, _, differs := literalTighten(l, seen, y, a, b, 0, r.Bytes)
				if equal := l.RowEqual(y, a, b); equal == differs {
					t.Fatalf("row %d: equal %v, differs %v", y, equal, differs)
				}
			}
		}
	})
}

// Rect is the bounding box of the pixels that a byte range touches.
func TestRect(t *testing.T) {
	eachFormat(t, func(t *testing.T, l *Layout) {
		touch := make([]image.Rectangle, l.Size) // of each byte
		for y := range l.Format.Height {
			for x := range l.Format.Width {
				for _, s := range literalPixel(l.Format, x, y) {
					for i := range s.seenBits() {
						touch[s.offset+i] = touch[s.offset+i].Union(image.Rect(x, y, x+1, y+1))
					}
				}
			}
		}
		for y, r := range l.Rows {
			for start := range r.Seen {
				var want image.Rectangle
				for end := start + 1; end <= r.Seen; end++ {
					want = want.Union(touch[r.Offset+end-1])
					x0, y0, x1, y1 := l.Rect(y, start, end)
					if got := image.Rect(x0, y0, x1, y1); got != want {
						// A lone chroma or luma byte of packed 4:2:2 stands for its whole block.
						if l.traits.family == packed422 && want.In(got) && got.Dx() <= want.Dx()+2 && got.Min.X%2 == 0 {
							continue
						}
						t.Fatalf("row %d [%d,%d): %v, want %v", y, start, end, got, want)
					}
				}
			}
		}
	})
}

func BenchmarkRowEqual(b *testing.B) {
	for _, p := range []PixelFormat{BGR4, BGR3, P010} {
		b.Run("format="+p.String(), func(b *testing.B) {
			f, _ := NewFormat(p, 1920, 1080)
			l, _ := NewLayout(f)
			x, y := random(1, f.Stride), random(1, f.Stride)
			b.SetBytes(int64(f.Stride))
			for b.Loop() {
				if !l.RowEqual(0, x, y) {
					b.Fatal("not equal")
				}
			}
		})
	}
}
