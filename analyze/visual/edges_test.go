package visual

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// edgesPicture is a picture with noise, blocks and slopes, and blocks with noise below the
// thresholds.
func edgesPicture(rng *rand.Rand, width, height int) []byte {
	p := make([]byte, width*height)
	kind, amp := rng.IntN(5), 1+rng.IntN(60)
	bw, bh := 3+rng.IntN(20), 3+rng.IntN(20)
	for i := range p {
		x, y := i%width, i/width
		block := byte((x/bw*7 + y/bh*3) % 5 * 50)
		switch kind {
		case 0:
			p[i] = byte(rng.Uint32())
		case 1:
			p[i] = block
		case 2:
			p[i] = byte(128 + 100*math.Sin(float64(x)/float64(bw))*math.Cos(float64(y)/float64(bh)))
		case 3:
			p[i] = block/2 + byte(rng.IntN(amp))
		case 4:
			p[i] = byte(rng.IntN(amp)) // little contrast
		}
	}
	return p
}

// literalEdges is the definition, step by step, with the blur's weights made as the definition
// says.
func literalEdges(p []byte, width, height int) []byte {
	var weights [13]int
	var exact [13]float64
	sum := 0.0
	for i := range exact {
		exact[i] = math.Exp(-float64((i-6)*(i-6)) / 2)
		sum += exact[i]
	}
	carry, all := 0.0, 0
	for i := range 6 {
		v := exact[i]/sum*256 + carry
		weights[i] = int(math.RoundToEven(v))
		weights[12-i] = weights[i]
		carry = v - float64(weights[i])
		all += 2 * weights[i]
	}
	weights[6] = 256 - all

	reflect := func(i, n int) int {
		for n > 1 && (i < 0 || i >= n) {
			if i < 0 {
				i = -i
			} else {
				i = 2*n - 2 - i
			}
		}
		return min(max(i, 0), n-1)
	}
	blurred := make([]int, width*height)
	least, largest := 255, 0
	for y := range height {
		for x := range width {
			v := 0
			for j := range 13 {
				for i := range 13 {
					v += weights[j] * weights[i] * int(p[reflect(y+j-6, height)*width+reflect(x+i-6, width)])
				}
			}
			b := (v + 1<<15) >> 16
			blurred[y*width+x] = b
			least, largest = min(least, b), max(largest, b)
		}
	}
	at := func(x, y int) int { return blurred[min(max(y, 0), height-1)*width+min(max(x, 0), width-1)] }
	grad := func(x, y int) (dx, dy, m int) {
		if x < 0 || y < 0 || x >= width || y >= height {
			return 0, 0, 0
		}
		for d := -1; d <= 1; d++ {
			w := 2 - d*d
			dx += w * (at(x+1, y+d) - at(x-1, y+d))
			dy += w * (at(x+d, y+1) - at(x+d, y-1))
		}
		return dx, dy, max(dx, -dx) + max(dy, -dy)
	}
	low := int(math.Floor(0.1*float64(largest-least) + float64(least)))
	high := int(math.Floor(0.3*float64(largest-least) + float64(least)))
	peak := make([]int, width*height)
	for y := range height {
		for x := range width {
			dx, dy, m := grad(x, y)
			mag := func(i, j int) int { _, _, m := grad(x+i, y+j); return m }
			ok := false
			switch tan := math.Abs(float64(dy)) / math.Abs(float64(dx)); {
			case dx == 0 && dy == 0:
			case tan < 13573.0/32768:
				ok = m > mag(-1, 0) && m >= mag(1, 0)
			case dx == 0 || tan > 2+13573.0/32768:
				ok = m > mag(0, -1) && m >= mag(0, 1)
			case (dx < 0) != (dy < 0):
				ok = m > mag(1, -1) && m > mag(-1, 1)
			default:
				ok = m > mag(-1, -1) && m > mag(1, 1)
			}
			if ok && m > low {
				peak[y*width+x] = m
			}
		}
	}
	edges := make([]byte, width*height)
	for i, m := range peak {
		if m > high {
			edges[i] = 255
		}
	}
	for grown := true; grown; {
		grown = false
		for i, m := range peak {
			if m == 0 || edges[i] != 0 {
				continue
			}
			for j := max(i/width-1, 0); j <= min(i/width+1, height-1); j++ {
				for k := max(i%width-1, 0); k <= min(i%width+1, width-1); k++ {
					if edges[j*width+k] != 0 {
						edges[i], grown = 255, true
					}
				}
			}
		}
	}
	return edges
}

func edgesOf(t *testing.T, p []byte, width, height int) []byte {
	t.Helper()
	e := analyzetest.Must(NewEdges(width, height))(t)
	n := analyzetest.Must(e.Update(p, width, frame.Region{Width: width, Height: height}))(t)
	got := make([]byte, width*height)
	analyzetest.Check(t, e.mark(got, width))
	if c := bytes.Count(got, []byte{255}); c != n || n != e.Count() {
		t.Fatalf("%d are marked, %d counted, %d returned", c, e.Count(), n)
	}
	return got
}

func TestEdgesAreTheLiteralOnes(t *testing.T) {
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 6))
		width, height := 1+rng.IntN(90), 1+rng.IntN(40)
		p := edgesPicture(rng, width, height)
		if !bytes.Equal(edgesOf(t, p, width, height), literalEdges(p, width, height)) {
			t.Fatalf("seed %d: %dx%d: other edges than by definition", seed, width, height)
		}
	}
}

// TestEdgesOfOneStep: columns of 0 to the left and of 200 from column 10 on. Blurred, columns 7 to
// 12 are
//
//	200·(1, 15, 77, 179, 241, 255)/256
//	= 0.78, 11.7, 60.2, 139.8, 188.3, 199.2 → 1, 12, 60, 140, 188, 199
//
// and 200 from 13 on. |dx| = 4·(right − left): column 8: 4·59 = 236; 9: 4·128 = 512; 10: 4·128 =
// 512; 11: 4·59 = 236. Columns 9 and 10 are equal. The peak is larger than its left and not smaller
// than its right neighbour: column 9. low = 20, high = 60. So the edge is column 9, in all lines.
func TestEdgesOfOneStep(t *testing.T) {
	const width, height = 20, 5
	p := make([]byte, width*height)
	for i := range p {
		if i%width >= 10 {
			p[i] = 200
		}
	}
	for i, v := range edgesOf(t, p, width, height) {
		if want := i%width == 9; want != (v == 255) {
			t.Errorf("column %d of line %d: edge is %v", i%width, i/width, !want)
		}
	}
}

// TestCannyThresholds: 0.1·250 is 25 and 0.3·250 is 75 in float64. 0.1·255 + 0 = 25.5 → 25; 0.3·255
// = 76.5 → 76. 0.3·10 is 3, and 0.1·10 + 9 = 10. A flat picture's thresholds are its value, which
// no gradient exceeds.
func TestCannyThresholds(t *testing.T) {
	for _, tc := range []struct{ least, largest, low, high int }{
		{0, 255, 25, 76}, {5, 255, 30, 80}, {9, 19, 10, 12}, {0, 0, 0, 0}, {255, 255, 255, 255}, {100, 200, 110, 130},
		{0, 1, 0, 0},
	} {
		if low, high := cannyThresholds(tc.least, tc.largest); low != tc.low || high != tc.high {
			t.Errorf("%d…%d: %d and %d, want %d and %d", tc.least, tc.largest, low, high, tc.low, tc.high)
		}
	}
}

func TestEdgesUpdatesAreExact(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		width, height := 1+rng.IntN(200), 1+rng.IntN(60)
		cur := make([]byte, width*height)
		e := analyzetest.Must(NewEdges(width, height))(t)
		for range 25 {
			next := edgesPicture(rng, width, height)
			r := frame.Region{X: rng.IntN(width), Y: rng.IntN(height)}
			r.Width, r.Height = 1+rng.IntN(width-r.X), 1+rng.IntN(height-r.Y)
			if rng.IntN(2) == 0 {
				r.Width, r.Height = min(r.Width, 4), min(r.Height, 9)
			}
			for y := r.Y; y < r.Y+r.Height; y++ {
				copy(cur[y*width+r.X:][:r.Width], next[y*width+r.X:])
			}
			analyzetest.Must(e.Update(cur, width, r))(t)
			got := make([]byte, width*height)
			analyzetest.Check(t, e.mark(got, width))
			if !bytes.Equal(got, edgesOf(t, cur, width, height)) {
				t.Fatalf("seed %d: %dx%d: after an update of %v other edges than anew", seed, width, height, r)
			}
		}
	}
}

func FuzzEdges(f *testing.F) {
	f.Add(uint8(1), uint8(1), 0, 0, 1, 1, uint64(1))
	f.Add(uint8(65), uint8(3), -5, 1, 1<<62, 1<<62, uint64(2))
	f.Fuzz(func(t *testing.T, w, h uint8, x, y, dw, dh int, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 8))
		width, height := max(1, int(w)), max(1, min(int(h), 30))
		p := edgesPicture(rng, width, height)
		e := analyzetest.Must(NewEdges(width, height))(t)
		analyzetest.Must(e.Update(p, width, frame.Region{X: x, Y: y, Width: dw, Height: dh}))(t)
		if !bytes.Equal(edgesOf(t, p, width, height), literalEdges(p, width, height)) {
			t.Fatal("other edges than by definition")
		}
	})
}

func BenchmarkEdges(b *testing.B) {
	const width, height = 1920, 1080
	rng := rand.New(rand.NewPCG(1, 2))
	textPix := textual(rng, width*height)
	text, other := make([]byte, width*height), make([]byte, width*height)
	Luma(text, textPix)
	Luma(other, textual(rng, width*height))
	for _, r := range []frame.Region{{Width: width, Height: height}, {Width: width, Height: height / 3},
		{X: 700, Y: 500, Width: 2, Height: 16}} {
		e := analyzetest.Must(NewEdges(width, height))(b)
		b.Run(fmt.Sprintf("dirty=%dx%d", r.Width, r.Height), func(b *testing.B) {
			cur, next := text, other
			for b.Loop() {
				cur, next = next, cur
				if _, err := e.Update(cur, width, r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(r.Width*r.Height), "ns/px")
		})
	}
}

// mark sets dst, a plane of the picture's size, to 255 on edges and to 0 elsewhere.
func (e *Edges) mark(dst []byte, stride int) error {
	if err := checkPlane(dst, stride, e.width, e.height); err != nil {
		return err
	}
	for y := range e.height {
		row := dst[y*stride:][:e.width]
		for x, s := range e.seen[(y+1)*e.pw+1:][:e.width] {
			row[x] = 0
			if s {
				row[x] = 255
			}
		}
	}
	return nil
}
