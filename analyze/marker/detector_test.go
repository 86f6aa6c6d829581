package marker

import (
	"errors"
	"image"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

const (
	width, height = 320, 180
)

var whole = image.Rect(0, 0, width, height)

// signal turns full-range colours into what arrives at the other end of a cable.
type signal func(v int, rng *rand.Rand) int

func clean(v int, _ *rand.Rand) int      { return v }
func limited(v int, _ *rand.Rand) int    { return 16 + v*219/255 }
func twice(v int, r *rand.Rand) int      { return 16 + limited(v, r)*219/255 }
func noise(v int, r *rand.Rand) int      { return min(255, max(0, v+r.IntN(13)-6)) }
func twiceNoisy(v int, r *rand.Rand) int { return noise(twice(v, r), r) }

// film plays pictures into a detector as a recording would: with their changes.
type film struct {
	layout  *frame.Layout
	pack    *frame.Packer
	signal  signal
	rng     *rand.Rand
	last    []byte
	n       int
	noSpans bool
	d       *Detector
	film    []frame.Step // the frames shown, for other detectors
	lose    int          // frames that are lost before the next one
	seq     uint64
}

// add gives the next frame to the detector.
func (f *film) add(pix []byte) {
	f.seq += uint64(1 + f.lose)
	f.lose = 0
	step := frame.Step{Number: f.n, Meta: frame.Meta{Sequence: f.seq}, Image: f.layout.View(pix), Change: f.change(pix)}
	f.film = append(f.film, step)
	if err := f.d.Add(&step, nil); err != nil {
		panic(err)
	}
}

func newFilm(t testing.TB, p frame.PixelFormat, s signal) *film {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(p, width, height))(t)
	l := analyzetest.Must(frame.NewLayout(f))(t)
	return &film{layout: l, pack: frame.NewPacker(l), signal: s, rng: rand.New(rand.NewPCG(1, 2)), d: New(Options{})}
}

// picture is R, G, B of a pixel.
type picture func(x, y int) [3]int

func plain(r, g, b int) picture { return func(int, int) [3]int { return [3]int{r, g, b} } }

var (
	green = plain(0, 255, 0)
	red   = plain(255, 0, 0)
	white = plain(255, 255, 255)
)

// torn shows the upper picture above a row and the lower one from it on.
func torn(row int, upper, lower picture) picture {
	return func(x, y int) [3]int {
		if y < row {
			return upper(x, y)
		}
		return lower(x, y)
	}
}

// page is content that is different for each n.
func page(n int) picture {
	return func(x, y int) [3]int {
		if x/8 == n%30 && y > 20 && y < 60 {
			return [3]int{200, 30, 40} // red that does not fill a row is not a marker
		}
		return [3]int{240 - y/2, 240, 250 - x/4}
	}
}

// within shows a picture in a rectangle, on a grey desktop.
func within(r image.Rectangle, p picture) picture {
	return func(x, y int) [3]int {
		if image.Pt(x, y).In(r) {
			return p(x, y)
		}
		return [3]int{90, 90, 90}
	}
}

func (f *film) show(count int, p picture) {
	for range count {
		src := make([]byte, width*height*4)
		for y := range height {
			for x := range width {
				c := p(x, y)
				i := 4 * (y*width + x)
				for k := range 3 {
					src[i+2-k] = byte(f.signal(c[k], f.rng))
				}
			}
		}
		pix := make([]byte, f.layout.Size)
		f.pack.BGRX(pix, src)
		f.add(pix)
		f.last = pix
		f.n++
	}
}

func (f *film) change(pix []byte) *frame.Change {
	if f.noSpans {
		return nil
	}
	c := &frame.Change{}
	if f.last == nil {
		return nil
	}
	for y := range f.layout.Rows {
		a, b := f.layout.Row(f.last, y), f.layout.Row(pix, y)
		if start, end, ok := f.layout.Tighten(y, a, b, 0, len(b)); ok {
			c.Spans = append(c.Spans, frame.Span{Row: int32(y), Start: int32(start), End: int32(end)})
		}
	}
	return c
}

// run shows a whole good window from frame 2 on: 5 green, 6 content and 5 red frames.
func (f *film) run() {
	f.show(2, white)
	f.show(5, green)
	for n := range 6 {
		f.show(1, page(n))
	}
	f.show(5, red)
	f.show(1, white)
}

func TestFindsMarkersInEverySignal(t *testing.T) {
	signals := map[string]signal{"full": clean, "limited": limited, "twice limited": twice, "noise": noise,
		"twice limited, noise": twiceNoisy}
	for name, s := range signals {
		for i, p := range frame.PixelFormats() {
			if p == frame.GREY || testing.Short() && i%5 != len(name)%5 {
				continue // has no colour to find
			}
			t.Run(name+"/"+p.String(), func(t *testing.T) {
				f := newFilm(t, p, s)
				f.run()
				got := analyzetest.Must(f.d.close())(t)
				exact := !strings.Contains(name, "noise")
				want := Window{GreenFrom: 2, Green: 6, Start: 7, End: 12, Red: 13, RedTo: 17, Region: whole,
					Exact: exact, GreenRegion: whole, RedRegion: whole}
				if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
}

func TestWithoutKnownChanges(t *testing.T) {
	f := newFilm(t, frame.BGR4, clean)
	f.noSpans = true
	f.run()
	got := analyzetest.Must(f.d.close())(t)
	if w := got[0]; w.Green != 6 || w.Start != 7 || w.End != 12 || w.Red != 13 {
		t.Errorf("got %+v", w)
	}
}

func TestSeveralWindows(t *testing.T) {
	f := newFilm(t, frame.BGR4, clean)
	f.run()
	f.show(1, torn(70, red, green)) // one page's red goes over into the next one's green
	f.show(4, green)
	for n := range 6 {
		f.show(1, page(n))
	}
	f.show(5, red)
	f.show(4, green) // no picture between the two
	f.show(2, page(1))
	f.show(3, red)
	got := analyzetest.Must(f.d.close())(t)
	if len(got) != 3 || got[1].Start != 24 || got[1].RedTo != 34 || got[2].GreenFrom != 35 || got[2].Start != 39 ||
		got[2].Red != 41 || got[2].RedTo != 43 {
		t.Errorf("got %+v", got)
	}
}

func TestTornMarkers(t *testing.T) {
	for _, tc := range []struct {
		name               string
		last, first        []picture // last content frames, first content frames
		start, end, red    int
		tornGreen, tornRed int // rows, or 0 for none
	}{
		{name: "none", start: 3, end: 5, red: 6},
		{name: "green, content above", first: []picture{torn(50, page(9), green)}, start: 3, end: 6, red: 7,
			tornGreen: 50},
		{name: "green, content below", first: []picture{torn(51, green, page(9))}, start: 3, end: 6, red: 7,
			tornGreen: 51},
		{name: "red above", last: []picture{torn(60, red, page(9))}, start: 3, end: 5, red: 7, tornRed: 60},
		{name: "red below", last: []picture{torn(61, page(9), red)}, start: 3, end: 5, red: 7, tornRed: 61},
		{name: "red above, twice", last: []picture{torn(20, red, page(9)), torn(90, red, page(9))}, start: 3, end: 5,
			red: 8, tornRed: 90},
		{name: "red band of the page", last: []picture{torn(20, red, page(6)), torn(20, red, page(7)),
			torn(20, red, page(8)), torn(20, red, page(9))}, start: 3, end: 9, red: 10},
		{name: "one row of content", first: []picture{torn(179, green, page(9))}, start: 3, end: 6, red: 7,
			tornGreen: 179},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFilm(t, frame.XR24, clean)
			f.show(3, green)
			for _, p := range tc.first {
				f.show(1, p)
			}
			for n := range 3 {
				f.show(1, page(n))
			}
			for _, p := range tc.last {
				f.show(1, p)
			}
			f.show(3, red)
			got := analyzetest.Must(f.d.close())(t)
			w := got[0]
			row := func(t *Tear) int {
				if t == nil {
					return 0
				}
				return t.Row
			}
			if w.Start != tc.start || w.End != tc.end || w.Red != tc.red || row(w.TornGreen) != tc.tornGreen ||
				row(w.TornRed) != tc.tornRed {
				t.Errorf("got %+v torn %d %d, want %+v", w, row(w.TornGreen), row(w.TornRed), tc)
			}
		})
	}
}

func TestRegionIsTheGreensBox(t *testing.T) {
	box := image.Rect(20, 40, 300, 170)
	f := newFilm(t, frame.BGR3, twiceNoisy)
	spotted := func(p picture) picture { // a green spot in the browser's bar does not stretch the box
		return func(x, y int) [3]int {
			if x > 200 && x < 206 && y > 10 && y < 16 {
				return [3]int{0, 255, 0}
			}
			return within(box, p)(x, y)
		}
	}
	f.show(4, spotted(green))
	f.show(3, spotted(page(1)))
	f.show(4, spotted(red))
	got := analyzetest.Must(f.d.close())(t)
	if w := got[0]; w.Region != box || w.Start != 4 || w.End != 6 || w.Red != 7 {
		t.Errorf("got %+v, want region %v", w, box)
	}
}

func TestChangesOutsideTheRegionDoNotCount(t *testing.T) {
	box := image.Rect(0, 40, width, height)
	f := newFilm(t, frame.BGR4, clean)
	for n := range 6 { // a clock ticks in the bar above
		f.show(1, func(x, y int) [3]int {
			if y < 10 && x == n {
				return [3]int{}
			}
			return within(box, green)(x, y)
		})
	}
	f.show(2, within(box, page(1)))
	f.show(3, within(box, red))
	got := analyzetest.Must(f.d.close())(t)
	if w := got[0]; w.Start != 6 || w.GreenFrom != 0 {
		t.Errorf("got %+v, want start 6", w)
	}
}

func TestProblemsSayWhatWasSeen(t *testing.T) {
	for _, tc := range []struct {
		name    string
		play    func(f *film)
		kind    string
		text    string
		windows int
		frames  []int // to be shown
	}{
		{"no frames", func(f *film) {}, Missing, "no frames at all", 0, []int{}},
		{"nothing green", func(f *film) { f.show(4, white) }, Missing, "nothing in them is green", 0, []int{0, 3}},
		{"some green", func(f *film) { f.show(4, torn(18, green, white)) }, Missing,
			"no green in 4 frames: the most of it is", 0, []int{0, 3}},
		{"green too short", func(f *film) { f.show(2, green); f.show(2, white) }, TooShort, "the green of frames 0–1",
			0, []int{0, 1, 2}},
		{"green too short at the end", func(f *film) { f.show(1, white); f.show(2, green) }, TooShort,
			"the green of frames 1–2", 0, []int{1, 2}},
		{"nothing after green", func(f *film) { f.show(5, green) }, Missing, "nothing follows the green of frames 0–4",
			0, []int{0, 4}},
		{"no red", func(f *film) { f.show(3, green); f.show(4, page(1)) }, Missing,
			"no red after the green that ends with frame 2: content from frame 3 on, until the recording ends; " +
				"nothing changes after frame 3", 0, []int{2, 3, 6}},
		{"red too short", func(f *film) {
			f.show(3, green)
			f.show(2, page(1))
			f.show(2, red)
			f.show(2, page(1))
			f.show(3, red)
		}, TooShort, "the red of frames 5–6 is gone in frame 7", 1, []int{4, 5, 6, 7}},
		{"red returns", func(f *film) { f.run(); f.show(3, page(1)); f.show(2, red); f.show(2, white) }, Returned,
			"the red of frames 13–17 returned in frames 22–23", 1, []int{21, 22, 23}},
		{"no red, but much of it", func(f *film) {
			f.show(3, green)
			f.show(2, page(1))
			f.show(4, within(image.Rect(40, 30, 320, 180), red))
			f.show(3, page(2))
		}, Missing, "; the most red is about 74 % of frame 5; nothing changes after frame 9", 0, []int{2, 3, 5, 9, 11}},
		{"red cut off", func(f *film) { f.show(3, green); f.show(2, page(1)); f.show(2, red) }, TooShort,
			"the red of frames 5–6 is cut off", 0, []int{4, 5, 6}},
		{"red first", func(f *film) { f.show(3, red); f.run() }, Missing,
			"frames 0–2 are red, without a green before them", 1, []int{0, 2}},
		{"green returns", func(f *film) {
			f.show(3, green)
			for n := range 5 {
				f.show(1, page(n))
			}
			f.run()
		}, Returned, "green returned in frame 10", 1, []int{3, 9, 10}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFilm(t, frame.BGR4, clean)
			tc.play(f)
			got, err := f.d.close()
			var problems *Error
			if !errors.As(err, &problems) {
				t.Fatalf("error %v, windows %+v", err, got)
			}
			if len(got) != tc.windows || len(problems.Problems) != 1 || problems.Problems[0].Kind != tc.kind ||
				!strings.Contains(err.Error(), tc.text) {
				t.Errorf("windows %+v, error %v, want %d windows and %q of kind %s", got, err, tc.windows, tc.text,
					tc.kind)
			}
			if p := problems.Problems[0]; !slices.Equal(p.Frames, tc.frames) {
				t.Errorf("frames %v, want %v", p.Frames, tc.frames)
			}
		})
	}
}

func TestFormatChangeEndsTheWindow(t *testing.T) {
	f := newFilm(t, frame.BGR4, clean)
	f.show(4, green)
	g := newFilm(t, frame.BGR3, clean)
	g.d, g.n = f.d, f.n
	g.run()
	got, err := g.d.close()
	if len(got) != 1 || err == nil || !strings.Contains(err.Error(), "the format changed") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUnchangedFramesCostNothing(t *testing.T) {
	f := newFilm(t, frame.BGR4, clean)
	f.show(4, green)
	none, n := &frame.Change{}, f.n
	var err error
	// An image without rows: looking at it would panic.
	step := frame.Step{Image: frame.Image{Layout: f.layout}, Change: none}
	if a := testing.AllocsPerRun(100,
		func() { step.Number = n; err = errors.Join(err, f.d.Add(&step, nil)); n++ }); a != 0 || err != nil {
		t.Errorf("%v allocations for a frame that did not change, %v", a, err)
	}
}

func TestChangedFramesAllocateNothing(t *testing.T) {
	f := newFilm(t, frame.NV12, clean)
	f.show(3, green)
	f.show(2, page(1))
	img, n := f.layout.View(f.last), f.n
	c := &frame.Change{}
	for y := range f.layout.Rows {
		c.Spans = append(c.Spans, frame.Span{Row: int32(y), End: width})
	}
	step := frame.Step{Image: img, Change: c}
	asked := f.d.asked
	var err error
	if a := testing.AllocsPerRun(20,
		func() { step.Number = n; err = errors.Join(err, f.d.Add(&step, nil)); n++ }); a != 0 || err != nil {
		t.Errorf("%v allocations a frame, %v", a, err)
	}
	if f.d.asked != asked+21 {
		t.Errorf("%d frames were looked at, want 21", f.d.asked-asked)
	}
}
