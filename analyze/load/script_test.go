package load_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/visual"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// shown is a frame of a plain film: since when it is seen, what nine tenths of it are, and what the
// tenth at the left is.
type shown struct{ ms, most, rest int }

// plainWindow is a window of grey frames as wide as the script's thumbnails.
func plainWindow(t *testing.T, frames ...shown) (*filmtest.Film, measure.Window) {
	t.Helper()
	f, _ := frame.NewFormat(frame.BGR4, visual.ThumbnailSide, 100)
	m := filmtest.New(t, f)
	pix := make([]byte, m.Layout.Size)
	for i, s := range frames {
		for k := range pix {
			pix[k] = byte(s.most)
			if k/4%visual.ThumbnailSide < visual.ThumbnailSide/10 {
				pix[k] = byte(s.rest)
			}
		}
		m.Shoot(pix, 0)
		m.Metas[i].Sampled = timeline.At(timeline.Time(s.ms) * 1e6)
	}
	w := measure.FramesWindow(m, 0, len(frames))
	w.T0 = &measure.Moment{}
	return m, w
}

// TestOldScript: of white, 90 % become 62 and then 60, the rest 140 and then 20. A value 2 away
// from where it belongs has arrived for the old script only: 500·1 + 500·(1 − 0.9) = 550 against
// 500 + 500.
func TestOldScript(t *testing.T) {
	m, w := plainWindow(t, shown{0, 255, 255}, shown{500, 62, 140}, shown{1000, 60, 20})
	r := filmtest.One(t, m, w, analyze.Options{OwnClock: true, Load: load.Options{Variants: []string{"script"}}},
		"speedindex")
	filmtest.WantValue(t, r, "script.speed_index", 1000)
	filmtest.WantValue(t, r, "script_old.speed_index", 550)
	var d load.ScriptDetail
	if err := json.Unmarshal(r.Detail, &d); err != nil || d.Script != visual.ScriptCommit ||
		d.Old != visual.OldScriptCommit || d.PySSIM != visual.PySSIMCommit ||
		!slices.Equal(d.White, []int{0}) {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestOldScriptWhite: the page is black, white, grey, has its text, and is white again when the
// browser goes. With its rules for white, the old script begins with the white frame at 500 ms. It
// ends with the text at 1500 ms. In the second half of that it is at 90 %.
func TestOldScriptWhite(t *testing.T) {
	m, w := plainWindow(t, shown{0, 0, 0}, shown{500, 255, 255}, shown{1000, 60, 140}, shown{1500, 60, 20},
		shown{2500, 255, 255}, shown{3000, 90, 90})
	for _, measure := range []string{"speedindex", "windowopen"} {
		r := filmtest.One(t, m, w, analyze.Options{OwnClock: true, Load: load.Options{Variants: []string{"script"}}},
			measure)
		filmtest.WantValue(t, r, "script_old_white.speed_index", 550) // 500·1 + 500·(1 − 0.9)
		var d load.ScriptDetail
		if err := json.Unmarshal(r.Detail, &d); err != nil || d.Old != visual.OldScriptCommit ||
			!slices.Equal(d.White, []int{1, 4}) {
			t.Errorf("%s: %+v, %v", measure, d, err)
		}
	}
}
