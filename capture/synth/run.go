package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// waitFunc waits until a time, or for the context's end.
type waitFunc func(ctx context.Context, until timeline.Time) error

// player is one Run.
type player struct {
	*Source
	ring   *capture.Ring
	events func(timeline.Event)
	start  timeline.Time
	next   uint64        // the frame to come
	late   bool          // frames before it were missed
	behind time.Duration // of a steady scene: its frames come that much after their times
	pings  []ping        // in the order of the cycle
}

// ping is an event that comes back with the cycle.
type ping struct {
	frame uint64
	data  json.RawMessage
}

// Run plays the scene into the ring; see capture.Source. The event "ping" of source "synth" bears
// the time of its frame and the data {"ping": number in the cycle, "pong_after_frames": n}.
func (s *Source) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	if s.closed {
		return s.errClosed()
	}
	if ring.SlotSize() < s.geo.size {
		return fmt.Errorf("play %s: a frame has %d bytes and the ring's slots only %d", s.info.URI, s.geo.size,
			ring.SlotSize())
	}
	p := &player{Source: s, ring: ring, events: events}
	for i, a := range s.truth.Pings {
		data := fmt.Appendf(nil, `{"ping":%d,"pong_after_frames":%d}`, i, a.Pong-a.Frame)
		p.pings = append(p.pings, ping{a.Frame, data})
	}
	if s.realtime {
		p.start = s.clock.Now()
		p.playOnTheClock(ctx)
		return nil
	}
	return p.play(ctx)
}

// play goes as fast as the ring takes frames.
func (p *player) play(ctx context.Context) error {
	for ; !p.atEnd() && ctx.Err() == nil; p.next++ {
		slot, err := p.ring.Acquire(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("play %s: %w", p.info.URI, err)
		}
		p.happen(p.next)
		p.show(slot)
	}
	return nil
}

// playOnTheClock shows each frame at its time, or soon after.
func (p *player) playOnTheClock(ctx context.Context) {
	for !p.atEnd() {
		if p.wait(ctx, p.due(p.next).Add(p.behind)) != nil {
			return
		}
		if p.steady {
			if p.hold(ctx) != nil {
				return
			}
		} else {
			p.skipMissed()
		}
		p.happen(p.next)
		if slot, ok := p.ring.TryAcquire(); ok {
			p.show(slot)
		}
		p.next++
	}
}

// unread is the number of frames that may wait for the reader of a steady scene. The reader may
// keep its current frame and the one before.
const unread = 2

// hold waits until the reader has taken the frames before. A late frame delays the rest. They keep
// their times, so that measures do not depend on the machine.
func (p *player) hold(ctx context.Context) error {
	for p.ring.Fill()*float64(p.ring.Slots()-1) > unread {
		if err := p.wait(ctx, p.clock.Now().Add(time.Millisecond)); err != nil {
			return err
		}
	}
	p.behind = max(p.behind, p.clock.Now().Sub(p.due(p.next))-p.info.Period.Duration(1))
	return nil
}

// due returns when frame n comes onto the screen.
func (p *player) due(n uint64) timeline.Time {
	return p.start.Add(p.info.Period.Duration(n))
}

// cardBuffers is the number of frames that wait for a late reader, like the buffers of a capture
// card's driver.
const cardBuffers = 8

// skipMissed gives up frames that no card would have kept: every buffer has been filled since. The
// scene's last frame is always shown.
func (p *player) skipMissed() {
	now := p.clock.Now()
	for now >= p.due(p.next+cardBuffers) && (p.total == 0 || p.next+1 < p.total) {
		p.happen(p.next)
		p.next++
		p.late = true
	}
}

func (p *player) atEnd() bool { return p.total > 0 && p.next >= p.total }

// show draws the next frame into a slot and commits it.
func (p *player) show(slot *ringbuf.Slot[frame.Meta]) {
	meta := frame.Meta{Sequence: p.next, Sampled: timeline.At(p.due(p.next))}
	if p.late {
		meta.Missed, p.late = frame.SourceLate, false
	}
	p.Render(p.next, slot.Bytes())
	slot.Commit(p.geo.size, meta)
}

// happen tells the events of frame n.
func (p *player) happen(n uint64) {
	if len(p.pings) == 0 || p.events == nil || !p.truth.isContent(n) {
		return
	}
	folded := p.truth.Cycle.Fold(n)
	for i := range p.pings {
		if p.pings[i].frame == folded {
			p.events(timeline.Event{At: p.due(n), Source: "synth", Kind: "ping", Data: p.pings[i].data})
		}
	}
}
