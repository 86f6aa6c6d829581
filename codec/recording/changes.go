package recording

import (
	"fmt"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// Timeline goes through the changes of frames one after another without reading a pixel. It is used
// by one goroutine.
type Timeline struct {
	r      *Reader
	to     int
	number int
	err    error
	seg    int

	interval int32
	heads    []byte // of the interval; nil: unread

	head   frameHead
	delta  rowdelta.Delta
	change frame.Change
}

// Timeline returns the changes of frames from up to, and not including, to.
func (r *Reader) Timeline(from, to int) *Timeline {
	t := &Timeline{r: r, to: to, number: from - 1}
	if from < 0 || to > len(r.frames) || from > to {
		t.err = fmt.Errorf("frames %d:%d are outside the recording's %d frames", from, to, len(r.frames))
	}
	return t
}

// Next moves to the next frame, and reports whether there is one whose changes are known.
func (t *Timeline) Next() bool {
	if t.err != nil || t.number+1 >= t.to {
		return false
	}
	t.number++
	r := t.r
	if t.seg+1 < len(r.segments) && r.segments[t.seg+1].First <= t.number || t.number < r.segments[t.seg].First {
		t.seg = r.segmentIndex(t.number)
	}
	f := &r.frames[t.number]
	if f.offset == 0 {
		t.err = r.lost(t.number)
		return false
	}
	var err error
	if t.heads == nil || t.interval != f.interval {
		t.interval = f.interval
		t.heads, err = r.heads(f.interval)
	}
	if err == nil {
		err = t.head.parse(t.heads[f.headAt:f.headAt+f.headLen], 0, f.bodyLen, true)
	}
	if err == nil {
		err = t.delta.Parse(t.head.delta, r.segments[t.seg].Layout)
	}
	if err != nil {
		t.err = fmt.Errorf("frame %d: %w", t.number, &CorruptError{f.offset, err.Error()})
		return false
	}
	t.delta.Change(&t.change)
	return true
}

// Number returns the number of the current frame.
func (t *Timeline) Number() int { return t.number }

// Meta returns the metadata of the current frame.
func (t *Timeline) Meta() frame.Meta { return t.r.frames[t.number].meta }

// Change returns how the current frame differs from the one before it, valid until the next call of
// Next. In the first frame of a segment everything is changed.
func (t *Timeline) Change() *frame.Change { return &t.change }

// Err returns why Next stopped before the last frame, or nil.
func (t *Timeline) Err() error { return t.err }
