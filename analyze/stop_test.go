package analyze_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// stopping ends a context with the n-th frame that is read, and counts the frames that are read
// afterwards.
type stopping struct {
	*filmtest.Film
	stop  context.CancelFunc
	left  int
	after int
}

func (s *stopping) read() {
	switch s.left--; {
	case s.left == 0:
		s.stop()
	case s.left < 0:
		s.after++
	}
}

func (s *stopping) Image(n int) (frame.Image, error) {
	s.read()
	return s.Film.Image(n)
}

func (s *stopping) steps(all iter.Seq2[*frame.Step, error]) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for step, err := range all {
			s.read()
			if !yield(step, err) {
				return
			}
		}
	}
}

func (s *stopping) Changes(from, to int) iter.Seq2[*frame.Step, error] {
	return s.steps(s.Film.Changes(from, to))
}

func (s *stopping) Steps(from, to int) iter.Seq2[*frame.Step, error] {
	return s.steps(s.Film.Steps(from, to))
}

// TestStops ends the context at any frame that is read, before and while frames are measured.
//
// Bug: run.cancel and SIGTERM did not end measures that look through the window before they
// begin.
func TestStops(t *testing.T) {
	m := filmtest.Blinking(t, 300, true)
	reads := 1 << 20
	for at := 1; at < reads; at = at*3/2 + 1 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			s := &stopping{Film: m, stop: stop, left: at}
			found, err := analyze.Analyze(ctx, s, measure.FramesWindow(s, 0, 300), analyze.Options{Workers: 1})
			if s.left > 0 {
				reads = at // the analysis had ended
				if err != nil || len(found.Results) == 0 {
					t.Errorf("%d reads: %v", at-s.left, err)
				}
				return
			}
			// A measure that goes through all frames notices with the next one.
			if !errors.Is(err, context.Canceled) || s.after > len(analyze.Names()) {
				t.Errorf("stopped at read %d: %d more, %v", at, s.after, err)
			}
		})
	}
	if reads < 300 {
		t.Errorf("all frames were measured with %d reads", reads)
	}
}

// TestReadsFramesIntoMemory measures a recording that reads frames into memory of others, and the
// same recording without that. Measures try frames of a scroll, and look for a checkerboard.
func TestReadsFramesIntoMemory(t *testing.T) {
	const width, height, moved, drawn = 96, 64, 3, 12
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, width, height))(t)
	rng := rand.New(rand.NewPCG(1, 1))
	page := make([]byte, 4*width*height)
	for i := range page {
		page[i] = byte(rng.Uint32())
	}
	film := make([][]byte, 2*drawn)
	for n := range film {
		pix := make([]byte, len(page))
		for y := range height {
			row, from := pix[4*width*y:][:4*width], page[4*width*y:][:4*width]
			left := 4 * moved * min(n, drawn) // the scroll goes through the columns again
			copy(row[copy(row, from[left:]):], from[:left])
			for x := range 4 * width / 2 {
				if n >= drawn { // cells of 8 pixels
					row[x] = byte(200 + 50*((x/4/8+y/8)%2))
				}
			}
		}
		film[n] = pix
	}
	r := recorded(t, f, film, 0)
	without := struct{ measure.Recording }{r}
	for name, c := range map[string]struct {
		value string
		want  float64
	}{"scroll": {"moving_frames", drawn}, "checkerboard": {"checkerboard_frames", drawn}} {
		w := measure.FramesWindow(r, 0, len(film))
		got := filmtest.One(t, r, w, analyze.Options{}, name)
		filmtest.SameNumbers(t, got, filmtest.One(t, without, w, analyze.Options{}, name))
		filmtest.WantValue(t, got, c.value, c.want)
	}
}
