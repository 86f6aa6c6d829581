package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/ringbuf"
)

// pump takes every frame from a stage's ring and gives it to the sink, after gaps for the missing
// ones. Sequence numbers and the account continue from stage to stage.
type pump struct {
	*recorder
	from *stage

	account     ledger
	first, last frame.Meta // of frames handed over
	lastCame    timeline.Time
	period      time.Duration // of the stage; 0 where it is not known
	failed      bool          // the sink cannot go on
	over        bool          // the duration is: what still comes is not wanted
	stalls      int           // that were written down
	worked      atomic.Int64  // nanoseconds in which frames were handed to the sink rather than waited for

	leases []*ringbuf.Lease[frame.Meta] // gathered, in order
	pixels [][]byte                     // theirs
}

// run works until the stage's ring ends, after the source. It drains the ring even if frames are no
// longer stored. So the source does not wait for a slot.
func (p *pump) run(from *stage) error {
	p.from, p.period = from, from.info.Period.Duration(1)
	defer from.reader.Close()
	var failure error
	for {
		// Not the caller's context: frames committed before it ended must be stored.
		lease, err := from.reader.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the ring: %w", err)
		}
		began := p.clock.Now()
		for _, lease := range p.gather(lease) {
			if err := p.take(lease); err != nil && failure == nil {
				failure = err
				p.recorder.failed()
				p.stop()
			}
		}
		p.worked.Add(int64(p.clock.Now().Sub(began)))
	}
	if failure == nil && !p.over {
		if failure = p.trailing(); failure != nil {
			p.recorder.failed()
		}
	}
	return failure
}

// gather returns first and the frames queued behind it. The sink gets them together, since that is
// faster. A source that waits gets time to fill half of the ring. A clocked source does not.
func (p *pump) gather(first *ringbuf.Lease[frame.Meta]) []*ringbuf.Lease[frame.Meta] {
	p.leases, p.pixels = append(p.leases[:0], first), append(p.pixels[:0], first.Bytes())
	reader, most := p.from.reader, min(recording.MaxAhead, p.from.ring.Slots()/2)
	for len(p.leases) < most {
		lease, err := reader.TryNext()
		if lease == nil && err == nil && !p.from.info.Clocked {
			lease, err = reader.Next(context.Background())
		}
		if lease == nil || err != nil {
			break // the next Next says so too
		}
		p.leases, p.pixels = append(p.leases, lease), append(p.pixels, lease.Bytes())
	}
	if len(p.leases) > 1 && !p.failed && !p.over {
		p.out.Ahead(p.pixels)
	}
	return p.leases
}

// take handles one frame. It allocates nothing.
func (p *pump) take(lease *ringbuf.Lease[frame.Meta]) error {
	m := lease.Meta()
	p.lastCame = max(p.lastCame, m.Sampled.Latest)
	switch {
	case p.over:
		lease.Release()
		return nil
	case p.failed:
		lease.Release()
		p.account.frame(m.Sequence)
		return nil
	}
	over := p.durationOver(m)
	if err := p.holes(m, lease.LostBefore(), over); err != nil {
		lease.Release()
		return err
	}
	if over {
		lease.Release()
		p.over = true
		p.conclude(durationOver)
		p.stop()
		return nil
	}
	if p.account.written == 0 {
		p.first = m
	}
	p.last = m
	p.from.took(m)
	p.account.frame(m.Sequence)
	p.account.wrote(m.Flags)
	if p.from.info.Clocked { // a source that waits keeps the ring full, and nothing is in danger
		p.out.SetPressure(p.from.ring.Fill())
	}
	began := p.clock.Now()
	watched, err := p.from.watchPump.write(int(p.account.written)-1, lease, m)
	if !watched {
		err = p.out.WriteFrame(lease.Bytes(), m, lease) // from here on the sink owns the lease, on errors too
	}
	if err == nil && p.from.info.Clocked {
		err = p.stalled(began)
	}
	return err
}

// stalled records that the sink took longer for a frame than a period of the signal. The ring had
// to hold the frames meanwhile.
func (p *pump) stalled(began timeline.Time) error {
	const most = 1000 // more of them are not written down
	now := p.clock.Now()
	waited := now.Sub(began)
	if p.period <= 0 || waited <= p.period || p.stalls >= most {
		return nil
	}
	p.stalls++
	data, err := json.Marshal(timeline.WriteStall{Waited: waited})
	if err != nil {
		return err
	}
	half := waited / 2
	return p.out.Event(timeline.Event{At: began.Add(half), Uncertainty: waited - half,
		Source: timeline.WriteStallSource, Kind: timeline.WriteStallKind, Data: data})
}

func (p *pump) durationOver(m frame.Meta) bool {
	d := p.options.Duration
	return d > 0 && p.account.written > 0 && m.Sampled.Mid().Sub(p.first.Sampled.Mid()) >= d
}

// unwanted is the number from which on frames are due after the duration, as far as the period
// tells. They are not missed.
func (p *pump) unwanted() uint64 {
	period := p.from.info.Period
	if p.options.Duration <= 0 || period.Num <= 0 || period.Den <= 0 {
		return math.MaxUint64
	}
	left := p.first.Sampled.Mid().Add(p.options.Duration).Sub(p.last.Sampled.Mid())
	// A thousandth of a period is tolerated: times are whole nanoseconds, and periods are not.
	periods := left.Seconds()*float64(period.Den)/float64(period.Num) - 0.001
	return p.last.Sequence + uint64(max(1, math.Ceil(periods)))
}

// holes turns a jump in sequence numbers into gap records: first the ring's losses, then the rest
// with the source's cause. Of a hole that goes beyond the duration, only frames due within it are
// missing.
func (p *pump) holes(m frame.Meta, lostBefore uint64, over bool) error {
	expected := p.account.next
	if !p.account.any {
		expected = m.Sequence - min(lostBefore, m.Sequence)
	}
	if m.Sequence < expected {
		return fmt.Errorf("source %s delivered frame %d after frame %d: sequence numbers must not go back",
			p.from.info.URI, m.Sequence, expected-1)
	}
	next := m.Sequence
	if over {
		next = min(next, max(expected, p.unwanted()))
	}
	hole := next - expected
	if hole == 0 {
		return nil
	}
	ringLost := min(lostBefore, hole)
	if err := p.gap(expected, ringLost, frame.RingFull, m.Sampled); err != nil {
		return err
	}
	return p.gap(expected+ringLost, hole-ringLost, p.cause(m), m.Sampled)
}

// cause is why the source left a hole before a frame.
func (p *pump) cause(m frame.Meta) frame.Cause {
	switch {
	case m.Missed != frame.NoCause && m.Missed.Known():
		return m.Missed
	case p.from.frames == 0: // the first of another format
		return frame.FormatChange
	}
	return frame.DriverLost
}

// gap records count missing frames, if any. They were on the screen after the frame before was
// first seen, and before after was last seen.
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

// trailing records the ring's losses after the last frame that the pump took. The next stage has
// another ring. The hole before its first frame is to state only the change.
func (p *pump) trailing() error {
	lost := p.from.ring.Stats().Trailing
	// frames due after the deadline are not missing, although the ring counted them
	if lost > 0 && p.account.written > 0 {
		lost = min(lost, max(p.account.next, p.unwanted())-p.account.next)
	}
	if lost == 0 {
		return nil
	}
	at := p.last.Sampled
	if !p.from.info.OwnClock {
		at.Latest = max(at.Latest, p.clock.Now())
	}
	return p.gap(p.account.next, lost, frame.RingFull, at)
}

// ending records the missing frames after the last stage. last is the highest number that the
// source has spent.
func (p *pump) ending(last uint64, why frame.Cause, any bool) error {
	if !any || !p.account.any || p.over {
		return nil
	}
	if last = min(last, p.unwanted()-1); last < p.account.next {
		return nil
	}
	if why == frame.NoCause || !why.Known() {
		why = frame.DriverLost
	}
	return p.gap(p.account.next, last+1-p.account.next, why, timeline.Interval{Earliest: p.last.Sampled.Latest,
		Latest: max(p.last.Sampled.Latest, p.clock.Now())})
}
