package analyze

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/visual"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestOldScript: of white, 90 % become 62 and then 60, the rest 140 and then 20. A value 2 away from where it belongs has arrived for the old script only:
// 500·1 + 500·(1 − 0.9) = 550 against 500 + 500.
func TestOldScript(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, visual.ThumbnailSide, 100)
	m := newFilm(t, f)
	pix := make([]byte, m.layout.Size)
	for i, p := range []struct{ ms, most, rest int }{{0, 255, 255}, {500, 62, 140}, {1000, 60, 20}} {
		for k := range pix {
			pix[k] = byte(p.most)
			if k/4%visual.ThumbnailSide < visual.ThumbnailSide/10 {
				pix[k] = byte(p.rest)
			}
		}
		m.shoot(pix, 0)
		m.metas[i].Sampled = timeline.At(timeline.Time(p.ms) * 1e6)
	}
	w := FramesWindow(m, 0, 3)
	w.T0 = &Moment{}
	r := one(t, m, w, Options{OwnClock: true, Load: LoadOptions{Variants: []string{"script"}}}, "speedindex")
	wantValue(t, r, "script.speed_index", 1000)
	wantValue(t, r, "script_old.speed_index", 550)
	var d ScriptDetail
	if err := json.Unmarshal(r.Detail, &d); err != nil || d.Script != visual.ScriptCommit || d.Old != visual.OldScriptCommit || d.PySSIM != visual.PySSIMCommit ||
		!slices.Equal(d.White, []int{0}) {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestOldScriptWhite: black is what was there before, then white, a grey page, its text, and white when the browser goes. With its rules for white, the old
// script begins with the white frame at 500 ms and ends with the text at 1500: in the second half of that it is at 90 %.
func TestOldScriptWhite(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, visual.ThumbnailSide, 100)
	m := newFilm(t, f)
	pix := make([]byte, m.layout.Size)
	for i, p := range []struct{ ms, most, rest int }{{0, 0, 0}, {500, 255, 255}, {1000, 60, 140}, {1500, 60, 20}, {2500, 255, 255}, {3000, 90, 90}} {
		for k := range pix {
			pix[k] = byte(p.most)
			if k/4%visual.ThumbnailSide < visual.ThumbnailSide/10 {
				pix[k] = byte(p.rest)
			}
		}
		m.shoot(pix, 0)
		m.metas[i].Sampled = timeline.At(timeline.Time(p.ms) * 1e6)
	}
	w := FramesWindow(m, 0, 6)
	w.T0 = &Moment{}
	for _, measure := range []string{"speedindex", "windowopen"} {
		r := one(t, m, w, Options{OwnClock: true, Load: LoadOptions{Variants: []string{"script"}}}, measure)
		wantValue(t, r, "script_old_white.speed_index", 550) // 500·1 + 500·(1 − 0.9)
		var d ScriptDetail
		if err := json.Unmarshal(r.Detail, &d); err != nil || d.Old != visual.OldScriptCommit || !slices.Equal(d.White, []int{1, 4}) {
			t.Errorf("%s: %+v, %v", measure, d, err)
		}
	}
}
