package certify

import (
	"image"
	"math/rand/v2"

	"golang.org/x/image/draw"

	"github.com/eideticker/eideticker/capture/frame"
)

// effect is something that a simulated path does to a picture. It returns a new one, or changes
// none of the bytes it is given.
type effect func(c canvas, rng *rand.Rand) canvas

func (c canvas) height() int { return len(c.pix) / 4 / c.width }

// scaled makes the picture another size, smoothly.
func scaled(width, height int) effect {
	return func(c canvas, _ *rand.Rand) canvas {
		// The byte order does not matter to a scaler, only that alpha is full.
		in := &image.RGBA{Pix: c.pix, Stride: c.width * 4, Rect: image.Rect(0, 0, c.width, c.height())}
		out := image.NewRGBA(image.Rect(0, 0, width, height))
		draw.BiLinear.Scale(out, out.Rect, in, in.Rect, draw.Src, nil)
		return canvas{out.Pix, width}
	}
}

// cutOut takes a rectangle of the picture, and black outside of it.
func cutOut(r image.Rectangle) effect {
	return func(c canvas, _ *rand.Rand) canvas {
		out := canvas{make([]byte, r.Dx()*r.Dy()*4), r.Dx()}
		all := image.Rect(0, 0, c.width, c.height())
		out.fill(image.Rect(0, 0, r.Dx(), r.Dy()), func(x, y int) rgb {
			if p := image.Pt(x, y).Add(r.Min); p.In(all) {
				return c.at(p.X, p.Y)
			}
			return grey(0)
		})
		return out
	}
}

// colours maps each pixel's colour.
func colours(f func(rgb) rgb) effect {
	return func(c canvas, _ *rand.Rand) canvas {
		out := canvas{make([]byte, len(c.pix)), c.width}
		out.fill(image.Rect(0, 0, c.width, c.height()), func(x, y int) rgb { return f(c.at(x, y)) })
		return out
	}
}

// through takes the picture through a pixel format and back: what a hidden conversion leaves of it.
func through(p frame.PixelFormat, r frame.Range, in, out frame.Matrix) effect {
	return func(c canvas, _ *rand.Rand) canvas {
		f, err := frame.NewFormat(p, c.width, c.height())
		if err != nil {
			panic(err) // a mistake in a test
		}
		f.Range, f.Matrix = r, in
		from, err := frame.NewLayout(f)
		if err != nil {
			panic(err)
		}
		pix := make([]byte, from.Size)
		frame.NewPacker(from).BGRX(pix, c.pix)
		f.Matrix = out
		to, err := frame.NewLayout(f)
		if err != nil {
			panic(err)
		}
		picture := canvas{make([]byte, len(c.pix)), c.width}
		back := make([]byte, c.width*c.height()*3)
		frame.NewConverter(to).BGR(back, to.View(pix))
		for i := range c.width * c.height() {
			copy(picture.pix[i*4:], back[i*3:i*3+3])
			picture.pix[i*4+3] = 255
		}
		return picture
	}
}

// filtered422 subsamples chroma across as good converters do. It keeps the mean of three pixels
// around every second one. A pixel between two is their mean.
func filtered422() effect {
	return func(c canvas, _ *rand.Rand) canvas {
		out := canvas{make([]byte, len(c.pix)), c.width}
		type chroma struct{ u, v float64 }
		full, half := make([]chroma, c.width), make([]chroma, c.width)
		for y := range c.height() {
			for x := range full {
				_, full[x].u, full[x].v = c.at(x, y).exact().yuv(frame.BT709)
			}
			at := func(line []chroma, x int) chroma { return line[min(max(x, 0), (c.width-1)&^1)] }
			for x := 0; x < c.width; x += 2 {
				a, b, d := at(full, x-1), at(full, x), at(full, x+1)
				half[x] = chroma{(a.u + 2*b.u + d.u) / 4, (a.v + 2*b.v + d.v) / 4}
			}
			for x := range full {
				luma, _, _ := c.at(x, y).exact().yuv(frame.BT709)
				left, right := at(half, x&^1), at(half, (x+1)&^1)
				v := fromYUV(luma, (left.u+right.u)/2, (left.v+right.v)/2, frame.BT709)
				out.set(x, y, rgb{uint8(v[0] + 0.5), uint8(v[1] + 0.5), uint8(v[2] + 0.5)})
			}
		}
		return out
	}
}

// bitErrors turns one bit in each of some pixels.
func bitErrors(pixels int) effect {
	return func(c canvas, rng *rand.Rand) canvas {
		out := canvas{append([]byte(nil), c.pix...), c.width}
		for range pixels {
			out.pix[rng.IntN(c.width*c.height())*4+rng.IntN(3)] ^= 1 << rng.IntN(8)
		}
		return out
	}
}

// noise adds as much to each sample, up or down.
func noise(most int) effect {
	return func(c canvas, rng *rand.Rand) canvas {
		out := canvas{append([]byte(nil), c.pix...), c.width}
		for i := range out.pix {
			if i&3 != 3 {
				out.pix[i] = byte(min(max(int(out.pix[i])+rng.IntN(2*most+1)-most, 0), 255))
			}
		}
		return out
	}
}
