package analyze_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/eideticker/eideticker/analyze"
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
