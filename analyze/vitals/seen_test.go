package vitals_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/vitals"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// painted returns a film in whose frames rectangles are painted: number of the frame → pixels.
func painted(t *testing.T, frames int, paint map[int]frame.Region) *filmtest.Film {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 128, 64))(t)
	m := filmtest.New(t, f)
	m.Period = 10 * time.Millisecond
	pix := make([]byte, m.Layout.Size)
	for n := range frames {
		for r, ok := paint[n]; ok; ok = false {
			for y := r.Y; y < r.Y+r.Height; y++ {
				for x := r.X; x < r.X+r.Width; x++ {
					pix[y*f.Stride+4*x] += 100
				}
			}
		}
		m.Shoot(pix, 0)
	}
	return m
}

// TestSeen compares a claim with the frames in which its area was painted. The element is at
// 20,10 in a window at 0,0. The navigation is at 100 ms, and a frame lasts 10 ms.
func TestSeen(t *testing.T) {
	element := frame.Region{X: 20, Y: 10, Width: 40, Height: 20}
	all, beside := frame.Region{Width: 128, Height: 64}, frame.Region{X: 60, Y: 10, Width: 8, Height: 8}
	spinner, over := frame.Region{X: 20, Y: 10, Width: 2, Height: 2}, frame.Region{X: 10, Y: 5, Width: 30, Height: 20}
	moving := map[int]frame.Region{}
	for n := 50; n < 150; n++ {
		moving[n] = element
	}
	screen := frame.Region{Width: 128, Height: 64}
	box := "[20, 10, 40, 20]"
	for name, tc := range map[string]struct {
		paint  map[int]frame.Region
		claim  float64 // ms after the navigation
		box    string
		frame  int // 0: refused
		says   string
		screen frame.Region
	}{
		"before the claim":     {map[int]frame.Region{20: all, 40: element}, 330, box, 40, "300 ms, ", screen},
		"after the claim":      {map[int]frame.Region{20: all, 40: element}, 280, box, 40, "ms later", screen},
		"at the claim":         {map[int]frame.Region{20: all, 40: element}, 300, box, 40, "which agrees", screen},
		"with the first frame": {map[int]frame.Region{20: all}, 95, box, 20, "100 ms", screen},
		"in parts": {map[int]frame.Region{20: all, 40: over, 42: over, 44: element}, 300, box, 44, "",
			screen},
		"a spinner over it":  {map[int]frame.Region{20: all, 40: element, 60: spinner}, 300, box, 40, "", screen},
		"beside it":          {map[int]frame.Region{20: all, 40: element, 60: beside}, 300, box, 40, "", screen},
		"changes much later": {map[int]frame.Region{20: all, 40: element, 180: element}, 300, box, 40, "", screen},
		"the green before":   {map[int]frame.Region{5: element, 40: element}, 300, box, 40, "", screen},
		"partly outside":     {map[int]frame.Region{20: all, 40: element}, 300, "[20, 10, 400, 20]", 40, "", screen},

		"never":         {map[int]frame.Region{5: all}, 300, box, 0, "its area did not change", screen},
		"moves":         {moving, 450, box, 0, "its area moves: it changed in 9", screen},
		"after the end": {map[int]frame.Region{20: all}, 5000, box, 0, "claimed after the content ended", screen},
		"outside":       {map[int]frame.Region{20: all}, 300, "[200, 10, 5, 5]", 0, "lies outside", screen},
		"no box":        {map[int]frame.Region{20: all}, 300, "null", 0, "does not tell where its element is", screen},
		"endless box":   {map[int]frame.Region{20: all}, 300, "[1e300, 1, 1, 1]", 0, "does not tell where", screen},
		"another window": {map[int]frame.Region{20: all}, 300, box, 0, "its area on the screen is 100x64",
			frame.Region{Width: 100, Height: 64}},
		"claims beyond it": {map[int]frame.Region{20: all}, 1e11, box, 0, "claimed after the content ended", screen},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := vitals.Read(fmt.Sprintf(`{"width": 128, "height": 64, "lcp": {"time": %g, "selector": "img#a",
				"box": %s}}`, tc.claim, tc.box))
			if err != nil {
				t.Fatal(err)
			}
			c := p.Claims(nil)
			c.See(p, vitals.Screen{Recording: painted(t, 220, tc.paint), Area: tc.screen, Last: 219,
				Origin: timeline.Interval{Earliest: 99_000_000, Latest: 101_000_000}})
			seen, _ := c.Result.Find("lcp_seen")
			late, _ := c.Result.Find("lcp_difference")
			if !strings.Contains(c.Sentence, tc.says) {
				t.Errorf("%q lacks %q", c.Sentence, tc.says)
			}
			if tc.frame == 0 {
				if seen.State != measure.Refused || late.State != measure.Refused {
					t.Errorf("seen: %+v, %+v", seen, late)
				}
				return
			}
			at := float64(10*tc.frame - 100)
			if len(seen.Frames) != 1 || seen.Frames[0] != tc.frame || seen.Value != at || seen.Low != at-11 ||
				seen.High != at+1 {
				t.Errorf("seen %+v, want frame %d", seen, tc.frame)
			}
			if late.Value != at-tc.claim || late.Low != at-tc.claim-15 || late.High != at-tc.claim+5 {
				t.Errorf("later by %+v", late)
			}
			if again := strings.Contains(seen.Note, "changes again"); again != (name == "changes much later") {
				t.Errorf("note %q", seen.Note)
			}
		})
	}
}
