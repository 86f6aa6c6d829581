package checkerboard_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/checkerboard"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
)

func checkerboardDetail(t testing.TB, r measure.Result) checkerboard.Detail {
	t.Helper()
	var d checkerboard.Detail
	if err := json.Unmarshal(r.Detail, &d); err != nil {
		t.Fatalf("%v, of %+v", err, r)
	}
	return d
}

// wantNear fails the test if a value is not this, but for rounding.
func wantNear(t testing.TB, r measure.Result, name string, want float64) {
	t.Helper()
	if v, ok := r.Find(name); !ok || math.Abs(v.Value-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s %s is %v, want %v", r.Measure, name, v.Value, want)
	}
}

// TestCheckerboardScene compares the area of each frame with the scene's truth, with the grid given
// and searched for.
func TestCheckerboardScene(t *testing.T) {
	formats := []string{"BGR4", "NV12", "YUYV", "BGR3", "P010", "YU12"}
	sizes := []string{"216x144", "320x256", "360x480", "400x300"}
	for seed := range analyzetest.Seeds(60) {
		format, size := formats[seed%len(formats)], sizes[seed%len(sizes)]
		t.Run(fmt.Sprintf("%d/%s/%s", seed, format, size), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 11))
			var lost func(uint64) bool
			if seed%3 == 0 {
				lost = func(n uint64) bool { return n > 40 && n < 260 && rng.IntN(9) == 0 }
			}
			m, truth := filmtest.Scene(t, "checker", fmt.Sprintf("size=%s&format=%s&frames=200&markers=1&seed=%d", size,
				format, seed), lost)
			w := m.Content(truth)
			o := analyze.Options{MinShare: 9, Workers: 1 + seed%3}
			if seed%2 == 0 {
				o.Checkerboard.Cell = truth.Checker.Cell
				for _, c := range truth.Checker.Colours {
					o.Checkerboard.Colours = append(o.Checkerboard.Colours, uint32(c))
				}
			}
			r := filmtest.One(t, m, w, o, "checkerboard")
			if r.State == measure.Refused {
				t.Fatal(r.Refusal)
			}
			wantCheckerTruth(t, m, w, r, truth)
		})
	}
}

func wantCheckerTruth(t *testing.T, m *filmtest.Film, w measure.Window, r measure.Result, truth synth.Truth) {
	t.Helper()
	size := float64(truth.Width * truth.Height)
	var sum float64
	free, worst := 0, 0
	for n := w.Start; n <= w.End; n++ {
		want := truth.CheckerPixels(m.Metas[n].Sequence)
		if got := at(r.Series[0], n); got != float64(want)/size {
			t.Fatalf("frame %d: %.0f pixels are said to be checkerboard, and %d are", n, got*size, want)
		}
		sum += float64(want)
		worst = max(worst, want)
		if want == 0 {
			free++
		}
	}
	wantNear(t, r, "checkerboard_sum", sum/size)
	wantNear(t, r, "most_checkerboard", float64(worst)/size)
	wantNear(t, r, "checkerboard_free", float64(free)/float64(w.End-w.Start+1))
	filmtest.WantWithin(t, r)
	var whole float64 // over all frames, lost or not
	for n := truth.Content.First; n < truth.Content.End; n++ {
		whole += float64(truth.CheckerPixels(n)) * measure.MS(m.Period)
	}
	area, _ := r.Find("checkerboard_area")
	if whole < area.Low*(1-1e-9) || whole > area.High*(1+1e-9) {
		t.Errorf("the area over time is %v, and said to be between %v and %v", whole, area.Low, area.High)
	}
	if r.State == measure.Exact {
		wantNear(t, r, "checkerboard_area", whole)
	}
}

// at returns what a series that holds says of frame n.
func at(s measure.Series, n int) float64 {
	i, exact := slices.BinarySearch(s.Frames, n)
	if !exact {
		i--
	}
	return s.Values[i]
}

// TestCheckerboardTiles measures tiles one by one: each takes as long to fill as the scene says.
func TestCheckerboardTiles(t *testing.T) {
	m, truth := filmtest.Scene(t, "checker", "size=320x256&frames=200&seed=4", nil)
	o := analyze.Options{Checkerboard: checkerboard.Options{Colours: []uint32{0xffffff, 0xcfd3d8}, Cell: 16},
		MinShare: 30}
	for _, tile := range analyzetest.Some(truth.Checker.Tiles[:12]) {
		o.Region = frame.Region{X: tile.X, Y: tile.Y, Width: tile.Width, Height: tile.Height}
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(m.Pix)), o, "checkerboard")
		found := false
		for _, area := range checkerboardDetail(t, r).Regions {
			if area.First == int(tile.Shown.First) {
				found = area.Last == int(tile.Shown.End)-1 && area.Filled &&
					reflect.DeepEqual(area.Region, []int{tile.X, tile.Y, tile.Width, tile.Height}) &&
					math.Abs(area.FillMS-measure.MS(m.Period)*float64(tile.Shown.End-tile.Shown.First)) < 1e-9
			}
		}
		if !found {
			t.Errorf("tile %+v is not among %+v", tile, checkerboardDetail(t, r).Regions)
		}
	}
}

// board is a film of random pieces of a grid on surfaces of its colours and others.
func board(t testing.TB, rng *rand.Rand, p frame.PixelFormat, o checkerboard.Options, noise int) *filmtest.Film {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(p, 2*(15+rng.IntN(40)), 2*(10+rng.IntN(25))))(t)
	m := filmtest.New(t, f)
	pack := frame.NewPacker(m.Layout)
	canvas, pix := make([]byte, 4*f.Width*f.Height), make([]byte, m.Layout.Size)
	colours := append([]uint32{0x3060c0, 0xf0f0f0}, o.Colours...)
	for range 26 {
		for range rng.IntN(3) {
			x, y := rng.IntN(f.Width), rng.IntN(f.Height)
			w, h := 1+rng.IntN(f.Width-x), 1+rng.IntN(f.Height-y)
			kind := rng.IntN(2 * len(colours))
			for line := y; line < y+h; line++ {
				for col := x; col < x+w; col++ {
					c := o.Colours[0]
					if kind < len(colours) {
						c = colours[kind]
					} else if o.Cell > 0 && ((col-o.X-modulo(col-o.X, o.Cell))/o.Cell+(line-o.Y-modulo(line-o.Y,
						o.Cell))/o.Cell)%2 != 0 {
						c = o.Colours[1]
					}
					copy(canvas[4*(line*f.Width+col):], []byte{byte(c), byte(c >> 8), byte(c >> 16), 255})
				}
			}
		}
		out := slices.Clone(canvas)
		if noise > 0 {
			for i := range out {
				out[i] = byte(min(255, max(0, int(out[i])+rng.IntN(2*noise+1)-noise)))
			}
		}
		pack.BGRX(pix, out)
		m.Shoot(pix, max(0, rng.IntN(12)-9))
	}
	return m
}

// literalChecker follows the definition pixel by pixel.
func literalChecker(m *filmtest.Film, a *measure.Area, n, tau int, picture frame.Image,
	o checkerboard.Options) map[[2]int]bool {
	match := map[[2]int]bool{}
	for y := range m.Layout.Format.Height {
		for x, differs := range m.LiteralRow(picture, m.Layout.View(m.Pix[n]), y, tau) {
			if a.Holds(x, y) && !differs {
				match[[2]int{x, y}] = true
			}
		}
	}
	if o.Cell == 0 {
		return match
	}
	counts := func(x, y int) bool {
		return x >= 0 && y >= 0 && x < m.Layout.Format.Width && y < m.Layout.Format.Height && a.Holds(x, y)
	}
	seen := func(x, y int) bool { return match[[2]int{x, y}] }
	fits := func(x, y int) bool { return seen(x, y) || !counts(x, y) }
	c := o.Cell
	held := func(x, y int) bool {
		cx, cy := x-modulo(x-o.X, c), y-modulo(y-o.Y, c)
		return seen(x, y) && (fits(cx-1, y) || fits(cx+c, y)) && (fits(x, cy-1) || fits(x, cy+c)) &&
			(seen(cx-1, y) || seen(cx+c, y) || seen(x, cy-1) || seen(x, cy+c))
	}
	firm := func(x, y int) bool {
		cx, cy := x-modulo(x-o.X, c), y-modulo(y-o.Y, c)
		n := 0
		for _, fit := range []bool{fits(cx-1, y), fits(cx+c, y), fits(x, cy-1), fits(x, cy+c)} {
			if fit {
				n++
			}
		}
		return n >= 3 && held(x, y)
	}
	sure := false
	arm := func(x, y, x2, y2 int) bool {
		sure = sure || firm(x, y) || firm(x2, y2)
		return firm(x, y) || !counts(x, y) || firm(x2, y2) || !counts(x2, y2)
	}
	on := map[[2]int]bool{}
	for at := range match {
		x, y := at[0], at[1]
		if !held(x, y) {
			continue
		}
		cx, cy := x-modulo(x-o.X, c), y-modulo(y-o.Y, c)
		w, e, n, s := fits(cx-1, y), fits(cx+c, y), fits(x, cy-1), fits(x, cy+c)
		if w != e && n != s {
			var upright, lying bool
			sure = false
			switch {
			case w && s:
				upright, lying = arm(cx, cy-1, cx-c-1, cy-1), arm(cx+c, cy+c-1, cx+c, cy+2*c)
			case w && n:
				upright, lying = arm(cx, cy+c, cx-c-1, cy+c), arm(cx+c, cy, cx+c, cy-c-1)
			case e && s:
				upright, lying = arm(cx+c-1, cy-1, cx+2*c, cy-1), arm(cx-1, cy+c-1, cx-1, cy+2*c)
			case e && n:
				upright, lying = arm(cx+c-1, cy+c, cx+2*c, cy+c), arm(cx-1, cy, cx-1, cy-c-1)
			}
			if upright && lying && sure {
				continue
			}
		}
		on[at] = true
	}
	return on
}

// literalRegions floods bodies through space and time.
func literalRegions(frames []map[[2]int]bool, first int) (found []checkerboard.Region) {
	type place struct{ x, y, n int }
	done := map[place]bool{}
	for n := range frames {
		for at := range frames[n] {
			start := place{at[0], at[1], n}
			if done[start] {
				continue
			}
			done[start] = true
			b, lo, hi := measure.Rect{}, n, n
			for todo := []place{start}; len(todo) > 0; {
				p := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				b.Add(measure.Box(p.x, p.y, p.x+1, p.y+1))
				lo, hi = min(lo, p.n), max(hi, p.n)
				for _, q := range []place{{p.x - 1, p.y, p.n}, {p.x + 1, p.y, p.n}, {p.x, p.y - 1, p.n},
					{p.x, p.y + 1, p.n}, {p.x, p.y, p.n - 1}, {p.x, p.y, p.n + 1}} {
					if q.n >= 0 && q.n < len(frames) && frames[q.n][[2]int{q.x, q.y}] && !done[q] {
						done[q] = true
						todo = append(todo, q)
					}
				}
			}
			found = append(found, checkerboard.Region{Region: b.Region(), First: first + lo, Last: first + hi,
				Filled: hi < len(frames)-1})
		}
	}
	return found
}

func sortAreas(all []checkerboard.Region) {
	slices.SortFunc(all, func(p, q checkerboard.Region) int {
		return slices.Compare(append([]int{p.First, p.Last}, p.Region...), append([]int{q.First, q.Last}, q.Region...))
	})
}

func TestCheckerboardLiteral(t *testing.T) {
	formats := []frame.PixelFormat{frame.BGR4, frame.NV12, frame.BGR3, frame.YUYV, frame.P010, frame.YU12}
	for seed := range analyzetest.Seeds(uint64(50)) {
		rng := rand.New(rand.NewPCG(seed, 12))
		given := checkerboard.Options{Colours: []uint32{0xffffff, 0xcfd3d8}, Cell: 2 + rng.IntN(9),
			X: rng.IntN(40) - 20,
			Y: rng.IntN(40) - 20}
		if seed%5 == 4 {
			given = checkerboard.Options{Colours: []uint32{0xff00ff}}
		}
		noise := []int{0, 0, 5}[rng.IntN(3)]
		m := board(t, rng, formats[seed%uint64(len(formats))], given, noise)
		o := filmtest.RandomLook(rng, m.Layout)
		o.Tolerance, o.Checkerboard, o.Workers = noise*2, given, 1+rng.IntN(3)
		w := measure.FramesWindow(m, rng.IntN(4), len(m.Pix)-rng.IntN(4))
		t.Run(fmt.Sprintf("%d/%v/%d", seed, m.Layout.Format.Pixel, given.Cell), func(t *testing.T) {
			area := analyzetest.Must(measure.NewArea(m.Layout, o.Region, o.Masks))(t)
			r := filmtest.One(t, m, w, o, "checkerboard")
			if r.State == measure.Refused {
				t.Fatal(r.Refusal)
			}
			picture := checkerboard.DrawPattern(m.Layout, given)
			var masks []map[[2]int]bool
			for n := w.Start; n <= w.End; n++ {
				on := literalChecker(m, area, n, o.Tolerance, picture, given)
				masks = append(masks, on)
				if got := at(r.Series[0], n) * float64(area.Pixels); math.Abs(got-float64(len(on))) > 1e-6 {
					t.Fatalf("frame %d: %v pixels are said to be checkerboard, want %d", n, got, len(on))
				}
			}
			want, got := literalRegions(masks, w.Start), checkerboardDetail(t, r).Regions
			for i := range got {
				got[i].FillMS = 0
			}
			sortAreas(want)
			sortAreas(got)
			if !reflect.DeepEqual(got, measure.OrEmpty(want)) && len(want) <= 1000 {
				t.Errorf("regions are %v\nwant %v", got, want)
			}
			filmtest.WantWithin(t, r)
		})
	}
}

// TestCheckerboardFound looks for grids of any side and phase.
func TestCheckerboardFound(t *testing.T) {
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 480, 270))(t)
	for seed := range analyzetest.Seeds(uint64(40)) {
		rng := rand.New(rand.NewPCG(seed, 13))
		c := checkerboard.Options{Colours: []uint32{rng.Uint32N(1 << 24), rng.Uint32N(1 << 24)},
			Cell: checkerboard.MinGridCell + rng.IntN(30)}
		c.X, c.Y = rng.IntN(2*c.Cell), rng.IntN(2*c.Cell)
		m := filmtest.New(t, f)
		picture := checkerboard.DrawPattern(m.Layout, c)
		pix := make([]byte, m.Layout.Size)
		for i := range pix {
			pix[i] = byte(rng.Uint32())
		}
		m.Shoot(pix, 0)
		r := frame.Region{X: rng.IntN(200), Y: rng.IntN(80), Width: 5*c.Cell + rng.IntN(40), Height: 5*c.Cell +
			rng.IntN(20)}
		r.Width, r.Height = min(r.Width, f.Width-r.X), min(r.Height, f.Height-r.Y)
		for y := r.Y; y < r.Y+r.Height; y++ {
			copy(pix[4*(y*f.Width+r.X):][:4*r.Width], picture.Rows[y][4*r.X:])
		}
		m.Shoot(pix, 0)
		got := filmtest.One(t, m, measure.FramesWindow(m, 0, 2), analyze.Options{}, "checkerboard")
		if got.State == measure.Refused {
			t.Errorf("seed %d: cells of %d in %v: %v", seed, c.Cell, r, got.Refusal)
			continue
		}
		if n := at(got.Series[0], 1) * 480 * 270; math.Abs(n-float64(r.Width*r.Height)) > 0.5 {
			t.Errorf("seed %d: %v pixels are checkerboard, want %d: cells of %d at %d,%d in %v, %s", seed, n,
				r.Width*r.Height, c.Cell, c.X, c.Y, r, got.Detail)
		}
	}
}

func TestCheckerboardRefusals(t *testing.T) {
	cases := []struct {
		name, scene string
		o           checkerboard.Options
		want        string // "": nothing is refused, and nothing is checkerboard
	}{
		{"nothing to find", "page", checkerboard.Options{}, "no checkerboard of two colours"},
		{"noise", "noise", checkerboard.Options{}, "no checkerboard of two colours"},
		{"stands still", "static", checkerboard.Options{}, "looked at: 1)"},
		{"other colours", "checker", checkerboard.Options{Colours: []uint32{0xffffff, 0x102030}}, "no checkerboard"},
		{"other side", "checker", checkerboard.Options{Cell: 12}, "no checkerboard"},
		{"colour never appears", "page", checkerboard.Options{Colours: []uint32{0xff00ff}}, ""},
		{"grid never appears", "page", checkerboard.Options{Colours: []uint32{0xff00ff, 0xff0000}, Cell: 8}, ""},
		{"no colour", "page", checkerboard.Options{Colours: []uint32{1 << 24}}, "0x1000000 is not a colour"},
		{"three colours", "page", checkerboard.Options{Colours: []uint32{1, 2, 3}}, "3 colours"},
		{"twice the same", "page", checkerboard.Options{Colours: []uint32{1, 1}}, "two different"},
		{"large cells", "page", checkerboard.Options{Cell: 65}, "2 to 64"},
	}
	for _, c := range analyzetest.Some(cases) {
		t.Run(c.name, func(t *testing.T) {
			m, _ := filmtest.Scene(t, c.scene, "size=320x180&frames=60&seed=3", nil)
			r := filmtest.One(t, m, measure.FramesWindow(m, 0, 60), analyze.Options{Checkerboard: c.o}, "checkerboard")
			if c.want == "" {
				filmtest.WantValue(t, r, "checkerboard_free", 1)
				filmtest.WantValue(t, r, "most_checkerboard", 0)
				filmtest.WantValue(t, r, "regions", 0)
			} else if r.State != measure.Refused || !strings.Contains(r.Refusal, c.want) {
				t.Errorf("state %v, %q, want a refusal with %q", r.State, r.Refusal, c.want)
			}
		})
	}
}

func modulo(a, n int) int { return (a%n + n) % n }
