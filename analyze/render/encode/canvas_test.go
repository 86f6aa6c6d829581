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
			defer both[i].close()
			clear(both[i].pix)
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
