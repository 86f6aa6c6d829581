package render

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"os"

	"github.com/eideticker/eideticker/capture/frame"
)

// Side is one of two runs that are shown beside each other.
type Side struct {
	Layout *frame.Layout
	// Steps are the frames to show, all of Layout, in order. Those before the start are shown too.
	Steps iter.Seq2[*frame.Step, error]
	// Start is the number of the frame at which the two runs line up, such as that of T0. It is among
	// Steps.
	Start int
	// Before is how many frames the source produced from the first of Steps to Start: the
	// difference of their sequence numbers.
	Before uint64
	// RateNum/RateDen are frames a second; 0/0 for the video's.
	RateNum, RateDen int64
	Overlay          Overlay
}

// ErrPair is wrapped where two runs cannot be lined up.
var ErrPair = errors.New("runs cannot be lined up")

const (
	notBegun = "not begun"
	ended    = "ended"
	// maxPairHole bounds how many slots are spent before a start or on a hole: it cannot be cut, as
	// the other run goes on.
	maxPairHole = 1 << 20
)

func (s *Side) check(o VideoOptions) error {
	if s.Layout == nil || s.Steps == nil {
		return fmt.Errorf("%w: one has no frames", ErrPair)
	}
	if s.RateNum == 0 && s.RateDen == 0 {
		s.RateNum, s.RateDen = o.RateNum, o.RateDen
	}
	if s.RateNum < 1 || s.RateDen < 1 {
		return fmt.Errorf("%w: rate of %d/%d frames a second", ErrPair, s.RateNum, s.RateDen)
	}
	if s.Before > maxPairHole {
		return fmt.Errorf("%w: one starts %d frames after its first, want at most %d", ErrPair, s.Before, maxPairHole)
	}
	return nil
}

// WritePair writes a video of two runs beside each other, aligned at the frames at which they
// start. The one that starts or ends before the other holds its first or last frame, and says so.
// Options' Overlay is not used: each side has its own. Like [NewVideo] it writes a map, a
// pairMap, beside the video. What could not be written is removed.
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
	lead := int64(0)
	for i, s := range sides {
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
	for i, s := range sides {
		p.panes[i] = newPane(p.encoder, s.Layout, g[i], b[i])
	}
	p.slots, err = newMapWriter(path+".json", pairMap{
		Version: mapVersion, Width: size.X, Height: size.Y, RateNum: o.RateNum, RateDen: o.RateDen,
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
			if err := p.show(i, s, note); err != nil {
				return err
			}
		}
		if err := p.encoder.write(); err != nil {
			return err
		}
		p.slots.add(slots[:]...)
		if p.followers[0].done(n) && p.followers[1].done(n) {
			return errors.Join(p.followers[0].checkLined(), p.followers[1].checkLined())
		}
	}
}

// show updates a pane to its run's current slot.
func (p *pair) show(i int, s Slot, note string) (err error) {
	n := p.followers[i].last.Frame
	switch {
	case note == notRecorded:
		p.panes[i].hatch()
	case p.followers[i].side.Overlay.nothing(n):
		err = p.panes[i].blank()
	default:
		p.panes[i].scale()
	}
	p.panes[i].write(moment{frame: n, time: s.Time, note: note})
	return err
}

// scaled returns x·num/den for 0 < num, den, rounded down. Results beyond 62 bits are cut there.
func scaled(x, num, den int64) int64 {
	negative := x < 0
	if negative {
		x = -x
	}
	hi, lo := bits.Mul64(uint64(x), uint64(num))
	if hi >= uint64(den) {
		hi, lo = 0, 1<<62
		den = 1
	}
	q, r := bits.Div64(hi, lo, uint64(den))
	q = min(q, 1<<62)
	switch {
	case !negative:
		return int64(q)
	case r > 0:
		return -int64(q) - 1
	}
	return -int64(q)
}

// follower takes a run's frames as the video's time goes on.
type follower struct {
	side    *Side
	num     int64 // frames of the run in den slots of the video
	den     int64
	next    func() (*frame.Step, error, bool)
	stop    func()
	pending *frame.Step // the next step; nil at the end
	// sequence number at the start, less that of the first frame: Before; positions are relative to
	// the start
	origin int64
	first  uint64 // sequence number of the first frame
	last   Slot   // shown
	begun  bool
	lined  bool // the frame of the start was seen where it should be
}

func newFollower(s *Side, o VideoOptions) (*follower, error) {
	f := &follower{side: s, origin: int64(s.Before)}
	var ok1, ok2 bool
	f.num, ok1 = product(s.RateNum, o.RateDen)
	f.den, ok2 = product(s.RateDen, o.RateNum)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%w: rate of %d/%d frames a second", ErrPair, s.RateNum, s.RateDen)
	}
	f.next, f.stop = iter.Pull2(s.Steps)
	if err := f.fetch(); err != nil {
		f.stop()
		return nil, err
	}
	if f.pending == nil {
		f.stop()
		return nil, fmt.Errorf("%w: one has no frames", ErrPair)
	}
	f.first = f.pending.Meta.Sequence
	return f, nil
}

func product(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo < 1<<62
}

func (f *follower) fetch() error {
	step, err, ok := f.next()
	f.pending = nil
	if !ok {
		return nil
	}
	if err != nil {
		return err
	}
	if step.Image.Layout == nil || step.Image.Layout.Format != f.side.Layout.Format {
		return fmt.Errorf("%w: frame %d is not %v as the first", ErrPair, step.Number, f.side.Layout.Format)
	}
	if step.Image.Rows == nil {
		return fmt.Errorf("%w: frame %d comes without its picture", ErrPair, step.Number)
	}
	f.pending = step
	return nil
}

// place is where a frame stands, counted from the start.
func (f *follower) place(sequence uint64) int64 { return int64(sequence-f.first) - f.origin }

// lead returns how many slots before the start the first frame comes.
func (f *follower) lead() int64 { return -scaled(-f.origin, f.den, f.num) }

// advance goes to slot n, counted from the start. It passes the frames up to there to show. It
// returns the last frame, with a note if it is held. Before the first frame it returns Frame -1.
func (f *follower) advance(n int64, show func(*frame.Step)) (s Slot, note string, err error) {
	at := scaled(n, f.num, f.den)
	if !f.begun && f.place(f.pending.Meta.Sequence) > at { // the first frame, ahead of its time
		f.take(show)
		if err := f.fetch(); err != nil {
			return s, "", err
		}
	}
	for f.pending != nil && f.place(f.pending.Meta.Sequence) <= at {
		if hole := f.place(f.pending.Meta.Sequence) - f.place(f.last.Sequence); f.begun && hole > maxPairHole {
			return s, "", fmt.Errorf("%w: %d frames are missing before frame %d", ErrPair, hole-1, f.pending.Number)
		}
		f.take(show)
		if err := f.fetch(); err != nil {
			return s, "", err
		}
	}
	s = f.last
	switch shown := f.place(f.last.Sequence); {
	case shown == at:
		return s, "", nil
	case shown > at:
		s.Held = true
		return s, notBegun, nil
	case f.pending == nil:
		s.Held = true
		return s, ended, nil
	}
	if f.pending != nil && f.place(f.pending.Meta.Sequence)-f.place(f.last.Sequence) > maxPairHole {
		return s, "", fmt.Errorf("%w: too many frames are missing before frame %d", ErrPair, f.pending.Number)
	}
	return Slot{Frame: -1, Sequence: f.first + uint64(at+f.origin)}, notRecorded, nil
}

func (f *follower) take(show func(*frame.Step)) {
	p := f.pending
	f.last = Slot{Frame: p.Number, Sequence: p.Meta.Sequence, Time: p.Meta.Sampled.Mid()}
	f.begun = true
	f.lined = f.lined || p.Number == f.side.Start && f.place(p.Meta.Sequence) == 0
	show(p)
}

// done reports whether slot n is the last that shows something new.
func (f *follower) done(n int64) bool {
	return f.pending == nil && scaled(n+1, f.num, f.den) > f.place(f.last.Sequence)
}

// checkLined makes sure that the start was where it was said to be.
func (f *follower) checkLined() error {
	if !f.lined {
		return fmt.Errorf("%w: frame %d does not come %d frames after the first", ErrPair, f.side.Start, f.origin)
	}
	return nil
}
