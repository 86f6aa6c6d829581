package visual

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

func TestThumbnailSize(t *testing.T) {
	for _, tc := range []struct{ width, height, side, w, h int }{
		{1920, 1080, 400, 400, 225},
		{1280, 720, 400, 400, 225},
		{1366, 768, 400, 400, 224}, // 224.89
		{1080, 1920, 400, 225, 400},
		{400, 400, 400, 400, 400},
		// 776·(400/776) is a little less than 400 in float64, and ffmpeg 5.1 makes 399 lines of it
		{332, 776, 400, 171, 399},
		{200, 100, 400, 400, 200}, // small ones grow
		{10000, 3, 400, 400, 3},   // 0.12 would be 0, which ffmpeg takes for "as it is"
	} {
		if w, h := ThumbnailSize(tc.width, tc.height, tc.side); w != tc.w || h != tc.h {
			t.Errorf("%dx%d in %d: %dx%d, want %dx%d", tc.width, tc.height, tc.side, w, h, tc.w, tc.h)
		}
	}
}

// TestScaler has 3 pixels made 2: each is one and a half of them: (2·a + b)/3 and (b + 2·c)/3.
func TestScaler(t *testing.T) {
	for _, tc := range []struct {
		name     string
		from, to []byte
	}{
		{"to the same", []byte{1, 2, 250}, []byte{1, 2, 250}},
		{"three to two", []byte{30, 60, 91}, []byte{40, 81}}, // 120/3, 242/3 = 80.67
		{"two to three", []byte{10, 20}, []byte{10, 15, 20}},
		{"a half is rounded up", []byte{1, 2}, []byte{2}},
		{"below a half is rounded down", []byte{1, 1, 2}, []byte{1}},
		{"one to many", []byte{77}, []byte{77, 77, 77, 77}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, upright := range []bool{false, true} {
				src, dst := greys(t, tc.from, upright), greys(t, make([]byte, len(tc.to)), upright)
				s := analyzetest.Must(NewScaler(src.Width, src.Height, dst.Width, dst.Height))(t)
				analyzetest.Check(t, s.Scale(dst, src))
				if want := greys(t, tc.to, upright); !slices.Equal(dst.Pix, want.Pix) {
					t.Errorf("is %v, want %v", dst.Pix, want.Pix)
				}
			}
		})
	}
}

// greys makes a line, or a column, of grey pixels.
func greys(t *testing.T, values []byte, upright bool) Picture {
	w, h := len(values), 1
	if upright {
		w, h = h, w
	}
	p := analyzetest.Must(NewPicture(w, h))(t)
	for i, v := range values {
		copy(p.Pix[i*4:], []byte{v, v, v, 255})
	}
	return p
}

func FuzzScaler(f *testing.F) {
	f.Add(uint8(3), uint8(2), uint8(2), uint8(7), uint64(1))
	f.Add(uint8(97), uint8(53), uint8(40), uint8(22), uint64(2))
	f.Fuzz(func(t *testing.T, w, h, tw, th uint8, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 11))
		width, height, toW, toH := max(1, int(w)), max(1, int(h%64)), max(1, int(tw)), max(1, int(th%64))
		src, _ := NewPicture(width, height)
		dst, _ := NewPicture(toW, toH)
		for i := range src.Pix {
			src.Pix[i] = byte(rng.Uint32())
		}
		s := analyzetest.Must(NewScaler(width, height, toW, toH))(t)
		analyzetest.Check(t, s.Scale(dst, src))
		// One pixel, literally: its parts, of width·height all together, over all pixels of the
		// source.
		x, y := rng.IntN(toW), rng.IntN(toH)
		var sum [3]int
		for j := range height {
			for i := range width {
				across := min((x+1)*width, (i+1)*toW) - max(x*width, i*toW)
				down := min((y+1)*height, (j+1)*toH) - max(y*height, j*toH)
				if across > 0 && down > 0 {
					for c, v := range src.rgb(i, j) {
						sum[c] += across * down * int(v)
					}
				}
			}
		}
		for c, got := range dst.rgb(x, y) {
			if want := byte((sum[c] + width*height/2) / (width * height)); got != want {
				t.Fatalf("%dx%d to %dx%d: sample %d of pixel %d,%d is %d, want %d", width, height, toW, toH, c, x, y,
					got, want)
			}
		}
	})
}

func TestPicture(t *testing.T) {
	p := analyzetest.Must(NewPicture(5, 4))(t)
	copy(p.Pix[p.Stride+8:], []byte{1, 2, 3})
	if p.check() != nil || p.rgb(2, 1) != [3]byte{1, 2, 3} {
		t.Errorf("%+v, %v", p, p.check())
	}
	if _, err := NewPicture(0, 5); !errors.Is(err, errSize) {
		t.Errorf("without pixels: %v", err)
	}
}

// TestLuma: (19595·R + 38470·G + 7471·B + 32768)/65536. Pure red: (4996725 + 32768)/65536 = 76.7,
// green 150.2, blue 29.6; 1, 1, 0: 58065 + 32768 = 90833, 1.4.
func TestLuma(t *testing.T) {
	for _, tc := range []struct {
		rgb  [3]byte
		want byte
	}{
		{[3]byte{255, 255, 255}, 255}, {[3]byte{255, 0, 0}, 76}, {[3]byte{0, 255, 0}, 150}, {[3]byte{0, 0, 255}, 29},
		{[3]byte{1, 1, 0}, 1}, {[3]byte{0, 0, 4}, 0}, {[3]byte{0, 0, 5}, 1}, {[3]byte{128, 128, 128}, 128},
	} {
		var y [1]byte
		Luma(y[:], []byte{tc.rgb[0], tc.rgb[1], tc.rgb[2], 9})
		if y[0] != tc.want {
			t.Errorf("%v: %d, want %d", tc.rgb, y[0], tc.want)
		}
	}
}
