package render

import (
	"errors"
	"testing"

	"github.com/eideticker/eideticker/analyze"
)

func TestEvidenceRefusals(t *testing.T) {
	m := page(t, 64, 48, 1)
	for _, tc := range []struct {
		name string
		all  []analyze.Evidence
	}{
		{"none", nil},
		{"of two frames", []analyze.Evidence{{Frame: 1}, {Frame: 2}}},
		{"row below", []analyze.Evidence{{Rows: []int{49}}}},
		{"row above", []analyze.Evidence{{Rows: []int{-1}}}},
		{"half a region", []analyze.Evidence{{Region: []int{1, 2}}}},
		{"region outside", []analyze.Evidence{{Region: []int{60, 0, 5, 5}}}},
		{"region that overflows", []analyze.Evidence{{Region: []int{1, 0, 1<<63 - 1, 5}}}},
		{"too many", make([]analyze.Evidence, 1001)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := EvidencePicture(m, tc.all, EvidenceOptions{}); !errors.Is(err, errEvidence) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestEvidenceShowsThePixels looks for the region's own pixels: an outline does not hide what it
// means.
func TestEvidenceShowsThePixels(t *testing.T) {
	m := page(t, 320, 200, 1)
	want := Picture(m)
	img, err := EvidencePicture(m, []analyze.Evidence{{Kind: "checkerboard", Region: []int{50, 60, 100, 80}}},
		EvidenceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left, top := img.Rect.Dx()-320, 7 // the sheet's margins, as small as they come
	left /= 2
	for y := 60; y < 140; y++ {
		for x := 50; x < 150; x++ {
			got := img.RGBAAt(left+x, top+y)
			r, g, b, _ := want.At(x, y).RGBA()
			if got.R != byte(r>>8) || got.G != byte(g>>8) || got.B != byte(b>>8) {
				t.Fatalf("pixel %d,%d is %v, want %v", x, y, got, want.At(x, y))
			}
		}
	}
}

func TestEvidenceOfTheSmallestFrame(t *testing.T) {
	all := []analyze.Evidence{{Kind: "torn", Rows: []int{0, 1}, Region: []int{0, 0, 1, 1}}}
	if _, err := EvidencePicture(page(t, 1, 1, 0), all, EvidenceOptions{MaxWidth: -1}); err != nil {
		t.Error(err)
	}
}
