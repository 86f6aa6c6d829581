package analyze

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
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
		at := 1e3*float64(n)*m.period.Seconds() + 500
		if n == late {
			at += 10
		}
		return uint32(math.Floor(at)) % strip.Modulus
	}
	for n := range frames {
		if err := strip.Draw(m.layout.View(m.pix[n]), image.Rectangle{},
			strip.Code{ID: uint32(n), Clock: clock(n), Free: 1 << 8}); err != nil {
			t.Fatal(err)
		}
		if n > 1 {
			want[n] = float64(clock(n)) - float64(clock(n-1)) - ms(m.period)
		}
	}
	for _, share := range []int{0, 3} {
		r := one(t, m, FramesWindow(m, 0, frames), Options{share: share}, "scroll")
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

// TestRowsMovedLiteral holds the vertical displacement of the codec's rows against counting rows
// one by one.
func TestRowsMovedLiteral(t *testing.T) {
	f, err := frame.NewFormat(frame.BGR4, 64, 200)
	if err != nil {
		t.Fatal(err)
	}
	l, err := frame.NewLayout(f)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range analyzetest.Seeds(uint64(300)) {
		rng := rand.New(rand.NewPCG(seed, 12))
		var look Options
		if rng.IntN(2) == 0 {
			look = anyLook(rng, f)
		}
		area, err := NewArea(l, look.Region, nil)
		if err != nil {
			continue
		}
		c := &Case{Layout: l, Area: area}
		change := new(frame.Change)
		source := make([]int, f.Height) // of each row; −1: it is new, its own number: as before
		for y := range source {
			source[y] = y
		}
		for y := 0; y < f.Height; {
			n := min(f.Height-y, 1+rng.IntN(60))
			d := []int{-8, 8, 20}[rng.IntN(3)]
			switch kind := rng.IntN(4); {
			case kind == 0: // as before
			case kind == 1 || y-d < 0 || y-d+n > f.Height:
				for i := range n {
					source[y+i] = -1
				}
			default:
				change.Moves = append(change.Moves, frame.Move{Dst: int32(y), Src: int32(y - d), Rows: int32(n)})
				for i := range n {
					source[y+i] = y + i - d
				}
			}
			y += n
		}
		r := area.Region
		votes, changed := map[int]int{}, 0
		for y, from := range source {
			if from == y {
				continue
			}
			change.Spans = append(change.Spans, frame.Span{Row: int32(y), End: 8})
			inside := func(y int) bool { return y >= r.Y && y < r.Y+r.Height }
			if !inside(y) {
				continue
			}
			changed++
			if from >= 0 && inside(from) {
				votes[y-from]++
			}
		}
		best := 0
		for _, n := range votes {
			best = max(best, n)
		}
		dy, ok := c.rowsMoved(change)
		if want := best >= minRows && 2*best >= changed; ok != want || ok && votes[dy] != best {
			t.Errorf("seed %d: %d %v, want one with %d of %d rows: %v", seed, dy, ok, best, changed, fmt.Sprint(votes))
		}
	}
}
