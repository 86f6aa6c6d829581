package analyze_test

import (
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestSharesFollowWhatChanges cuts films of which nothing, the second half, or all changes.
func TestSharesFollowWhatChanges(t *testing.T) {
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 64, 48))(t)
	const frames = 1000
	for _, c := range []struct {
		name string
		from int // first frame that changes
		want []int
	}{
		{"nothing", frames, []int{0, 1000}},
		{"all", 0, []int{0, 125, 250, 375, 500, 625, 750, 875, 1000}},
		{"second half", 500, []int{0, 563, 625, 688, 750, 812, 875, 937, 1000}},
		{"too little for a share", 970, []int{0, 1000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := filmtest.New(t, f)
			pix := make([]byte, m.Layout.Size)
			for n := range frames {
				if n >= c.from {
					for i := range pix {
						pix[i]++
					}
				}
				m.Shoot(pix, 0)
			}
			got := analyzetest.Must(analyze.Cuts(m, measure.FramesWindow(m, 0, frames), 2))(t)
			for i, at := range got {
				if len(got) != len(c.want) || at < c.want[i]-8 || at > c.want[i]+8 {
					t.Fatalf("cut at %v, want about %v", got, c.want)
				}
			}
			if !slices.IsSorted(got) {
				t.Fatalf("cut at %v", got)
			}
		})
	}
}
