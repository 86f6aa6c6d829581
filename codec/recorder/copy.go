package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// Range is a part of a recording: frames From to To, To not included.
type Range struct {
	Reader   *recording.Reader
	From, To int
}

// CopyOptions say what a copy leaves out or changes. The zero value changes nothing.
type CopyOptions struct {
	Edit     Edit
	NoEvents bool           // leave all events out
	Progress func(done int) // told how many frames are done; may be nil
}

// Copy writes ranges of recordings to dst, one after the other: frames with numbers and times, gaps
// between them, and events. Metadata comes from the first range and describes the edit. The caller
// closes dst.
func Copy(ctx context.Context, dst *recording.Writer, ranges []Range, o CopyOptions) error {
	if len(ranges) == 0 {
		return errors.New("nothing to copy")
	}
	metadata, err := o.Edit.metadata(ranges[0].Reader.Metadata(), ranges[0].From > 0)
	if err != nil {
		return fmt.Errorf("copy metadata: %w", err)
	}
	for _, m := range metadata {
		if err := dst.Metadata(m.Name, m.Value); err != nil {
			return fmt.Errorf("copy metadata %s: %w", m.Name, err)
		}
	}
	c := copier{dst: dst, options: o}
	for _, r := range ranges {
		if err := c.events(r); err != nil {
			return err
		}
		if err := c.frames(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// copier carries the state from one range to the next.
type copier struct {
	dst     *recording.Writer
	options CopyOptions
	done    int
	segment *recording.Segment // of the last frame
	editor  *Editor            // of that segment
	spare   chan *buffer
}

// buffer lends the writer one frame's bytes.
type buffer struct {
	pix  []byte
	home chan *buffer
}

// Release gives the bytes back.
func (b *buffer) Release() {
	select {
	case b.home <- b:
	default:
	}
}

// spareBuffers is how many are kept for reuse: more than a writer holds at once.
const spareBuffers = 8

func (c *copier) buffer(size int) *buffer {
	if c.spare == nil {
		c.spare = make(chan *buffer, spareBuffers)
	}
	for {
		select {
		case b := <-c.spare:
			if len(b.pix) == size { // not from before the format changed
				return b
			}
		default:
			return &buffer{make([]byte, size), c.spare}
		}
	}
}

func (c *copier) frames(ctx context.Context, r Range) error {
	gaps := r.Reader.Gaps()
	begun := false
	for _, seg := range r.Reader.Segments() {
		from, to := max(r.From, seg.First), min(r.To, seg.First+seg.Frames)
		if from >= to {
			continue
		}
		// A range begins in the segment in which the one before it ended, if they are alike.
		if begun || !alike(c.segment, &seg) {
			if err := c.begin(&seg); err != nil {
				return fmt.Errorf("copy format: %w", err)
			}
		}
		begun, c.segment = true, &seg
		if err := c.play(ctx, r, gaps, from, to); err != nil {
			return err
		}
	}
	if r.To == r.Reader.Frames() {
		return c.gaps(gaps, r.To)
	}
	return nil
}

// begin starts a segment of the copy.
func (c *copier) begin(s *recording.Segment) (err error) {
	if c.editor, err = c.options.Edit.For(s.Layout); err != nil {
		return err
	}
	return c.dst.Segment(c.editor.Layout.Format, s.PeriodNum, s.PeriodDen)
}

// alike reports whether frames of both fit into one segment.
func alike(a, b *recording.Segment) bool {
	return a != nil && a.Layout.Format == b.Layout.Format && a.PeriodNum == b.PeriodNum && a.PeriodDen == b.PeriodDen
}

func (c *copier) play(ctx context.Context, r Range, gaps []recording.Gap, from, to int) error {
	p, err := r.Reader.Play(from, to)
	if err != nil {
		return fmt.Errorf("read frames %d:%d: %w", from, to, err)
	}
	defer p.Close()
	for p.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := p.Number()
		if n > r.From || n == 0 { // a gap before the first wanted frame is not between wanted ones
			if err := c.gaps(gaps, n); err != nil {
				return err
			}
		}
		m := p.Meta()
		if n == r.From && n > 0 && c.done == 0 {
			m.Flags &^= frame.FlagGapBefore
		}
		img := c.editor.Image(p.Image())
		b := c.buffer(img.Layout.Size)
		img.CopyTo(b.pix)
		if err := c.dst.WriteFrame(b.pix, m, b); err != nil {
			return fmt.Errorf("copy frame %d: %w", n, err)
		}
		c.done++
		if c.options.Progress != nil {
			c.options.Progress(c.done)
		}
	}
	if err := p.Err(); err != nil {
		return fmt.Errorf("read frames %d:%d: %w", from, to, err)
	}
	return nil
}

// gaps writes those that stand before frame n.
func (c *copier) gaps(all []recording.Gap, n int) error {
	i, _ := slices.BinarySearchFunc(all, n, func(g recording.Gap, n int) int { return g.Before - n })
	for ; i < len(all) && all[i].Before == n; i++ {
		if err := c.dst.Gap(all[i].Gap); err != nil {
			return fmt.Errorf("copy gap before frame %d: %w", n, err)
		}
	}
	return nil
}

// events copies events that happened while the range's frames were on the screen. It includes those
// before the first frame of the first recording if the range begins there. It also includes those
// after the last frame of the last recording if the range ends there.
func (c *copier) events(r Range) error {
	if r.From >= r.To || c.options.NoEvents {
		return nil
	}
	from, to := timeline.Time(-1<<63), timeline.Time(1<<63-1)
	if r.From > 0 {
		m, err := r.Reader.Meta(r.From)
		if err != nil {
			return fmt.Errorf("read frame %d: %w", r.From, err)
		}
		from = m.Sampled.Earliest
	}
	if r.To < r.Reader.Frames() {
		m, err := r.Reader.Meta(r.To)
		if err != nil {
			return fmt.Errorf("read frame %d: %w", r.To, err)
		}
		to = m.Sampled.Earliest
	}
	for n, e := range r.Reader.Events() {
		if e.At < from || e.At >= to {
			continue
		}
		whole, err := r.Reader.Event(n)
		if err != nil {
			return fmt.Errorf("copy event %q: %w", e.Kind, err)
		}
		if err := c.dst.Event(whole); err != nil {
			return fmt.Errorf("copy event %q: %w", e.Kind, err)
		}
	}
	return nil
}

// assemble writes the last window of frames of some consecutive recordings to path.
func assemble(ctx context.Context, path string, o recording.Options, window time.Duration, parts []string,
	progress func(done int)) (Result, error) {
	var ranges []Range
	defer func() {
		for _, r := range ranges {
			r.Reader.Close() // was only read
		}
	}()
	for _, part := range parts {
		r, err := recording.Open(part)
		if err != nil {
			return Result{}, err
		}
		ranges = append(ranges, Range{Reader: r, To: r.Frames()})
	}
	if err := trimToLast(ranges, window); err != nil {
		return Result{}, err
	}
	dst, err := recording.Create(path, o)
	if err != nil {
		return Result{}, err
	}
	err = Copy(ctx, dst, ranges, CopyOptions{Progress: progress})
	if err = errors.Join(err, dst.Close()); err != nil {
		return Result{}, errors.Join(err, os.Remove(path)) // the parts have it all
	}
	return summarize(path)
}

// trimToLast moves the beginnings of ranges to the first frame less than the window before the
// last.
func trimToLast(ranges []Range, window time.Duration) error {
	var last timeline.Time
	for i := len(ranges) - 1; i >= 0; i-- {
		if ranges[i].To == 0 {
			continue
		}
		m, err := ranges[i].Reader.Meta(ranges[i].To - 1)
		if err != nil {
			return err
		}
		last = m.Sampled.Mid()
		break
	}
	for i := range ranges {
		for r := &ranges[i]; r.From < r.To; r.From++ {
			m, err := r.Reader.Meta(r.From)
			if err != nil {
				return err
			}
			if last.Sub(m.Sampled.Mid()) < window {
				return nil
			}
		}
	}
	return nil
}
