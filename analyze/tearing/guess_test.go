package tearing_test

import (
	"fmt"
	"image"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/analyze/tearing"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestTearingIsSuspectedUnasked: no page tears here, though some repaint every pixel in steps.
// Results from unnamed images are never certain, and the true values are within their bounds.
func TestTearingIsSuspectedUnasked(t *testing.T) {
	guesses := 0
	hold := func(name string, r measure.Result) {
		t.Helper()
		for _, v := range r.Values {
			if v.State != measure.Suspected {
				t.Errorf("%s: %s is %v, %s", name, v.Name, v.Value, v.State)
			}
		}
		for _, name := range []string{"torn_frames", "torn", "pair_frames"} {
			if v, ok := r.Find(name); ok && v.Low > 0 {
				t.Errorf("%s: %s is at least %v, and nothing is torn", name, name, v.Low)
			}
		}
		for _, e := range r.Evidence {
			if e.Kind == "torn" {
				t.Errorf("%s: %s", name, e.Text)
			}
		}
		if v, ok := r.Find("torn_frames"); ok && v.Value > 0 {
			guesses++
			if !strings.Contains(strings.Join(r.Warnings, "\n"), "--disjoint") {
				t.Errorf("%s: it is not said what to do: %q", name, r.Warnings)
			}
		}
	}
	for _, scene := range analyzetest.Some([]string{"web", "page", "static", "caret", "fade", "fps", "pan",
		"pingpong"}) {
		m, truth := filmtest.Scene(t, scene, "size=320x180&frames=200", nil)
		hold(scene, filmtest.One(t, m, m.Content(truth), analyze.Options{}, "tearing"))
	}
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 32, 16))(t)
	for seed := range analyzetest.Seeds(uint64(100)) {
		rng := rand.New(rand.NewPCG(seed, 49))
		m := filmtest.New(t, f)
		pix, colour := make([]byte, m.Layout.Size), byte(0)
		for range 4 + rng.IntN(5) {
			colour++
			at := 32 * 4 * (1 + rng.IntN(15))
			filmtest.Fill(pix[:at], colour)
			m.Shoot(pix, 0)
			filmtest.Fill(pix, colour)
			for range 2 + rng.IntN(3) {
				m.Shoot(pix, 0)
			}
		}
		hold(fmt.Sprint("seed ", seed), filmtest.One(t, m, measure.FramesWindow(m, 0, len(m.Pix)), analyze.Options{},
			"tearing"))
	}
	if guesses < int(analyzetest.Seeds(uint64(100)))/3 {
		t.Errorf("only %d films look torn", guesses)
	}
}

// TestTearingIsCertain: tears are certain in three cases. Images are named, content is declared as
// disjoint, or a page's code strip differs on both sides of a tear. If the strip is equal on both
// sides, the frame is not torn.
func TestTearingIsCertain(t *testing.T) {
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 200, 120))(t)
	d := analyzetest.Must(strip.NewDecoder(filmtest.New(t, f).Layout, image.Rectangle{}))(t)
	var masks []frame.Region
	for _, b := range d.Geometry().Bounds() {
		masks = append(masks, frame.Region{X: b.Min.X, Y: b.Min.Y, Width: b.Dx(), Height: b.Dy()})
	}
	line := 4 * f.Width
	// shot shows two images by turns; every third picture is one above row 50 and the other below
	// it. Ids are drawn into the strip as rows say, 0 for none.
	shot := func(ids func(n int) (above, below uint32)) *filmtest.Film {
		m := filmtest.New(t, f)
		above, below := make([]byte, m.Layout.Size), make([]byte, m.Layout.Size)
		for n := range 30 {
			a, b := byte(40+n/3%2*100), byte(40+n/3%2*100)
			if n%3 == 2 {
				b = 180 - b
			}
			filmtest.Fill(above, a)
			filmtest.Fill(below, b)
			if i, j := ids(n); i > 0 {
				for p, id := range map[*[]byte]uint32{&above: i, &below: j} {
					analyzetest.Check(t, strip.Draw(m.Layout.View(*p), image.Rectangle{},
						strip.Code{ID: id, Free: 3 << 8}))
				}
			}
			copy(below[:50*line], above)
			m.Shoot(below, 0)
		}
		return m
	}
	none := shot(func(int) (uint32, uint32) { return 0, 0 })
	torn := shot(func(n int) (uint32, uint32) { return uint32(100 - n), uint32(100 - n + n%3/2) })
	drawn := shot(func(n int) (uint32, uint32) { return uint32(100 + n), uint32(100 + n) })
	// The strip is on the last frames only: not on the first, by which it is found.
	late := shot(func(n int) (uint32, uint32) { return uint32(n / 15 * n), uint32(n / 15 * (n + n%3/2)) })
	for _, tc := range []struct {
		name  string
		film  *filmtest.Film
		o     tearing.Options
		state measure.State // of torn_frames; none of it where that is empty
	}{
		{"found", none, tearing.Options{}, measure.Suspected},
		{"named", none, tearing.Options{Images: []int{0, 3}}, measure.Exact},
		{"said to be disjoint", none, tearing.Options{Disjoint: true}, measure.Exact},
		{"by the strip", torn, tearing.Options{}, measure.Exact},
		{"not by the strip", drawn, tearing.Options{}, ""},
		{"named against the strip", drawn, tearing.Options{Images: []int{0, 3}}, measure.Exact},
		{"a strip that comes later", late, tearing.Options{}, measure.Suspected},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := analyze.Options{Tearing: tc.o, Masks: masks, MinShare: 4}
			r := filmtest.One(t, tc.film, measure.FramesWindow(tc.film, 0, 30), o, "tearing")
			v, ok := r.Find("torn_frames")
			if !ok && tc.state == "" && len(tearingDetail(t, r).Torn) == 0 &&
				strings.Contains(strings.Join(r.Warnings, ""), "drew them like that") {
				return
			}
			if v.State != tc.state || v.Value != 10 {
				t.Errorf("torn frames are %+v, want 10, %s: %q", v, tc.state, r.Warnings)
			}
		})
	}
}
