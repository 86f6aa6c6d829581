package frame

import (
	"bytes"
	"math"
	"testing"
)

// exactRGB is the formula of colour.go in floating point, not rounded, for samples of the given
// depth.
func exactRGB(m Matrix, r Range, depth, y, u, v int) [3]float64 {
	k := map[Matrix][2]float64{BT601: {0.299, 0.114}, BT709: {0.2126, 0.0722}, BT2020: {0.2627, 0.0593}}[m]
	kr, kb := k[0], k[1]
	black, ySteps, cSteps, centre := exactScale(r, depth)
	l, cb, cr := (float64(y)-black)/ySteps, (float64(u)-centre)/cSteps, (float64(v)-centre)/cSteps
	red, blue := l+2*(1-kr)*cr, l+2*(1-kb)*cb
	green := (l - kr*red - kb*blue) / (1 - kr - kb)
	return [3]float64{red * 255, green * 255, blue * 255}
}

// exactScale is written down from ITU-T H.273, 8.3.
func exactScale(r Range, depth int) (black, ySteps, cSteps, centre float64) {
	switch {
	case depth == 10 && r == LimitedRange:
		return 64, 876, 896, 512
	case depth == 10:
		return 0, 1023, 1023, 512
	case r == LimitedRange:
		return 16, 219, 224, 128
	}
	return 0, 255, 255, 128
}

const statedError = 1.0 / 1024

func checkRounded(t *testing.T, what string, got, top int, exact float64) {
	t.Helper()
	exact = min(float64(top), max(0, exact))
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
							want := exactRGB(m, r, 8, y, u, v)
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

func TestToRGBAgainstFormula10(t *testing.T) {
	for _, m := range []Matrix{BT601, BT709, BT2020} {
		for _, r := range []Range{FullRange, LimitedRange} {
			t.Run(m.String()+"/"+r.String(), func(t *testing.T) {
				c := newToRGB10(Format{Matrix: m, Range: r, Height: 1})
				for y := 0; y < 1024; y += 3 {
					for u := 0; u < 1024; u += 31 {
						for v := 0; v < 1024; v += 31 {
							red, green, blue := c.convert(uint16(y), uint16(u), uint16(v))
							want := exactRGB(m, r, 10, y, u, v)
							for i, got := range []byte{red, green, blue} {
								checkRounded(t, "channel", int(got), 255, want[i])
							}
						}
					}
				}
			})
		}
	}
}

// A picture of 8 bits comes back from one of 10 as it was, up to one step: chroma is that of single
// pixels, and the two bits more leave room for the rounding.
func TestThereAndBackIn10Bits(t *testing.T) {
	for _, m := range []Matrix{BT601, BT709, BT2020} {
		for _, rg := range []Range{FullRange, LimitedRange} {
			f := Format{Matrix: m, Range: rg, Height: 1}
			there, back := newFromRGB(f, 10), newToRGB10(f)
			for i := range 52 * 52 * 52 {
				rgb := [3]int32{int32(i % 52 * 5), int32(i / 52 % 52 * 5), int32(i / 52 / 52 * 5)}
				y := there.luma10(rgb[0], rgb[1], rgb[2])
				u, v := there.chroma10(rgb[0], rgb[1], rgb[2], 0)
				r, g, b := back.convert(y, u, v)
				for c, got := range []byte{r, g, b} {
					if d := int32(got) - rgb[c]; d < -1 || d > 1 || rgb[0] == rgb[1] && rgb[1] == rgb[2] && d != 0 {
						t.Fatalf("%v %v: %v is %d %d %d in 10 bits and comes back as %d %d %d", m, rg, rgb, y, u, v, r,
							g, b)
					}
				}
			}
		}
	}
}

func TestKnownColours10(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    Matrix
		r    Range
		yuv  [3]uint16
		rgb  [3]byte
	}{
		{"709 limited black", BT709, LimitedRange, [3]uint16{64, 512, 512}, [3]byte{0, 0, 0}},
		{"709 limited white", BT709, LimitedRange, [3]uint16{940, 512, 512}, [3]byte{255, 255, 255}},
		{"2020 limited white", BT2020, LimitedRange, [3]uint16{940, 512, 512}, [3]byte{255, 255, 255}},
		{"709 full white", BT709, FullRange, [3]uint16{1023, 512, 512}, [3]byte{255, 255, 255}},
		{"709 limited red", BT709, LimitedRange, [3]uint16{250, 409, 960}, [3]byte{255, 0, 0}},
		{"2020 limited blue", BT2020, LimitedRange, [3]uint16{116, 960, 476}, [3]byte{0, 0, 255}},
	} {
		f := Format{Matrix: tc.m, Range: tc.r, Height: 1}
		r, g, b := newToRGB10(f).convert(tc.yuv[0], tc.yuv[1], tc.yuv[2])
		if got := [3]byte{r, g, b}; got != tc.rgb {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.rgb)
		}
		back := newFromRGB(f, 10)
		y := back.luma10(int32(r), int32(g), int32(b))
		u, v := back.chroma10(int32(r), int32(g), int32(b), 0)
		if got := [3]uint16{y, u, v}; got != tc.yuv {
			t.Errorf("%s: back to %v, want %v", tc.name, got, tc.yuv)
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
			back := newFromRGB(f, 8)
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
		if open, named := newToRGB(Format{Height: height}),
			newToRGB(Format{Height: height, Matrix: m}); *open != *named {
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
		c.rgba(rgba, m)
		c.BGR(bgr, m)
		for y := range f.Height {
			for x := range f.Width {
				p, q := rgba[(y*f.Width+x)*4:][:4], bgr[(y*f.Width+x)*3:][:3]
				s := map[byte]int{'A': 255, 'U': 128, 'V': 128}
				for _, o := range literalPixel(f, x, y) {
					s[o.what] = o.value(pix)
				}
				if f.Pixel.IsRGB() {
					if want := []byte{byte(s['R']), byte(s['G']), byte(s['B']), byte(s['A'])}; !bytes.Equal(p, want) {
						t.Fatalf("(%d,%d): %v, want %v", x, y, p, want)
					}
				} else {
					want := exactRGB(f.Matrix, f.Range, f.Pixel.Depth(), s['Y'], s['U'], s['V'])
					for i := range 3 {
						checkRounded(t, "RGBA", int(p[i]), 255, want[i])
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
		if n := testing.AllocsPerRun(5, func() { c.rgba(rgba, m) }); n != 0 {
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
			if frame[i]&^seen[i] != 0 {
				t.Fatalf("byte %d is %#x, and %#x of it is hidden", i, frame[i], ^seen[i])
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
					checkRounded(t, f.String()+" "+string(rune(o.what)), o.value(frame), 1<<f.Pixel.Depth()-1,
						exactSample(f, o.what, m.r/m.n, m.g/m.n, m.b/m.n))
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
	black, ySteps, cSteps, centre := exactScale(f.Range, f.Pixel.Depth())
	ys, cs := ySteps/255, cSteps/255
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
		return centre + (b-y)/(2*(1-k[1]))*cs
	case 'V':
		return centre + (r-y)/(2*(1-k[0]))*cs
	}
	return 0
}

func BenchmarkConvert(b *testing.B) {
	for _, p := range []PixelFormat{BGR4, BGR3, YUYV, NV12, YU12, P010, Y210} {
		f, _ := NewFormat(p, 1920, 1080)
		l, _ := NewLayout(f)
		c, k := NewConverter(l), NewPacker(l)
		m := l.View(random(1, l.Size))
		dst := make([]byte, 1920*1080*4)
		b.Run("to=RGBA/format="+p.String(), func(b *testing.B) {
			b.SetBytes(1920 * 1080 * 4)
			for b.Loop() {
				c.rgba(dst, m)
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

// TestColours compares pixels in place with converted ones, in the order of their colours.
func TestColours(t *testing.T) {
	eachFormat(t, func(t *testing.T, l *Layout) {
		m, c, width := l.View(random(7, l.Size)), NewConverter(l), l.Format.Width
		rgba, dst := make([]byte, 4*width), make([]byte, 4*width)
		c.RGBARow(rgba, m, 0, 0, width)
		got := c.Colours(dst, m, 0, 0, width)
		r, g, b := c.ColourOrder()
		for x := range width {
			if p, want := got[4*x:], rgba[4*x:]; p[r] != want[0] || p[g] != want[1] || p[b] != want[2] {
				t.Fatalf("%v: pixel %d is %v, of %v", l.Format, x, p[:4], want[:4])
			}
		}
	})
}
