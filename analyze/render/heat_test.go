package render

import (
	"image/color"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestHeatHasTheLegendsColours: a count has one colour wherever it stands, that of the legend,
// whatever the frame under it shows.
func TestHeatHasTheLegendsColours(t *testing.T) {
	const side = 64
	l := layout(t, frame.BGR4, side, side)
	pix := make([]byte, l.Size)
	for y := range side { // a soft slope of light, and a hard edge in the middle
		for x := range side {
			v := byte(2 * x)
			if y >= side/2 {
				v += 100
			}
			at := l.Rows[y].Offset + 4*x
			pix[at], pix[at+1], pix[at+2] = v, v, v
		}
	}
	img := l.View(pix)
	h := &analyze.Heat{Width: side, Height: side, Counts: make([]uint32, side*side)}
	for i := range h.Counts {
		h.Counts[i] = 100 + uint32(i%side/16) // all changed much, and not equally
	}
	pic := analyzetest.Must(HeatPicture(h, HeatOptions{Under: &img}))(t)
	p := analyzetest.Must(newHeatSheet(h, HeatOptions{}))(t)
	legend := map[color.RGBA]bool{}
	bar := p.bar(0)
	for x := range pic.Rect.Dx() {
		legend[pic.RGBAAt(x, bar.Min.Y+1)] = true
	}
	seen := map[color.RGBA]bool{}
	for y := range side {
		for x := range side {
			c := pic.RGBAAt(p.area.Min.X+x*p.zoom, p.area.Min.Y+y*p.zoom)
			if edge := y == side/2-1; legend[c] == edge {
				t.Fatalf("pixel %d,%d is %v: on an edge %t, on the legend %t", x, y, c, edge, legend[c])
			}
			if legend[c] {
				seen[c] = true
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("four counts have %d colours", len(seen))
	}
}

// TestHeatOfOneCount: the scale has a single count, and the legend shows it alone.
func TestHeatOfOneCount(t *testing.T) {
	r := newRamp([]uint32{0, 7, 7}, scaleAuto)
	if got := r.ticks(); len(got) != 1 || got[0].text != "7" {
		t.Errorf("ticks %v", got)
	}
	if c := r.colour(7); c != r.colours.at(faintest+(1-faintest)*onlyCount) {
		t.Errorf("colour %v", c)
	}
	if got := newRamp([]uint32{100, 120}, scaleAuto).steps(); len(got) < 2 || got[0] <= 100 || got[len(got)-1] >= 120 {
		t.Errorf("from 100 to 120 by %v", got)
	}
}
