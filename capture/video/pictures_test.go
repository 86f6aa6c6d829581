package video

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// noise is a picture of random opaque pixels, and the same as B G R.
func noise(seed byte, width, height int) (*image.NRGBA, []byte) {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	rand.NewChaCha8([32]byte{seed}).Read(m.Pix)
	var bgr []byte
	for i := 0; i < len(m.Pix); i += 4 {
		m.Pix[i+3] = 255
		bgr = append(bgr, m.Pix[i+2], m.Pix[i+1], m.Pix[i])
	}
	return m, bgr
}

func save(t *testing.T, path string, m image.Image) {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch filepath.Ext(path) {
	case ".png":
		err = png.Encode(&b, m)
	case ".jpg":
		err = jpeg.Encode(&b, m, nil)
	case ".bmp":
		err = bmp.Encode(&b, m)
	case ".tif":
		err = tiff.Encode(&b, m, nil)
	}
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFolder(t *testing.T) {
	for _, tc := range []struct {
		name   string
		files  []string // in the order that is wanted
		fps    string
		times  []time.Duration
		period capture.Rational
	}{
		{"natural order", []string{"f1.png", "f2.png", "f010.png", "f10.png", "g.png"}, "",
			[]time.Duration{0, 16666666, 33333333, 50000000, 66666666}, capture.Rational{Num: 1, Den: 60}},
		{"rate", []string{"a.png", "b.png"}, "29.97", []time.Duration{0, 33366666},
			capture.Rational{Num: 1001, Den: 30000}},
		{"times", []string{"ms_000000.png", "ms_000920.png", "ms_1500.png"}, "", []time.Duration{0, 920e6, 1500e6},
			capture.Rational{}},
		{"formats", []string{"1.png", "2.bmp", "3.tif"}, "1", []time.Duration{0, 1e9, 2e9},
			capture.Rational{Num: 1, Den: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("not a picture"), 0o600)
			os.Mkdir(filepath.Join(dir, "z.png"), 0o700)
			var want [][]byte
			for i, f := range tc.files {
				m, bgr := noise(byte(i), 7, 5)
				save(t, filepath.Join(dir, f), m)
				want = append(want, bgr)
			}
			q := url.Values{}
			if tc.fps != "" {
				q.Set("fps", tc.fps)
			}
			s, err := Open(dir, q)
			if err != nil {
				t.Fatal(err)
			}
			if i := s.Info(); i.Period != tc.period || i.Frames != uint64(len(tc.files)) || !i.OwnClock || i.Clocked ||
				i.Format.String() != "7x5 BGR3" {
				t.Errorf("info %+v", i)
			}
			g := play(t, s)
			if g.Err != nil || !slices.EqualFunc(g.Frames, want, bytes.Equal) {
				t.Errorf("error %v; %d frames are not those of the files", g.Err, len(g.Frames))
			}
			for n, m := range g.Metas {
				if d := m.Sampled.Mid().Sub(0); d != tc.times[n] {
					t.Errorf("frame %d at %v, want %v", n, d, tc.times[n])
				}
			}
		})
	}
}

func TestFolderRefuses(t *testing.T) {
	small, _ := noise(1, 2, 2)
	for _, tc := range []struct {
		name  string
		make  func(dir string)
		query string
		want  []string
	}{
		{"empty", func(string) {}, "", []string{"no pictures", ".png"}},
		{"mixed sizes", func(dir string) {
			large, _ := noise(2, 3, 2)
			save(t, dir+"/a.png", small)
			save(t, dir+"/b.png", large)
		}, "", []string{"b.png is 3x2", "a.png before it is 2x2"}},
		{"mixed names", func(dir string) {
			save(t, dir+"/ms_1.png", small)
			save(t, dir+"/x.png", small)
		}, "", []string{"x.png has no time"}},
		{"same time", func(dir string) {
			save(t, dir+"/ms_1.png", small)
			save(t, dir+"/ms_01.png", small)
		}, "", []string{"ms_1.png", "ms_01.png", "same time"}},
		{"rate and times", func(dir string) { save(t, dir+"/ms_1.png", small) }, "fps=9",
			[]string{"ms_1.png", "omit fps"}},
		{"bad rate", func(dir string) { save(t, dir+"/a.png", small) }, "fps=x", []string{`"x"`}},
		{"unknown parameter", func(dir string) { save(t, dir+"/a.png", small) }, "rate=9", []string{`"rate"`, "fps"}},
		{"not what its name says", func(dir string) { os.WriteFile(dir+"/a.png", []byte("GIF89a"), 0o600) }, "",
			[]string{"a.png", "png"}},
		{"huge", func(dir string) {
			var b bytes.Buffer
			png.Encode(&b, small)
			p := b.Bytes()
			copy(p[16:], []byte{0x7f, 0, 0, 0}) // the width; the checksum is wrong then, too
			os.WriteFile(dir+"/a.png", p, 0o600)
		}, "", []string{"a.png"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			tc.make(dir)
			q, _ := url.ParseQuery(tc.query)
			_, err := Open(dir, q)
			for _, want := range append(tc.want, "video:"+dir) {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
		})
	}
}

// A picture that ends in the middle is an error, not half a picture.
func TestCutPicture(t *testing.T) {
	for _, ending := range []string{".png", ".jpg", ".bmp"} {
		t.Run(ending, func(t *testing.T) {
			dir := t.TempDir()
			m, _ := noise(1, 64, 64)
			save(t, dir+"/a"+ending, m)
			save(t, dir+"/b"+ending, m)
			b, err := os.ReadFile(dir + "/b" + ending)
			if err != nil {
				t.Fatal(err)
			}
			os.WriteFile(dir+"/b"+ending, b[:len(b)*3/4], 0o600)
			s, err := Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			g := play(t, s)
			if len(g.Frames) != 1 || g.Err == nil || !strings.Contains(g.Err.Error(), "b"+ending) {
				t.Errorf("%d frames, error %v", len(g.Frames), g.Err)
			}
		})
	}
}

func TestToBGR(t *testing.T) {
	r := image.Rect(0, 0, 2, 1)
	at := func(m interface {
		image.Image
		Set(x, y int, c color.Color)
	}) image.Image {
		m.Set(0, 0, color.NRGBA{200, 100, 50, 128})
		m.Set(1, 0, color.NRGBA{1, 2, 3, 255})
		return m
	}
	for _, tc := range []struct {
		name string
		m    image.Image
		want []byte
	}{
		{"alpha is dropped", at(image.NewNRGBA(r)), []byte{50, 100, 200, 3, 2, 1}},
		{"alpha that was multiplied in", at(image.NewRGBA(r)), []byte{49, 99, 199, 3, 2, 1}},
		{"16 bits", at(image.NewNRGBA64(r)), []byte{50, 100, 200, 3, 2, 1}},
		{"palette", at(image.NewPaletted(r, color.Palette{color.NRGBA{200, 100, 50, 128}, color.NRGBA{1, 2, 3, 255}})),
			[]byte{50, 100, 200, 3, 2, 1}},
		{"grey", &image.Gray{Pix: []byte{7, 9}, Stride: 2, Rect: r}, []byte{7, 7, 7, 9, 9, 9}},
		{"part of a picture", at(image.NewNRGBA(image.Rect(0, 0, 5, 3))).(*image.NRGBA).SubImage(
			image.Rect(1, 0, 3, 1)), []byte{3, 2, 1, 0, 0, 0}},
	} {
		got := make([]byte, 6)
		toBGR(got, tc.m)
		if !bytes.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestNeitherFileNorFolder(t *testing.T) {
	if _, err := Open(t.TempDir()+"/none", nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(os.DevNull, nil); err == nil || !strings.Contains(err.Error(), "neither a file nor a folder") {
		t.Error(err)
	}
}
