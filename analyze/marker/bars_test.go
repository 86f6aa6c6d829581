package marker

import (
	"image"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// below is what a bar of this height leaves free.
func below(bar int) image.Rectangle { return image.Rect(0, bar, width, height) }

// barred shows a picture below a bar.
func barred(bar int, p picture) picture { return within(below(bar), p) }

func TestBarsThatSlide(t *testing.T) {
	slide := func(f *film, from, to, step int, p picture) {
		for bar := from; bar != to; bar += step {
			f.show(1, barred(bar, p))
		}
	}
	content := func(f *film, bar int) {
		for n := range 6 {
			f.show(1, barred(bar, page(n)))
		}
	}
	for _, tc := range []struct {
		name  string
		play  func(f *film)
		want  Window
		warns string // part of the only warning
	}{
		{"in while the green is held", func(f *film) {
			f.show(5, green) // 0–4
			slide(f, 2, 32, 3, green)
			f.show(5, barred(32, green)) // 15–19
			content(f, 32)
			f.show(4, barred(32, red))
		}, Window{Green: 19, Start: 20, End: 25, Red: 26, RedTo: 29, Region: below(32), GreenRegion: below(32),
			RedRegion: below(32)}, "covers (0,32)-(320,180) from frame 15 on"},
		{"out while the green is held", func(f *film) {
			f.show(5, barred(32, green))
			slide(f, 29, 2, -3, green)
			f.show(4, green) // 14–17
			content(f, 0)
			f.show(4, red)
		}, Window{Green: 17, Start: 18, End: 23, Red: 24, RedTo: 27, Region: whole, GreenRegion: whole,
			RedRegion: whole}, "covers (0,0)-(320,180) from frame 14 on"},
		{"out, and content comes before they are gone", func(f *film) {
			f.show(5, barred(32, green))
			slide(f, 29, 20, -3, green) // 5–7
			content(f, 20)
			f.show(4, barred(2, red))
		}, Window{Green: 7, Start: 8, End: 13, Red: 14, RedTo: 17, Region: below(32), GreenRegion: below(32),
			RedRegion: below(2)}, "the red covers (0,2)"},
		{"in, and content comes before they stand", func(f *film) {
			f.show(5, green)
			slide(f, 10, 40, 10, green) // 5–7
			content(f, 40)
			f.show(4, barred(40, red))
		}, Window{Green: 4, Start: 5, End: 13, Red: 14, RedTo: 17, Region: below(40), GreenRegion: whole,
			RedRegion: below(40)}, "the red covers (0,40)-(320,180) only"},
		{"half a line further", func(f *film) {
			f.show(5, barred(32, green))
			f.show(4, func(x, y int) [3]int {
				if y == 31 && x < 165 {
					return green(x, y)
				}
				return barred(32, green)(x, y)
			})
			content(f, 31)
			f.show(4, barred(31, red))
		}, Window{Green: 8, Start: 9, End: 14, Red: 15, RedTo: 18, Region: below(31), GreenRegion: below(31),
			RedRegion: below(31)}, "from frame 5 on"},
		{"over the green's edge, and away again", func(f *film) {
			f.show(5, green)
			f.show(2, barred(30, green))
			f.show(4, green) // 7–10
			content(f, 0)
			f.show(4, red)
		}, Window{Green: 10, Start: 11, End: 16, Red: 17, RedTo: 20, Region: whole, GreenRegion: whole,
			RedRegion: whole}, "covered the edge of the green in frames 5–6"},
		{"in over the content", func(f *film) {
			f.show(5, green)
			content(f, 0)
			content(f, 40)
			f.show(4, barred(40, red))
			f.show(3, white)
		}, Window{Green: 4, Start: 5, End: 16, Red: 17, RedTo: 20, Region: below(40), GreenRegion: whole,
			RedRegion: below(40)}, "the red covers (0,40)-(320,180) only"},
		{"in over the content, at the side", func(f *film) {
			side := image.Rect(0, 0, 250, height)
			f.show(5, green)
			content(f, 0)
			f.show(4, within(side, red))
			f.show(3, white)
		}, Window{Green: 4, Start: 5, End: 10, Red: 11, RedTo: 14, Region: image.Rect(0, 0, 250, height),
			GreenRegion: whole, RedRegion: image.Rect(0, 0, 250, height)}, "only"},
		{"away from the red", func(f *film) {
			f.show(5, green)
			content(f, 40)
			slide(f, 40, 0, -8, red) // 11–15
			f.show(4, red)
		}, Window{Green: 4, Start: 5, End: 10, Red: 11, RedTo: 19, Region: below(40), GreenRegion: whole,
			RedRegion: below(40)}, "only"},
		{"away before the red", func(f *film) {
			f.show(5, barred(40, green))
			content(f, 0)
			f.show(4, red)
		}, Window{Green: 4, Start: 5, End: 10, Red: 11, RedTo: 14, Region: below(40), GreenRegion: below(40),
			RedRegion: whole}, "the red covers (0,0)-(320,180)"},
		{"not, but much of the page is red", func(f *film) {
			f.show(5, green)
			f.show(9, barred(40, red))
			f.show(2, page(2))
			f.show(4, red)
		}, Window{Green: 4, Start: 5, End: 15, Red: 16, RedTo: 19, Region: whole, GreenRegion: whole, RedRegion: whole},
			""},
		{"and the next green comes", func(f *film) {
			f.show(5, green)
			content(f, 40)
			f.show(4, barred(40, red)) // 11–14
			f.show(5, green)           // 15–19
			content(f, 0)
			f.show(4, red)
		}, Window{Green: 4, Start: 5, End: 10, Red: 11, RedTo: 14, Region: below(40), GreenRegion: whole,
			RedRegion: below(40)}, "only"},
	} {
		for _, s := range analyzetest.Some([]struct {
			name string
			signal
		}{{"clean", clean}, {"noise", twiceNoisy}}) {
			t.Run(tc.name+"/"+s.name, func(t *testing.T) {
				f := newFilm(t, frame.BGR3, s.signal)
				tc.play(f)
				got, err := f.d.close()
				if err != nil || len(got) == 0 {
					t.Fatalf("%+v, %v", got, err)
				}
				w, want := got[0], tc.want
				if w.Green != want.Green || w.Start != want.Start || w.End != want.End || w.Red != want.Red ||
					w.RedTo != want.RedTo ||
					w.Region != want.Region || w.GreenRegion != want.GreenRegion || w.RedRegion != want.RedRegion {
					t.Errorf("got  %+v\nwant %+v", w, want)
				}
				if tc.warns == "" && w.Warnings != nil || tc.warns != "" &&
					(len(w.Warnings) != 1 || !strings.Contains(w.Warnings[0], tc.warns)) {
					t.Errorf("warnings %q, want one with %q", w.Warnings, tc.warns)
				}
			})
		}
	}
}

func TestLostBesideTheMarkers(t *testing.T) {
	f := newFilm(t, frame.BGR4, clean)
	f.show(2, green)
	f.lose = 7
	f.show(3, green)
	f.lose = 2
	f.show(3, page(1))
	f.lose = 1
	f.show(1, torn(60, red, page(1)))
	f.lose = 4
	f.show(3, red)
	got := analyzetest.Must(f.d.close())(t)
	if w := got[0]; w.Start != 5 || w.LostBeforeStart != 2 || w.Red != 9 || w.LostBeforeRed != 5 || w.End != 7 ||
		w.TornRed == nil {
		t.Errorf("got %+v", w)
	}
}

// TestWindowsWhileTheRedStands asks for the window as soon as there is one.
func TestWindowsWhileTheRedStands(t *testing.T) {
	f := newFilm(t, frame.BGR4, clean)
	f.show(4, green)
	f.show(4, page(1))
	for n := range 5 {
		f.show(1, red)
		got := f.d.windows()
		if held := n >= 2; held != (len(got) == 1) || held &&
			(got[0].Red != 8 || got[0].RedTo != 8+n || got[0].Region != whole) {
			t.Errorf("after %d red frames: %+v", n+1, got)
		}
	}
}
