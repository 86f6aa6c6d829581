package rig

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// pump takes every frame from the ring and hands it to the sink, with what is missing before it.
type pump struct {
	*recorder
	stop func() // ends the source

	account     ledger
	first, last frame.Meta // of frames handed over
	failed      bool       // the sink cannot go on
	over        bool       // the duration is: what still comes is not wanted
}

// run works until the ring ends, which it does after the source. Also when nothing more is to be stored it takes
// what comes, so that the source is not left waiting for a slot.
func (p *pump) run() error {
	defer p.reader.Close()
	var failure error
	for {
		// Not the caller's context: what was committed before it ended is still to be stored.
		lease, err := p.reader.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the ring: %w", err)
		}
		if err := p.take(lease); err != nil && failure == nil {
			failure = err
			p.failed = true
			p.conclude(WriteFailed)
			p.stop()
		}
	}
	if failure == nil && !p.over {
		failure = p.trailing()
	}
	return failure
}

// take handles one frame. It allocates nothing.
func (p *pump) take(lease *ringbuf.Lease[frame.Meta]) error {
	m := lease.Meta()
	switch {
	case p.over:
		lease.Release()
		return nil
	case p.failed:
		lease.Release()
		p.account.frame(m.Sequence)
		return nil
	}
	if err := p.holes(m, lease.LostBefore()); err != nil {
		lease.Release()
		return err
	}
	if p.durationOver(m) {
		lease.Release()
		p.over = true
		p.conclude(DurationOver)
		p.stop()
		return nil
	}
	if p.account.written == 0 {
		p.first = m
	}
	p.last = m
	p.account.frame(m.Sequence)
	p.account.written++
	if p.info.Clocked { // a source that waits keeps the ring full, and nothing is in danger
		p.out.SetPressure(p.ring.Fill())
	}
	// From here on the sink owns the lease, on errors too.
	return p.out.WriteFrame(lease.Bytes(), m, lease)
}

func (p *pump) durationOver(m frame.Meta) bool {
	d := p.options.Duration
	return d > 0 && p.account.written > 0 && m.Sampled.Mid().Sub(p.first.Sampled.Mid()) >= d
}

// holes turns a jump in sequence numbers into gap records: first what the ring lost, then what the source
// says of the rest.
func (p *pump) holes(m frame.Meta, lostBefore uint64) error {
	expected := p.account.next
	if !p.account.any {
		expected = m.Sequence - min(lostBefore, m.Sequence)
	}
	if m.Sequence < expected {
		return fmt.Errorf("source %s delivered frame %d after frame %d: sequence numbers must not go back", p.info.URI, m.Sequence, expected-1)
	}
	hole := m.Sequence - expected
	if hole == 0 {
		return nil
	}
	ringLost := min(lostBefore, hole)
	if err := p.gap(expected, ringLost, frame.RingFull, m.Sampled); err != nil {
		return err
	}
	cause := m.Missed
	if cause == frame.NoCause || !cause.Known() {
		cause = frame.DriverLost
	}
	return p.gap(expected+ringLost, hole-ringLost, cause, m.Sampled)
}

// gap records count missing frames, if any. They were on the screen after the frame before was first seen, and
// before after was last seen.
func (p *pump) gap(first, count uint64, cause frame.Cause, after timeline.Interval) error {
	if count == 0 {
		return nil
	}
	at := after
	if p.account.written > 0 {
		at.Earliest = min(p.last.Sampled.Earliest, after.Latest)
	}
	g := frame.Gap{First: first, Count: count, Cause: cause, At: at}
	p.account.gap(g)
	return p.out.Gap(g)
}

// trailing records what the ring lost after the last frame that it took.
func (p *pump) trailing() error {
	lost := p.ring.Stats().Trailing
	if lost == 0 {
		return nil
	}
	at := p.last.Sampled
	if !p.info.OwnClock {
		at.Latest = max(at.Latest, p.clock.Now())
	}
	return p.gap(p.account.next, lost, frame.RingFull, at)
}
