package visual

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// literalSSIM is the definition: two dimensions, two passes over each window, variances about the
// mean.
func literalSSIM(x, y []byte, width, height int, v SSIMVariant) float64 {
	at := func(p []byte, i, j int) float64 {
		reflect := func(i, n int) int {
			for i < 0 || i >= n {
				if i < 0 {
					i = -1 - i
				} else {
					i = 2*n - 1 - i
				}
			}
			return i
		}
		return float64(p[reflect(j, height)*width+reflect(i, width)])
	}
	first, lastX, lastY, peak := 0, width-11, height-11, 5.0
	if v == PySSIM {
		first, lastX, lastY, peak = -5, width-6, height-6, 5.5
	}
	var w [11][11]float64
	total := 0.0
	for j := range 11 {
		for i := range 11 {
			x, y := float64(i)-peak, float64(j)-peak
			w[j][i] = math.Exp(-(x*x + y*y) / (2 * 1.5 * 1.5))
			total += w[j][i]
		}
	}
	sum, n := 0.0, 0
	for top := first; top <= lastY; top++ {
		for left := first; left <= lastX; left++ {
			var mx, my, sxx, syy, sxy float64
			for j := range 11 {
				for i := range 11 {
					mx += w[j][i] / total * at(x, left+i, top+j)
					my += w[j][i] / total * at(y, left+i, top+j)
				}
			}
			for j := range 11 {
				for i := range 11 {
					dx, dy := at(x, left+i, top+j)-mx, at(y, left+i, top+j)-my
					sxx += w[j][i] / total * dx * dx
					syy += w[j][i] / total * dy * dy
					sxy += w[j][i] / total * dx * dy
				}
			}
			const c1, c2 = 6.5025, 58.5225
			sum += (2*mx*my + c1) * (2*sxy + c2) / ((mx*mx + my*my + c1) * (sxx + syy + c2))
			n++
		}
	}
	return sum / float64(n)
}

func randomPlane(rng *rand.Rand, width, height int) []byte {
	p := make([]byte, width*height)
	kind := rng.IntN(3)
	for i := range p {
		switch kind {
		case 0:
			p[i] = byte(rng.Uint32())
		case 1: // smooth
			p[i] = byte(i%width*3 + i/width*2)
		case 2: // blocks
			p[i] = byte((i%width/7 + i/width/5) % 3 * 120)
		}
	}
	return p
}

func TestSSIMIsTheLiteralOne(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		width, height := 11+rng.IntN(90), 11+rng.IntN(20)
		ref, cur := randomPlane(rng, width, height), randomPlane(rng, width, height)
		for _, v := range []SSIMVariant{Wang, PySSIM} {
			s := analyzetest.Must(NewSSIM(ref, width, width, height, v))(t)
			if s.Value() != 1 {
				t.Fatalf("the reference to itself has %v", s.Value())
			}
			got := analyzetest.Must(s.Update(cur, width, frame.Region{Width: width, Height: height}))(t)
			if want := literalSSIM(cur, ref, width, height, v); math.Abs(got-want) > 1e-9 {
				t.Fatalf("seed %d: %v of %dx%d is %v, want %v", seed, v, width, height, got, want)
			}
		}
	}
}

// TestSSIMOfFlatPictures: where nothing varies, σ is 0 and SSIM = (2·µx·µy + C1)/(µx² + µy² + C1),
// C1 = 6.5025.
//
//	0 against 255:   6.5025 / (65025 + 6.5025)                   = 0.0000999900…
//	100 against 200: (40000 + 6.5025) / (50000 + 6.5025)         = 0.8000260076…
//	254 against 255: (129540 + 6.5025) / (129541 + 6.5025)       = 0.9999922808…
func TestSSIMOfFlatPictures(t *testing.T) {
	for _, tc := range []struct {
		a, b byte
		want float64
	}{
		{0, 0, 1}, {255, 255, 1}, {0, 255, 0.0000999900}, {100, 200, 0.8000260076}, {254, 255, 0.9999922808},
	} {
		for _, v := range []SSIMVariant{Wang, PySSIM} {
			a, b := make([]byte, 20*13), make([]byte, 20*13)
			for i := range a {
				a[i], b[i] = tc.a, tc.b
			}
			s := analyzetest.Must(NewSSIM(b, 20, 20, 13, v))(t)
			if got, _ := s.Update(a, 20, frame.Region{Width: 20, Height: 13}); math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("%d against %d is %.10f, want %.10f", tc.a, tc.b, got, tc.want)
			}
		}
	}
}

// TestSSIMOfInvertedStripes: columns of 0 and 255 in turn against the same inverted. The sum of the
// weights at even distances from the peak is p. That of odd ones is q = 1 − p. By symmetry p ≈ q ≈
// 1/2 to 1e-3. For σ = 1.5 the sums are
//
//	p = w(0) + 2·w(2) + 2·w(4) = (1 + 2·0.411112 + 2·0.028566) / 3.759233  = 0.499931
//
// So µx is 255·p or 255·q, and µy the other; σxy = −σx·σy = −255²·p·q. SSIM is the same in all
// windows:
//
//	(2·255²·pq + C1)(−2·255²·pq + C2) / ((255²·(p² + q²) + C1)(2·255²·pq + C2)) = −0.996406…
func TestSSIMOfInvertedStripes(t *testing.T) {
	w := gaussian(5)
	p := w[5] + w[3] + w[7] + w[1] + w[9]
	q := 1 - p
	const l2, c1, c2 = 255 * 255, 6.5025, 58.5225
	want := (2*l2*p*q + c1) * (-2*l2*p*q + c2) / ((l2*(p*p+q*q) + c1) * (2*l2*p*q + c2))
	if math.Abs(want+0.9964) > 1e-4 {
		t.Fatalf("the formula gives %v: the case is wrong", want)
	}
	a, b := make([]byte, 30*12), make([]byte, 30*12)
	for i := range a {
		a[i] = byte(i%30%2) * 255
		b[i] = 255 - a[i]
	}
	s := analyzetest.Must(NewSSIM(b, 30, 30, 12, Wang))(t)
	if got, _ := s.Update(a, 30, frame.Region{Width: 30, Height: 12}); math.Abs(got-want) > 1e-9 {
		t.Errorf("is %v, want %v", got, want)
	}
}

func TestSSIMUpdatesAreExact(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 4))
		width, height := 11+rng.IntN(150), 11+rng.IntN(60)
		v := SSIMVariant(rng.IntN(2))
		ref := randomPlane(rng, width, height)
		cur := append([]byte(nil), ref...)
		s := analyzetest.Must(NewSSIM(ref, width, width, height, v))(t)
		for range 20 {
			r := frame.Region{X: rng.IntN(width), Y: rng.IntN(height)}
			r.Width, r.Height = 1+rng.IntN(width-r.X), 1+rng.IntN(height-r.Y)
			if rng.IntN(2) == 0 {
				r.Width, r.Height = min(r.Width, 4), min(r.Height, 9)
			}
			back := rng.IntN(3) == 0
			for y := r.Y; y < r.Y+r.Height; y++ {
				for x := r.X; x < r.X+r.Width; x++ {
					cur[y*width+x] = byte(rng.Uint32())
					if back {
						cur[y*width+x] = ref[y*width+x]
					}
				}
			}
			got := analyzetest.Must(s.Update(cur, width, r))(t)
			anew := analyzetest.Must(NewSSIM(ref, width, width, height, v))(t)
			want, _ := anew.Update(cur, width, frame.Region{X: -3, Y: -4, Width: width + 9, Height: height + 9})
			if got != want {
				t.Fatalf("seed %d: %v of %dx%d after an update of %v is %v, computed anew %v", seed, v, width, height,
					r, got, want)
			}
		}
	}
}

func TestSSIMRefusesWhatIsNoPlane(t *testing.T) {
	plane := make([]byte, 400)
	for _, tc := range []struct{ stride, width, height int }{
		{20, 10, 20}, {20, 20, 10}, {19, 20, 20}, {20, 20, 21}, {20, -1, 20}, {0, 0, 0}, {20, 1 << 40, 20},
	} {
		if _, err := NewSSIM(plane, tc.stride, tc.width, tc.height, Wang); err == nil {
			t.Errorf("%+v is taken", tc)
		}
	}
	s := analyzetest.Must(NewSSIM(plane, 20, 20, 20, Wang))(t)
	if _, err := s.Update(plane[:399], 20, frame.Region{Width: 1, Height: 1}); err == nil {
		t.Error("a plane that is one byte short is taken")
	}
}

func FuzzSSIM(f *testing.F) {
	f.Add(uint8(11), uint8(11), 0, 0, 11, 11, uint64(1), false)
	f.Add(uint8(100), uint8(12), 90, -1, 1<<62, 5, uint64(2), true)
	f.Fuzz(func(t *testing.T, w, h uint8, x, y, dw, dh int, seed uint64, py bool) {
		rng := rand.New(rand.NewPCG(seed, 5))
		width, height, v := max(11, int(w)), max(11, min(int(h), 40)), Wang
		if py {
			v = PySSIM
		}
		ref, cur := randomPlane(rng, width, height), randomPlane(rng, width, height)
		s := analyzetest.Must(NewSSIM(ref, width, width, height, v))(t)
		part, err := s.Update(cur, width, frame.Region{X: x, Y: y, Width: dw, Height: dh})
		if err != nil || part < -1 || part > 1 {
			t.Fatal(part, err)
		}
		all, _ := s.Update(cur, width, frame.Region{Width: width, Height: height})
		if want := literalSSIM(cur, ref, width, height, v); math.Abs(all-want) > 1e-9 {
			t.Fatalf("is %v, want %v", all, want)
		}
	})
}

func BenchmarkSSIM(b *testing.B) {
	const width, height = 1920, 1080
	rng := rand.New(rand.NewPCG(1, 2))
	ref, cur := randomPlane(rng, width, height), randomPlane(rng, width, height)
	for _, r := range []frame.Region{{Width: width, Height: height}, {Width: width, Height: height / 3},
		{X: 700, Y: 500, Width: 2, Height: 16}} {
		s := analyzetest.Must(NewSSIM(ref, width, width, height, Wang))(b)
		b.Run(fmt.Sprintf("dirty=%dx%d", r.Width, r.Height), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Update(cur, width, r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(r.Width*r.Height), "ns/px")
		})
	}
}
