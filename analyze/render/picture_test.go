package render

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

func layout(t testing.TB, p frame.PixelFormat, w, h int) *frame.Layout {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(p, w, h))(t)
	l := analyzetest.Must(frame.NewLayout(f))(t)
	return l
}

func TestPNGIsOpaqueAndExact(t *testing.T) {
	for _, p := range []frame.PixelFormat{frame.BGR4, frame.AR24, frame.RA24, frame.RX24, frame.RGB3} {
		t.Run(p.String(), func(t *testing.T) {
			l := layout(t, p, 3, 2)
			src := []byte{1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 10, 11, 12, 0, 13, 14, 15, 0, 255, 254, 253, 0}
			pix := make([]byte, l.Size)
			frame.NewPacker(l).BGRX(pix, src)
			switch p { // a pixel that says it cannot be seen
			case frame.AR24:
				pix[3] = 0
			case frame.RA24:
				pix[0] = 0
			}
			var b bytes.Buffer
			analyzetest.Check(t, WritePNG(&b, l.View(pix)))
			got := analyzetest.Must(png.Decode(&b))(t)
			for i := range 6 {
				want := color.NRGBA{src[4*i+2], src[4*i+1], src[4*i], 255}
				if c := color.NRGBAModel.Convert(got.At(i%3, i/3)); c != want {
					t.Errorf("pixel %d is %v, want %v", i, c, want)
				}
			}
		})
	}
}

func TestSizes(t *testing.T) {
	for _, tc := range []struct {
		name    string
		w, h    int
		o       VideoOptions
		in, out image.Point
	}{
		{"as it is", 1280, 720, VideoOptions{}, image.Pt(1280, 720), image.Pt(1280, 720)},
		{"down", 1920, 1080, VideoOptions{}, image.Pt(1920, 1080), image.Pt(1280, 720)},
		{"odd", 1365, 719, VideoOptions{}, image.Pt(1366, 720), image.Pt(1366, 720)},
		{"odd and down", 1365, 767, VideoOptions{}, image.Pt(1366, 768), image.Pt(1282, 720)},
		{"no limit", 3840, 2160, VideoOptions{MaxHeight: -1}, image.Pt(3840, 2160), image.Pt(3840, 2160)},
		{"one pixel", 1, 1, VideoOptions{}, image.Pt(2, 2), image.Pt(2, 2)},
		{"narrow and down", 1, 1440, VideoOptions{}, image.Pt(2, 1440), image.Pt(2, 720)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := analyzetest.Must(tc.o.withDefaults(videoLines))(t)
			if in, out := o.sizes(layout(t, frame.BGR4, tc.w, tc.h).Format); in != tc.in || out != tc.out {
				t.Errorf("got %v %v, want %v %v", in, out, tc.in, tc.out)
			}
		})
	}
}
