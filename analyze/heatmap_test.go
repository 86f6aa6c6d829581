package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// literalHeat counts changes pixel by pixel.
func (m *film) literalHeat(a *Area, w Window, tau int) []uint32 {
	r := a.Region
	heat := make([]uint32, r.Width*r.Height)
	conv := frame.NewConverter(m.layout)
	for i := w.Start + 1; i <= w.End; i++ {
		before, now := m.layout.View(m.pix[i-1]), m.layout.View(m.pix[i])
		for y := range r.Height {
			for x := range r.Width {
				if a.Holds(r.X+x, r.Y+y) && m.literalDiffers(conv, before, now, r.X+x, r.Y+y, tau) {
					heat[y*r.Width+x]++
				}
			}
		}
	}
	return heat
}

func TestHeatmapLiteral(t *testing.T) {
	formats := []frame.PixelFormat{frame.BGR4, frame.BGR3, frame.YUYV, frame.NV12, frame.P010, frame.YU12}
	for seed := range analyzetest.Seeds(uint64(60)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		m := scribble(t, rng, formats[seed%uint64(len(formats))])
		o := randomLook(rng, m.layout)
		w := FramesWindow(m, rng.IntN(4), 24-rng.IntN(4))
		t.Run(fmt.Sprintf("%d/%v", seed, m.layout.Format.Pixel), func(t *testing.T) {
			area, err := NewArea(m.layout, o.Region, o.Masks)
			if err != nil {
				t.Fatal(err)
			}
			heat := m.literalHeat(area, w, o.Tolerance)
			var total, excess, most, changed float64
			for _, n := range heat {
				total += float64(n)
				excess += max(0, float64(n)-1)
				most = max(most, float64(n))
				changed += float64(min(n, 1))
			}
			for _, workers := range []int{1, 3} {
				o.Workers = workers
				r := one(t, m, w, o, "heatmap")
				if !slices.Equal(r.Heat.Counts, heat) {
					t.Fatalf("with %d workers M is not what it should be", workers)
				}
				wantValue(t, r, "total_heat", total)
				wantValue(t, r, "excess_heat", excess)
				wantValue(t, r, "max_heat", most)
				wantValue(t, r, "changed", changed/float64(area.Pixels))
				wantWithin(t, r)
			}
		})
	}
}

// wantWithin fails the test if a value lies outside its own bounds.
func wantWithin(t testing.TB, r Result) {
	t.Helper()
	for _, v := range r.Values {
		if v.Low > v.Value || v.Value > v.High {
			t.Errorf("%s %s: %v does not lie between %v and %v", r.Measure, v.Name, v.Value, v.Low, v.High)
		}
	}
}

// TestHeatmapBoundsHold loses frames of films whose heat is known: it must lie within the bounds.
func TestHeatmapBoundsHold(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(40)) {
		rng := rand.New(rand.NewPCG(seed, 6))
		whole := scribble(t, rng, frame.BGR4)
		for i := range whole.metas { // nothing is lost
			whole.metas[i].Sequence = uint64(i)
		}
		part := newFilm(t, whole.layout.Format)
		missing := 0
		for i := range whole.pix {
			if i > 0 && i < len(whole.pix)-1 && rng.IntN(4) == 0 {
				missing++
				continue
			}
			part.shoot(whole.pix[i], missing)
			missing = 0
		}
		want := one(t, whole, FramesWindow(whole, 0, len(whole.pix)), Options{}, "heatmap")
		got := one(t, part, FramesWindow(part, 0, len(part.pix)), Options{share: 3, Workers: 2}, "heatmap")
		for _, v := range want.Values {
			g, _ := got.Find(v.Name)
			if v.Value < g.Low || v.Value > g.High {
				t.Errorf("seed %d: %s is %v, and with lost frames said to be between %v and %v", seed, v.Name, v.Value,
					g.Low, g.High)
			}
		}
	}
}

// TestHeatmapScenes holds the heat of a caret and of pongs against what scenes say of themselves.
func TestHeatmapScenes(t *testing.T) {
	for seed := range analyzetest.Seeds(100) {
		m, truth := filmScene(t, "caret", fmt.Sprintf("size=200x120&frames=200&markers=1&seed=%d", seed), nil)
		r := one(t, m, m.content(truth), Options{share: 20}, "heatmap")
		blinks := 0
		for n := truth.Content.First + 1; n < truth.Content.End; n++ {
			if truth.Changed(n) {
				blinks++
			}
		}
		c := truth.Caret
		wantValue(t, r, "max_heat", float64(blinks))
		wantValue(t, r, "total_heat", float64(blinks*c.Width*c.Height))
		wantValue(t, r, "excess_heat", float64((blinks-1)*c.Width*c.Height))
		wantValue(t, r, "changed", float64(c.Width*c.Height)/(200*120))
		if r.State != Exact || len(r.Evidence) == 0 {
			t.Errorf("state %v with %d pieces of evidence", r.State, len(r.Evidence))
		}
	}
}

func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const words = 3
	var parts [4]tally
	want := make([]uint32, 64*words)
	for range 700 {
		first := rng.IntN(words)
		b := make([]uint64, 1+rng.IntN(words-first))
		for i := range b {
			b[i] = rng.Uint64() | rng.Uint64()
			for x := range 64 {
				want[64*(first+i)+x] += uint32(b[i] >> x & 1)
			}
		}
		parts[rng.IntN(len(parts)-1)].add(b, first, words) // the last one stays empty
	}
	for _, p := range parts[1:] {
		parts[0].merge(p)
	}
	got := make([]uint32, 64*words)
	parts[0].counts(got, 0)
	if !slices.Equal(got, want) {
		t.Errorf("counts are %v, want %v", got, want)
	}
	some := make([]uint32, 90)
	parts[0].counts(some, 37)
	if !slices.Equal(some, want[37:127]) {
		t.Errorf("counts from 37 on are %v, want %v", some, want[37:127])
	}
}

// BenchmarkHeatmapNoise adds frames all of whose pixels differ.
func BenchmarkHeatmapNoise(b *testing.B) {
	const words, height = 30, 1080
	rng := rand.New(rand.NewPCG(1, 2))
	lines := make([]tally, height)
	var masks [16][]uint64
	for i := range masks {
		for range words {
			masks[i] = append(masks[i], rng.Uint64()|rng.Uint64()|rng.Uint64())
		}
	}
	b.SetBytes(words * 64 * height)
	n := 0
	for b.Loop() {
		for y := range lines {
			n++
			lines[y].add(masks[n%len(masks)], 0, words)
		}
	}
}
