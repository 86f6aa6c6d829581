// Package capture is the contract of a source of frames.
//
// A source opens, settles on a format, and writes frames into a ring until its context
// ends. What happens to a frame after that is not its business. Each kind of source
// has a sub-package of its own; the program opens them by URI.
package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// Ring carries frames from a source to whoever reads them.
type Ring = ringbuf.Ring[frame.Meta]

// Source delivers frames of one format.
//
// Open of its sub-package has negotiated the format when it returns. Info may be called at once. It
// does not change, except for a [Renegotiator]. A source is used by one goroutine.
type Source interface {
	// Info says what the source delivers.
	Info() Info

	// Run writes frames into the ring until ctx ends, the source ends, or it fails. It returns nil
	// in the first two cases and leaves the ring open.
	//
	// A clocked source uses TryAcquire. A full ring is a loss that the ring counts, and the frame's
	// sequence number is spent. Any other source waits in Acquire. Run passes other occurrences to
	// events. events never blocks for long and must not be called after Run has returned.
	Run(ctx context.Context, ring *Ring, events func(timeline.Event)) error

	// Close gives up what Open acquired. It is idempotent.
	Close() error
}

// ErrFormatChanged is what the Run of a [Renegotiator] returns when the signal goes on in another
// format than Info's. Everything that came in the old format has been committed by then.
var ErrFormatChanged = errors.New("the signal changed its format")

// Renegotiator is a source whose signal may change its format while it runs: another mode or
// another pixel format. Run itself handles interruptions that keep the format: a signal that
// returns, or a device that is plugged in again.
type Renegotiator interface {
	Source

	// Renegotiate follows a Run that has returned ErrFormatChanged. It negotiates the signal's
	// current format, waits for a signal if necessary, and changes Info. The next Run gets a ring
	// that fits it.
	//
	// Sequence numbers continue. The time without frames spends as many numbers as frames were due,
	// at least one. The next frame's Missed gives the cause. Renegotiate returns the context's
	// error if that ends first. For events see Source.Run.
	Renegotiate(ctx context.Context, events func(timeline.Event)) error
}

// Counter is a source that counts frames which it did not deliver at the end. They were dropped
// after the last delivered frame, or were due while the signal was gone.
type Counter interface {
	Source

	// Counted follows the last Run or Renegotiate. It returns the highest sequence number that is
	// spent by then. why is the cause for which the source itself left out the frames after the
	// last delivered one. any is false if the source never had a frame.
	Counted() (last uint64, why frame.Cause, any bool)
}

// Info describes a source.
type Info struct {
	URI    string       // as the user would write it
	Format frame.Format // of every frame
	// Clocked sources deliver frames when the signal does; the others when asked.
	Clocked bool
	// OwnClock says that times are the file's own (its first frame's is usually 0) and not the
	// rig's.
	OwnClock bool
	// Period is the nominal time from frame to frame, as Num/Den seconds; 0/0 where it varies or is
	// unknown.
	Period Rational
	// Frames is how many frames there will be, or 0 where that is unknown or without end.
	Frames uint64
	// Metadata is recorded with the frames: a scene's truth, a file's header. Values are JSON.
	Metadata []Metadata
}

// Metadata is a named JSON value that belongs to a recording as a whole.
type Metadata struct {
	Name  string // "synth.truth", "y4m.header", …
	Value json.RawMessage
}

// Rational is a number of seconds as a fraction, because 1001/60000 is not a number of nanoseconds.
type Rational struct {
	Num, Den int64
}

// Duration returns the time of n periods, rounded down to the nanosecond.
func (r Rational) Duration(n uint64) time.Duration {
	if r.Den == 0 {
		return 0
	}
	num := uint64(r.Num) * uint64(time.Second) // fits: a period is at most some seconds
	den := uint64(r.Den)
	return time.Duration(n/den*num + n%den*num/den)
}

// Fits reports a ring whose slots are too small for the source's frames.
func (i Info) Fits(ring *Ring) error {
	if size := i.Format.Size(); ring.SlotSize() < size {
		return fmt.Errorf("%s: a frame of %d bytes does not fit into the ring's slots of %d", i.URI, size,
			ring.SlotSize())
	}
	return nil
}

// UnlessEnded returns err, or nil if err only says that the context has ended. A source's Run ends
// that way on request.
func UnlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
