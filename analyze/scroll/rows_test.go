package scroll

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestRowsMovedLiteral holds the vertical displacement of the codec's rows against counting rows
// one by one.
func TestRowsMovedLiteral(t *testing.T) {
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 64, 200))(t)
	l := analyzetest.Must(frame.NewLayout(f))(t)
	for seed := range analyzetest.Seeds(uint64(300)) {
		rng := rand.New(rand.NewPCG(seed, 12))
		var region frame.Region
		if rng.IntN(2) == 0 {
			x, y := rng.IntN(f.Width/2), rng.IntN(f.Height/2)
			region = frame.Region{X: x, Y: y, Width: 6 + rng.IntN(f.Width-x-5), Height: 6 + rng.IntN(f.Height-y-5)}
		}
		area, err := measure.NewArea(l, region, nil)
		if err != nil {
			continue
		}
		c := &measure.Case{Layout: l, Area: area}
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
		dy, ok := rowsMoved(c, change)
		if want := best >= minRows && 2*best >= changed; ok != want || ok && votes[dy] != best {
			t.Errorf("seed %d: %d %v, want one with %d of %d rows: %v", seed, dy, ok, best, changed, fmt.Sprint(votes))
		}
	}
}
