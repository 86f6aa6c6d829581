package frame

import (
	"bytes"
	"math"
	"testing"
)

// exactRGB is the formula of colour.go in floating point, not rounded.
func exactRGB(m Matrix, r Range, y, u, v byte) [3]float64 {
	k := map[Matrix][2]float64{BT601: {0.299, 0.114}, BT709: {0.2126, 0.0722}, BT2020: {0.2627, 0.0593}}[m]
	kr, kb := k[0], k[1]
	l, cb, cr := float64(y)/255, (float64(u)-128)/255, (float64(v)-128)/255
	if r == LimitedRange {
		l, cb, cr = (float64(y)-16)/219, (float64(u)-128)/224, (float64(v)-128)/224
	}
	red, blue := l+2*(1-kr)*cr, l+2*(1-kb)*cb
	green := (l - kr*red - kb*blue) / (1 - kr - kb)
	return [3]float64{red * 255, green * 255, blue * 255}
}

const statedError = 1.0 / 1024

func checkRounded(t *testing.T, what string, got byte, exact float64) {
	t.Helper()
	exact = min(255, max(0, exact))
	if math.Abs(float64(got)-exact) > 0.5+statedError {
		t.Fatalf("%s: %d, want %.4f", what, got, exact)
	}
}

func TestToRGBAgainstFormula(t *testing.T) {
	for _, m := range []Matrix{BT601, BT709, BT2020} {
		for _, r := range []Range{FullRange, LimitedRange} {
			t.Run(m.String()+"/"+r.String(), func(t *testing.T) {
				c := newToRGB(Format{Matrix: m, Range: r, Height: 1})
				for y := range 256 {
					for u := 0; u < 256; u += 5 {
						for v := 0; v < 256; v += 5 {
							red, green, blue := c.convert(byte(y), byte(u), byte(v))
							want := exactRGB(m, r, byte(y), byte(u), byte(v))
							for i, got := range []byte{red, green, blue} {
								if e := min(255, max(0, want[i])); math.Abs(float64(got)-e) > 0.5+statedError {
									t.Fatalf("YUV %d %d %d: channel %d is %d, want %.4f", y, u, v, i, got, e)
								}
							}
						}
					}
				}
			})
		}
	}
}

func TestKnownColours(t *testing.T) {
	for _, tc := range []struct {
		name    string
		m       Matrix
		r       Range
		yuv     [3]byte
		rgb     [3]byte
		exactly bool // the way back gives the same samples
	}{
		{"601 limited black", BT601, LimitedRange, [3]byte{16, 128, 128}, [3]byte{0, 0, 0}, true},
		{"601 limited white", BT601, LimitedRange, [3]byte{235, 128, 128}, [3]byte{255, 255, 255}, true},
		{"709 limited white", BT709, LimitedRange, [3]byte{235, 128, 128}, [3]byte{255, 255, 255}, true},
		{"601 limited red", BT601, LimitedRange, [3]byte{81, 90, 240}, [3]byte{254, 0, 0}, false},
		{"709 limited green", BT709, LimitedRange, [3]byte{173, 42, 26}, [3]byte{0, 255, 1}, false},
		{"709 limited blacker than black", BT709, LimitedRange, [3]byte{0, 128, 128}, [3]byte{0, 0, 0}, false},
		{"601 full grey", BT601, FullRange, [3]byte{77, 128, 128}, [3]byte{77, 77, 77}, true},
		{"601 full red", BT601, FullRange, [3]byte{76, 85, 255}, [3]byte{254, 0, 0}, false},
	} {
		f := Format{Matrix: tc.m, Range: tc.r, Height: 1}
		r, g, b := newToRGB(f).convert(tc.yuv[0], tc.yuv[1], tc.yuv[2])
		if got := [3]byte{r, g, b}; got != tc.rgb {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.rgb)
		}
		if tc.exactly {
			back := newFromRGB(f)
			y := back.luma(int32(r), int32(g), int32(b))
			u, v := back.chroma(int32(r), int32(g), int32(b), 0)
			if got := [3]byte{y, u, v}; got != tc.yuv {
				t.Errorf("%s: back to %v, want %v", tc.name, got, tc.yuv)
			}
		}
	}
}

func TestMatrixLeftOpen(t *testing.T) {
	for height, m := range map[int]Matrix{480: BT601, 720: BT709} {
		if open, named := newToRGB(Format{Height: height}), newToRGB(Format{Height: height, Matrix: m}); *open != *named {
			t.Errorf("%d lines without a matrix are not taken for %v", height, m)
		}
	}
}

// Every format, size and stride: each pixel is made of the samples that belong to it.
func TestConverter(t *testing.T) {
	eachFormat(t, func(t *testing.T, l *Layout) {
		f := l.Format
		pix := random(5, l.Size)
		m := l.View(pix)
		c := NewConverter(l)
		rgba, bgr := make([]byte, f.Width*f.Height*4), make([]byte, f.Width*f.Height*3)
		c.RGBA(rgba, m)
		c.BGR(bgr, m)
		for y := range f.Height {
			for x := range f.Width {
				p, q := rgba[(y*f.Width+x)*4:][:4], bgr[(y*f.Width+x)*3:][:3]
				s := map[byte]byte{'A': 255, 'U': 128, 'V': 128}
				for _, o := range literalPixel(f, x, y) {
					s[o.what] = pix[o.offset]
				}
				if f.Pixel.IsRGB() {
					if want := []byte{s['R'], s['G'], s['B'], s['A']}; !bytes.Equal(p, want) {
						t.Fatalf("(%d,%d): %v, want %v", x, y, p, want)
					}
				} else {
					want := exactRGB(f.Matrix, f.Range, s['Y'], s['U'], s['V'])
					for i := range 3 {
						checkRounded(t, "RGBA", p[i], want[i])
					}
				}
				if q[0] != p[2] || q[1] != p[1] || q[2] != p[0] {
					t.Fatalf("(%d,%d): BGR %v is not RGBA %v", x, y, q, p)
				}
			}
		}
		for x0 := range f.Width {
			y, n := x0%f.Height, f.Width-x0
			part := make([]byte, n*4)
			c.RGBARow(part, m, y, x0, f.Width)
			if !bytes.Equal(part, rgba[(y*f.Width+x0)*4:][:n*4]) {
				t.Fatalf("row %d from %d differs from the picture", y, x0)
			}
			c.BGRRow(part, m, y, x0, x0+1)
			if !bytes.Equal(part[:3], bgr[(y*f.Width+x0)*3:][:3]) {
				t.Fatalf("pixel (%d,%d) differs from the picture", x0, y)
			}
		}
		if pic := c.Picture(m); !bytes.Equal(pic.Pix, rgba) {
			t.Error("Picture differs from RGBA")
		}
		if n := testing.AllocsPerRun(5, func() { c.RGBA(rgba, m) }); n != 0 {
			t.Errorf("%g allocations a picture", n)
		}
	})
}

// Luma is that of each pixel, chroma that of the mean of the pixels that share it.
func TestPacker(t *testing.T) {
	eachFormat(t, func(t *testing.T, l *Layout) {
		f := l.Format
		src := random(6, f.Width*f.Height*4)
		frame := random(7, l.Size)
		NewPacker(l).BGRX(frame, src)
		seen := literalSeen(f)
		for i := range frame {
			if !seen[i] && frame[i] != 0 {
				t.Fatalf("hidden byte %d is %d", i, frame[i])
			}
		}
		type mean struct{ r, g, b, n float64 }
		shared := map[int]*mean{}
		for y := range f.Height {
			for x := range f.Width {
				p := src[(y*f.Width+x)*4:]
				for _, o := range literalPixel(f, x, y) {
					m := shared[o.offset]
					if m == nil {
						m = new(mean)
						shared[o.offset] = m
					}
					m.b, m.g, m.r, m.n = m.b+float64(p[0]), m.g+float64(p[1]), m.r+float64(p[2]), m.n+1
				}
			}
		}
		for y := range f.Height {
			for x := range f.Width {
				for _, o := range literalPixel(f, x, y) {
					m := shared[o.offset]
					checkRounded(t, f.String()+" "+string(rune(o.what)), frame[o.offset], exactSample(f, o.what, m.r/m.n, m.g/m.n, m.b/m.n))
				}
			}
		}
		if f.Pixel.IsRGB() {
			bgr := make([]byte, f.Width*f.Height*3)
			NewConverter(l).BGR(bgr, l.View(frame))
			for i := range f.Width * f.Height {
				if !bytes.Equal(bgr[i*3:][:3], src[i*4:][:3]) {
					t.Fatalf("pixel %d changed on its way there and back", i)
				}
			}
		}
	})
}

func exactSample(f Format, what byte, r, g, b float64) float64 {
	k := map[Matrix][2]float64{BT601: {0.299, 0.114}, BT709: {0.2126, 0.0722}}[f.Matrix]
	y := k[0]*r + k[1]*b + (1-k[0]-k[1])*g
	ys, cs, black := 1.0, 1.0, 0.0
	if f.Range == LimitedRange {
		ys, cs, black = 219.0/255, 224.0/255, 16
	}
	switch what {
	case 'R':
		return r
	case 'G':
		return g
	case 'B':
		return b
	case 'A':
		return 255
	case 'Y':
		return black + y*ys
	case 'U':
		return 128 + (b-y)/(2*(1-k[1]))*cs
	case 'V':
		return 128 + (r-y)/(2*(1-k[0]))*cs
	}
	return 0
}

func BenchmarkConvert(b *testing.B) {
	for _, p := range []PixelFormat{BGR4, BGR3, YUYV, NV12, YU12} {
		f, _ := NewFormat(p, 1920, 1080)
		l, _ := NewLayout(f)
		c, k := NewConverter(l), NewPacker(l)
		m := l.View(random(1, l.Size))
		dst := make([]byte, 1920*1080*4)
		b.Run("to=RGBA/format="+p.String(), func(b *testing.B) {
			b.SetBytes(1920 * 1080 * 4)
			for b.Loop() {
				c.RGBA(dst, m)
			}
		})
		frame := make([]byte, l.Size)
		b.Run("from=BGRX/format="+p.String(), func(b *testing.B) {
			b.SetBytes(1920 * 1080 * 4)
			for b.Loop() {
				k.BGRX(frame, dst)
			}
		})
	}
}
