package analyze

import (
	"fmt"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// TestScenesUniqueFrames holds U against what scenes say of themselves.
func TestScenesUniqueFrames(t *testing.T) {
	for _, scene := range []string{"fps", "tear", "web", "static", "caret", "checker", "page", "pingpong", "fade",
		"noise", "pan"} {
		for seed := range analyzetest.Seeds(20) {
			t.Run(fmt.Sprintf("%s/%d", scene, seed), func(t *testing.T) {
				size := []string{"320x180", "200x120", "256x144"}[seed%3]
				m, truth := filmScene(t, scene, fmt.Sprintf("size=%s&frames=130&markers=1&seed=%d", size, seed), nil)
				want := 1
				for n := truth.Content.First + 1; n < truth.Content.End; n++ {
					if truth.Changed(n) {
						want++
					}
				}
				wantValue(t, one(t, m, m.content(truth), Options{}, "fps"), "unique_frames", float64(want))
			})
		}
	}
}
