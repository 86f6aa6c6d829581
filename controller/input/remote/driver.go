package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

// Driver is an agent's driver, from afar.
type Driver struct {
	address string
	wire    *wire.Conn
	clock   timeline.Clock
	info    input.Info
	lifted  []string

	ends sync.WaitGroup // the goroutines
	gone chan struct{}  // closed when the connection has ended

	mu      sync.Mutex
	err     error // why it has ended
	offsets offsets
	number  uint64
	waiting map[uint64]*question

	closed bool // of the driver's own goroutine
}

// question is a request that an answer is waited for.
type question struct {
	asked  timeline.Time
	heard  timeline.Time
	answer reply
	done   chan struct{} // closed when the answer is there
}

// Info implements input.Driver: what the agent's driver is, and how well its clock is known.
func (d *Driver) Info() input.Info {
	i := d.info
	i.Device += " through the agent at " + d.address
	notes := []string{d.clockNote()}
	if i.Note != "" {
		notes = append([]string{i.Note}, notes...)
	}
	if len(d.lifted) > 0 {
		notes = append(notes, "the agent had lost its last controller, and has lifted: "+strings.Join(d.lifted, ", "))
	}
	i.Note = strings.Join(notes, "; ")
	return i
}

func (d *Driver) clockNote() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.offsets.known() {
		return "nothing is known of the agent's clock"
	}
	least, most := d.offsets.at(d.offsets.last[len(d.offsets.last)-1].answered)
	note := fmt.Sprintf("the agent's clock is known within %v, which the intervals have in them",
		(most - least).Round(time.Microsecond))
	if d.offsets.jumps > 0 {
		note += fmt.Sprintf("; a clock has jumped %d times", d.offsets.jumps)
	}
	return note
}

// Do implements input.Driver.
func (d *Driver) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	if d.closed {
		return timeline.Interval{}, fmt.Errorf("input at %s: %w", d.address, os.ErrClosed)
	}
	sent, err := d.do(ctx, at, actions)
	if err != nil {
		return timeline.Interval{}, fmt.Errorf("input at %s: %w", d.address, err)
	}
	return sent, nil
}

func (d *Driver) do(ctx context.Context, at timeline.Time, actions []input.Action) (timeline.Interval, error) {
	packed, err := pack(actions)
	if err != nil {
		return timeline.Interval{}, err
	}
	if err := d.approach(ctx, at); err != nil {
		return timeline.Interval{}, err
	}
	began := d.clock.Now()
	r := request{Op: opDo, Actions: packed, At: d.theirs(max(at, began))}
	q, err := d.ask(ctx, r)
	if err != nil {
		return timeline.Interval{}, err
	}
	if err := q.answer.Error.err(); err != nil {
		switch canceled := errors.Is(err, context.Canceled); {
		case canceled && ctx.Err() != nil:
			err = ctx.Err()
		case canceled: // not by us
			err = fmt.Errorf("%w: the agent has ended what it did", input.ErrGone)
		}
		return timeline.Interval{}, err
	}
	sent := timeline.Interval{Earliest: q.answer.Earliest, Latest: q.answer.Latest}
	if !sent.Valid() {
		return timeline.Interval{}, fmt.Errorf("agent says that it has sent until before it began")
	}
	return d.ours(ctx, sent, timeline.Interval{Earliest: began, Latest: q.heard}), nil
}

// lead is how long before its time a request is sent, without the ways. The offset is asked for
// within it.
const lead = 50 * time.Millisecond

// approach waits until shortly before a time, and then asks for the offset.
func (d *Driver) approach(ctx context.Context, at timeline.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	early := lead + min(4*d.offsets.way(), time.Second)
	known := d.offsets.known()
	d.mu.Unlock()
	wait := at.Sub(d.clock.Now()) - early
	if wait > 0 {
		if err := d.sleep(ctx, wait); err != nil {
			return err
		}
	}
	for range 3 { // of which one does, unless the clock jumps right now
		if wait <= 0 && known {
			return nil
		}
		if _, err := d.ask(ctx, request{Op: opClock}); err != nil {
			return err
		}
		d.mu.Lock()
		known = d.offsets.known()
		d.mu.Unlock()
		wait = 0
	}
	return errors.New("the agent's clock does not run like a clock")
}

func (d *Driver) sleep(ctx context.Context, wait time.Duration) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-d.gone:
		return d.lost()
	}
}

func (d *Driver) theirs(t timeline.Time) timeline.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.offsets.known() {
		return -maxTime // at once
	}
	return d.offsets.theirs(t)
}

// refinements is how often the offset is asked for again behind something that was sent.
const refinements = 4

// ours translates the agent's interval back. It lies within call, what the clocks may say.
// Exchanges behind it bound the offset from there, where the ones before it are too old or were
// slow.
func (d *Driver) ours(ctx context.Context, sent, call timeline.Interval) timeline.Interval {
	for range refinements {
		d.mu.Lock()
		_, doubt := d.translate(sent, call)
		goal := d.offsets.way() + 50*time.Microsecond
		d.mu.Unlock()
		if doubt <= goal {
			break
		}
		if _, err := d.ask(ctx, request{Op: opClock}); err != nil {
			break // sent actions cannot be undone
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	ours, _ := d.translate(sent, call)
	return ours
}

// translate returns the interval on our clock, and how much wider it is than the agent's. The
// caller has the lock.
func (d *Driver) translate(sent, call timeline.Interval) (ours timeline.Interval, doubt time.Duration) {
	ours = call
	if d.offsets.known() {
		t := d.offsets.ours(sent)
		t.Earliest, t.Latest = max(t.Earliest, call.Earliest), min(t.Latest, call.Latest)
		if t.Valid() { // else a clock has jumped within
			ours = t
		}
	}
	return ours, ours.Width() - sent.Width()
}

// Release implements input.Driver. An agent that has lost us lifts all by itself.
func (d *Driver) Release(ctx context.Context) error {
	if d.closed {
		return nil
	}
	q, err := d.ask(ctx, request{Op: opRelease})
	if errors.Is(err, input.ErrGone) {
		return nil
	}
	if err == nil {
		err = q.answer.Error.err()
	}
	if err != nil {
		return fmt.Errorf("input at %s: %w", d.address, err)
	}
	return nil
}

// ask sends a request and waits for the answer. When ctx ends it has the agent stop, and still
// waits for what it says.
func (d *Driver) ask(ctx context.Context, r request) (*question, error) {
	q, err := d.send(&r)
	if err != nil {
		return nil, err
	}
	select {
	case <-q.done:
		return q, nil
	case <-d.gone:
		return nil, d.lost()
	case <-ctx.Done():
	}
	if r.Op == opClock {
		return nil, ctx.Err()
	}
	if err := d.wire.Write(request{ID: r.ID, Op: opCancel}, nil); err != nil {
		d.end(err)
	}
	patience := time.NewTimer(patience)
	defer patience.Stop()
	select {
	case <-q.done:
		return q, nil
	case <-d.gone:
	case <-patience.C:
		d.end(errors.New("it does not stop what it does"))
	}
	return nil, d.lost()
}

// send sends a request that is answered.
func (d *Driver) send(r *request) (*question, error) {
	q := &question{done: make(chan struct{})}
	err := d.wire.Write(r, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.number++
		r.ID = d.number
		d.waiting[r.ID] = q
		q.asked = d.clock.Now()
	})
	if errors.Is(err, wire.ErrTooLong) {
		d.mu.Lock()
		delete(d.waiting, r.ID)
		d.mu.Unlock()
		return nil, fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
	}
	if err != nil {
		d.end(err)
		return nil, d.lost()
	}
	return q, nil
}

// listen reads answers until the connection ends.
func (d *Driver) listen() {
	for {
		var r reply
		if err := d.wire.Read(&r, patience); err != nil {
			d.end(err)
			return
		}
		heard := d.clock.Now()
		if err := d.hear(r, heard); err != nil {
			d.end(err)
			return
		}
	}
}

func (d *Driver) hear(r reply, heard timeline.Time) error {
	if err := r.check(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.waiting[r.ID]
	if q == nil {
		return errors.New("it answers an unknown request")
	}
	delete(d.waiting, r.ID)
	q.answer, q.heard = r, heard
	d.offsets.add(exchange{q.asked, r.Received, r.Sent, heard})
	close(q.done)
	return nil
}

// beat asks for the time again and again, which also tells each side that the other is there.
func (d *Driver) beat() {
	t := time.NewTicker(keepAlive)
	defer t.Stop()
	for {
		select {
		case <-d.gone:
			return
		case <-t.C:
			if _, err := d.send(&request{Op: opClock}); err != nil {
				return
			}
		}
	}
}

// end ends the connection, for the first reason that is given.
func (d *Driver) end(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return
	}
	d.err = why
	close(d.gone)
	d.wire.Close()
}

// lost says why the connection has ended.
func (d *Driver) lost() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(d.err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: nothing was heard of the agent for %v", input.ErrGone, patience)
	}
	return fmt.Errorf("%w: the connection to the agent is lost: %w", input.ErrGone, d.err)
}

// Close implements input.Driver. The agent goes on and waits for others.
func (d *Driver) Close() error {
	if d.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), liftTimeout)
	defer cancel()
	err := d.Release(ctx)
	if err == nil {
		_ = d.wire.Write(request{Op: opBye}, nil) // who does not hear it will know by the end of the connection
	}
	d.closed = true
	d.end(net.ErrClosed)
	d.ends.Wait()
	return err
}
