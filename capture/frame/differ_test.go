package frame

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// literalDiffers compares one pixel by what the formats' documentation says it is made of.
func literalDiffers(f Format, a, b []byte, x, y int) bool {
	for _, s := range literalPixel(f, x, y) {
		if s.what != 'X' && s.value(a) != s.value(b) {
			return true
		}
	}
	return false
}

func literalBeyond(conv *Converter, a, b Image, x, y, tau int) bool {
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

func TestDiffer(t *testing.T) {
	for _, p := range PixelFormats() {
		t.Run(p.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(p), 1))
			for round := range 12 {
				f, err := NewFormat(p, 2*(1+rng.IntN(200)), 2*(1+rng.IntN(4)))
				if err != nil {
					t.Fatal(err)
				}
				f.Stride += rng.IntN(3) * 4
				l, err := NewLayout(f)
				if err != nil {
					t.Fatal(err)
				}
				pa, pb := make([]byte, l.Size), make([]byte, l.Size)
				seldom := [...]int{20, 200, 2, 1}[round%4]
				for i := range pa {
					pa[i] = byte(rng.Uint32())
					pb[i] = pa[i]
					if rng.IntN(seldom) == 0 { // also only in bits that no screen shows
						pb[i] ^= 1 << rng.IntN(8)
					}
				}
				a, b, conv := l.View(pa), l.View(pb), NewConverter(l)
				for k, tau := range []int{0, 1, 8, 100, 255, 0, 1, 8, 100, 255} {
					d := NewDiffer(l, tau)
					d.vector = d.vector && k < 5
					got := make([]uint64, l.Words())
					for y := range f.Height {
						d.Line(got, y, 0, l.Words(), a, b)
						for x := range l.Words() * 64 {
							want := false
							if x < f.Width {
								want = literalDiffers(f, pa, pb, x, y)
								if tau > 0 {
									want = literalBeyond(conv, a, b, x, y, tau)
								}
							}
							if is := got[x/64]>>(x%64)&1 != 0; is != want {
								t.Fatalf("round %d, %v, tolerance %d: pixel %d,%d differs: %v, want %v", round, f, tau,
									x, y, is, want)
							}
						}
					}
				}
			}
		})
	}
}

// BenchmarkDiffer compares lines whose pixels all differ, with vectors and without.
func BenchmarkDiffer(b *testing.B) {
	for _, p := range []PixelFormat{BGR4, BGR3, YUYV, NV12} {
		for _, tau := range []int{0, 8} {
			for _, vector := range []bool{true, false} {
				if vector && p != BGR4 {
					continue
				}
				b.Run(fmt.Sprintf("format=%v/tolerance=%d/vector=%v", p, tau, vector), func(b *testing.B) {
					f, _ := NewFormat(p, 1920, 64)
					l, _ := NewLayout(f)
					pa, pb := make([]byte, l.Size), make([]byte, l.Size)
					rng := rand.New(rand.NewPCG(1, 1))
					for i := range pa {
						pa[i], pb[i] = byte(rng.Uint32()), byte(rng.Uint32())
					}
					d, bits := NewDiffer(l, tau), make([]uint64, l.Words())
					d.vector = d.vector && vector
					x, y := l.View(pa), l.View(pb)
					b.SetBytes(int64(l.Pixels)) // one byte stands for one pixel
					for b.Loop() {
						for line := range f.Height {
							d.Line(bits, line, 0, l.Words(), x, y)
						}
					}
				})
			}
		}
	}
}
