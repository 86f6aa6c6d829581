package marker

import (
	"errors"
	"fmt"
	"image"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
)

// marked is a reel of 2 white frames, 6 green ones, 6 of content and 6 red ones. It is in a region
// of the frame, with codes on the markers; nil means no code. A page draws a code late frames after
// the marker came.
func marked(t *testing.T, p frame.PixelFormat, w, h int, region image.Rectangle, green, red *strip.Code,
	late int) *reel {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(p, w, h))(t)
	l := analyzetest.Must(frame.NewLayout(f))(t)
	pack := frame.NewPacker(l)
	render := func(n int, pix []byte) {
		colour, code := [3]byte{250, 250, 250}, (*strip.Code)(nil)
		switch {
		case n >= 2 && n < 8:
			colour = [3]byte{0, 255, 0}
			if n >= 2+late {
				code = green
			}
		case n >= 8 && n < 14:
			colour = [3]byte{200, byte(20 * n), 30}
		case n >= 14:
			colour = [3]byte{0, 0, 255}
			if n >= 14+late {
				code = red
			}
		}
		src := make([]byte, 4*w*h)
		for y := range h {
			for x := range w {
				c := &colour
				if !image.Pt(x, y).In(region) {
					c = &[3]byte{90, 90, 90}
				}
				copy(src[4*(y*w+x):], c[:])
			}
		}
		pack.BGRX(pix, src)
		if code != nil {
			analyzetest.Check(t, strip.DrawCopy(l.View(pix), region, 0, *code))
		}
	}
	frames := map[int][]byte{}
	r := &reel{layout: l, size: l.Size, render: func(n int, pix []byte) {
		if frames[n] == nil {
			frames[n] = make([]byte, l.Size)
			render(n, frames[n])
		}
		copy(pix, frames[n])
	}}
	for n := range 20 {
		r.seq = append(r.seq, uint64(n))
	}
	return r
}

func TestCodesAreReadAndSpoilNothing(t *testing.T) {
	green, red := strip.MarkerCode("ABC", 4, strip.Green), strip.MarkerCode("ABC", 4, strip.Red)
	for _, p := range analyzetest.Some([]frame.PixelFormat{frame.BGR4, frame.NV12, frame.UYVY, frame.P010}) {
		for _, s := range analyzetest.Some([]struct {
			w, h   int
			region image.Rectangle
		}{
			{192, 10, image.Rect(0, 0, 192, 10)}, {200, 40, image.Rect(0, 0, 200, 40)},
			{320, 180, image.Rect(0, 0, 320, 180)},
			{800, 90, image.Rect(0, 0, 800, 90)}, {500, 120, image.Rect(20, 30, 480, 120)},
			{1600, 100, image.Rect(0, 20, 1600, 100)},
			{1600, 500, image.Rect(0, 0, 1600, 500)},
		}) {
			if p != frame.BGR4 && s.w*s.h > 300_000 {
				continue // one format at this size is enough
			}
			for _, late := range []int{0, 1, 4} {
				t.Run(fmt.Sprintf("%v/%dx%d/%d late", p, s.w, s.h, late), func(t *testing.T) {
					r := marked(t, p, s.w, s.h, s.region, &green, &red, late)
					got, err := Find(r, 0, len(r.seq), Options{Nonce: "ABC"})
					if err != nil || len(got) != 1 {
						t.Fatalf("%+v, %v", got, err)
					}
					w := got[0]
					if w.Green != 7 || w.Start != 8 || w.End != 13 || w.Red != 14 || w.RedTo != 19 ||
						w.Region != s.region || !w.Exact {
						t.Errorf("got %+v", w)
					}
					if w.GreenCode == nil || *w.GreenCode != green || w.RedCode == nil || *w.RedCode != red ||
						w.Warnings != nil {
						t.Errorf("codes %+v %+v, warnings %q", w.GreenCode, w.RedCode, w.Warnings)
					}
				})
			}
		}
	}
}

func TestMarkersOfAnotherRun(t *testing.T) {
	ours := func(m strip.Marker) *strip.Code { c := strip.MarkerCode("ours", 2, m); return &c }
	theirs := func(m strip.Marker) *strip.Code { c := strip.MarkerCode("theirs", 2, m); return &c }
	other := strip.MarkerCode("ours", 3, strip.Red)
	for _, tc := range []struct {
		name       string
		nonce      string
		green, red *strip.Code
		stale      string // part of the error; "": the window is good
		warnings   []string
	}{
		{"both ours", "ours", ours(strip.Green), ours(strip.Red), "", nil},
		{"nobody asked", "", theirs(strip.Green), ours(strip.Red), "", nil},
		{"nobody asked, and none are there", "", nil, nil, "", nil},
		{"green is stale", "ours", theirs(strip.Green), ours(strip.Red), "the green of frames 2–7 is stale", nil},
		{"red is stale", "ours", ours(strip.Green), theirs(strip.Red), "the red of frames 14–19 is stale", nil},
		{"red's code on the green", "ours", ours(strip.Red), ours(strip.Red), "the green of frames 2–7 is stale", nil},
		{"no codes", "ours", nil, nil, "", []string{"the green of frames 2–7 carries no code",
			"the red of frames 14–19 carries no code"}},
		// Fault: it was said to be another run's perhaps.
		{"no code on the green, as before a navigation", "ours", nil, ours(strip.Red), "", nil},
		{"no code on the red", "ours", ours(strip.Green), nil, "", []string{"the red of frames 14–19 carries no code"}},
		{"another page's red", "ours", ours(strip.Green), &other, "",
			[]string{"the green is that of page 2 and the red that of page 3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := marked(t, frame.BGR4, 320, 180, image.Rect(0, 0, 320, 180), tc.green, tc.red, 0)
			got, err := Find(r, 0, len(r.seq), Options{Nonce: tc.nonce})
			if tc.stale != "" {
				var problems *Error
				if len(got) != 0 || !errors.As(err, &problems) || len(problems.Problems) != 1 ||
					problems.Problems[0].Kind != Stale || !strings.Contains(err.Error(), tc.stale) {
					t.Fatalf("%+v, %v", got, err)
				}
				return
			}
			if err != nil || len(got) != 1 || len(got[0].Warnings) != len(tc.warnings) {
				t.Fatalf("%+v, %v", got, err)
			}
			for i, w := range got[0].Warnings {
				if !strings.HasPrefix(w, tc.warnings[i]) {
					t.Errorf("warning %q, want %q", w, tc.warnings[i])
				}
			}
		})
	}
}
