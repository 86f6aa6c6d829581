package analyze

import (
	"context"
	"iter"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// stoppable is a recording whose frames cannot be read once the context has ended. So every measure
// ends with it, also those that look through the window before they begin.
type stoppable struct {
	measure.Recording
	ctx context.Context
}

func (s stoppable) Image(n int) (frame.Image, error) {
	if err := s.ctx.Err(); err != nil {
		return frame.Image{}, err
	}
	return s.Recording.Image(n)
}

// ReadFrame copies the frame if the recording cannot read it into memory of others.
func (s stoppable) ReadFrame(n int, pix []byte) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if r, ok := s.Recording.(measure.FrameReader); ok {
		return r.ReadFrame(n, pix)
	}
	m, err := s.Recording.Image(n)
	for y, row := range m.Rows {
		copy(m.Layout.Row(pix, y), row)
	}
	return err
}

func (s stoppable) Rows(n int, rows []int) (frame.Image, error) {
	if err := s.ctx.Err(); err != nil {
		return frame.Image{}, err
	}
	return measure.Rows(s.Recording, n, rows)
}

func (s stoppable) Changes(from, to int) iter.Seq2[*frame.Step, error] {
	return s.until(s.Recording.Changes(from, to))
}

func (s stoppable) Steps(from, to int) iter.Seq2[*frame.Step, error] {
	return s.until(s.Recording.Steps(from, to))
}

func (s stoppable) Unfold(from, to int) iter.Seq2[*frame.Step, error] {
	if u, ok := s.Recording.(measure.Unfolder); ok {
		return s.until(u.Unfold(from, to))
	}
	return s.Steps(from, to)
}

func (s stoppable) until(steps iter.Seq2[*frame.Step, error]) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for step, err := range steps {
			if ended := s.ctx.Err(); ended != nil {
				yield(nil, ended)
				return
			}
			if !yield(step, err) {
				return
			}
		}
	}
}
