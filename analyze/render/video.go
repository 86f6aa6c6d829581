package render

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/eideticker/eideticker/capture/frame"
)

// maxHatched is how many slots one hole gets: ten seconds at 60 a second.
const maxHatched = 600

// Video is an MP4 in the making.
type Video struct {
	path    string
	layout  *frame.Layout
	overlay *Overlay
	pane    *pane
	encoder *encoder
	slots   *mapWriter
	last    Slot // of a frame
	cuts    []Cut
	err     error // the first that happened; sticky
	closed  bool
}

// NewVideo begins a video of frames of one layout; path ends in .mp4. An existing file is
// overwritten. Without eideticker-media the error wraps errors.ErrUnsupported.
func NewVideo(path string, l *frame.Layout, o VideoOptions) (*Video, error) {
	o, err := o.withDefaults(videoLines)
	if err != nil {
		return nil, err
	}
	g, b, size, err := single(l.Format, o)
	if err != nil {
		return nil, err
	}
	v := &Video{path: path, layout: l, overlay: o.Overlay}
	if v.encoder, err = newEncoder(path, size, o); err != nil {
		return nil, fmt.Errorf("make video %s: %w", path, err)
	}
	v.pane = newPane(v.encoder, l, g, b)
	v.slots, err = newMapWriter(path+".json", Map{
		Version: mapVersion, Width: size.X, Height: size.Y, RateNum: o.RateNum, RateDen: o.RateDen, Content: g.box(),
	})
	if err != nil {
		return nil, v.encoder.close(err)
	}
	return v, nil
}

// Add appends a frame of which nothing is known beside its pixels. Where s.Sequence leaves out
// numbers after that of the frame before, hatched slots come first.
func (v *Video) Add(img frame.Image, s Slot) error { return v.add(img, nil, s) }

// Step appends a frame of a sequence: the one after the frame that was appended before. As it is
// known how the two differ, this takes less work than Add.
func (v *Video) Step(s *frame.Step) error {
	return v.add(s.Image, s.Change, Slot{Frame: s.Number, Sequence: s.Meta.Sequence, Time: s.Meta.Sampled.Mid()})
}

func (v *Video) add(img frame.Image, change *frame.Change, s Slot) error {
	if v.closed {
		return fmt.Errorf("make video: %w", os.ErrClosed)
	}
	if v.err != nil {
		return v.err
	}
	if img.Layout.Format != v.layout.Format {
		return fmt.Errorf("make video of %v: frame %d is %v", v.layout.Format, s.Frame, img.Layout.Format)
	}
	v.fillHole(s.Sequence)
	v.pane.convert(img, change)
	if v.overlay.nothing(s.Frame) {
		if err := v.pane.blank(); err != nil && v.err == nil {
			v.err = err
		}
	} else {
		v.pane.scale()
	}
	v.last = s
	v.put(s, "")
	return v.err
}

// fillHole writes hatched slots for the frames missing before sequence number next.
func (v *Video) fillHole(next uint64) {
	if v.slots.slots == 0 || next <= v.last.Sequence+1 {
		return
	}
	last := v.last.Sequence
	missing := next - last - 1
	v.pane.hatch()
	for i := range min(missing, maxHatched) {
		v.put(Slot{Frame: -1, Sequence: last + 1 + i}, notRecorded)
	}
	if missing > maxHatched {
		v.cuts = append(v.cuts, Cut{Slot: v.slots.slots, Skipped: missing - maxHatched})
	}
}

// put writes the canvas as a slot.
func (v *Video) put(s Slot, note string) {
	if v.err != nil {
		return
	}
	v.pane.write(moment{frame: v.last.Frame, time: s.Time, note: note})
	if err := v.encoder.write(); err != nil {
		v.err = fmt.Errorf("make video %s: %w", v.path, err)
		return
	}
	v.slots.add(s)
}

// Close finishes the video and writes its map beside it. A video without frames, or one that could
// not be written, is removed. Close is idempotent.
func (v *Video) Close() error {
	if v.closed {
		return v.err
	}
	v.closed = true
	if err := v.encoder.close(v.err); err != nil && v.err == nil {
		v.err = fmt.Errorf("make video %s: %w", v.path, err)
	}
	if v.err != nil {
		v.slots.abandon()
		return v.err
	}
	if v.cuts == nil {
		v.cuts = []Cut{}
	}
	cuts, err := json.Marshal(v.cuts)
	if err == nil {
		err = v.slots.finish(`,"cuts":` + string(cuts))
	}
	if err != nil {
		v.err = err
		_ = os.Remove(v.path)
	}
	return v.err
}
