//go:build cgo

package encode

import (
	"bytes"
	"image"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/capture/video/media"
)

// put draws a picture.
func put(t *testing.T, v *canvas, r image.Rectangle, pix []byte, from image.Point) {
	t.Helper()
	var pipe bytes.Buffer
	c := media.NewConn(&pipe, &pipe)
	err := c.WriteHead(media.Draw, media.DrawHead{
		X: uint32(r.Min.X), Y: uint32(r.Min.Y), Width: uint32(r.Dx()), Height: uint32(r.Dy()),
		FromWidth: uint32(from.X), FromHeight: uint32(from.Y),
	}, pix)
	if err == nil {
		err = c.Flush()
	}
	if err == nil {
		_, _, err = c.Next()
	}
	if err == nil {
		err = v.draw(c)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestBandsAreOfTheWhole: a band of rows equals its part of the whole scaled picture. It must begin
// and end at rows that the two heights have in common.
func TestBandsAreOfTheWhole(t *testing.T) {
	for _, tc := range []struct{ from, to image.Point }{
		{image.Pt(64, 48), image.Pt(64, 48)}, {image.Pt(96, 54), image.Pt(64, 36)},
		{image.Pt(96, 64), image.Pt(48, 32)},
		{image.Pt(1920, 1080), image.Pt(1280, 720)}, {image.Pt(62, 56), image.Pt(46, 42)},
		{image.Pt(70, 54), image.Pt(52, 40)},
	} {
		common := tc.from.Y
		for rest := tc.to.Y; rest > 0; common, rest = rest, common%rest {
		}
		unitIn, unitOut := tc.from.Y/common, tc.to.Y/common
		size := tc.to.Add(image.Pt(20, 30))
		at := image.Pt(6, 8)
		pix := make([]byte, 3*tc.from.X*tc.from.Y)
		rand.NewChaCha8([32]byte{1}).Read(pix)
		var both [2]*canvas
		for i := range both {
			var err error
			if both[i], err = newCanvas(size.X, size.Y); err != nil {
				t.Fatal(err)
			}
		}
		put(t, both[0], image.Rectangle{Max: tc.to}.Add(at), pix, tc.from)
		r := rand.New(rand.NewPCG(1, uint64(tc.from.X)))
		for unit := 0; unit < common; {
			n := 1 + r.IntN(common-unit)
			row := 3 * tc.from.X
			put(t, both[1], image.Rect(0, unit*unitOut, tc.to.X, (unit+n)*unitOut).Add(at),
				pix[unit*unitIn*row:(unit+n)*unitIn*row], image.Pt(tc.from.X, n*unitIn))
			unit += n
		}
		if !bytes.Equal(both[0].pix, both[1].pix) {
			t.Errorf("%v to %v: bands are not as the whole", tc.from, tc.to)
		}
	}
}

// TestAreaMeans compares scaled pictures with the definition: the mean of what a pixel covers,
// rounded half up.
func TestAreaMeans(t *testing.T) {
	overlap := func(i, a, j, b int) int { return max(0, min((i+1)*a, (j+1)*b)-max(i*a, j*b)) }
	r := rand.New(rand.NewPCG(2, 3))
	for range 200 {
		from, to := image.Pt(1+r.IntN(20), 1+r.IntN(20)), image.Pt(1+r.IntN(20), 1+r.IntN(20))
		pix, got := make([]byte, 3*from.X*from.Y), make([]byte, 3*to.X*to.Y)
		rand.NewChaCha8([32]byte{byte(from.X), byte(to.X)}).Read(pix)
		if err := scaleArea(got, to.X, image.Rectangle{Max: to}, pix, from); err != nil {
			t.Fatal(err)
		}
		for at, v := range got {
			x, y, c, sum := at/3%to.X, at/3/to.X, at%3, 0
			for i, p := range pix {
				if i%3 == c {
					sum += int(p) * overlap(i/3%from.X, to.X, x, from.X) * overlap(i/3/from.X, to.Y, y, from.Y)
				}
			}
			if area := from.X * from.Y; int(v) != (2*sum+area)/(2*area) {
				t.Fatalf("%v to %v: sample %d at %d,%d is %d, want %d/%d", from, to, c, x, y, v, sum, area)
			}
		}
	}
}

func BenchmarkScale(b *testing.B) {
	from, to := image.Pt(1920, 1080), image.Pt(1280, 720)
	pix, dst := make([]byte, 3*from.X*from.Y), make([]byte, 3*to.X*to.Y)
	b.SetBytes(int64(len(pix)))
	for b.Loop() {
		if err := scaleArea(dst, to.X, image.Rectangle{Max: to}, pix, from); err != nil {
			b.Fatal(err)
		}
	}
}
