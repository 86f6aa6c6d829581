package scroll_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// errand is a film of content that is moved by a script.
type errand struct {
	*filmtest.Film
	steps [][2]int // of each frame
}

// newErrand moves by small steps, each run in a direction of its own, with pauses; jumps lets some
// frames jump there and back.
func newErrand(t testing.TB, rng *rand.Rand, jumps bool) *errand {
	const width, height, side = 64, 56, 460
	f := analyzetest.Must(frame.NewFormat(frame.GREY, width, height))(t)
	e := &errand{Film: filmtest.New(t, f), steps: [][2]int{{}}}
	for len(e.steps) < 28 {
		var dx, dy int
		for dx == 0 && dy == 0 {
			dx, dy = rng.IntN(9)-4, rng.IntN(9)-4
		}
		for range 4 + rng.IntN(6) {
			e.steps = append(e.steps, [2]int{dx, dy})
		}
		for range []int{0, 1, 3, 15}[rng.IntN(4)] {
			e.steps = append(e.steps, [2]int{})
		}
	}
	if jumps {
		for range 3 {
			if n := 2 + rng.IntN(len(e.steps)-4); e.steps[n] != [2]int{} {
				far := 5 + rng.IntN(4)
				e.steps[n][1] += far
				e.steps[n+1][1] -= far
			}
		}
	}
	p := &textured{side, side, make([]byte, side*side)}
	for i := range p.pix { // patches of any shape
		switch p.pix[i] = byte(rng.IntN(256)); {
		case i%side > 0 && rng.IntN(5) < 2:
			p.pix[i] = p.pix[i-1]
		case i >= side && rng.IntN(5) < 2:
			p.pix[i] = p.pix[i-side]
		}
	}
	x, y := side/2-width/2, side/2-height/2
	pix := make([]byte, e.Layout.Size)
	for _, s := range e.steps {
		x, y = max(0, min(side-width, x-s[0])), max(0, min(side-height, y-s[1]))
		for row := range height {
			copy(pix[row*width:(row+1)*width], p.pix[(y+row)*side+x:])
		}
		e.Shoot(pix, 0)
	}
	return e
}

// literal is what the definition says of the script.
func (e *errand) literal() map[string]float64 {
	type run struct{ frames []int }
	var runs []run
	v := map[string]float64{}
	var lengths []float64
	period := e.Period.Seconds()
	for n, s := range e.steps {
		if s == [2]int{} {
			continue
		}
		length := math.Hypot(float64(s[0]), float64(s[1]))
		lengths = append(lengths, length)
		v["moving_frames"]++
		v["distance_x"] += float64(s[0])
		v["distance_y"] += float64(s[1])
		v["distance"] += length
		since := 1.0
		if len(runs) > 0 {
			r := &runs[len(runs)-1].frames
			last := (*r)[len(*r)-1]
			if b := e.steps[last]; float64(n-last)*period <= 0.2 && s[0]*b[0]+s[1]*b[1] >= 0 {
				*r = append(*r, n)
				v["took"] += float64(n-last) * period
				v["joined"]++
				v["travelled"] += length
				v["speed_max"] = max(v["speed_max"], length/period/float64(n-last))
				continue
			}
		}
		runs = append(runs, run{[]int{n}})
		v["speed_max"] = max(v["speed_max"], length/period/since)
	}
	slices.Sort(lengths)
	v["runs"] = float64(len(runs))
	v["displacement_max"] = lengths[len(lengths)-1]
	v["displacement_p50"] = lengths[(len(lengths)+1)/2-1]
	v["framerate"], v["speed"] = v["joined"]/v["took"], v["travelled"]/v["took"]
	for _, r := range runs {
		if len(r.frames) < 3 {
			continue
		}
		var ts, xs, ys []float64
		x, y := 0.0, 0.0
		for n := r.frames[0]; n <= r.frames[len(r.frames)-1]; n++ {
			x, y = x+float64(e.steps[n][0]), y+float64(e.steps[n][1])
			ts, xs, ys = append(ts, float64(n)), append(xs, x), append(ys, y)
		}
		ax, bx := leastSquares(ts, xs)
		ay, by := leastSquares(ts, ys)
		for i, at := range ts {
			off := math.Hypot(xs[i]-ax-bx*at, ys[i]-ay-by*at)
			v["motion_error_max"] = max(v["motion_error_max"], off)
			v["square"] += off * off
			v["places"]++
		}
	}
	v["motion_error_rms"] = math.Sqrt(v["square"] / v["places"])
	for _, name := range []string{"took", "joined", "travelled", "square", "places"} {
		delete(v, name)
	}
	return v
}

// leastSquares is the line by the normal equations, about the mean.
func leastSquares(ts, ys []float64) (a, b float64) {
	t, y := average(ts), average(ys)
	var ty, tt float64
	for i := range ts {
		ty, tt = ty+(ts[i]-t)*(ys[i]-y), tt+(ts[i]-t)*(ts[i]-t)
	}
	b = ty / tt
	return y - b*t, b
}

// TestScrollLiteral holds displacements and all that follows from them against the script of random
// films.
func TestScrollLiteral(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(200)) {
		rng := rand.New(rand.NewPCG(seed, 45))
		e := newErrand(t, rng, false)
		r := filmtest.One(t, e, measure.FramesWindow(e, 0, len(e.Pix)), analyze.Options{MinShare: 1 + rng.IntN(30)},
			"scroll")
		dx, dy := map[int]float64{}, map[int]float64{}
		for n, s := range e.steps {
			if s != [2]int{} {
				dx[n], dy[n] = float64(s[0]), float64(s[1])
			}
		}
		checkMoves(t, r, "dx", dx, 0)
		checkMoves(t, r, "dy", dy, 0)
		filmtest.WantValue(t, r, "undecided_frames", 0)
		for name, want := range e.literal() {
			if v, ok := r.Find(name); !ok || math.Abs(v.Value-want) > 1e-5*max(1, math.Abs(want)) ||
				v.State != measure.Exact {
				t.Errorf("seed %d: %s is %v, %s, want %v", seed, name, v.Value, v.State, want)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// TestScrollBoundsHoldTheTruth: in films with lost frames, including ones that jump there and back,
// the script's values are within the bounds.
func TestScrollBoundsHoldTheTruth(t *testing.T) {
	looked, wrong := 0, 0
	for seed := range analyzetest.Seeds(uint64(300)) {
		rng := rand.New(rand.NewPCG(seed, 46))
		e := newErrand(t, rng, seed%2 == 0)
		cut := filmtest.New(t, e.Layout.Format)
		lost, losing := 0, 0.02+rng.Float64()/8
		last := len(e.Pix) - 3 // behind it there is red
		e.steps = e.steps[:last]
		left := measure.Window{Kind: measure.ByMarkers, Green: 0, Start: 1}
		red := make([]byte, e.Layout.Size)
		filmtest.Fill(red, 211)
		for n := range last + 2 {
			pix := red
			if n < last {
				pix = e.Pix[n]
			}
			if n > 1 && n < last && rng.Float64() < losing {
				lost++
				continue
			}
			if n <= last {
				left.End = len(cut.Metas) - 1
			}
			cut.Shoot(pix, lost)
			lost = 0
		}
		left.Red = left.End + 1
		if len(cut.Metas) == last+2 {
			continue
		}
		r := filmtest.One(t, cut, left, analyze.Options{}, "scroll")
		if r.State == measure.Refused {
			continue
		}
		looked++
		e.steps[1] = [2]int{} // s moves as far as nobody asks
		for name, want := range e.literal() {
			v, ok := r.Find(name)
			if !ok {
				continue
			}
			if math.Abs(want-v.Value) > 1e-5 {
				wrong++
			}
			filmtest.WantHeld(t, name, v, want)
		}
		if len(r.Warnings) == 0 {
			t.Errorf("seed %d: nothing is said of what is lost", seed)
		}
		if t.Failed() {
			t.Fatalf("seed %d: lost before %v of %d", seed, cut.Holes, len(cut.Metas))
		}
	}
	if looked < int(analyzetest.Seeds(uint64(300)))/2 || wrong < looked {
		t.Errorf("of %d films %d values are not what they were", looked, wrong)
	}
}

func average(s []float64) (sum float64) {
	for _, x := range s {
		sum += x / float64(len(s))
	}
	return sum
}
