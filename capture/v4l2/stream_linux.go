//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Reasons for the end of a stretch of frames. mend decides how to continue.
var (
	errSignal  = errors.New("the signal has changed")
	errStalled = errors.New("no more frames")
	errEOS     = errors.New("the driver has ended the stream")
	errReset   = errors.New("another program has set the device to another format")
)

// Times without frames.
const (
	minPatience = 500 * time.Millisecond
	pollPeriods = 30 // frames that may stay away before the stream counts as stalled
	askSignal   = time.Second
)

// stretch streams from STREAMON to STREAMOFF. What it returns is never nil, but when ctx has ended.
func (s *source) stretch(ctx context.Context, ring *capture.Ring) (err error) {
	if s.dev == nil {
		return unix.ENODEV
	}
	s.count.restart(frame.SourceLate) // where nothing explains better why the last stream has ended
	if err := s.changed(); err != nil {
		return err
	}
	s.told.usable(s.now)
	q, err := s.start(ctx, ring)
	if err != nil {
		return err
	}
	defer func() {
		if releaseErr := q.release(); releaseErr != nil {
			err = errors.Join(err, releaseErr)
		}
	}()
	st := stream{source: s, q: q, ring: ring, empty: s.clock.Now()}
	st.heard = st.empty
	if err = st.run(ctx); err != nil {
		s.count.restart(causeOf(err)) // also where nobody mends it, because the recording ends
	}
	return err
}

// placement says where the driver puts frames, and how many buffers it gets. Userptr that does not
// go with a ring is refused before anything is recorded; later, when the ring is another because
// the signal has changed, one copy is better than no frame.
func (s *source) placement(ring *capture.Ring) (memory, int, error) {
	if s.set.memory != memUserPtr {
		return s.set.memory, s.set.buffers, nil
	}
	// The recorder needs three slots: the newest, the one it looks at, and the one before.
	count := min(s.set.buffers, ring.Slots()-3)
	why := s.now.checkUserPtr(s.path)
	switch {
	case why != nil:
	case ring.SlotSize() < s.now.driver.planes[0].bytes:
		why = fmt.Errorf("the driver needs buffers of %d bytes, but ring slots have %d; use memory=mmap",
			s.now.driver.planes[0].bytes, ring.SlotSize())
	case count < 2:
		why = fmt.Errorf("a ring of %d slots is too small for userptr; enlarge it or use memory=mmap", ring.Slots())
	default:
		return memUserPtr, count, nil
	}
	if !s.followed {
		return "", 0, fatal{why}
	}
	s.told.memoryChanged(why)
	return memMMAP, s.set.buffers, nil
}

// start makes buffers, gives them to the driver and has it begin.
func (s *source) start(ctx context.Context, ring *capture.Ring) (*queue, error) {
	memory, count, err := s.placement(ring)
	if err != nil {
		return nil, err
	}
	q, err := newQueue(s.dev, memory, count, len(s.now.driver.planes))
	if err != nil {
		return nil, err
	}
	// From here on nobody can set another format. Who did so before would have its pixels stored as
	// if they were of ours.
	if err := s.stillSet(); err != nil {
		return nil, errors.Join(err, q.release())
	}
	if memory != memUserPtr {
		count = len(q.all)
	}
	for i := range min(count, len(q.all)) {
		if memory == memUserPtr {
			// Waiting here loses nothing: the time without a stream is accounted for as such.
			slot, err := ring.Acquire(ctx)
			if err != nil {
				return nil, errors.Join(err, q.release())
			}
			i = q.place(slot)
		}
		if err := q.giveTwice(i, s.clock.Now()); err != nil {
			return nil, errors.Join(err, q.release())
		}
	}
	if err := q.streamOn(); err != nil {
		return nil, errors.Join(err, q.release())
	}
	return q, nil
}

// giveTwice tries again once: an interrupted or failed preparation of a buffer leaves it as it was.
func (q *queue) giveTwice(i int, now timeline.Time) error {
	err := q.give(i, now)
	if err != nil && !errors.Is(err, unix.ENODEV) {
		err = q.give(i, now)
	}
	return err
}

// stream is one stretch while it runs.
type stream struct {
	*source
	q     *queue
	ring  *capture.Ring
	f     filled
	ev    event
	empty timeline.Time // the last look at which no frame was there
	heard timeline.Time // when the last frame came
	since timeline.Time // when the signal changed
	hints int           // of errors, in a row
}

func (st *stream) run(ctx context.Context) error {
	for ctx.Err() == nil {
		r, err := st.dev.wait(st.bell, st.patience(), true)
		if err != nil {
			return fmt.Errorf("wait for %s: %w", st.path, err)
		}
		if r.event {
			if err := st.events(); err != nil {
				return errors.Join(err, st.drain(st.since))
			}
		}
		if r.frame {
			if err := st.drain(0); err != nil {
				return err
			}
		} else if r.failed {
			if err := st.whatFailed(); err != nil {
				return err
			}
		}
		if err := st.quiet(); err != nil {
			return err
		}
	}
	return st.drain(0) // frames before the end belong to the stretch
}

// patience is the time without frames after which the driver is queried.
func (st *stream) patience() time.Duration {
	return max(minPatience, pollPeriods*time.Duration(st.stamp.period))
}

// drain takes filled buffers, each at most once, since a driver may fill them faster than they are
// taken. If after is not 0, frames that were on the screen after it are not stored. They belong to
// a changed signal.
func (st *stream) drain(after timeline.Time) error {
	for range st.q.all {
		look := st.clock.Now()
		ok, err := st.q.take(&st.f)
		if err != nil {
			return err
		}
		if !ok {
			st.empty = look
			return nil
		}
		if err := st.one(after); err != nil {
			return err
		}
	}
	return nil
}

// one puts a buffer into the ring, if there is room, and gives another to the driver. It allocates
// nothing.
func (st *stream) one(after timeline.Time) error {
	taken := st.clock.Now()
	sampled, at := st.stamp.interval(st.f.flags, st.f.stamp,
		arrival{queued: st.f.queued, empty: st.empty, taken: taken})
	st.heard, st.hints = taken, 0
	st.failures, st.stalls = 0, 0
	if after != 0 && at > after {
		st.count.leave()
		return nil // the queue is about to end, and so is the count: see numbering
	}
	st.told.heard(st.now)
	number := st.count.number(st.f.seq, at) // which may find that something is missing before
	meta := frame.Meta{Sequence: number, Sampled: sampled, Missed: st.count.missed}
	if st.f.flags&bufFlagError != 0 {
		meta.Flags |= frame.FlagError
	}
	st.told.oddities(&st.stamp, &st.count, st.f.flags)
	next := st.f.index
	if st.q.memory == memUserPtr {
		next = st.commitOwn(meta)
	} else if err := st.commitCopy(meta); err != nil {
		return err
	}
	return st.q.giveTwice(next, taken)
}

// commitCopy copies a buffer into a slot.
func (st *stream) commitCopy(meta frame.Meta) error {
	slot, ok := st.ring.TryAcquire()
	if !ok {
		return nil
	}
	if err := st.q.syncDMA(st.f.index, dmabufSyncStart); err != nil {
		slot.Abandon()
		return err
	}
	size := st.now.size
	whole := st.now.copyFrame(slot.Bytes()[:size], st.f.planes)
	if err := st.q.syncDMA(st.f.index, dmabufSyncEnd); err != nil {
		slot.Abandon()
		return err
	}
	if !whole {
		meta.Flags |= frame.FlagError
	}
	slot.Commit(size, meta)
	st.count.stored()
	return nil
}

// commitOwn commits the slot that the driver has filled, and takes another for it. If there is none
// the frame is lost, and its slot goes back to the driver, which never starves. It returns the
// number of the buffer to give to it.
func (st *stream) commitOwn(meta frame.Meta) int {
	next, ok := st.ring.TryAcquire()
	if !ok {
		return st.f.index
	}
	e := &st.q.all[st.f.index]
	size := st.now.size
	whole := st.now.copyInPlace(e.slot.Bytes()[:size], st.f.planes[0])
	if !whole {
		meta.Flags |= frame.FlagError
	}
	e.slot.Commit(size, meta)
	e.slot = nil
	st.count.stored()
	return st.q.place(next)
}

// copyInPlace moves a frame to the start of its slot, if the driver put something before it. It
// clears the bytes that the driver did not fill.
func (s *setup) copyInPlace(slot, data []byte) (whole bool) {
	n := min(len(data), len(slot))
	if n > 0 && &slot[0] != &data[0] {
		copy(slot, data[:n])
	}
	clear(slot[n:])
	return n >= s.runs[0].seen
}

// events takes the driver's events. Its error is errSignal if the signal is not what it was.
func (st *stream) events() error {
	var why error
	st.since = 0
	for range maxEnum {
		if err := st.dev.ioctl(vidiocDQEvent, unsafe.Pointer(&st.ev)); err != nil {
			if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EAGAIN) {
				return why
			}
			return fmt.Errorf("take an event of %s: %w", st.path, err)
		}
		switch {
		case st.ev.typ == eventEOS:
			why = errEOS
		case why == nil && (st.ev.typ == eventSourceChange || st.ev.typ == eventCtrl):
			why = st.changed()
			st.since = st.eventTime()
		}
		if st.ev.pending == 0 {
			return why
		}
	}
	return why
}

// eventTime is when the event happened, which cannot be later than now, or long ago.
func (st *stream) eventTime() timeline.Time {
	now := st.clock.Now()
	if st.ev.sec < 0 || st.ev.sec >= 1<<32 || st.ev.nsec < 0 || st.ev.nsec >= 1e9 {
		return now
	}
	if t := timeline.Time(st.ev.sec*1e9 + st.ev.nsec); t <= now && now.Sub(t) < time.Minute {
		return t
	}
	return now
}

// changed asks whether the signal is still what it was: errSignal if not, or that the device is
// gone.
func (s *source) changed() error {
	s.asked = s.clock.Now()
	sig, t, err := s.dev.signal()
	same := sig.Err() == nil
	if s.now.timings != nil {
		same = t != nil && t.same(*s.now.timings)
	}
	switch {
	case errors.Is(err, unix.ENODEV):
		return err
	case errors.Is(err, ErrBusy):
		return nil // some drivers do not look while they stream; frames that stay away will tell
	case err != nil || !same:
		return errSignal
	}
	return s.stillSet()
}

// stillSet asks whether the device still has the format that was settled on: errReset if not,
// errSignal if only its colours are others, which come with the signal.
func (s *source) stillSet() error {
	now, err := s.dev.getFormat()
	if err != nil {
		return err
	}
	was := &s.now.driver
	switch {
	case now.width != was.width || now.height != was.height || now.fourcc != was.fourcc || now.field != was.field ||
		!slices.Equal(now.planes, was.planes):
		return errReset
	case !now.colour.same(was.colour, s.now.format.Pixel.IsRGB()):
		return errSignal
	}
	return nil
}

// quiet checks a signal without frames, since the driver may not report its loss.
func (st *stream) quiet() error {
	now := st.clock.Now()
	silent := now.Sub(st.heard) >= st.patience()
	switch {
	case silent:
		return cmp.Or(st.changed(), errStalled)
	case now.Sub(st.asked) < askSignal:
		return nil
	case !st.subscribed:
		return st.changed()
	}
	st.asked = now
	return st.stillSet() // drivers report other timings, but few report other colours
}

// maxHints is how often in a row poll(2) may hint at an error that nothing else knows of.
const maxHints = 8

// whatFailed finds the reason for an error that poll(2) only hints at. The hint may be false. The
// kernel also gives it when this thread gets a signal while poll waits for the device's lock
// (vb2_fop_poll). Another program's query of the device holds that lock. So a device that answers,
// and whose queue works, is waited for again, a limited number of times.
func (st *stream) whatFailed() error {
	var c capability
	if err := st.dev.ioctl(vidiocQueryCap, unsafe.Pointer(&c)); err != nil {
		return fmt.Errorf("query %s after an error: %w", st.path, err)
	}
	st.hints++ // before a frame that comes makes it 0
	if err := st.drain(0); err != nil || st.hints <= maxHints {
		return err
	}
	return fmt.Errorf("%s reports an error of its stream: %w", st.path, unix.EIO)
}

// fatal is an error that trying again does not mend.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }
