package heatmap_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// literalHeat counts changes pixel by pixel.
func literalHeat(m *filmtest.Film, a *measure.Area, w measure.Window, tau int) []uint32 {
	r := a.Region
	heat := make([]uint32, r.Width*r.Height)
	conv := frame.NewConverter(m.Layout)
	for i := w.Start + 1; i <= w.End; i++ {
		before, now := m.Layout.View(m.Pix[i-1]), m.Layout.View(m.Pix[i])
		for y := range r.Height {
			for x := range r.Width {
				if a.Holds(r.X+x, r.Y+y) && m.LiteralDiffers(conv, before, now, r.X+x, r.Y+y, tau) {
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
		m := filmtest.Scribble(t, rng, formats[seed%uint64(len(formats))])
		o := filmtest.RandomLook(rng, m.Layout)
		w := measure.FramesWindow(m, rng.IntN(4), 24-rng.IntN(4))
		t.Run(fmt.Sprintf("%d/%v", seed, m.Layout.Format.Pixel), func(t *testing.T) {
			area := analyzetest.Must(measure.NewArea(m.Layout, o.Region, o.Masks))(t)
			heat := literalHeat(m, area, w, o.Tolerance)
			var total, excess, most, changed float64
			for _, n := range heat {
				total += float64(n)
				excess += max(0, float64(n)-1)
				most = max(most, float64(n))
				changed += float64(min(n, 1))
			}
			for _, workers := range []int{1, 3} {
				o.Workers = workers
				r := filmtest.One(t, m, w, o, "heatmap")
				if !slices.Equal(r.Heat.Counts, heat) {
					t.Fatalf("with %d workers M is not what it should be", workers)
				}
				filmtest.WantValue(t, r, "total_heat", total)
				filmtest.WantValue(t, r, "excess_heat", excess)
				filmtest.WantValue(t, r, "max_heat", most)
				filmtest.WantValue(t, r, "changed", changed/float64(area.Pixels))
				filmtest.WantWithin(t, r)
			}
		})
	}
}

// TestHeatmapBoundsHold loses frames of films whose heat is known: it must lie within the bounds.
func TestHeatmapBoundsHold(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(40)) {
		rng := rand.New(rand.NewPCG(seed, 6))
		whole := filmtest.Scribble(t, rng, frame.BGR4)
		for i := range whole.Metas { // nothing is lost
			whole.Metas[i].Sequence = uint64(i)
		}
		part := filmtest.New(t, whole.Layout.Format)
		missing := 0
		for i := range whole.Pix {
			if i > 0 && i < len(whole.Pix)-1 && rng.IntN(4) == 0 {
				missing++
				continue
			}
			part.Shoot(whole.Pix[i], missing)
			missing = 0
		}
		want := filmtest.One(t, whole, measure.FramesWindow(whole, 0, len(whole.Pix)), analyze.Options{}, "heatmap")
		got := filmtest.One(t, part, measure.FramesWindow(part, 0, len(part.Pix)), analyze.Options{MinShare: 3,
			Workers: 2}, "heatmap")
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
		m, truth := filmtest.Scene(t, "caret", fmt.Sprintf("size=200x120&frames=200&markers=1&seed=%d", seed), nil)
		r := filmtest.One(t, m, m.Content(truth), analyze.Options{MinShare: 20}, "heatmap")
		blinks := 0
		for n := truth.Content.First + 1; n < truth.Content.End; n++ {
			if truth.Changed(n) {
				blinks++
			}
		}
		c := truth.Caret
		filmtest.WantValue(t, r, "max_heat", float64(blinks))
		filmtest.WantValue(t, r, "total_heat", float64(blinks*c.Width*c.Height))
		filmtest.WantValue(t, r, "excess_heat", float64((blinks-1)*c.Width*c.Height))
		filmtest.WantValue(t, r, "changed", float64(c.Width*c.Height)/(200*120))
		if r.State != measure.Exact || len(r.Evidence) == 0 {
			t.Errorf("state %v with %d pieces of evidence", r.State, len(r.Evidence))
		}
	}
}
