package analyze_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestLosses: missing frames are named once for all measures, in a sentence of bounded length.
func TestLosses(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 16, 8)
	for _, tc := range []struct {
		name       string
		frames, to int
		lost       func(n int) int // just before stored frame n
		broken     []int
		want       []string
	}{
		{"nothing", 30, 20, func(int) int { return 0 }, nil, nil},
		{"two places", 30, 20, func(n int) int { return map[int]int{3: 1, 9: 4, 25: 7}[n] }, nil,
			[]string{"frames are lost, and what they showed is not known: 1 before frame 3, 4 before frame 9"}},
		{"damage beside them", 30, 20, func(n int) int { return map[int]int{9: 4}[n] }, []int{8, 9, 12},
			[]string{"frames are lost, and what they showed is not known: 4 before frame 9",
				"frames 8 to 9, frame 12 cannot be read, and counted as lost"}},
		{"everywhere", 4001, 4000, func(int) int { return 2 }, nil,
			[]string{"frames are lost, and what they showed is not known: 2 before frame 1, 2 before frame 2, 2 " +
				"before frame 3, 2 before frame 4, 2 before frame 5, " +
				"2 before frame 6, 2 before frame 7, 2 before frame 8, 2 before frame 9, 2 before frame 10 and 7980 " +
				"more in 3990 other places"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := filmtest.New(t, f)
			pix := make([]byte, m.Layout.Size)
			for n := range tc.frames {
				pix[0] = byte(n)
				m.Shoot(pix, tc.lost(n))
			}
			r := filmtest.Damage(m, map[int]bool{}, 1)
			for _, n := range tc.broken {
				r.Damaged[n] = true
			}
			for _, names := range [][]string{{"heatmap"}, {"fps", "loadhist", "tearing", "checkerboard", "scroll"}} {
				found := analyzetest.Must(analyze.Analyze(t.Context(), r, measure.FramesWindow(m, 0, tc.to),
					analyze.Options{Measures: names}))(t)
				if got := found.Losses(); !slices.Equal(got, tc.want) {
					t.Errorf("with %v it is said %q\nwant %q", names, got, tc.want)
				}
				for _, r := range found.Results {
					if len(r.Warnings) > 5 || strings.Contains(strings.Join(r.Warnings, ""), "before frame") {
						t.Errorf("%s names them too: %.200q", r.Measure, r.Warnings)
					}
				}
			}
		})
	}
}
