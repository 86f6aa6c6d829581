package v4l2

import (
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// numbering makes one 64-bit count out of the driver's 32-bit counts, which wrap and restart with
// each stream.
//
// Within a stream the count grows by the 32-bit difference to the previous count. A driver with an
// unsteady clock may count two frames alike and skip the next number. The second frame then gets
// the next number, and none is missing. A count that goes backwards, repeats or leaps further than
// the time allows is ignored. The frame then gets the number of its time.
//
// The first frame of a later stream gets the number for the time since the last frame. That is at
// least one after next, so that there is a hole to explain.
type numbering struct {
	period timeline.Time // from frame to frame; 0 where it is not known
	after  timeline.Time // and from the next frame on

	last   uint64        // number given last
	lastAt timeline.Time // and the time of that frame
	any    bool

	driver  uint32 // its count of that frame
	count   uint64 // the same, continued; numbers given may be ahead of it by what it repeated
	repeats int    // of a count, in a row
	fresh   bool   // the driver's next count is the first of a stream

	missed frame.Cause // why numbers are missing before the next frame that is stored
	odd    bool        // the driver's count was not believed at least once

	spent uint64 // the highest number that no frame gets any more: see counted
}

// leap is how many frames more than the time allows a count may go on by: a second's at any rate
// that there is.
const leap = 256

// restart says that the driver's next count is the first of a stream, and why frames are missing
// before.
func (n *numbering) restart(cause frame.Cause) {
	n.fresh = true
	if n.any {
		n.explain(cause)
	}
}

// changed records that the next frames have another format. As a cause this replaces the loss of
// signal that comes with it. It does not replace a device that was away, or an earlier signal that
// was not recorded.
func (n *numbering) changed() {
	if n.missed != frame.DeviceGone && n.missed != frame.SignalRefused {
		n.missed = frame.NoCause
	}
	n.restart(frame.FormatChange)
}

// explain notes a reason for the next hole. Reasons that say more take the place of those that say
// less: that somebody was not in time, that there was no signal, that something else was the
// matter. Of equal ones the first stays.
func (n *numbering) explain(cause frame.Cause) {
	if weight(cause) > weight(n.missed) {
		n.missed = cause
	}
}

func weight(c frame.Cause) int {
	switch c {
	case frame.NoCause:
		return 0
	case frame.SourceLate:
		return 1
	case frame.DriverLost:
		return 2
	case frame.SignalLost:
		return 3
	}
	return 4
}

// maxRepeats is how often a count may come in a row before the driver is taken not to count.
const maxRepeats = 2

// number returns the number of a frame. seq is the driver's count, and at is about the time at
// which the frame was on the screen.
func (n *numbering) number(seq uint32, at timeline.Time) uint64 {
	before, first := n.last, !n.any
	switch step := uint64(seq - n.driver); {
	case first:
		n.count, n.last = uint64(seq), uint64(seq)
	case n.fresh:
		n.last += max(2, n.elapsed(at))
		n.count = n.last
	case step == 0 && n.repeats < maxRepeats:
		n.repeats++
		n.last++
	case step == 0 || step > 1<<31 || n.period > 0 && step > 2*n.elapsed(at)+leap:
		n.odd = true
		n.last += max(1, n.elapsed(at))
		n.count = n.last
	default:
		n.count += step
		n.last = max(n.last+1, n.count)
		n.repeats = 0
	}
	if n.last <= n.spent && !first {
		n.last = n.spent + 1
		n.count = n.last
	}
	if !first && n.last > before+1 {
		n.explain(frame.DriverLost)
	}
	n.any, n.fresh = true, false
	n.period = n.after
	n.driver, n.lastAt = seq, at
	return n.last
}

// leave spends a number on a frame that came and is not recorded.
func (n *numbering) leave() {
	if n.any {
		n.spent = max(n.spent, n.last) + 1
	}
}

// onItsWay is how many periods after a frame the next one may come: a stamp may be of its start,
// and a driver hands it over when the one after it begins.
const onItsWay = 2

// counted returns the highest number that is spent at a time after the stream's end. why is the
// cause of the missing numbers since the last frame. A stream that was cut short has lost only the
// frames that are long overdue.
func (n *numbering) counted(now timeline.Time) (last uint64, why frame.Cause, any bool) {
	if !n.any {
		return 0, frame.NoCause, false
	}
	due := uint64(0)
	if n.period > 0 && now > n.lastAt {
		due = uint64((now - n.lastAt) / n.period)
	}
	if !n.fresh {
		due -= min(due, onItsWay)
	}
	if n.spent = max(n.spent, n.last+due); n.spent > n.last {
		n.explain(frame.DriverLost)
	}
	return n.spent, n.missed, true
}

// elapsed is how many periods there are from the last frame to a time, rounded.
func (n *numbering) elapsed(at timeline.Time) uint64 {
	if n.period <= 0 || at <= n.lastAt {
		return 0
	}
	return uint64((at - n.lastAt + n.period/2) / n.period)
}

// stored says that the frame numbered last is in the ring, and that it carries the reason.
func (n *numbering) stored() { n.missed = frame.NoCause }
