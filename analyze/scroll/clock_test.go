package scroll_test

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/strip"
)

// TestAnimationErrorByHand: content drew frame 10 for a moment 10 ms too late, and shows it at its
// beat: the step to it is 10 ms too long and that behind it 10 ms too short. The strip stands over
// the content, which moves by 9 px a frame.
func TestAnimationErrorByHand(t *testing.T) {
	const frames, late = 20, 10
	p := newTextured(rand.New(rand.NewPCG(5, 9)), 400, 2000)
	m := shots(t, p, 256, 160, frames, func(n int) func(x, y float64) (float64, float64) {
		return func(x, y float64) (float64, float64) { return x, y + 9*float64(n) }
	})
	want := map[int]float64{}
	clock := func(n int) uint32 {
		at := 1e3*float64(n)*m.Period.Seconds() + 500
		if n == late {
			at += 10
		}
		return uint32(math.Floor(at)) % strip.Modulus
	}
	for n := range frames {
		analyzetest.Check(t, strip.Draw(m.Layout.View(m.Pix[n]), image.Rectangle{},
			strip.Code{ID: uint32(n), Clock: clock(n), Free: 1 << 8}))
		if n > 1 {
			want[n] = float64(clock(n)) - float64(clock(n-1)) - measure.MS(m.Period)
		}
	}
	for _, share := range []int{0, 3} {
		r := filmtest.One(t, m, measure.FramesWindow(m, 0, frames), analyze.Options{MinShare: share}, "scroll")
		checkMoves(t, r, "animation_error", want, 1e-3)
		v, _ := r.Find("animation_error_max")
		if len(v.Frames) != 1 || v.Frames[0] != late && v.Frames[0] != late+1 || v.Low > 10 || v.High < 10 {
			t.Errorf("the greatest animation error is %v (%v to %v) in %v, want 10 ms in %d", v.Value, v.Low, v.High,
				v.Frames, late)
		}
		if v, _ := r.Find("motion_error_max"); v.Value > 1e-6 {
			t.Errorf("the motion error is %v of what moves evenly", v.Value)
		}
	}
}
