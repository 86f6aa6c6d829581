package ringbuf

import (
	"context"
	"sync/atomic"
)

// bell lets one goroutine sleep until another has made a change.
//
// The sleeper arms the bell, checks once more, and only then waits. The waker makes its change, and
// only then checks whether the bell is armed. Ordering: these four are atomic operations, and Go
// gives atomic operations one total order. Arming and changing are ordered in it, so the check of
// the later side sees the earlier side. So no wake-up is lost. A token of an earlier round costs
// the sleeper one more check.
//
// The cost of a wake-up for the capture thread is one atomic load per reader while nobody sleeps.
// If a reader sleeps, waking it is a send that does not block, on a channel with room for one. The
// Go runtime takes the channel's lock for a few dozen instructions, which neither block nor
// allocate. Only the sleeper can hold that lock too, while it enters or leaves its select. That
// happens at most once per sleep. The thread is then made runnable, as in every way of waking a
// goroutine.
//
// So the capture thread does not wait for a goroutine that works, waits for a disk, or is not
// scheduled.
//
// Note: a futex or an eventfd was rejected. It has its own lock in the kernel, costs a system call
// per frame, and pins a thread per reader. A context cannot cancel it without another goroutine.
type bell struct {
	armed atomic.Bool
	ch    chan struct{}
}

func newBell() bell { return bell{ch: make(chan struct{}, 1)} }

func (b *bell) arm()    { b.armed.Store(true) }
func (b *bell) disarm() { b.armed.Store(false) }

// wake ends a wait that has been announced by arm. It never blocks.
func (b *bell) wake() {
	if !b.armed.Load() || !b.armed.Swap(false) {
		return
	}
	select {
	case b.ch <- struct{}{}:
	default: // a token is there already, which will do
	}
}

// wait sleeps until wake or the context's end, and returns the context's error in that case.
func (b *bell) wait(ctx context.Context) error {
	select {
	case <-b.ch:
		return nil
	case <-ctx.Done():
		b.disarm()
		return ctx.Err()
	}
}
