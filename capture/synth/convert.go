package synth

import (
	"encoding/binary"

	"github.com/eideticker/eideticker/capture/frame"
)

// arrangement is how the samples of a pixel format stand in memory.
type arrangement struct {
	planes []samples
	order  string // packed formats: the bytes of one unit, as B G R X, or Y U Z V (Z is the second Y)
}

func arrange(p frame.PixelFormat) arrangement {
	packed := func(order string) arrangement {
		return arrangement{[]samples{{unit: len(order)}}, order}
	}
	planar := func(subX, subY uint) arrangement {
		return arrangement{[]samples{{unit: 1}, {1, subX, subY}, {1, subX, subY}}, ""}
	}
	switch p {
	case frame.BGR4, frame.XR24, frame.AR24:
		return packed("BGRX")
	case frame.RGB4, frame.BX24, frame.BA24:
		return packed("XRGB")
	case frame.XB24, frame.AB24:
		return packed("RGBX")
	case frame.BGR3:
		return packed("BGR")
	case frame.RGB3:
		return packed("RGB")
	case frame.YUYV:
		return arrangement{[]samples{{4, 1, 0}}, "YUZV"}
	case frame.UYVY:
		return arrangement{[]samples{{4, 1, 0}}, "UYVZ"}
	case frame.NV12:
		return arrangement{[]samples{{unit: 1}, {2, 1, 1}}, ""}
	case frame.YU12:
		return planar(1, 1)
	case frame.P422:
		return planar(1, 0)
	case frame.P444:
		return planar(0, 0)
	case frame.GREY:
		return arrangement{[]samples{{unit: 1}}, ""}
	}
	return arrangement{}
}

func (a arrangement) isBGRX() bool { return a.order == "BGRX" }

// position returns the index of a sample in a packed unit, or -1.
func (a arrangement) position(sample byte) int {
	for i := range len(a.order) {
		if a.order[i] == sample {
			return i
		}
	}
	return -1
}

// convert writes a canvas, which has the sheet's size, in the sheet's format.
func (g *geometry) convert(s *sheet, c *canvas) {
	switch {
	case g.format.Pixel.IsRGB():
		g.convertRGB(s, c)
	case g.arr.order != "":
		g.convertPacked422(s, c)
	default:
		g.convertPlanes(s, c)
	}
}

func (g *geometry) convertRGB(s *sheet, c *canvas) {
	a, p := g.arr, s.planes[0]
	red, green, blue, x := a.position('R'), a.position('G'), a.position('B'), a.position('X')
	unit := len(a.order)
	for y := range c.h {
		in, out := c.row(y), s.pix[p.Offset+y*p.Stride:][:p.RowBytes]
		for i := 0; i < len(out); i += unit {
			px := out[i : i+unit : i+unit]
			px[blue], px[green], px[red] = in[0], in[1], in[2]
			if x >= 0 {
				px[x] = 255
			}
			in = in[4:]
		}
	}
}

func (g *geometry) convertPacked422(s *sheet, c *canvas) {
	a, p := g.arr, s.planes[0]
	m := newMatrix(g.format)
	y0, y1, u, v := a.position('Y'), a.position('Z'), a.position('U'), a.position('V')
	for y := range c.h {
		in, out := c.row(y), s.pix[p.Offset+y*p.Stride:][:p.RowBytes]
		for ; len(out) >= 4; out = out[4:] {
			p0, p1 := pixel(in), pixel(in[4:])
			sum := p0.plus(p1)
			out[y0], out[y1] = m.luma(p0), m.luma(p1)
			out[u], out[v] = m.chroma(sum, 1)
			in = in[8:]
		}
	}
}

func (g *geometry) convertPlanes(s *sheet, c *canvas) {
	m := newMatrix(g.format)
	for y := range c.h {
		in, out := c.row(y), s.pix[y*s.planes[0].Stride:]
		for x := range c.w {
			out[x] = m.luma(pixel(in[4*x:]))
		}
	}
	if len(s.planes) == 1 {
		return
	}
	smp := g.arr.planes[1]
	u := s.planes[1]
	for cy := range u.Rows {
		in0 := c.row(cy << smp.subY)
		in1 := c.row(min(cy<<smp.subY+1, c.h-1))
		outU := s.pix[u.Offset+cy*u.Stride:]
		outV, step := outU[1:], 2 // NV12
		if len(s.planes) == 3 {
			outV, step = s.pix[s.planes[2].Offset+cy*s.planes[2].Stride:], 1
		}
		for i := range u.RowBytes / step {
			x0 := i << smp.subX
			x1 := min(x0+int(smp.subX), c.w-1)
			sum := pixel(in0[4*x0:]).plus(pixel(in0[4*x1:]))
			shift := uint(1)
			if smp.subY == 1 {
				sum = sum.plus(pixel(in1[4*x0:])).plus(pixel(in1[4*x1:]))
				shift = 2
			}
			outU[i*step], outV[i*step] = m.chroma(sum, shift)
		}
	}
}

// sum is red, green and blue, of one pixel or added up over some.
type sum struct{ r, g, b int32 }

func pixel(bgrx []byte) sum {
	v := binary.LittleEndian.Uint32(bgrx)
	return sum{int32(v >> 16 & 255), int32(v >> 8 & 255), int32(v & 255)}
}

func (s sum) plus(t sum) sum { return sum{s.r + t.r, s.g + t.g, s.b + t.b} }

// matrix turns RGB into YCbCr, in 16-bit fixed point, by ITU-R BT.601 or BT.709: Y = Kr·R + Kg·G + Kb·B,
// Cb = (B−Y)/(2−2Kb), Cr = (R−Y)/(2−2Kr), scaled to the range and rounded.
type matrix struct {
	y, u, v [3]int32
	black   int32
}

func newMatrix(f frame.Format) matrix {
	kr, kb := 0.299, 0.114
	switch f.Matrix {
	case frame.BT709:
		kr, kb = 0.2126, 0.0722
	case frame.BT2020:
		kr, kb = 0.2627, 0.0593
	}
	scaleY, scaleC, black := 1.0, 1.0, int32(0)
	if f.Range == frame.LimitedRange {
		scaleY, scaleC, black = 219.0/255, 224.0/255, 16
	}
	fix := func(x float64) int32 {
		if x < 0 {
			return int32(x*65536 - 0.5)
		}
		return int32(x*65536 + 0.5)
	}
	kg := 1 - kr - kb
	cb, cr := scaleC/(2-2*kb), scaleC/(2-2*kr)
	return matrix{
		y:     [3]int32{fix(kr * scaleY), fix(kg * scaleY), fix(kb * scaleY)},
		u:     [3]int32{fix(-kr * cb), fix(-kg * cb), fix((1 - kb) * cb)},
		v:     [3]int32{fix((1 - kr) * cr), fix(-kg * cr), fix(-kb * cr)},
		black: black,
	}
}

func (m *matrix) luma(p sum) byte {
	return byte(min(255, m.black+(m.y[0]*p.r+m.y[1]*p.g+m.y[2]*p.b+1<<15)>>16))
}

// chroma returns Cb and Cr of the mean of 1<<shift pixels.
func (m *matrix) chroma(p sum, shift uint) (cb, cr byte) {
	round := int32(1) << (15 + shift)
	u := 128 + (m.u[0]*p.r+m.u[1]*p.g+m.u[2]*p.b+round)>>(16+shift)
	v := 128 + (m.v[0]*p.r+m.v[1]*p.g+m.v[2]*p.b+round)>>(16+shift)
	return byte(min(255, max(0, u))), byte(min(255, max(0, v)))
}
