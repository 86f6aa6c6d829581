package site

import (
	"bytes"
	"compress/gzip"
	"image"
	"image/png"
	"slices"
	"testing"
)

// TestGallery: the page's resources exist, and the network does not pack them further. Their areas
// do not share a pixel. Each loaded picture differs everywhere from the background.
func TestGallery(t *testing.T) {
	p, err := Find("gallery")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.Resources); n != galleryPictures || n+3 != 50 { // beside the page, its style and its script
		t.Errorf("%d resources", n)
	}
	var areas []image.Rectangle
	whole, packed := 0, 0
	for _, r := range p.Resources {
		a := image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height)
		if !a.In(image.Rect(0, 0, 1280, 720)) || slices.ContainsFunc(areas, a.Overlaps) {
			t.Errorf("%s lies at %v, outside the page or over another", r.Path, a)
		}
		areas = append(areas, a)
		file, ok := galleryFile(r.Path)
		if !ok {
			t.Fatalf("%s is not there", r.Path)
		}
		m, err := png.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for y := range m.Bounds().Dy() {
			for x := range m.Bounds().Dx() {
				if r, g, b, a := m.At(x, y).RGBA(); min(r, g, b)>>8 < galleryMinTone || a != 0xffff {
					t.Fatalf("pixel %d,%d is as dark as the ground", x, y)
				}
			}
		}
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(file); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		whole, packed = whole+len(file), packed+b.Len()
	}
	if packed < whole*99/100 || whole < 300<<10 || whole > 600<<10 {
		t.Errorf("the pictures have %d bytes, and %d when they are packed", whole, packed)
	}
}
