package ringbuf

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// Mode says which frames a reader gets.
type Mode uint8

const (
	// Lossless readers get every frame from the one committed next after they were made.
	// Frames that they have not read keep their slots.
	Lossless Mode = iota
	// Latest readers get the newest frame each time, starting with the one that is there
	// when they are made; frames in between are passed over. They keep only what they lease.
	Latest
)

func (m Mode) String() string {
	switch m {
	case Lossless:
		return "lossless"
	case Latest:
		return "latest"
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// Reader takes frames from a ring. Make one with [Ring.NewReader], and close it.
// Next belongs to one goroutine; the other methods to any.
type Reader[M any] struct {
	ring   *Ring[M]
	id     int
	start  uint64 // position of the first frame it may take
	mode   Mode
	leases []Lease[M]       // one per slot: a reader has each frame once
	news   bell             // rung when a frame was committed or the stream ended
	_      cpu.CacheLinePad // each commit looks at news, each Next writes to what follows

	mu   sync.Mutex // guards Next's step against Close. The writer never takes it.
	done bool       // guarded by mu

	// position is the next frame to take. For Latest it is the oldest that is still acceptable. It
	// and skipped change under mu only. They are atomic for the counters in stats.go, which derive
	// delivered and leased frames from them. Reading or freeing does not depend on a count, so they
	// need no mutual order.
	position atomic.Uint64
	skipped  atomic.Uint64
	released atomic.Uint64 // leases that ended
	behind   atomic.Uint64 // losses blamed on unread frames; only the writer adds
	keeping  atomic.Uint64 // losses blamed on leases; only the writer adds

	// closed tells the goroutine that releases the last lease to strike the reader off.
	// Ordering: Close stores it after the last change of position, then loads released;
	// Release adds to released, then loads closed. One of the two sees the other's, so
	// the reader is struck off; both may, which is harmless.
	closed atomic.Bool
}

// NewReader adds a reader. It may be called at any time, from any goroutine; a reader of a
// ring that was closed gets at once what it would get at the end. It allocates
// one lease per slot, so that Next need not. It panics for an unknown mode, and if there
// are more than 32767 lossless readers.
func (r *Ring[M]) NewReader(mode Mode) *Reader[M] {
	if mode > Latest {
		panic("ringbuf: NewReader with unknown " + mode.String())
	}
	rd := &Reader[M]{ring: r, mode: mode, leases: make([]Lease[M], len(r.slots)), news: newBell()}
	for i := range rd.leases {
		rd.leases[i].reader, rd.leases[i].slot = rd, &r.slots[i]
	}
	r.rollMu.Lock()
	defer r.rollMu.Unlock()
	switch {
	case mode == Latest:
		rd.start = max(word(r.state.Load()).head(), 1) - 1
	case word(r.state.Load()).lossless() == maxLossless:
		panic("ringbuf: too many lossless readers")
	default:
		// The same Add counts the reader and returns the head. A commit before it is not the
		// reader's. A commit after it has counted the reader.
		rd.start = word(r.state.Add(1)).head()
	}
	rd.position.Store(rd.start)
	r.nextID++
	rd.id = r.nextID
	// Ordering: the reader is listed before its first Next looks at the head. A commit that walked
	// the list without it moved the head before that look. So the reader sees the frame unwoken.
	roll := append(slices.Clone(*r.readers.Load()), rd)
	r.readers.Store(&roll)
	return rd
}

// Next waits for a frame and leases it. The lease must be released.
//
// Once ctx has ended it returns ctx.Err(), even if there are frames; they stay unread.
// After the ring's Close and the last frame it returns what Close was given, io.EOF
// for nil. After the reader's own Close its error is an os.ErrClosed.
func (rd *Reader[M]) Next(ctx context.Context) (*Lease[M], error) {
	for armed := false; ; {
		if err := ctx.Err(); err != nil {
			rd.news.disarm()
			return nil, err
		}
		lease, err := rd.poll()
		if lease != nil || err != nil {
			if armed {
				rd.news.disarm()
			}
			return lease, err
		}
		if !armed { // and look once more, see bell
			rd.news.arm()
			armed = true
			continue
		}
		if err := rd.news.wait(ctx); err != nil {
			return nil, err
		}
		armed = false
	}
}

// TryNext is like Next but does not wait. It returns nil without an error if the next frame is not
// committed yet.
func (rd *Reader[M]) TryNext() (*Lease[M], error) { return rd.poll() }

// poll leases a frame if there is one, and returns neither lease nor error if there
// might be one later.
func (rd *Reader[M]) poll() (*Lease[M], error) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if rd.done {
		return nil, fmt.Errorf("read the next frame: reader %d: %w", rd.id, os.ErrClosed)
	}
	for {
		state := word(rd.ring.state.Load()) // head and end of stream of one moment
		position := rd.position.Load()
		if position >= state.head() {
			if state.closed() {
				return nil, rd.ring.err
			}
			return nil, nil
		}
		if rd.mode == Lossless {
			// The reader owns a reference since the commit; it becomes the lease's.
			slot := &rd.ring.slots[rd.ring.order[position&rd.ring.mask].Load()]
			return rd.lease(slot, position), nil
		}
		newest := state.head() - 1
		if slot := rd.ring.grab(newest); slot != nil {
			rd.skipped.Add(newest - position)
			return rd.lease(slot, newest), nil
		}
	}
}

// grab takes a reference to the frame at a position that was the newest a moment ago. It
// fails only if the writer has committed another one since: the ring keeps its own
// reference until then. A slot that had gone to another frame is held for the time
// of one comparison.
func (r *Ring[M]) grab(position uint64) *Slot[M] {
	slot := &r.slots[r.order[position&r.mask].Load()]
	if !slot.tryRetain() {
		return nil
	}
	if slot.position != position {
		slot.release()
		return nil
	}
	return slot
}

// lease hands out a slot to which the reader owns a reference.
func (rd *Reader[M]) lease(slot *Slot[M], position uint64) *Lease[M] {
	l := &rd.leases[slot.index]
	l.holds.Store(1)
	rd.position.Store(position + 1)
	return l
}

// Close ends the reader and gives up what it had not read. A Next that waits returns.
// Leases stay valid until they are released. Close is idempotent.
func (rd *Reader[M]) Close() {
	rd.mu.Lock()
	if rd.done {
		rd.mu.Unlock()
		return
	}
	rd.done = true
	rd.closed.Store(true)
	if rd.mode == Lossless {
		rd.giveUp()
	}
	rd.mu.Unlock()
	rd.news.wake()
	if rd.leased() == 0 {
		rd.ring.strike(rd)
	}
}

// giveUp releases what the reader has not read, and uncounts it.
//
// Only while it is counted do its unread frames keep their slots, and thereby their order
// entries, from reuse. So it catches up first, and leaves only if nothing was committed
// since: one CompareAndSwap compares the head and changes the count. Uncounting first
// and releasing up to the head of that moment looks simpler and is wrong: the writer
// may go once around the order while this goroutine is stopped.
func (rd *Reader[M]) giveUp() {
	r := rd.ring
	for position := rd.position.Load(); ; {
		state := r.state.Load()
		for ; position < word(state).head(); position++ {
			r.slots[r.order[position&r.mask].Load()].release()
		}
		if r.state.CompareAndSwap(state, state-1) {
			return
		}
	}
}

// strike takes a reader that holds nothing off the list.
func (r *Ring[M]) strike(rd *Reader[M]) {
	r.rollMu.Lock()
	defer r.rollMu.Unlock()
	roll := slices.DeleteFunc(slices.Clone(*r.readers.Load()), func(other *Reader[M]) bool { return other == rd })
	r.readers.Store(&roll)
}
