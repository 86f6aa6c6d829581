package analyze

import (
	"errors"
	"iter"
	"slices"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// heldFrames are frames of which it is not known yet whether they are content, in order.
type heldFrames struct {
	shots  []*shot
	spare  []*shot
	before *still   // what the first of them is held against
	stills []*still // all there are; most are not in use
}

// shot is a step of its own.
type shot struct {
	step   frame.Step
	change frame.Change
	show   *still
}

// still is the pixels of a frame.
type still struct {
	pix   []byte
	image frame.Image
}

// keep copies a step.
func (h *heldFrames) keep(step *frame.Step) {
	if len(h.shots) == 0 {
		h.before = h.copy(step.Previous)
	}
	s := new(shot)
	if n := len(h.spare); n > 0 {
		s, h.spare = h.spare[n-1], h.spare[:n-1]
	}
	last := h.before
	if n := len(h.shots); n > 0 {
		last = h.shots[n-1].show
	}
	s.show = last
	if len(step.Change.Spans) > 0 {
		s.show = h.copy(step.Image)
	}
	s.change.Spans = append(s.change.Spans[:0], step.Change.Spans...)
	s.change.Moves = append(s.change.Moves[:0], step.Change.Moves...)
	s.step = frame.Step{Number: step.Number, Meta: step.Meta, Change: &s.change, Image: s.show.image,
		Previous: last.image}
	h.shots = append(h.shots, s)
}

// copy keeps an image in memory that nothing held needs.
func (h *heldFrames) copy(m frame.Image) *still {
	i := slices.IndexFunc(h.stills, func(s *still) bool {
		return s != h.before && !slices.ContainsFunc(h.shots, func(o *shot) bool { return o.show == s })
	})
	if i < 0 {
		i = len(h.stills)
		h.stills = append(h.stills, new(still))
	}
	s := h.stills[i]
	if s.image.Layout != m.Layout {
		s.pix = make([]byte, m.Layout.Size)
		s.image = m.Layout.View(s.pix)
	}
	m.CopyTo(s.pix)
	return s
}

// feed gives the frames until certain away.
func (h *heldFrames) feed(certain int, add func(*frame.Step) error) error {
	for len(h.shots) > 0 && h.shots[0].step.Number <= certain {
		s := h.shots[0]
		if err := add(&s.step); err != nil {
			return err
		}
		h.before = s.show
		h.shots = slices.Delete(h.shots, 0, 1)
		h.spare = append(h.spare, s)
	}
	return nil
}

// clear forgets all frames.
func (h *heldFrames) clear() {
	h.spare = append(h.spare, h.shots...)
	h.shots, h.before = h.shots[:0], nil
}

// errNotYet says that something is not known while frames still come.
var errNotYet = errors.New("that is not known before the red")

// firstFrame is the recording as it is known when a measure begins live: the first frame of
// content, and nothing else.
type firstFrame struct{ step *frame.Step }

func (r *firstFrame) Frames() int {
	if r.step == nil {
		return 0
	}
	return r.step.Number + 1
}

func (r *firstFrame) Segments() []frame.Segment    { return nil }
func (r *firstFrame) Gaps() []frame.Hole           { return nil }
func (r *firstFrame) Events() []timeline.EventHead { return nil }
func (r *firstFrame) Event(int) (timeline.Event, error) {
	return timeline.Event{}, errNotYet
}

func (r *firstFrame) Meta(n int) (frame.Meta, error) {
	if r.step == nil || n != r.step.Number {
		return frame.Meta{}, errNotYet
	}
	return r.step.Meta, nil
}

// Image returns a copy of the first frame.
func (r *firstFrame) Image(n int) (frame.Image, error) {
	if r.step == nil || n != r.step.Number {
		return frame.Image{}, errNotYet
	}
	pix := make([]byte, r.step.Image.Layout.Size)
	r.step.Image.CopyTo(pix)
	return r.step.Image.Layout.View(pix), nil
}

func (r *firstFrame) Changes(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) { yield(nil, errNotYet) }
}

func (r *firstFrame) Steps(from, to int) iter.Seq2[*frame.Step, error] { return r.Changes(from, to) }
