package ringbuf

import (
	"context"
	"sync/atomic"
)

// bell lets one goroutine sleep until another has changed something that it waits for.
//
// The sleeper arms the bell, looks once more, and only then waits. The waker makes its
// change, and only then looks whether the bell is armed. Ordering: these four are atomic
// operations, and Go gives all of those one total order; whichever of arming and
// changing comes first in it, the other side's look sees it. So no wake-up is lost.
// A token left from an earlier round costs the sleeper one more look.
//
// What a wake-up costs the capture thread. While nobody sleeps it is one atomic load per
// reader, and no channel is touched. When a reader does sleep, waking it is a send that does not
// block on a channel with room for one. Inside, the Go runtime takes the channel's own
// lock for a few dozen instructions that neither block nor allocate. The only other
// goroutine that can be inside that lock is the sleeper while it enters or leaves its
// select, and the window exists at most once per sleep. The thread is then made
// runnable, which no way of waking a goroutine avoids. What can't happen is what the rule
// "the capture thread never waits" is about: waiting for a goroutine that holds a
// lock while it works on a frame, waits for a disk, or is not scheduled.
//
// Note: a futex or an eventfd of our own was rejected. It has its own lock in the
// kernel, costs a system call per frame, pins a thread per reader, and cannot be
// cancelled by a context without a goroutine more.
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
