package scroll_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/timeline"
)

// truthMoves is by how much each stored frame is displaced from the one before.
func truthMoves(m *filmtest.Film, truth synth.Truth) (dx, dy map[int]float64) {
	dx, dy = map[int]float64{}, map[int]float64{}
	for n := 1; n < len(m.Metas); n++ {
		var x, y int
		for seq := m.Metas[n-1].Sequence + 1; seq <= m.Metas[n].Sequence; seq++ {
			for i, run := range truth.Scroll.Frames {
				if run.Holds(truth.Cycle.Fold(seq)) {
					x, y = x+truth.Scroll.DX[i], y+truth.Scroll.DY[i]
				}
			}
		}
		if x != 0 || y != 0 {
			dx[n], dy[n] = float64(x), float64(y)
		}
	}
	return dx, dy
}

// checkMoves holds the series of displacements against the truth.
func checkMoves(t *testing.T, r measure.Result, name string, want map[int]float64, within float64) {
	t.Helper()
	if r.State == measure.Refused {
		t.Fatal(r.Refusal)
	}
	i := slices.IndexFunc(r.Series, func(s measure.Series) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("there is no series %s", name)
	}
	s := r.Series[i]
	seen := map[int]bool{}
	for k, n := range s.Frames {
		seen[n] = true
		if math.Abs(s.Values[k]-want[n]) > within {
			t.Errorf("%s of frame %d is %v, want %v", name, n, s.Values[k], want[n])
		}
	}
	for n := range want {
		if !seen[n] {
			t.Errorf("frame %d moved and is not found", n)
		}
	}
}

// TestScrollScenes: page and pan, of many sizes and formats, by rows that the codec found and
// without.
func TestScrollScenes(t *testing.T) {
	sizes := []string{"320x180", "640x360", "426x240", "500x300", "256x256"}
	formats := []string{"BGR4", "BGR3", "YUYV", "NV12", "YU12"}
	for seed := range analyzetest.Seeds(10) {
		for _, scene := range []string{"page", "pan"} {
			size, format := sizes[seed%len(sizes)], formats[seed/2%len(formats)]
			t.Run(fmt.Sprintf("%s/%d/%s/%s", scene, seed, size, format), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(seed), 3))
				frames, from := 190, 140
				if scene == "pan" {
					frames, from = 60, 0
					if seed%4 == 0 {
						frames, from = 270, 225 // it turns
					}
				}
				lossy := seed%2 == 1
				m, truth := filmtest.Scene(t, scene, fmt.Sprintf("size=%s&format=%s&frames=%d&seed=%d", size, format,
					frames,
					seed), func(n uint64) bool {
					return n < uint64(from) || lossy && n > uint64(from) && rng.IntN(15) == 0
				})
				dx, dy := truthMoves(m, truth)
				w := measure.FramesWindow(m, 0, len(m.Metas))
				for i, rec := range []measure.Recording{m, filmtest.NewCoded(m)} {
					r := filmtest.One(t, rec, w, analyze.Options{MinShare: 7 * ((seed + i) % 2)}, "scroll")
					checkMoves(t, r, "dx", dx, 0)
					checkMoves(t, r, "dy", dy, 0)
					if v, _ := r.Find("motion_error_max"); !lossy && v.Value > 1e-6 {
						t.Errorf("the motion error is %v of what moves evenly", v.Value)
					}
					filmtest.WantValue(t, r, "undecided_frames", 0)
				}
			})
		}
	}
}

// TestScrollSpeeds counts a scroll out: 8 px a frame at 60 frames a second.
func TestScrollSpeeds(t *testing.T) {
	m, truth := filmtest.Scene(t, "page", "size=320x180&frames=200&seed=2", nil)
	r := filmtest.One(t, filmtest.NewCoded(m), m.Content(truth), analyze.Options{}, "scroll")
	moving := 0.0
	for n := range truth.Frames {
		if truth.Scroll.Frames[0].Holds(n) {
			moving++
		}
	}
	rate := 1e9 / float64(m.Period)
	for name, want := range map[string]float64{
		"moving_frames": moving, "runs": 1, "distance_x": 0, "distance_y": -8 * moving, "distance": 8 * moving,
		"displacement_max": 8, "displacement_p50": 8, "framerate": rate, "speed": 8 * rate, "speed_max": 8 * rate,
	} {
		if v, ok := r.Find(name); !ok || math.Abs(v.Value-want) > 1e-6*math.Max(1, math.Abs(want)) ||
			v.State != measure.Exact {
			t.Errorf("%s is %+v, want %v", name, v, want)
		}
	}
}

// TestScrollRefused: what does not move is said not to, and costs little.
func TestScrollRefused(t *testing.T) {
	for _, scene := range analyzetest.Some([]string{"noise", "web", "tear", "static", "caret", "fade", "pingpong"}) {
		for seed := range analyzetest.Seeds(2) {
			m, truth := filmtest.Scene(t, scene, fmt.Sprintf("size=320x180&frames=110&seed=%d", seed), nil)
			r := filmtest.One(t, filmtest.NewCoded(m), m.Content(truth), analyze.Options{}, "scroll")
			if r.State != measure.Refused || !strings.Contains(r.Refusal, "nothing in the window moves as a whole") {
				v, _ := r.Find("moving_frames")
				t.Errorf("%s: %v %q: %v frames are said to move: %v", scene, r.State, r.Refusal, v.Value, r.Series)
			}
		}
	}
}

// textured is a large picture of random blocks.
type textured struct {
	w, h int
	pix  []byte // grey
}

func newTextured(rng *rand.Rand, w, h int) *textured {
	p := &textured{w, h, make([]byte, w*h)}
	for range w * h / 60 {
		x, y, v := rng.IntN(w), rng.IntN(h), byte(rng.IntN(256))
		for j := y; j < min(h, y+2+rng.IntN(12)); j++ {
			for i := x; i < min(w, x+2+rng.IntN(16)); i++ {
				p.pix[j*w+i] = v
			}
		}
	}
	return p
}

// at returns the value at a place, interpolated between four pixels.
func (p *textured) at(x, y float64) byte {
	x, y = math.Max(0, math.Min(x, float64(p.w-2))), math.Max(0, math.Min(y, float64(p.h-2)))
	i, j := int(x), int(y)
	fx, fy := x-float64(i), y-float64(j)
	get := func(i, j int) float64 { return float64(p.pix[j*p.w+i]) }
	return byte(math.Round((get(i, j)*(1-fx)+get(i+1, j)*fx)*(1-fy) + (get(i, j+1)*(1-fx)+get(i+1, j+1)*fx)*fy))
}

// shots shows a picture through a view that maps pixels of the frame to places of the picture.
func shots(t testing.TB, p *textured, w, h, frames int, view func(n int) func(x, y float64) (float64,
	float64)) *filmtest.Film {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, w, h))(t)
	m := filmtest.New(t, f)
	pix := make([]byte, m.Layout.Size)
	for n := range frames {
		look := view(n)
		for y := range h {
			for x := range w {
				v := p.at(look(float64(x), float64(y)))
				copy(pix[4*(y*w+x):], []byte{v, v, v, 255})
			}
		}
		m.Shoot(pix, 0)
	}
	return m
}

func TestScrollDiagonal(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(8)) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := newTextured(rng, 900, 700)
		dx, dy := rng.IntN(41)-20, rng.IntN(41)-20
		if dx == 0 || dy == 0 {
			continue
		}
		m := shots(t, p, 320, 200, 12, func(n int) func(x, y float64) (float64, float64) {
			return func(x, y float64) (float64, float64) { return 290 + x - float64(n*dx), 250 + y - float64(n*dy) }
		})
		want, wantY := map[int]float64{}, map[int]float64{}
		for n := 1; n < 12; n++ {
			want[n], wantY[n] = float64(dx), float64(dy)
		}
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, 12), analyze.Options{}, "scroll")
		checkMoves(t, r, "dx", want, 0)
		checkMoves(t, r, "dy", wantY, 0)
	}
}

// TestScrollPart: only a part of the frame scrolls, beside a column that stands still.
func TestScrollPart(t *testing.T) {
	p := newTextured(rand.New(rand.NewPCG(1, 7)), 400, 700)
	m := shots(t, p, 320, 200, 12, func(n int) func(x, y float64) (float64, float64) {
		return func(x, y float64) (float64, float64) {
			if x < 100 {
				return x, y
			}
			return x, y + float64(12*n)
		}
	})
	want := map[int]float64{}
	for n := 1; n < 12; n++ {
		want[n] = -12
	}
	r := filmtest.One(t, filmtest.NewCoded(m), measure.FramesWindow(m, 0, 12), analyze.Options{}, "scroll")
	checkMoves(t, r, "dy", want, 0)
}

func TestScrollSubpixel(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(6)) {
		rng := rand.New(rand.NewPCG(seed, 8))
		step := 2 + 6*rng.Float64()
		m := shots(t, newTextured(rng, 400, 700), 320, 200, 12, func(n int) func(x, y float64) (float64, float64) {
			return func(x, y float64) (float64, float64) { return x, y + step*float64(n) }
		})
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, 12), analyze.Options{}, "scroll")
		want := map[int]float64{}
		for n := 1; n < 12; n++ {
			want[n] = -step
		}
		checkMoves(t, r, "dy", want, 0.5)
		if v, _ := r.Find("distance_y"); v.State != measure.Bounded || v.Low > -11*step || v.High < -11*step {
			t.Errorf("distance %v (%v to %v), want %v", v.Value, v.Low, v.High, -11*step)
		}
	}
}

func TestScrollZoom(t *testing.T) {
	for _, scale := range analyzetest.Some([]float64{1.03, 0.98, 1.01, 1.08, 0.9}) {
		m := shots(t, newTextured(rand.New(rand.NewPCG(4, 8)), 900, 700), 480, 300, 5,
			func(n int) func(x, y float64) (float64, float64) {
				s := math.Pow(scale, float64(n))
				return func(x, y float64) (float64, float64) { return 450 + (x-239.5)/s, 350 + (y-149.5)/s }
			})
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, 5), analyze.Options{}, "scroll")
		v, ok := r.Find("zoom")
		if want := math.Pow(scale, 4); !ok || want < v.Low || want > v.High || len(v.Frames) != 4 {
			t.Errorf("zoom by %v: %q %v (%v to %v) in %v, want %v", scale, r.Refusal, v.Value, v.Low, v.High, v.Frames,
				want)
		}
	}
}

// TestScrollZoomBesideWhatStands: a bar that stands still and does not count, as the code strip
// does not, hides no zoom.
func TestScrollZoomBesideWhatStands(t *testing.T) {
	const scale, top, height = 1.02, 140, 20
	m := shots(t, newTextured(rand.New(rand.NewPCG(4, 8)), 900, 700), 480, 300, 5,
		func(n int) func(x, y float64) (float64, float64) {
			s := math.Pow(scale, float64(n))
			return func(x, y float64) (float64, float64) { return 450 + (x-239.5)/s, 350 + (y-149.5)/s }
		})
	for _, pix := range m.Pix {
		for i, v := range pix {
			if y := i / (4 * 480); y >= top && y < top+height {
				pix[i] = byte(255 * (i / 64 % 2))
			} else {
				pix[i] = 120 + v/16 // a soft picture: most of the difference is the bar's
			}
		}
	}
	r := filmtest.One(t, m, measure.FramesWindow(m, 0, 5), analyze.Options{Masks: []frame.Region{{Y: top, Width: 480,
		Height: height}}},
		"scroll")
	v, ok := r.Find("zoom")
	if want := math.Pow(scale, 4); !ok || want < v.Low || want > v.High || len(v.Frames) != 4 {
		t.Errorf("%q %v (%v to %v) in %v, want %v", r.Refusal, v.Value, v.Low, v.High, v.Frames, want)
	}
}

// jerky moves by each of steps in turn, one per frame.
func jerky(t testing.TB, steps []int) *filmtest.Film {
	p := newTextured(rand.New(rand.NewPCG(9, 9)), 400, 4000)
	at := 0
	return shots(t, p, 256, 160, len(steps), func(n int) func(x, y float64) (float64, float64) {
		at += steps[n]
		now := at
		return func(x, y float64) (float64, float64) { return x, y + float64(now) }
	})
}

// TestScrollFar: slowly moving content jumps once by three quarters of its visible part. So do
// pages turned by a key, and late browsers.
func TestScrollFar(t *testing.T) {
	steps := []int{0, 6, 6, 6, 6, 120, 6, 6, 6, 6}
	want := map[int]float64{}
	at := make([]int, len(steps))
	for n := 1; n < len(steps); n++ {
		at[n], want[n] = at[n-1]+steps[n], -float64(steps[n])
	}
	p := newTextured(rand.New(rand.NewPCG(9, 9)), 400, 400)
	for name, view := range map[string]func(n int) func(x, y float64) (float64, float64){
		"dx": func(n int) func(x, y float64) (float64, float64) {
			return func(x, y float64) (float64, float64) { return x + float64(at[n]), y }
		},
		"dy": func(n int) func(x, y float64) (float64, float64) {
			return func(x, y float64) (float64, float64) { return x, y + float64(at[n]) }
		},
	} {
		m := filmtest.NewCoded(shots(t, p, 160, 160, len(steps), view))
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(steps)), analyze.Options{}, "scroll")
		checkMoves(t, r, name, want, 0)
		if v, _ := r.Find("distance"); v.Value != 168 || v.Low != v.High {
			t.Errorf("%s: content went %v px (%v to %v), want 168", name, v.Value, v.Low, v.High)
		}
	}
}

// TestScrollUndecided: after a jump to entirely new content the distance is unknown, and the bounds
// show that. The jump may be beside motion, between others, or in a pause of a busy browser.
func TestScrollUndecided(t *testing.T) {
	few, pause := slices.Repeat([]int{6}, 5), make([]int, 20)
	for name, steps := range map[string][]int{
		"beside motion":  slices.Concat([]int{0}, few, []int{150}, few),
		"several":        slices.Concat([]int{0}, few, []int{150, 158, 151, 155}, few),
		"many":           slices.Concat([]int{0}, few, pause, slices.Repeat([]int{150, 158, 151, 155}, 3), pause, few),
		"in a pause":     slices.Concat([]int{0}, few, pause, []int{150}, pause, few),
		"behind motion":  slices.Concat([]int{0}, few, pause, []int{-150}, pause),
		"before motion":  slices.Concat(pause, []int{150}, pause, few),
		"past the frame": slices.Concat([]int{0}, few, pause, []int{1500}, pause, few),
	} {
		var jumps []int
		seen, most := 0, 0 // px
		for n, step := range steps {
			if step = max(step, -step); step > 6 {
				jumps = append(jumps, n)
			} else {
				seen += step
			}
			most += min(step, 256)
		}
		m := filmtest.NewCoded(jerky(t, steps))
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(steps)), analyze.Options{}, "scroll")
		if v, _ := r.Find("undecided_frames"); v.Value != float64(len(jumps)) || !slices.Equal(v.Frames, jumps) {
			t.Errorf("%s: %v frames are undecided, %v, want %v", name, v.Value, v.Frames, jumps)
		}
		if v, _ := r.Find("distance"); v.Value != float64(seen) || v.Low > v.Value || v.High < float64(most) {
			t.Errorf("%s: content went %v px (%v to %v), want bounds that hold %d and %d", name, v.Value, v.Low, v.High,
				seen, most)
		}
		if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "further than the bounds") {
			t.Errorf("%s: warnings are %q", name, said)
		}
	}
}

// TestMotionErrorByHand: every second frame moves by 20 px at 60 frames a second. The stored frames
// from the first moving one to the last are a staircase around the line of 600 px/s. The literal
// fit below computes the error.
func TestMotionErrorByHand(t *testing.T) {
	steps := []int{0, 20, 0, 20, 0, 20, 0, 20, 0, 20}
	m := jerky(t, steps)
	r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(steps)), analyze.Options{}, "scroll")
	var ts, ys []float64
	at := 0.0
	for n := 1; n < len(steps); n++ {
		at -= float64(steps[n])
		ts, ys = append(ts, float64(n)), append(ys, at)
	}
	rms, worst := literalLine(ts, ys)
	for name, want := range map[string]float64{"motion_error_rms": rms, "motion_error_max": worst, "runs": 1,
		"moving_frames": 5} {
		if v, ok := r.Find(name); !ok || math.Abs(v.Value-want) > 1e-3 {
			t.Errorf("%s is %v, want %v", name, v.Value, want)
		}
	}
	if v, _ := r.Find("framerate"); math.Abs(v.Value-30) > 1e-3 {
		t.Errorf("the motion's framerate is %v, want 30", v.Value)
	}
}

// literalLine fits a line by trying slopes and offsets ever finer.
func literalLine(ts, ys []float64) (rms, worst float64) {
	square := func(v, p float64) (sum, most float64) {
		for i := range ts {
			d := math.Abs(ys[i] - v*ts[i] - p)
			sum, most = sum+d*d, math.Max(most, d)
		}
		return sum, most
	}
	v, p := 0.0, 0.0
	least, _ := square(v, p)
	for step := 64.0; step > 1e-7; {
		better := false
		for _, d := range [][2]float64{{step, 0}, {-step, 0}, {0, step}, {0, -step}, {step / 8, -step},
			{-step / 8, step}} {
			if s, _ := square(v+d[0], p+d[1]); s < least {
				least, v, p, better = s, v+d[0], p+d[1], true
				break
			}
		}
		if !better {
			step /= 2
		}
	}
	_, worst = square(v, p)
	return math.Sqrt(least / float64(len(ts))), worst
}

// TestScrollRuns: a pause of more than 200 ms and a turn each begin a new run.
func TestScrollRuns(t *testing.T) {
	steps := slices.Concat([]int{0}, slices.Repeat([]int{10}, 6), slices.Repeat([]int{0}, 14),
		slices.Repeat([]int{10}, 6), slices.Repeat([]int{-7}, 6), slices.Repeat([]int{0}, 5))
	m := jerky(t, steps)
	r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(steps)), analyze.Options{}, "scroll")
	filmtest.WantValue(t, r, "runs", 3)
	filmtest.WantValue(t, r, "moving_frames", 18)
	if v, _ := r.Find("motion_error_max"); v.Value > 1e-6 {
		t.Errorf("the motion error is %v of three runs that are even", v.Value)
	}
}

// TestScrollPath: content follows its input by two frames, and hangs once.
func TestScrollPath(t *testing.T) {
	const frames = 30
	var steps []int
	for n := range frames {
		switch {
		case n < 6:
			steps = append(steps, 0)
		case n == 15:
			steps = append(steps, 0)
		case n == 16:
			steps = append(steps, 12)
		default:
			steps = append(steps, 6)
		}
	}
	m := jerky(t, steps)
	lag := 2 * m.Period
	event := func(n int, data string) timeline.Event {
		return timeline.Event{At: timeline.Time(n)*timeline.Time(m.Period) - timeline.Time(lag), Kind: "scroll",
			Data: json.RawMessage(data)}
	}
	for _, c := range []struct {
		name   string
		events []timeline.Event
		path   bool
	}{
		{"places", []timeline.Event{event(5, `{"dx":0,"dy":0}`), event(frames, `{"dy":-150}`)}, true},
		{"speeds", []timeline.Event{event(5, fmt.Sprintf(`{"vy":%v}`, -6/m.Period.Seconds()))}, true},
		{"nonsense", []timeline.Event{event(5, `{"dy":1,"vy":2}`)}, false},
		{"not JSON", []timeline.Event{event(5, `"down"`)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m.Log = c.events
			r := filmtest.One(t, m, measure.FramesWindow(m, 0, frames), analyze.Options{}, "scroll")
			v, ok := r.Find("input_lag")
			if ok != c.path {
				t.Fatalf("a path is found: %v, want %v; %v", ok, c.path, r.Warnings)
			}
			if !ok {
				if !strings.Contains(strings.Join(r.Warnings, "\n"), "does not say where content should go") {
					t.Errorf("warnings are %q", r.Warnings)
				}
				return
			}
			if want := measure.MS(lag); math.Abs(v.Value-want) > 1 {
				t.Errorf("the lag is %v, want %v", v.Value, want)
			}
			if v, _ := r.Find("motion_error_max"); math.Abs(v.Value-6) > 0.8 || v.Frames[0] != 15 {
				t.Errorf("the greatest error is %v px in %v, want about 6 in 15", v.Value, v.Frames)
			}
		})
	}
}

// TestScrollLost: over a gap the displacement is that of the pair, and speed goes by times.
func TestScrollLost(t *testing.T) {
	whole := jerky(t, slices.Concat([]int{0}, slices.Repeat([]int{5}, 20)))
	m := filmtest.New(t, whole.Layout.Format)
	m.Period = whole.Period
	lost := 0
	for n, pix := range whole.Pix {
		if n == 8 || n == 9 {
			lost++
			continue
		}
		m.Shoot(pix, lost)
		lost = 0
	}
	r := filmtest.One(t, m, measure.FramesWindow(m, 0, len(m.Metas)), analyze.Options{}, "scroll")
	if v, _ := r.Find("displacement_max"); v.Value != 5 || v.Low != 5 || v.High < 256 {
		t.Errorf("the greatest displacement is %v, %v to %v; by 5 the picture moves, and the two that are lost may "+
			"have jumped", v.Value, v.Low, v.High)
	}
	if v, _ := r.Find("distance_x"); !strings.Contains(v.Note, measure.WorstCase) || v.Low >= v.High {
		t.Errorf("distance_x %v (%v to %v) has the note %q", v.Value, v.Low, v.High, v.Note)
	}
	if v, _ := r.Find("moving_frames"); v.Value != 18 || v.Low != 17 || v.High != 20 {
		t.Errorf("%v to %v frames move, want 17 to 20", v.Low, v.High)
	}
	if v, _ := r.Find("speed_max"); math.Abs(v.Value-5/m.Period.Seconds()) > 1e-3 {
		t.Errorf("the greatest speed is %v, want %v", v.Value, 5/m.Period.Seconds())
	}
	if v, _ := r.Find("motion_error_max"); v.Value > 1e-6 || v.Low != 0 || v.High < 256 {
		t.Errorf("the motion error is %v up to %v; a lost frame may have been anywhere", v.Value, v.High)
	}
	if v, _ := r.Find("framerate"); v.Value > 60 || v.High < 60-1e-3 {
		t.Errorf("framerate is %v up to %v", v.Value, v.High)
	}
}
