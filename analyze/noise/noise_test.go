package noise_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/noise"
	"github.com/eideticker/eideticker/capture/frame"
)

// noisy is a film of a held screen with noise of up to ± amplitude on every sample. Then every
// third frame has one block of changed pixels.
func noisy(t testing.TB, p frame.PixelFormat, amplitude, held, more, block, levels int) *filmtest.Film {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(p, 192, 96))(t)
	m := filmtest.New(t, f)
	rng := rand.New(rand.NewPCG(uint64(amplitude), uint64(p)))
	pix := make([]byte, m.Layout.Size)
	for n := range held + more {
		for i := range pix {
			pix[i] = byte(120 + rng.IntN(2*amplitude+1) - amplitude)
		}
		if n >= held && (n-held)%6 >= 3 {
			for y := range block {
				row := m.Layout.Row(pix, 20+y)
				for x := range block {
					for c := range 3 {
						row[4*(30+x)+c] += byte(levels)
					}
				}
			}
		}
		m.Shoot(pix, 0)
	}
	return m
}

func TestCalibration(t *testing.T) {
	for _, amplitude := range analyzetest.Some([]int{0, 3, 1, 6}) {
		t.Run(fmt.Sprint(amplitude), func(t *testing.T) {
			m := noisy(t, frame.BGR4, amplitude, 60, 300, 4, 4*amplitude+1)
			n := analyzetest.Must(noise.Calibrate(t.Context(), m, frame.Region{}, nil, noise.Held{From: 0, To: 60}))(t)
			if n.Tolerance != 2*amplitude { // the greatest difference of two draws, which 18,000 pixels reach
				t.Errorf("τ is %d, want %d", n.Tolerance, 2*amplitude)
			}
			if (n.MinPixels == 0) != (amplitude == 0) {
				t.Errorf("m is %d", n.MinPixels)
			}
			if n.SmallestPixels > 16 {
				t.Errorf("only changes of %d pixels are seen", n.SmallestPixels)
			}
			w := measure.FramesWindow(m, 60, 360)
			w.MinPixels = n.MinPixels
			r := filmtest.One(t, m, w, analyze.Options{Tolerance: n.Tolerance}, "fps")
			filmtest.WantValue(t, r, "unique_frames", 1+99) // every third frame but the first
		})
	}
}

func TestCalibrationNeedsAHeldScreen(t *testing.T) {
	m := noisy(t, frame.BGR4, 1, 10, 6, 4, 100)
	for _, c := range []struct {
		name string
		held []noise.Held
		want string
	}{
		{"two frames", []noise.Held{{From: 0, To: 2}}, "at least 3 frames"},
		{"behind the end", []noise.Held{{From: 10, To: 30}}, "of 16"},
		{"before the beginning", []noise.Held{{From: -1, To: 30}}, "frames -1:30"},
		{"none", nil, "no screen is held"},
		{"one that is, and one in which something appears",
			[]noise.Held{{From: 0, To: 10}, {From: 10, To: 16, Pattern: true}}, "differs from the previous one by 10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := noise.Calibrate(t.Context(), m, frame.Region{}, nil, c.held...); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestCalibrationOnAPattern: a path that is clean on one colour and noisy where neighbours differ,
// as one that compresses is. Calibrated on the green alone every frame of the content is taken for
// unique; with the pattern none is.
func TestCalibrationOnAPattern(t *testing.T) {
	const green, pattern, content = 30, 60, 120
	shots, _ := filmtest.Scene(t, "pattern", "size=192x96&frames=1", nil)
	texture := shots.Pix[0]
	m := filmtest.New(t, shots.Layout.Format)
	rng := rand.New(rand.NewPCG(3, 4))
	pix := make([]byte, m.Layout.Size)
	for n := range green + pattern + content {
		copy(pix, texture)
		if n < green {
			for i := range pix {
				pix[i] = [4]byte{0, 255, 0, 0}[i%4]
			}
		}
		for i := 4; i < len(pix); i++ {
			if near := measure.AbsDiff(pix[i], pix[i-4]); i%4 < 3 && near > 40 && pix[i] > 8 && pix[i] < 247 {
				pix[i] += byte(rng.IntN(9) - 4)
			}
		}
		m.Shoot(pix, 0)
	}
	w := measure.FramesWindow(m, green+pattern, len(m.Pix))
	unique := func(held ...noise.Held) (*noise.Calibration, float64) {
		n := analyzetest.Must(noise.Calibrate(t.Context(), m, frame.Region{}, nil, held...))(t)
		w.MinPixels = n.MinPixels
		r := filmtest.One(t, m, w, analyze.Options{Tolerance: n.Tolerance}, "fps")
		v, _ := r.Find("unique_frames")
		return n, v.Value
	}
	if n, u := unique(noise.Held{From: 0, To: green}); n.Tolerance != 0 || n.Pattern != 0 || n.Frames != green ||
		u != content {
		t.Errorf("on the green alone: %v frames are unique, %+v", u, n)
	}
	n, u := unique(noise.Held{From: 0, To: green}, noise.Held{From: green, To: green + pattern, Pattern: true})
	if n.Tolerance != 8 || n.MinPixels == 0 || n.Pattern != pattern || n.Frames != green+pattern || u != 1 {
		t.Errorf("with the pattern: %v frames are unique, %+v", u, n)
	}
	noisy := 0
	for _, d := range n.Tiles {
		if d > 0 {
			noisy++
		}
	}
	if noisy == 0 {
		t.Error("no tile is told to be noisy")
	}
}

// renewed is a film in which a segment of the same format begins at a frame.
type renewed struct {
	*filmtest.Film
	at int
}

func (m renewed) Steps(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for step, err := range m.Film.Steps(from, to) {
			if err == nil && step.Number == m.at {
				step.Previous.Rows = nil
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

// TestCalibrationGoesOverSegments: a signal may begin anew while the pattern is held.
func TestCalibrationGoesOverSegments(t *testing.T) {
	m := noisy(t, frame.BGR4, 1, 20, 0, 4, 0)
	whole, err := noise.Calibrate(t.Context(), m, frame.Region{}, nil, noise.Held{From: 0, To: 20, Pattern: true})
	if err != nil {
		t.Fatal(err)
	}
	n, err := noise.Calibrate(t.Context(), renewed{m, 10}, frame.Region{}, nil, noise.Held{From: 0, To: 20,
		Pattern: true})
	if err != nil || n.Frames != 20 || n.Pattern != 20 || n.Tolerance != whole.Tolerance {
		t.Errorf("%+v, %v; in one segment %+v", n, err, whole)
	}
}

// stopped calls stop before it yields the frame of a number.
type stopped struct {
	*filmtest.Film
	at   int
	stop func()
	read int // the last frame that was yielded
}

func (s *stopped) Steps(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for step, err := range s.Film.Steps(from, to) {
			if s.read = step.Number; s.read == s.at {
				s.stop()
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

func TestCalibrationStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &stopped{Film: noisy(t, frame.BGR4, 1, 20, 0, 4, 0), at: 4, stop: cancel}
	if _, err := noise.Calibrate(ctx, s, frame.Region{}, nil, noise.Held{From: 0, To: 20}); !errors.Is(err,
		context.Canceled) ||
		s.read != s.at {
		t.Errorf("frame %d was the last, want %d; error %v", s.read, s.at, err)
	}
}
