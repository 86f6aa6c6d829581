package measure

import (
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Times has the times of a window's frames on the screen. A signal has a steady beat, and the
// stamps of its frames jitter. So a frame's time is its sequence number times the fitted period,
// and the stamps give its bounds. A file may have its own times, without a beat. Its frames then
// have the time of their stamps.
type Times struct {
	first  int // number of the first frame that is known
	stamps stamps
	femto  int64 // 0: stamps are taken as they are
	period time.Duration
	origin timeline.Time // of sequence number base
	base   uint64
	ahead  time.Duration // by how much a frame may have been sampled before its beat, as far as stamps tell
	broken []bool        // of all of the recording's frames: it cannot be read; nil: all can
}

const femtosPerNano = 1_000_000

// NewTimes reads the stamps of frames from to to, to not included, of a segment. Frames that cannot
// be read take part with the number that they would have.
func NewTimes(rec Recording, s frame.Segment, from, to int, ownClock bool) *Times {
	t := &Times{first: from, stamps: newStamps(to - from), femto: s.FemtoPeriod}
	if t.femto == 0 && s.PeriodDen != 0 {
		t.femto = int64(float64(s.PeriodNum) / float64(s.PeriodDen) * 1e15)
	}
	t.period = time.Duration((t.femto + femtosPerNano/2) / femtosPerNano)
	known := make([]bool, to-from)
	var last frame.Meta
	for i := range known {
		m, err := rec.Meta(from + i)
		if known[i] = err == nil; err != nil && i > 0 {
			m = frame.Meta{Sequence: last.Sequence + 1, Sampled: last.Sampled}
		}
		t.stamps.add(m.Sequence, m.Sampled)
		last = m
	}
	t.base = t.stamps.at(0).sequence
	t.fit(known)
	if ownClock && !t.steady() {
		t.femto = 0
	}
	for i := range known {
		if s := t.stamps.at(i); known[i] {
			t.ahead = max(t.ahead, t.onBeat(s.sequence).Sub(s.sampled.Earliest))
		}
	}
	return t
}

// fit finds the origin for which the stamps' middles lie around the beat.
func (t *Times) fit(known []bool) {
	zero := t.stamps.at(0).sampled.Mid()
	var sum, count int64
	for i := range known {
		if s := t.stamps.at(i); known[i] {
			sum += int64(s.sampled.Mid().Sub(zero)) - t.beats(s.sequence)
			count++
		}
	}
	t.origin = zero.Add(time.Duration(sum / max(1, count)))
}

func (t *Times) beats(seq uint64) int64 {
	n := int64(seq - t.base)
	return n*(t.femto/femtosPerNano) + n*(t.femto%femtosPerNano)/femtosPerNano
}

// rounding is how far the times of a file may be off its beat and still follow it: containers round
// to milliseconds.
const rounding = time.Millisecond

// steady reports whether no stamp is off its beat by more than rounding.
func (t *Times) steady() bool {
	for i := range t.stamps.len() {
		s := t.stamps.at(i)
		if d := s.sampled.Mid().Sub(t.onBeat(s.sequence)); d > rounding || -d > rounding {
			return false
		}
	}
	return true
}

func (t *Times) onBeat(seq uint64) timeline.Time { return t.origin.Add(time.Duration(t.beats(seq))) }

func (t *Times) stamp(n int) stamp { return t.stamps.at(n - t.first) }

// Meta returns the number and the time of frame n, which must be one of the window, and no more.
func (t *Times) Meta(n int) frame.Meta { return t.stamp(n).meta() }

// At returns when frame n was on the screen.
func (t *Times) At(n int) timeline.Time {
	s := t.stamp(n)
	if t.femto == 0 {
		return s.sampled.Mid()
	}
	return t.onBeat(s.sequence)
}

// Bounds returns the interval in which frame n was sampled. It contains At(n).
func (t *Times) Bounds(n int) timeline.Interval {
	at, in := t.At(n), t.stamp(n).sampled
	return timeline.Interval{Earliest: min(at, in.Earliest), Latest: max(at, in.Latest)}
}

// Period returns the time from one frame to the next, or 0 without a beat.
func (t *Times) Period() time.Duration {
	if t.femto == 0 {
		return 0
	}
	return t.period
}

// Lost returns how many frames are missing just before frame n, those that cannot be read among
// them; none before a frame that is one of these.
func (t *Times) Lost(n int) int {
	if n <= t.first || t.IsUnreadable(n) {
		return 0
	}
	return int(t.stamp(n).sequence - t.stamp(t.Before(n)).sequence - 1)
}

// Skipped returns how many frames were lost just before frame n, which may be one that cannot be
// read; those that cannot be are not among them.
func (t *Times) Skipped(n int) int {
	if n <= t.first {
		return 0
	}
	return int(t.stamp(n).sequence - t.stamp(n-1).sequence - 1)
}

// Before returns the last frame before frame n that can be read.
func (t *Times) Before(n int) int {
	n--
	for n > t.first && t.IsUnreadable(n) {
		n--
	}
	return n
}

// IsUnreadable reports whether frame n was stored and cannot be read.
func (t *Times) IsUnreadable(n int) bool { return n >= 0 && n < len(t.broken) && t.broken[n] }

// Since returns the bounds of the first moment at which what frame n shows may have been there.
// Where frames are missing just before n, that is from the first of these on: no earlier than its
// beat allows, nor than the last frame that was seen; elsewhere as Bounds says.
func (t *Times) Since(n int) timeline.Interval {
	b := t.Bounds(n)
	lost := t.Lost(n)
	if lost == 0 {
		return b
	}
	from := t.Bounds(t.Before(n)).Earliest
	if t.femto != 0 {
		from = max(from, t.onBeat(t.stamp(n).sequence-uint64(lost)).Add(-t.ahead))
	}
	b.Earliest = min(b.Earliest, from)
	return b
}

// End returns when the window's last frame gave way: with r, or after one period.
func (t *Times) End(w *Window) (timeline.Time, timeline.Interval) {
	if w.Red != None {
		return t.At(w.Red), t.Since(w.Red)
	}
	d := t.period
	if t.femto == 0 && w.End > t.first { // as long as the frame before it
		d = t.At(w.End).Sub(t.At(w.End - 1))
	}
	b := t.Bounds(w.End)
	return t.At(w.End).Add(d), timeline.Interval{Earliest: b.Earliest.Add(d), Latest: b.Latest.Add(d)}
}

// Unreadable returns the frames of the window that were stored and cannot be read, ascending.
func (t *Times) Unreadable() (frames []int) {
	for n, broken := range t.broken {
		if broken {
			frames = append(frames, n)
		}
	}
	return frames
}

// HasBeat reports whether frames follow a beat.
func (t *Times) HasBeat() bool { return t.femto != 0 }

// Nominal returns the period that the segment states, whether or not frames follow it.
func (t *Times) Nominal() time.Duration { return t.period }
