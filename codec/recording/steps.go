package recording

import (
	"iter"

	"github.com/eideticker/eideticker/capture/frame"
)

// Changes iterates over the changes of frames from ≤ n < to without reading a pixel: see
// [Reader.Timeline]. An error is the last step.
func (r *Reader) Changes(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		t := r.Timeline(from, to)
		step := frame.Step{Change: t.Change()}
		for t.Next() {
			step.Number, step.Meta = t.Number(), t.Meta()
			step.Image.Layout = r.segments[t.seg].Layout
			step.Previous.Layout = step.Image.Layout
			if !yield(&step, nil) {
				return
			}
		}
		if t.Err() != nil {
			yield(nil, t.Err())
		}
	}
}

// Steps decodes frames from ≤ n < to in turn: see [Reader.Play]. An error is the last step.
func (r *Reader) Steps(from, to int) iter.Seq2[*frame.Step, error] {
	return r.steps(from, to, (*Player).Next, nil)
}

// Unfold is Steps for those who look at rows from top to bottom: rows of a step's image are there
// once its fillRows has been called.
func (r *Reader) Unfold(from, to int) iter.Seq2[*frame.Step, error] {
	return r.steps(from, to, (*Player).begin, (*Player).fillRows)
}

func (r *Reader) steps(from, to int, next func(*Player) bool, fill func(*Player, int) error) iter.Seq2[*frame.Step,
	error] {
	return func(yield func(*frame.Step, error) bool) {
		p, err := r.Play(from, to)
		if err != nil {
			yield(nil, err)
			return
		}
		defer p.Close()
		step := frame.Step{Change: p.lastChange()}
		if fill != nil {
			step.Fill = func(rows int) error { return fill(p, rows) }
		}
		for next(p) {
			step.Number, step.Meta, step.Image = p.Number(), p.Meta(), p.Image()
			step.Previous = frame.Image{Layout: step.Image.Layout}
			if previous, ok := p.previous(); ok {
				step.Previous = previous
			}
			if !yield(&step, nil) {
				return
			}
		}
		if p.Err() != nil {
			yield(nil, p.Err())
		}
	}
}
