package serve

import (
	"container/heap"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// pacer wakes any number of waiting goroutines on time. One of them sleeps for all, in the kernel
// ([timeline.SleepUntil]). Timers of Go's runtime are late on a busy machine, and a thread for each
// would be too many. The zero Pacer is ready.
type pacer struct {
	mu       sync.Mutex
	waiting  waiters
	sleeping bool // one of them does
}

// paceSlice is the maximum lateness of a goroutine that arrives during a sleep and waits for an
// earlier time.
const paceSlice = 500 * time.Microsecond

type waiter struct {
	at    timeline.Time
	woken chan bool // true: it is time; false: it is the next to sleep for all
	index int       // in the heap; -1: not in it
}

// wait returns at a time of [timeline.Monotonic], or with the error of ctx when that ends. It may
// be late, never early.
func (p *pacer) wait(ctx context.Context, at timeline.Time) error {
	clock := timeline.Monotonic()
	if clock.Now() >= at {
		return ctx.Err()
	}
	w := &waiter{at: at, woken: make(chan bool, 2)}
	p.mu.Lock()
	heap.Push(&p.waiting, w)
	sleeps := !p.sleeping
	p.sleeping = true
	p.mu.Unlock()
	if !sleeps {
		select {
		case due := <-w.woken:
			if due {
				return ctx.Err()
			}
		case <-ctx.Done():
			return p.leave(ctx, w)
		}
	}
	return p.sleep(ctx, clock, w)
}

// sleep waits for all until it is w's own time, and makes another go on.
func (p *pacer) sleep(ctx context.Context, clock timeline.Clock, w *waiter) error {
	for {
		p.mu.Lock()
		now := clock.Now()
		for len(p.waiting) > 0 && p.waiting[0].at <= now {
			due := heap.Pop(&p.waiting).(*waiter)
			if due != w {
				due.woken <- true
			}
		}
		if w.index < 0 || ctx.Err() != nil {
			if w.index >= 0 {
				heap.Remove(&p.waiting, w.index)
			}
			p.next()
			p.mu.Unlock()
			return ctx.Err()
		}
		until := min(p.waiting[0].at, now.Add(paceSlice))
		p.mu.Unlock()
		_ = timeline.SleepUntil(context.Background(), until) // ctx is looked at above
	}
}

// next makes another sleep for all, the one whose time is last, so that this is rare. The lock is
// held.
func (p *pacer) next() {
	p.sleeping = len(p.waiting) > 0
	if p.sleeping {
		p.waiting[len(p.waiting)-1].woken <- false // of a heap, the last is late enough
	}
}

// leave takes out one whose context has ended.
func (p *pacer) leave(ctx context.Context, w *waiter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(&p.waiting, w.index)
	}
	select {
	case due := <-w.woken:
		if !due { // it was to sleep
			p.next()
		}
	default:
	}
	return ctx.Err()
}

type waiters []*waiter

func (w waiters) Len() int           { return len(w) }
func (w waiters) Less(i, j int) bool { return w[i].at < w[j].at }
func (w waiters) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].index, w[j].index = i, j
}
func (w *waiters) Push(x any) {
	x.(*waiter).index = len(*w)
	*w = append(*w, x.(*waiter))
}
func (w *waiters) Pop() any {
	last := (*w)[len(*w)-1]
	last.index = -1
	(*w)[len(*w)-1] = nil
	*w = (*w)[:len(*w)-1]
	return last
}

// began returns the time at which the head of a request had arrived, by the server's record.
// Without a record it returns the current time.
func began(w http.ResponseWriter) timeline.Time {
	for {
		switch v := w.(type) {
		case *response:
			if v.e == nil {
				return v.s.clock.Now()
			}
			v.e.c.mu.Lock()
			defer v.e.c.mu.Unlock()
			return v.e.seen.Began
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return timeline.Monotonic().Now()
		}
	}
}

// Timing is when a response is sent, after the head of its request was there.
type Timing struct {
	Latency   time.Duration // before the head is sent
	FirstByte time.Duration // from then on, before the first byte of the body is
	Chunks    []Chunk       // in order; none: the body is sent at once
}

// Chunk says up to which byte of a body, as it is sent, has been sent from when on. After the last
// the rest is.
type Chunk struct {
	To int64
	At time.Duration // after the head was sent
}

// paced writes at the times of a timing, which are absolute, so that lateness does not add up.
type paced struct {
	http.ResponseWriter
	ctx    context.Context
	pacer  *pacer
	timing *Timing
	head   timeline.Time // when the head is due
	begun  bool
	sent   int64
	chunk  int
}

func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *paced) WriteHeader(status int) {
	p.ResponseWriter.WriteHeader(status)
}

func (p *paced) flush() { _ = http.NewResponseController(p.ResponseWriter).Flush() }

func (p *paced) Write(b []byte) (written int, err error) {
	if !p.begun {
		p.begun = true
		if p.timing.FirstByte > 0 {
			p.flush()
			if err := p.pacer.wait(p.ctx, p.head.Add(p.timing.FirstByte)); err != nil {
				return 0, err
			}
		}
	}
	for len(b) > 0 {
		part := b
		if p.chunk < len(p.timing.Chunks) {
			c := p.timing.Chunks[p.chunk]
			if p.sent >= c.To && p.chunk < len(p.timing.Chunks)-1 {
				p.chunk++
				continue
			}
			p.flush()
			if err := p.pacer.wait(p.ctx, p.head.Add(c.At)); err != nil {
				return written, err
			}
			if p.chunk < len(p.timing.Chunks)-1 {
				part = b[:min(int64(len(b)), c.To-p.sent)]
			}
		}
		n, err := p.ResponseWriter.Write(part)
		written += n
		p.sent += int64(n)
		if err != nil {
			return written, err
		}
		b = b[n:]
	}
	return written, nil
}
