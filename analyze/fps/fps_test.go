package fps_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
)

// TestScenesUniqueFrames holds U against what scenes say of themselves.
func TestScenesUniqueFrames(t *testing.T) {
	for _, scene := range []string{"fps", "tear", "web", "static", "caret", "checker", "page", "pingpong", "fade",
		"noise", "pan"} {
		for seed := range analyzetest.Seeds(20) {
			t.Run(fmt.Sprintf("%s/%d", scene, seed), func(t *testing.T) {
				size := []string{"320x180", "200x120", "256x144"}[seed%3]
				m, truth := filmtest.Scene(t, scene, fmt.Sprintf("size=%s&frames=130&markers=1&seed=%d", size, seed),
					nil)
				want := 1
				for n := truth.Content.First + 1; n < truth.Content.End; n++ {
					if truth.Changed(n) {
						want++
					}
				}
				filmtest.WantValue(t, filmtest.One(t, m, m.Content(truth), analyze.Options{}, "fps"), "unique_frames",
					float64(want))
			})
		}
	}
}

// TestSeriesOfUnchanged expands the series, which has values only where they change, and holds it
// against a count of every second.
func TestSeriesOfUnchanged(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(40)) {
		m := filmtest.Blinking(t, 200+int(seed), false)
		unique := map[int]bool{0: true}
		two := slices.Clone(m.Pix[0])
		two[4*64*10+40] = 200
		show := m.Pix[0]
		for n := 1; n < len(m.Pix); n++ {
			if (uint64(n)*2654435761+seed*97)%17 < seed%17 && n%90 < 60 {
				unique[n] = true
				if show[4*64*10+40] == 0 {
					show = two
				} else {
					show = m.Pix[0]
				}
			}
			m.Pix[n] = show
		}
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(m.Pix)), analyze.Options{}, "fps")
		at := slices.IndexFunc(r.Series, func(s measure.Series) bool { return s.Name == "unchanged" })
		if at < 0 || !r.Series[at].Holds {
			t.Fatal("there is no series that holds")
		}
		s, value, next := r.Series[at], -1.0, 0
		for n := 59; n < len(m.Pix); n++ {
			if next < len(s.Frames) && s.Frames[next] == n {
				if s.Values[next] == value {
					t.Errorf("seed %d: frame %d repeats a value", seed, n)
				}
				value, next = s.Values[next], next+1
			}
			want := 0
			for k := n - 59; k <= n; k++ {
				if !unique[k] {
					want++
				}
			}
			if value != float64(want)/60 {
				t.Fatalf("seed %d: the second to frame %d is %v, want %d of 60", seed, n, value, want)
			}
		}
		if next != len(s.Frames) {
			t.Errorf("seed %d: %d values are left", seed, len(s.Frames)-next)
		}
	}
}
