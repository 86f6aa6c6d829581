package fps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/fps"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// restlessFilm is of 320x160; draw changes frame n.
func restlessFilm(t testing.TB, p frame.PixelFormat, frames int,
	fill func(n int, set func(x, y, w, h int, v byte))) *filmtest.Film {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(p, 320, 160))(t)
	m := filmtest.New(t, f)
	pack := frame.NewPacker(m.Layout)
	canvas, pix := make([]byte, 4*f.Width*f.Height), make([]byte, m.Layout.Size)
	for n := range frames {
		fill(n, func(x, y, w, h int, v byte) {
			for line := y; line < y+h; line++ {
				for i := range 4 * w {
					canvas[4*(line*f.Width+x)+i] = v
				}
			}
		})
		pack.BGRX(pix, canvas)
		m.Shoot(pix, 0)
	}
	return m
}

func TestRestless(t *testing.T) {
	caret := func(n int, set func(x, y, w, h int, v byte)) { set(40, 70, 2, 22, byte(n%2)*200) }
	cases := []struct {
		name string
		fill func(n int, set func(x, y, w, h int, v byte))
		want []fps.RestlessRegion
		says string
	}{
		{"a caret", caret, []fps.RestlessRegion{{40, 70, 2, 22, 99, 1}},
			"100 unique frames; 99 of them change only in 2x22+40+70"},
		{"a caret while a page loads", func(n int, set func(x, y, w, h int, v byte)) {
			caret(n, set)
			if n%5 == 0 {
				set(200, n, 40, 2, byte(n))
			}
		}, []fps.RestlessRegion{{40, 70, 2, 22, 80, 1}}, "80 of them change only in 2x22+40+70"},
		{"two", func(n int, set func(x, y, w, h int, v byte)) {
			caret(n, set)
			set(290, 10, 20, 20, byte(7*n))
		}, nil, ""}, // no frame changes in one of them alone
		{"by turns", func(n int, set func(x, y, w, h int, v byte)) {
			if n%2 == 0 {
				set(40, 70, 2, 22, byte(7*n))
			} else {
				set(290, 10, 20, 20, byte(7*n))
			}
		}, []fps.RestlessRegion{{290, 10, 20, 20, 50, 1}, {40, 70, 2, 22, 49, 2}},
			"99 of them change only in 20x20+290+10, 2x22+40+70"},
		{"a scroll", func(n int, set func(x, y, w, h int, v byte)) { set(0, 0, 320, 160, byte(n)) }, nil, ""},
		{"nothing", func(int, func(x, y, w, h int, v byte)) {}, nil, ""},
	}
	for _, c := range cases {
		for _, share := range analyzetest.Some([]int{3, 0}) {
			for _, o := range analyzetest.Some([]analyze.Options{{Tolerance: 3}, {}}) {
				o.MinShare, o.Measures = share, []string{"fps"}
				m := restlessFilm(t, frame.BGR4, 100, c.fill)
				found := analyzetest.Must(analyze.Analyze(t.Context(), m, measure.FramesWindow(m, 0, 100), o))(t)
				checkRestless(t, c.name, found.Results[0], c.want, c.says)
			}
		}
	}
}

func checkRestless(t *testing.T, name string, r measure.Result, want []fps.RestlessRegion, says string) {
	t.Helper()
	var d fps.Detail
	analyzetest.Check(t, json.Unmarshal(r.Detail, &d))
	if len(d.Restless) != len(want) {
		t.Fatalf("%s: %+v, want %+v", name, d.Restless, want)
	}
	for i := range want {
		if d.Restless[i] != want[i] {
			t.Errorf("%s: %+v, want %+v", name, d.Restless[i], want[i])
		}
	}
	if all := strings.Join(r.Warnings, "\n"); !strings.Contains(all, says) || says == "" && len(want) == 0 &&
		strings.Contains(all, "change only") {
		t.Errorf("%s: warnings are %q, want %q", name, all, says)
	}
}

// TestRestlessMask: what a mask hides is not restless.
func TestRestlessMask(t *testing.T) {
	m := restlessFilm(t, frame.NV12, 60, func(n int, set func(x, y, w, h int, v byte)) {
		set(40, 70, 2, 22, byte(n%2)*200)
		set(200, 10, 8, 8, byte(3*n))
	})
	r := filmtest.One(t, m, measure.FramesWindow(m, 0, 60), analyze.Options{Masks: []frame.Region{{X: 32, Y: 64,
		Width:  32,
		Height: 32}}}, "fps")
	checkRestless(t, "masked", r, []fps.RestlessRegion{{200, 10, 8, 8, 59, 1}},
		"60 unique frames; 59 of them change only in 8x8+200+10")
}
