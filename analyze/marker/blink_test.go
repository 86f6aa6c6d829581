package marker

import (
	"image"
	"testing"

	"github.com/eideticker/eideticker/capture/timeline"
)

func TestCaretIsNarrow(t *testing.T) {
	for _, tc := range []struct {
		width, height int
		want          bool
	}{{8, 32, true}, {9, 90, false}, {8, 31, false}, {1, 4, true}, {0, 0, false}} {
		var b Blink
		maybe, _ := b.Add(image.Rect(5, 5, 5+tc.width, 5+tc.height), timeline.At(timeline.Time(1e9)))
		if maybe != tc.want {
			t.Errorf("%dx%d may be a caret: %v", tc.width, tc.height, maybe)
		}
	}
}
