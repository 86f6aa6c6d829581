package analyze

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// noisy is a film of a held screen with noise of up to ± amplitude on every sample, and then one block of changed pixels in every third frame.
func noisy(t testing.TB, p frame.PixelFormat, amplitude, held, more, block, levels int) *film {
	t.Helper()
	f, err := frame.NewFormat(p, 192, 96)
	if err != nil {
		t.Fatal(err)
	}
	m := newFilm(t, f)
	rng := rand.New(rand.NewPCG(uint64(amplitude), uint64(p)))
	pix := make([]byte, m.layout.Size)
	for n := range held + more {
		for i := range pix {
			pix[i] = byte(120 + rng.IntN(2*amplitude+1) - amplitude)
		}
		if n >= held && (n-held)%6 >= 3 {
			for y := range block {
				row := m.layout.Row(pix, 20+y)
				for x := range block {
					for c := range 3 {
						row[4*(30+x)+c] += byte(levels)
					}
				}
			}
		}
		m.shoot(pix, 0)
	}
	return m
}

func TestCalibration(t *testing.T) {
	for _, amplitude := range analyzetest.Some([]int{0, 3, 1, 6}) {
		t.Run(fmt.Sprint(amplitude), func(t *testing.T) {
			m := noisy(t, frame.BGR4, amplitude, 60, 300, 4, 4*amplitude+1)
			n, err := Calibrate(m, 0, 60, frame.Region{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n.Tolerance != 2*amplitude { // the greatest difference of two draws, which 18,000 pixels reach
				t.Errorf("τ is %d, want %d", n.Tolerance, 2*amplitude)
			}
			if (n.MinPixels == 0) != (amplitude == 0) {
				t.Errorf("m is %d", n.MinPixels)
			}
			if n.SmallestPixels > 16 {
				t.Errorf("only changes of %d pixels are seen", n.SmallestPixels)
			}
			w := FramesWindow(m, 60, 360)
			w.MinPixels = n.MinPixels
			r := one(t, m, w, Options{Tolerance: n.Tolerance}, "fps")
			wantValue(t, r, "unique_frames", 1+99) // every third frame but the first
		})
	}
}

func TestCalibrationNeedsAHeldScreen(t *testing.T) {
	m := noisy(t, frame.BGR4, 1, 10, 0, 0, 0)
	if _, err := Calibrate(m, 0, 2, frame.Region{}, nil); err == nil {
		t.Error("two frames are enough")
	}
}

// TestPoissonBound holds the bound against counts worked by hand: with a mean of 1 the probabilities of more than 0…7 are
// 0.632, 0.264, 0.080, 0.019, 0.00366, 0.000594, 0.0000832, … .
func TestPoissonBound(t *testing.T) {
	for _, c := range []struct {
		mean, p float64
		want    int
	}{{1, 0.5, 1}, {1, 0.1, 2}, {1, 0.01, 4}, {1, 0.001, 5}, {1, 0.0001, 6}, {0, 0.5, 0}} {
		if got := poissonBound(c.mean, c.p); got != c.want {
			t.Errorf("mean %v, p %v: %d, want %d", c.mean, c.p, got, c.want)
		}
	}
}
