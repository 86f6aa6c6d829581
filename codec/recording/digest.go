package recording

import (
	"fmt"
	"io"
)

// Digest writes the content of the recording: formats, gaps, metadata and events. It also writes
// each frame's time and hash. A packed recording has the same digest as its original. Pixels are
// not read. Lost or damaged parts are named as such.
func (r *Reader) Digest(to io.Writer) error {
	b := fmt.Appendf(nil, "recording %x complete %v frames %d events %d\n", r.header.id, r.complete, len(r.frames),
		len(r.events))
	for _, s := range r.segments {
		b = fmt.Appendf(b, "segment %d %+v %d/%d\n", s.First, s.Layout.Format, s.PeriodNum, s.PeriodDen)
	}
	for _, g := range r.gaps {
		b = fmt.Appendf(b, "gap %d %d %d %d %+v\n", g.Before, g.First, g.Count, g.Cause, g.At)
	}
	for _, m := range r.metadata {
		b = fmt.Appendf(b, "metadata %q %q\n", m.Name, m.Value)
	}
	if _, err := to.Write(b); err != nil {
		return err
	}
	for n := range r.events {
		e, err := r.Event(n)
		if b = fmt.Appendf(b[:0], "event %d %d %q %q %q\n", e.At, e.Uncertainty, e.Source, e.Kind, e.Data); err != nil {
			b = fmt.Appendf(b[:0], "event %d is damaged\n", n)
		}
		if err != nil && !isCorrupt(err) {
			return err
		}
		if _, err := to.Write(b); err != nil {
			return err
		}
	}
	var h frameHead
	for n := range r.frames {
		err := r.frameHead(n, &h)
		m, at := &h.meta, h.meta.Sampled
		b = fmt.Appendf(b[:0], "frame %d %d %d %d %d %x\n", m.Sequence, at.Earliest, at.Latest, m.Flags, m.Missed,
			h.hash)
		if err != nil {
			b = fmt.Appendf(b[:0], "frame %d is damaged\n", n)
		}
		if err != nil && !isCorrupt(err) {
			return err
		}
		if _, err := to.Write(b); err != nil {
			return err
		}
	}
	return nil
}
