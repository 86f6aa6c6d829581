package tearing_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/tearing"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
)

func tearingDetail(t testing.TB, r measure.Result) tearing.Detail {
	t.Helper()
	var d tearing.Detail
	if err := json.Unmarshal(r.Detail, &d); err != nil {
		t.Fatalf("%v, of %+v", err, r)
	}
	return d
}

// TestTearingScene holds torn frames, their rows and their images against what the scene says of
// itself.
func TestTearingScene(t *testing.T) {
	formats := []string{"BGR4", "NV12", "YUYV", "BGR3", "P010", "YU12", "NV24", "GREY", "Y210"}
	sizes := []string{"64x48", "96x54", "130x74"}
	for seed := range analyzetest.Seeds(200) {
		format, size := formats[seed%len(formats)], sizes[seed%len(sizes)]
		markers := seed / 2 % 2
		t.Run(fmt.Sprintf("%d/%s/%s", seed, format, size), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 7))
			var lost func(uint64) bool
			if seed%3 == 0 {
				lost = func(n uint64) bool { return n > 40 && n < 180 && rng.IntN(9) == 0 }
			}
			m, truth := filmtest.Scene(t, "tear", fmt.Sprintf("size=%s&format=%s&frames=160&markers=%d&seed=%d", size,
				format, markers, seed), lost)
			w := m.Content(truth)
			r := filmtest.One(t, m, w, analyze.Options{MinShare: 7, Workers: 1 + seed%3}, "tearing")
			d := tearingDetail(t, r)
			var want []tearing.Tear
			for n := w.Start; n <= w.End; n++ {
				if tear := truth.TornAt(m.Metas[n].Sequence); tear != nil {
					want = append(want, tearing.Tear{n, tear.Rows, tear.Images})
				}
			}
			if len(d.Images) != 3 {
				t.Fatalf("images are seen in frames %v, want 3: %v", d.Images, r.Warnings)
			}
			if !reflect.DeepEqual(d.Torn, want) {
				t.Errorf("torn are %v\nwant %v", d.Torn, want)
			}
			filmtest.WantValue(t, r, "other_frames", 0)
			torn, _ := r.Find("torn_frames")
			if all := truthTears(truth); float64(all) < torn.Low || float64(all) > torn.High {
				t.Errorf("%d frames were torn, and between %v and %v are said to be", all, torn.Low, torn.High)
			}
			filmtest.WantWithin(t, r)
		})
	}
}

func truthTears(truth synth.Truth) (n int) {
	for i := truth.Content.First; i < truth.Content.End; i++ {
		if truth.TornAt(i) != nil {
			n++
		}
	}
	return n
}

// flicker is a film of disjoint images, torn at random lines, some of them in the middle of one.
// Some frames show another picture. Its first frames show the images. Samples vary by up to noise.
func flicker(t testing.TB, rng *rand.Rand, p frame.PixelFormat, images, noise int) *filmtest.Film {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(p, 2*(8+rng.IntN(30)), 2*(5+rng.IntN(10))))(t)
	m := filmtest.New(t, f)
	pack := frame.NewPacker(m.Layout)
	line := 4 * f.Width
	whole := make([][]byte, images)
	for i := range whole {
		whole[i] = make([]byte, line*f.Height)
		for k := range whole[i] {
			whole[i][k] = byte(10 + i*220/images + rng.IntN(3))
		}
	}
	canvas, pix := make([]byte, line*f.Height), make([]byte, m.Layout.Size)
	shoot := func(lost int) {
		out := slices.Clone(canvas)
		for k := range out {
			if noise > 0 {
				out[k] = byte(int(out[k]) + rng.IntN(noise+1))
			}
		}
		pack.BGRX(pix, out)
		m.Shoot(pix, lost)
	}
	for _, w := range whole {
		copy(canvas, w)
		shoot(0)
	}
	for range 30 {
		switch rng.IntN(8) {
		case 0, 1, 2:
			copy(canvas, whole[rng.IntN(images)])
		case 3, 4, 5:
			for y := 0; y < f.Height; {
				next := y + 1 + rng.IntN(f.Height-y)
				copy(canvas[y*line:next*line], whole[rng.IntN(images)][y*line:])
				y = next
			}
		case 6:
			at := 4 * rng.IntN(f.Width*f.Height)
			copy(canvas[at:], whole[rng.IntN(images)][at:])
		case 7:
			canvas[rng.IntN(len(canvas))] ^= 0xff
		}
		for range 1 + rng.IntN(2) {
			shoot(max(0, rng.IntN(14)-11))
		}
	}
	return m
}

// literalTears says which frames are torn, line by line and image by image.
func literalTears(m *filmtest.Film, a *measure.Area, w measure.Window, tau int, images []int) (torn []tearing.Tear,
	other int) {
	r := a.Region
	for n := w.Start; n <= w.End; n++ {
		var rows [][]int // of each line that counts: its number, then the images that it matches
		for y := r.Y; y < r.Y+r.Height; y++ {
			row, counts := []int{y}, false
			for k, image := range images {
				match := true
				for x, differs := range m.LiteralRow(m.Layout.View(m.Pix[image]), m.Layout.View(m.Pix[n]), y, tau) {
					if a.Holds(x, y) {
						counts = true
						match = match && !differs
					}
				}
				if match {
					row = append(row, k)
				}
			}
			if counts {
				rows = append(rows, row)
			}
		}
		tear := tearing.Tear{Frame: n}
		whole := true
		var common []int
		var last int // index of the last line that matched
		for i, row := range rows {
			if len(row) == 1 {
				whole = false
				continue
			}
			both := slices.DeleteFunc(slices.Clone(common), func(k int) bool { return !slices.Contains(row[1:], k) })
			switch {
			case common == nil:
				common = row[1:]
			case len(both) == 0:
				tear.Rows, tear.Images = append(tear.Rows, rows[last+1][0]), append(tear.Images, common[0])
				common = row[1:]
			default:
				common = both
			}
			last = i
		}
		switch {
		case tear.Rows != nil:
			tear.Images = append(tear.Images, common[0])
			torn = append(torn, tear)
		case !whole:
			other++
		}
	}
	return torn, other
}

// literalPairs says which frames differ from the one before and share a pixel with it.
func literalPairs(m *filmtest.Film, a *measure.Area, w measure.Window, tau int) []int {
	pairs := []int{}
	for n := w.Start + 1; n <= w.End; n++ {
		equal := 0
		before, now := m.Layout.View(m.Pix[n-1]), m.Layout.View(m.Pix[n])
		for y := range m.Layout.Format.Height {
			for x, differs := range m.LiteralRow(before, now, y, tau) {
				if !differs && a.Holds(x, y) {
					equal++
				}
			}
		}
		if equal > 0 && equal < a.Pixels && m.Metas[n].Sequence == m.Metas[n-1].Sequence+1 {
			pairs = append(pairs, n)
		}
	}
	return pairs
}

// literalLines says in which lines frames n-1 and n differ.
func literalLines(m *filmtest.Film, a *measure.Area, n, tau int) map[int]bool {
	lines := map[int]bool{}
	before, now := m.Layout.View(m.Pix[n-1]), m.Layout.View(m.Pix[n])
	for y := range m.Layout.Format.Height {
		for x, differs := range m.LiteralRow(before, now, y, tau) {
			if differs && a.Holds(x, y) {
				lines[y] = true
			}
		}
	}
	return lines
}

// literalSuspects tries every line.
func literalSuspects(m *filmtest.Film, a *measure.Area, w measure.Window, tau int) (found []tearing.Suspicion) {
	changed := make([]map[int]bool, len(m.Pix))
	for n := w.Start + 1; n <= w.End; n++ {
		changed[n] = literalLines(m, a, n, tau)
	}
	for n := w.Start + 1; n < w.End; n++ {
		if m.Metas[n].Sequence != m.Metas[n-1].Sequence+1 || m.Metas[n+1].Sequence != m.Metas[n].Sequence+1 {
			continue
		}
		these, next := changed[n], changed[n+1]
		if len(these) == 0 || len(next) == 0 {
			continue
		}
		for _, below := range []bool{false, true} {
			upper, lower := these, next
			if below {
				upper, lower = next, these
			}
			for y := m.Layout.Format.Height; y > 0; y-- { // the lowest line that parts them is where the lower begins
				parts := true
				for l := range upper {
					parts = parts && l < y
				}
				for l := range lower {
					parts = parts && l >= y
				}
				if parts {
					found = append(found, tearing.Suspicion{n, y, below})
					break
				}
			}
		}
	}
	return found
}

func TestTearingLiteral(t *testing.T) {
	formats := []frame.PixelFormat{frame.BGR4, frame.NV12, frame.BGR3, frame.YUYV, frame.P010, frame.YU12}
	for seed := range analyzetest.Seeds(uint64(60)) {
		rng := rand.New(rand.NewPCG(seed, 8))
		images := 2 + rng.IntN(3)
		o := analyze.Options{Workers: 1 + rng.IntN(3)}
		noise := []int{0, 0, 3, 9}[rng.IntN(4)]
		m := flicker(t, rng, formats[seed%uint64(len(formats))], images, noise)
		look := filmtest.RandomLook(rng, m.Layout)
		o.Region, o.Masks, o.MinShare, o.Tolerance = look.Region, look.Masks, look.MinShare, noise*2
		for i := range images {
			o.Tearing.Images = append(o.Tearing.Images, i)
		}
		w := measure.FramesWindow(m, rng.IntN(4), len(m.Pix)-rng.IntN(4))
		t.Run(fmt.Sprintf("%d/%v", seed, m.Layout.Format.Pixel), func(t *testing.T) {
			area := analyzetest.Must(measure.NewArea(m.Layout, o.Region, o.Masks))(t)
			r := filmtest.One(t, m, w, o, "tearing")
			if r.State == measure.Refused {
				t.Fatal(r.Refusal)
			}
			d := tearingDetail(t, r)
			torn, other := literalTears(m, area, w, o.Tolerance, o.Tearing.Images)
			if !reflect.DeepEqual(d.Torn, measure.OrEmpty(torn)) {
				t.Errorf("torn are %v\nwant %v", d.Torn, torn)
			}
			filmtest.WantValue(t, r, "other_frames", float64(other))
			pairs := literalPairs(m, area, w, o.Tolerance)
			if !slices.Equal(d.Pairs, pairs) {
				t.Errorf("pairs are %v\nwant %v", d.Pairs, pairs)
			}
			filmtest.WantWithin(t, r)
		})
	}
}

// TestSuspectedLiteral finds what looks torn by changes alone, and with pixels.
func TestSuspectedLiteral(t *testing.T) {
	formats := []frame.PixelFormat{frame.BGR4, frame.NV12, frame.BGR3, frame.YUYV, frame.P010, frame.YU12}
	count := 0
	for seed := range analyzetest.Seeds(uint64(48)) {
		rng := rand.New(rand.NewPCG(seed, 9))
		m := filmtest.Scribble(t, rng, formats[seed%uint64(len(formats))])
		o := filmtest.RandomLook(rng, m.Layout)
		o.Tearing.Disjoint = true
		w := measure.FramesWindow(m, rng.IntN(4), 24-rng.IntN(4))
		area := analyzetest.Must(measure.NewArea(m.Layout, o.Region, o.Masks))(t)
		want := measure.OrEmpty(literalSuspects(m, area, w, o.Tolerance))
		count += len(want)
		pairs := literalPairs(m, area, w, o.Tolerance)
		for _, measures := range [][]string{{"tearing"}, {"tearing", "heatmap"}} {
			o.Measures = measures
			found := analyzetest.Must(analyze.Analyze(t.Context(), m, w, o))(t)
			r, _ := found.Find("tearing")
			d := tearingDetail(t, *r)
			if !reflect.DeepEqual(d.Suspected, want) {
				t.Errorf("seed %d, %v: suspected are %v\nwant %v", seed, measures, d.Suspected, want)
			}
			filmtest.WantWithin(t, *r)
			if !slices.Equal(d.Pairs, pairs) {
				t.Errorf("seed %d, %v: pairs are %v\nwant %v", seed, measures, d.Pairs, pairs)
			}
		}
	}
	if count < int(analyzetest.Seeds(uint64(48)))/4 {
		t.Errorf("only %d frames were suspected: the films are of no use", count)
	}
}

// TestTearingFindsImages tells which content has a set of images.
func TestTearingFindsImages(t *testing.T) {
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 32, 16))(t)
	// A frame is four bands, each of the image that a letter names.
	cases := []struct {
		name, frames string
		images       []int
		torn         []int
		why          string
	}{
		{"held", "aaaa aaaa bbbb bbbb bbaa", []int{0, 2}, []int{4}, ""},
		{"by turns", "aaaa bbbb cccc baaa aaaa bbbb cccc", []int{0, 1, 2}, []int{3}, ""},
		{"torn one held", "aaaa aaaa aaaa baaa baaa bbbb bbbb bbbb", []int{0, 5}, []int{3, 4}, ""},
		{"not disjoint", "aaaa aaaa abdb abdb cccc cccc", nil, nil, "frames 0 and 2, for one, are equal at pixel 0,0"},
		{"stands still", "aaaa aaaa aabb aabb", nil, nil, "never changes"},
		{"each once", "aaaa bbbb cccc dddd eeee", nil, nil, "fewer than two"},
		{"one only", "aaaa aaaa bbbb cccc", nil, nil, "fewer than two"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := filmtest.New(t, f)
			pix := make([]byte, m.Layout.Size)
			for bands := range strings.FieldsSeq(c.frames) {
				for i := range pix {
					pix[i] = bands[i*len(bands)/len(pix)]
				}
				m.Shoot(pix, 0)
			}
			r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(m.Pix)), analyze.Options{}, "tearing")
			d := tearingDetail(t, r)
			var torn []int
			for _, tear := range d.Torn {
				torn = append(torn, tear.Frame)
			}
			if !slices.Equal(d.Images, c.images) || !slices.Equal(torn, c.torn) {
				t.Errorf("images %v, torn %v, want %v and %v: %v", d.Images, torn, c.images, c.torn, r.Warnings)
			}
			if c.why != "" && !strings.Contains(strings.Join(r.Warnings, "\n"), c.why) {
				t.Errorf("warnings are %q, want %q", r.Warnings, c.why)
			}
		})
	}
}

func TestTearingRefusals(t *testing.T) {
	m, _ := filmtest.Scene(t, "page", "size=320x180&frames=80&seed=1", nil)
	cases := []struct {
		name   string
		images []int
		want   string
	}{
		{"one image", []int{3}, "2 to 16"},
		{"no such frame", []int{3, 80}, "frame 80"},
		{"the same twice", []int{3, 3}, "frames 3 and 3 are not disjoint, they are equal at pixel 0,0"},
		{"share a pixel", []int{0, 79}, "are not disjoint, they are equal at pixel"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := filmtest.One(t, m, measure.FramesWindow(m, 0, 80),
				analyze.Options{Tearing: tearing.Options{Images: c.images}},
				"tearing")
			if r.State != measure.Refused || !strings.Contains(r.Refusal, c.want) {
				t.Errorf("state %v, %q, want a refusal with %q", r.State, r.Refusal, c.want)
			}
		})
	}
}

// TestTearingDecodesLittle holds that content without disjoint images is judged by its changes.
func TestTearingDecodesLittle(t *testing.T) {
	for _, scene := range analyzetest.Some([]string{"web", "page", "static", "caret", "fade"}) {
		m, truth := filmtest.Scene(t, scene, "size=320x180&frames=200&markers=1", nil)
		r := filmtest.One(t, m, m.Content(truth), analyze.Options{}, "tearing")
		if r.State == measure.Refused || len(r.Warnings) == 0 || m.Asked.Load() > 64 {
			t.Errorf("%s: %v after %d images: %v", scene, r.State, m.Asked.Load(), r.Warnings)
		}
	}
}

// TestTearingBoundsHoldTheTruth measures random films, and the same ones without some of their
// frames.
func TestTearingBoundsHoldTheTruth(t *testing.T) {
	others := 0
	for seed := range analyzetest.Seeds(uint64(200)) {
		rng := rand.New(rand.NewPCG(seed, 48))
		all := flicker(t, rng, frame.BGR4, 2+rng.IntN(3), 0)
		full, cut := filmtest.New(t, all.Layout.Format), filmtest.New(t, all.Layout.Format)
		losing, lost := rng.Float64()/2, 0
		for i, pix := range all.Pix {
			full.Shoot(pix, 0)
			if i > 4 && i < len(all.Pix)-1 && rng.Float64() < losing {
				lost++
				continue
			}
			cut.Shoot(pix, lost)
			lost = 0
		}
		o := analyze.Options{Tearing: tearing.Options{Images: []int{0, 1}}} // others show something else
		truth := filmtest.One(t, full, measure.FramesWindow(full, 0, len(full.Metas)), o, "tearing")
		said := filmtest.One(t, cut, measure.FramesWindow(cut, 0, len(cut.Metas)), o, "tearing")
		filmtest.HoldsTruth(t, seed, said, truth)
		if a, b := must(said.Find("other_frames")), must(truth.Find("other_frames")); a != b {
			others++
		}
	}
	if others < int(analyzetest.Seeds(uint64(200)))/2 {
		t.Errorf("only %d films have lost frames that show something else", others)
	}
}

// must is the number that was found.
func must(v measure.Value, ok bool) float64 {
	if !ok {
		panic("there is no such value")
	}
	return v.Value
}
