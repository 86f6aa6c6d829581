package activity

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Limits of a block.
const (
	blockSpan   = 1_000_000_000 // ns
	blockEvents = 1 << 18
	maxBlock    = 64 << 20 // bytes, unpacked
	maxOpens    = 1 << 19  // calls at its begin
	minTime     = -1 << 60 // ns
	maxTime     = 1 << 61
	maxPeriod   = 10 * blockSpan // of a sample
)

var errEnd = errors.New("unexpected end")

// block is a part of a trace: the states at its begin, and the events from then on.
type block struct {
	begin  int64
	states []State
	events []Event
}

// append writes the unpacked form.
func (b *block) append(raw []byte) []byte {
	raw = binary.AppendUvarint(raw, uint64(len(b.states)))
	for i := range b.states {
		raw = b.appendState(raw, &b.states[i])
	}
	raw = binary.AppendUvarint(raw, uint64(len(b.events)))
	for i := range b.events {
		raw = append(raw, byte(b.events[i].Kind))
	}
	last := b.begin
	for i := range b.events {
		raw = binary.AppendUvarint(raw, uint64(b.events[i].At-last))
		last = b.events[i].At
	}
	for i := range b.events {
		raw = binary.AppendUvarint(raw, uint64(b.events[i].Thread))
	}
	for i := range b.events {
		ref := b.events[i].Ref
		if b.events[i].Kind == Return { // of the innermost open call
			ref = 0
		}
		raw = binary.AppendUvarint(raw, uint64(ref))
	}
	for i := range b.events {
		raw = binary.AppendVarint(raw, b.events[i].Value)
	}
	return raw
}

func (b *block) appendState(raw []byte, s *State) []byte {
	raw = binary.AppendUvarint(raw, uint64(s.Thread))
	raw = append(raw, byte(s.On))
	if s.On != Unseen {
		raw = binary.AppendUvarint(raw, uint64(b.begin-s.Since))
	}
	raw = binary.AppendUvarint(raw, uint64(max(0, s.Lost-b.begin)))
	if s.On == OffCPU {
		raw = append(raw, byte(s.Reason))
		raw = binary.AppendUvarint(raw, uint64(s.Stack))
		woken := uint64(0)
		if s.Woken != Unended {
			woken = uint64(b.begin-s.Woken) + 1
		}
		raw = binary.AppendUvarint(raw, woken)
		raw = binary.AppendUvarint(raw, uint64(s.WokenBy))
	}
	raw = binary.AppendUvarint(raw, uint64(len(s.Calls)))
	for _, c := range s.Calls {
		raw = binary.AppendUvarint(raw, uint64(c.Function))
		raw = binary.AppendUvarint(raw, uint64(b.begin-c.Begin))
		end := uint64(0)
		if c.End != Unended {
			end = uint64(c.End - b.begin)
		}
		raw = binary.AppendUvarint(raw, end)
	}
	return raw
}

// input reads numbers. After the first error all are 0.
type input struct {
	raw  []byte
	at   int
	err  error
	name string
}

func (in *input) fail(err error) {
	if in.err == nil {
		in.err = fmt.Errorf("%s: byte %d: %w", in.name, in.at, err)
	}
}

func (in *input) byte() byte {
	if in.err != nil || in.at >= len(in.raw) {
		in.fail(errEnd)
		return 0
	}
	in.at++
	return in.raw[in.at-1]
}

// number reads a number up to a limit. Most have one byte.
func (in *input) number(limit uint64) uint64 {
	if in.at < len(in.raw) && in.raw[in.at] < 0x80 && uint64(in.raw[in.at]) <= limit && in.err == nil {
		in.at++
		return uint64(in.raw[in.at-1])
	}
	return in.longNumber(limit)
}

func (in *input) longNumber(limit uint64) uint64 {
	if in.err != nil {
		return 0
	}
	x, n := binary.Uvarint(in.raw[in.at:])
	switch {
	case n <= 0:
		in.fail(errEnd)
		return 0
	case x > limit:
		in.fail(fmt.Errorf("%d is more than %d", x, limit))
		return 0
	}
	in.at += n
	return x
}

func (in *input) signed() int64 {
	if in.err != nil {
		return 0
	}
	x, n := binary.Varint(in.raw[in.at:])
	if n <= 0 {
		in.fail(errEnd)
		return 0
	}
	in.at += n
	return x
}

// count reads a number of things that have at least some bytes each.
func (in *input) count(limit, bytes int) int {
	return int(in.number(uint64(min(limit, (len(in.raw)-in.at)/bytes))))
}

// lasts reports whether the Value of a kind is a duration.
func lasts(k Kind) bool { return k == Sample || k == Slice || k == Lost }

// bounds are the greatest numbers of the tables.
type bounds struct{ threads, functions, stacks uint64 }

// of returns the limit of an event's Ref.
func (l bounds) of(k Kind) uint64 {
	switch k {
	case Sample, Out:
		return l.stacks
	case Woken:
		return l.threads
	case Call, Slice, Instant, Counter:
		return l.functions
	case Return:
		return 0
	}
	return 1<<32 - 1
}

// read reads the unpacked form of a block.
func (b *block) read(in *input, l bounds) error {
	opens := 0
	for range in.count(MaxThreads+1, 4) {
		s := State{Thread: uint32(in.number(l.threads)), On: Running(in.byte())}
		if s.On > OffCPU {
			in.fail(fmt.Errorf("unknown state %d", s.On))
		}
		if s.On != Unseen {
			s.Since = b.begin - int64(in.number(2*maxTime))
		}
		if lost := in.number(2 * maxTime); lost > 0 {
			s.Lost = b.begin + int64(lost)
		}
		if s.On == OffCPU {
			s.Reason = Reason(in.byte())
			s.Stack, s.Woken = uint32(in.number(l.stacks)), Unended
			if woken := in.number(2*maxTime + 1); woken > 0 {
				s.Woken = b.begin - int64(woken-1)
			}
			s.WokenBy = uint32(in.number(l.threads))
		}
		n := in.count(MaxDepth, 3)
		if opens += n; opens > maxOpens {
			in.fail(fmt.Errorf("more than %d open calls", maxOpens))
			n = 0
		}
		if n > 0 {
			s.Calls = make([]OpenCall, n)
		}
		for i := range s.Calls {
			c := &s.Calls[i]
			c.Function, c.Begin = uint32(in.number(l.functions)), b.begin-int64(in.number(2*maxTime))
			if c.End = Unended; in.err == nil {
				if end := in.number(2 * maxTime); end > 0 {
					c.End = b.begin + int64(end)
				}
			}
		}
		if in.err != nil {
			return in.err
		}
		b.states = append(b.states, s)
	}
	b.events = make([]Event, in.count(blockEvents, 5))
	last := b.begin
	for i := range b.events {
		if b.events[i].Kind = Kind(in.byte()); b.events[i].Kind == 0 || b.events[i].Kind > Lost {
			in.fail(fmt.Errorf("unknown kind %d", b.events[i].Kind))
		}
	}
	for i := range b.events {
		last += int64(in.number(uint64(maxTime - min(last, maxTime))))
		b.events[i].At = last
	}
	for i := range b.events {
		b.events[i].Thread = uint32(in.number(l.threads))
	}
	for i := range b.events {
		b.events[i].Ref = uint32(in.number(l.of(b.events[i].Kind)))
	}
	for i := range b.events {
		e := &b.events[i]
		if e.Value = in.signed(); lasts(e.Kind) && (e.Value < 0 || e.Value > maxTime) ||
			e.Kind == Sample && e.Value > maxPeriod {
			in.fail(fmt.Errorf("impossible duration %d", e.Value))
		}
	}
	if in.err == nil && in.at < len(in.raw) {
		in.fail(errors.New("bytes after the end"))
	}
	if in.err == nil {
		b.name(in)
	}
	return in.err
}

// name gives each return the function of the innermost open call.
func (b *block) name(in *input) {
	now := begin(b.states)
	for i := range b.events {
		e := &b.events[i]
		switch e.Kind {
		case Return:
			of := now.get(e.Thread)
			of.end(e.At)
			k := of.innermost()
			if k < 0 {
				in.fail(fmt.Errorf("event %d returns without a call", i))
				return
			}
			e.Ref = of.Calls[k].Function
			now.step(*e)
		case Call, Slice:
			if now.step(*e); e.Thread == 0 || len(now.of[e.Thread].Calls) > MaxDepth {
				in.fail(fmt.Errorf("event %d is a call without a thread, or too deep", i))
				return
			}
		}
	}
}
