//go:build cgo

package render

import (
	"errors"
	"fmt"
	"os"

	"github.com/eideticker/eideticker/capture/frame"
)

// WritePair writes a video of two runs beside each other, aligned at the frames at which they start. The one that starts or
// ends before the other holds its first or last frame, and says so. Options' Overlay is not used: each side has its own.
// Like [NewVideo] it writes a map, a [PairMap], beside the video. What could not be written is removed.
func WritePair(path string, left, right Side, o VideoOptions) error {
	o, err := o.withDefaults(pairLines)
	if err != nil {
		return err
	}
	sides := [2]*Side{&left, &right}
	for _, s := range sides {
		if err := s.check(o); err != nil {
			return fmt.Errorf("make video of two runs: %w", err)
		}
	}
	p := &pair{}
	if err := p.run(path, sides, o); err != nil {
		return fmt.Errorf("make video of two runs: %w", err)
	}
	return nil
}

// pair is a video of two runs in the making.
type pair struct {
	canvas    *canvas
	panes     [2]*pane
	followers [2]*follower
	encoder   *encoder
	slots     *mapWriter
}

func (p *pair) run(path string, sides [2]*Side, o VideoOptions) (err error) {
	g, b, size, err := double([2]frame.Format{sides[0].Layout.Format, sides[1].Layout.Format},
		[2]*Overlay{&sides[0].Overlay, &sides[1].Overlay}, o)
	if err != nil {
		return err
	}
	if p.canvas, err = newCanvas(size); err != nil {
		return err
	}
	defer p.canvas.close()
	lead := int64(0)
	for i, s := range sides {
		if p.panes[i], err = newPane(p.canvas, s.Layout, g[i], b[i]); err != nil {
			return err
		}
		defer p.panes[i].close()
		if p.followers[i], err = newFollower(s, o); err != nil {
			return err
		}
		defer p.followers[i].stop()
		lead = max(lead, p.followers[i].lead())
	}
	if p.encoder, err = newEncoder(path, size, o); err != nil {
		return err
	}
	defer func() {
		if err = p.encoder.close(err); err != nil {
			_ = os.Remove(path + ".json")
		}
	}()
	p.slots, err = newMapWriter(path+".json", PairMap{
		Version: MapVersion, Width: size.X, Height: size.Y, RateNum: o.RateNum, RateDen: o.RateDen,
		Content: [2]Box{g[0].box(), g[1].box()}, Start: int(lead),
	})
	if err != nil {
		return err
	}
	if err := p.play(-lead); err != nil {
		p.slots.abandon()
		return err
	}
	return p.slots.finish("")
}

// play writes slot after slot until both runs have ended.
func (p *pair) play(n int64) error {
	for ; ; n++ {
		var slots [2]Slot
		for i, f := range p.followers {
			s, note, err := f.advance(n, func(step *frame.Step) { p.panes[i].convert(step.Image, step.Change) })
			if err != nil {
				return err
			}
			slots[i] = s
			p.show(i, s, note)
		}
		if err := p.encoder.write(p.canvas.mat); err != nil {
			return err
		}
		p.slots.add(slots[:]...)
		if p.followers[0].done(n) && p.followers[1].done(n) {
			return errors.Join(p.followers[0].checkLined(), p.followers[1].checkLined())
		}
	}
}

// show brings a pane to what is to be seen of its run.
func (p *pair) show(i int, s Slot, note string) {
	if note == notRecorded {
		p.panes[i].hatch()
	} else {
		p.panes[i].scale()
	}
	p.panes[i].write(moment{frame: p.followers[i].last.Frame, time: s.Time, note: note})
}
