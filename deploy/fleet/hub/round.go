package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/deploy/fleet/bus"
)

// Changes are made in rounds. A round carries out all operations that wait, one after the other. It
// stores all of their changes at the same time, without the lock. It then assigns jobs to free
// devices and stores that. So the end of a job is on the disk before the next job gets its device.
// Memory and storage are equal.
//
// An operation runs again after its changes were stored, until it wants no other. Its last run has
// its result. It must therefore lead to the same when it is repeated.

// operation is a part of a round.
type operation struct {
	run    func()        // with the lock held
	answer func()        // at its end, with the lock held; may be nil
	done   chan struct{} // closed at its end
	err    error         // of the storage: it changes nothing more
	wants  bool          // its run has wanted a change
	looks  bool          // it may not change anything in this run
	again  bool          // it has run before
	runs   int
}

// timeOfEach is added to the time limit of a round for each of its writes.
const timeOfEach = 20 * time.Millisecond

// maxRounds bounds an operation whose jobs others change all the time.
const maxRounds = 8

// errAgain means that a change waits for another one, or for the next round.
var errAgain = errors.New("the job is being changed")

// change is a job's next state, which is being stored.
type change struct {
	job  *job
	next record
	raw  []byte
	of   *operation
	done func(error) // with the lock held; may be nil
}

// do carries out an operation. It returns after all of its changes are on the disk.
func (h *Hub) do(run, answer func()) {
	o := &operation{run: run, answer: answer, done: make(chan struct{})}
	h.waitingMu.Lock()
	h.waiting = append(h.waiting, o)
	h.waitingMu.Unlock()
	for {
		select {
		case <-o.done:
			return
		case h.turn <- struct{}{}:
			select {
			case <-o.done:
			default:
				h.round()
			}
			<-h.turn
		}
	}
}

// round carries out the operations that wait. The caller has the turn.
func (h *Hub) round() {
	h.waitingMu.Lock()
	all := h.waiting
	h.waiting = nil
	h.waitingMu.Unlock()
	h.mu.Lock()
	for _, o := range all {
		o.looks, o.runs = o.runs >= maxRounds, o.runs+1
		h.carryOut(o)
	}
	h.commit()
	h.op = &operation{}
	h.assign()
	h.commit()
	var again []*operation
	for _, o := range all {
		if o.wants {
			o.looks = true
			h.carryOut(o) // it may have all that it wants
		}
		if o.wants && o.runs <= maxRounds {
			again = append(again, o)
			continue
		}
		if o.answer != nil {
			o.answer()
		}
		close(o.done)
	}
	h.mu.Unlock()
	h.waitingMu.Lock()
	h.waiting = append(again, h.waiting...)
	h.waitingMu.Unlock()
}

func (h *Hub) carryOut(o *operation) {
	h.op, o.wants = o, false
	o.run()
	o.again = true
}

// write has the next state of a job stored, if it has not changed since. The memory gets it when it
// is on the disk. Then done is called, also with an error.
func (h *Hub) write(j *job, next record, done func(error)) error {
	o := h.op
	if o.err != nil {
		return o.err
	}
	raw, err := next.encode()
	if err != nil {
		return err
	}
	if o.wants = true; o.looks || h.changing[next.Job] {
		return errAgain
	}
	h.figures.writes++
	h.changing[next.Job] = true
	h.changes = append(h.changes, change{j, next, raw, o, done})
	return nil
}

// commit stores the changes of the operations, without the lock. After an error the memory has the
// old state of the job, or the one that another hub has written.
func (h *Hub) commit() {
	changes, rigs := h.changes, h.saves
	h.changes, h.saves, h.changing = nil, nil, map[string]bool{}
	if len(changes)+len(rigs) == 0 {
		return
	}
	entries, members := make([]bus.Entry, len(changes)), make([]bus.Entry, len(rigs))
	for i, c := range changes {
		entries[i] = bus.Entry{Key: c.next.Job, Value: c.raw, Revision: c.job.revision}
	}
	for i, r := range rigs {
		raw, _ := json.Marshal(r.member) // was checked
		members[i] = bus.Entry{Key: r.Rig, Value: raw, Revision: r.revision}
		r.dirty = false
	}
	h.mu.Unlock()
	most := writeTime + time.Duration(len(changes)+len(rigs))*timeOfEach
	ctx, stop := context.WithTimeout(context.Background(), most)
	defer stop()
	kept := h.bucket.PutAll(ctx, entries)
	saved := h.o.Bus.Bucket(bus.Rigs).PutAll(ctx, members)
	h.mu.Lock()
	for i, c := range changes {
		err := kept[i].Err
		switch {
		case errors.Is(err, bus.ErrConflict) && c.job.revision != 0:
			err = errors.Join(err, h.reload(ctx, c.job))
		case err == nil:
			c.job.record, c.job.revision = c.next, kept[i].Revision
			h.index(c.job)
		}
		if err != nil && !errors.Is(err, bus.ErrConflict) {
			c.of.err = err
		}
		if c.done != nil {
			c.done(err)
		}
	}
	for i, r := range rigs {
		if saved[i].Err == nil {
			r.revision = saved[i].Revision
			continue
		}
		r.dirty = true
		h.o.Log.Warn("a rig's state could not be stored", "rig", r.Rig, "error", saved[i].Err)
		if errors.Is(saved[i].Err, bus.ErrConflict) { // an earlier write may have happened
			if e, err := h.o.Bus.Bucket(bus.Rigs).Get(ctx, r.Rig); err == nil {
				r.revision = e.Revision
			}
		}
	}
}

// warn logs the error of a change. One that only waits is not logged.
func (h *Hub) warn(text string, err error, args ...any) {
	if !errors.Is(err, errAgain) {
		h.o.Log.Warn(text, append(args, "error", fmt.Sprint(err))...)
	}
}
