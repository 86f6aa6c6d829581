package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/sched"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// writeTime bounds one access to the storage.
const writeTime = 5 * time.Second

// find returns a job, also one that only the storage has. Nil: there is none.
func (h *Hub) find(ctx context.Context, id string) (*job, error) {
	if j := h.jobs[id]; j != nil {
		return j, nil
	}
	j := &job{record: record{Job: id}}
	if err := h.reload(ctx, j); err != nil {
		return nil, unavailable(err)
	}
	return h.jobs[id], nil
}

// reload reads a job from the storage after somebody else has changed it.
func (h *Hub) reload(ctx context.Context, j *job) error {
	ctx, stop := context.WithTimeout(ctx, writeTime) // h.mu is held
	defer stop()
	e, err := h.bucket.Get(ctx, j.Job)
	if errors.Is(err, bus.ErrNotFound) {
		h.forget(j)
		return nil
	}
	var r record
	if err == nil {
		r, err = decodeRecord(e.Value)
	}
	if err != nil {
		return err
	}
	j.record, j.revision, j.spec = r, e.Revision, nil
	h.index(j)
	return nil
}

// index brings all of the memory in line with a job's record.
func (h *Hub) index(j *job) {
	now, is := h.o.Now(), h.jobs[j.Job] != nil
	h.jobs[j.Job] = j
	if !is {
		h.owned[j.Owner]++
		h.refer(j, 1)
	}
	on := ""
	if j.live() {
		on = j.last().Rig
	}
	if j.on != "" && (j.on != on || j.number != len(j.Attempts)) {
		h.leave(j, now)
	}
	if on != "" && j.on == "" {
		j.on, j.number = on, len(j.Attempts)
		j.assigned, j.seen, j.told, j.progress = now, now, false, ""
		h.rig(on).live[j.Job] = j
		if !j.given {
			h.sched.Resume(j.wanted(), sched.Assignment{Job: j.Job, Rig: on, Devices: j.last().Devices})
		}
		h.show(h.rig(on))
	}
	j.given = false
	switch wait := j.State == queued; {
	case wait && !j.waits:
		h.sched.Add(h.waiter(j))
	case j.ended() && j.waits:
		h.sched.Remove(j.Job)
	}
	j.waits = j.State == queued
	if len(j.Builds) > 0 && !j.ended() {
		h.building[j.Job] = j
	} else {
		delete(h.building, j.Job)
	}
	if on == "" {
		j.spec = nil
	}
	if j.ended() && !j.counted {
		j.counted = true
		for n := range j.Attempts {
			h.supersede(j, n+1)
		}
		if h.owned[j.Owner]--; h.owned[j.Owner] <= 0 {
			delete(h.owned, j.Owner)
		}
		h.refer(j, -1)
		h.over = append(h.over, j)
		h.unlogged[j.Job] = j
	}
	h.changed("", j.Job)
}

// supersede tells the rig of an attempt, in its next poll, that another attempt has won.
func (h *Hub) supersede(j *job, n int) {
	if r := h.rigs[j.Attempts[n-1].Rig]; r != nil && j.Winner != 0 && j.Winner != n {
		r.superseded[wire.AttemptID(j.Job, n)] = true
	}
}

// leave frees the devices of a job's attempt.
func (h *Hub) leave(j *job, now time.Time) {
	r := h.rig(j.on)
	delete(r.live, j.Job)
	h.sched.Ended(j.Job, now.Sub(j.assigned))
	j.on = ""
	h.show(r)
}

// forget removes a job from the memory.
func (h *Hub) forget(j *job) {
	if h.jobs[j.Job] == nil {
		return
	}
	if j.on != "" {
		h.leave(j, h.o.Now())
	}
	if j.waits {
		h.sched.Remove(j.Job)
	}
	if !j.counted {
		h.owned[j.Owner]--
		h.refer(j, -1)
	}
	delete(h.jobs, j.Job)
	delete(h.unlogged, j.Job)
	h.changed("", j.Job)
}

// refer counts the jobs that need a blob. Blobs that none needs are deleted later.
func (h *Hub) refer(j *job, by int) {
	for _, sum := range []string{j.SpecSum, j.Upload} {
		if sum == "" {
			continue
		}
		if h.refs[sum] += by; h.refs[sum] <= 0 {
			delete(h.refs, sum)
			h.unused = append(h.unused, sum)
		}
	}
}

// details reads a job's parameters.
func (h *Hub) details(ctx context.Context, j *job) error {
	if j.spec != nil {
		return nil
	}
	raw, err := []byte(j.Spec), error(nil)
	if j.SpecSum != "" {
		ctx, stop := context.WithTimeout(ctx, writeTime) // h.mu is held
		defer stop()
		raw, err = h.o.Bus.Blobs().Get(ctx, j.SpecSum)
	}
	s := &spec{}
	if err == nil {
		err = json.Unmarshal(raw, s)
	}
	if err != nil {
		return fmt.Errorf("read the parameters of %s: %w", j.Job, err)
	}
	j.spec, j.size = s, len(raw)
	return nil
}

// assign gives free devices to waiting jobs. It wakes the rigs when that is stored.
func (h *Hub) assign() {
	now := h.o.Now()
	ctx := context.Background()
	for _, a := range h.sched.Assign(now) {
		j := h.jobs[a.Job]
		if j == nil || j.State != queued {
			h.sched.Remove(a.Job)
			continue
		}
		j.waits, j.given = false, true // the scheduler has moved it
		next := j.clone()
		done := func(err error) {
			if err != nil {
				h.keepWaiting(j, err)
			} else {
				_ = h.o.Bus.Wake(a.Rig) // it polls anyway
			}
		}
		err := h.op.err // the storage is asked once
		if err == nil {
			err = h.details(ctx, j)
		}
		switch {
		case errors.Is(err, bus.ErrNotFound):
			next.end(now, failed, err.Error())
			done = func(err error) {
				if h.sched.Remove(j.Job); err != nil {
					h.keepWaiting(j, err)
				}
			}
			err = h.write(j, next, done)
		case err == nil:
			next.State, next.Reason = assigned, ""
			next.Attempts = append(next.Attempts, attempt{Rig: a.Rig, Devices: a.Devices, State: assigned,
				BeganNS: now.UnixNano()})
			err = h.write(j, next, done)
		default:
			h.op.err = err
		}
		if err != nil {
			h.keepWaiting(j, err)
		}
	}
}

// keepWaiting has a job wait again that could not be assigned, if nobody has taken it.
func (h *Hub) keepWaiting(j *job, err error) {
	h.sched.Remove(j.Job)
	j.given = false
	h.index(j)
	h.o.Log.Warn("a job could not be assigned", "job", j.Job, "error", err)
}

// fate is what becomes of a reported result.
type fate int

const (
	stored  fate = iota // or of no use: the rig may forget it
	wanted              // its light folder is needed first
	pending             // it cannot be stored now
)

// settle stores the result of an attempt of a rig. It may come any number of times.
func (h *Hub) settle(ctx context.Context, rig string, e *wire.Ended) fate {
	id, n, ok := parseAttempt(e.Attempt)
	if !ok || !jobForm.MatchString(id) {
		return stored
	}
	j, err := h.find(ctx, id)
	if err != nil {
		return pending
	}
	if j == nil || n > len(j.Attempts) || j.Attempts[n-1].Rig != rig {
		h.o.Log.Warn("a rig has reported an attempt that is not its own", "rig", rig, "attempt", e.Attempt)
		return stored
	}
	if j.ended() {
		h.supersede(j, n) // its runs may be new
		if all := h.rig(rig).resend; all[e.Attempt] && validLight(e.Light) && j.dark == "" &&
			!h.light.has(rig, e.Attempt) {
			return wanted
		} else {
			delete(all, e.Attempt)
		}
		return stored
	}
	current := n == len(j.Attempts) && j.live()
	if current {
		j.seen, j.told = h.o.Now(), true
	}
	next := j.clone()
	a := &next.Attempts[n-1]
	if a.State != assigned && a.State != running && a.State != lost {
		return stored
	}
	h.judge(&next, n, e, current)
	if next.ended() && next.State != cancelled && validLight(e.Light) && j.dark == "" && !h.light.has(rig, e.Attempt) {
		return wanted
	}
	took := time.Duration(e.EndedNS - e.StartedNS)
	if err := h.write(j, next, func(err error) {
		if err == nil && next.State == succeeded {
			h.learn(j, took)
		}
	}); err != nil {
		h.warn("a result could not be stored", err, "attempt", e.Attempt)
	}
	return pending
}

// judge changes a record by the result of attempt n. current: the job waits for this attempt.
func (h *Hub) judge(r *record, n int, e *wire.Ended, current bool) {
	now := h.o.Now()
	a := &r.Attempts[n-1]
	a.State, a.Reason, a.EndedNS = e.State, clip(e.Reason, maxReason), now.UnixNano()
	a.Set = e.Set != "" || len(e.Runs) > 0
	if e.Fault == "lab" || e.Fault == "product" {
		a.Fault = e.Fault
	}
	switch {
	case e.State == succeeded:
		r.Winner, r.Verdict = n, clip(e.Verdict, 64)
		if m := len(r.Attempts); m != n && r.live() {
			r.last().State, r.last().EndedNS = cancelled, now.UnixNano()
			r.last().Reason = fmt.Sprintf("attempt %d has ended ok", n)
		}
		r.end(now, succeeded, "")
	case e.State == failed && a.Fault != "lab" && n == len(r.Attempts):
		a.Fault = "product"
		r.Verdict = clip(e.Verdict, 64)
		r.end(now, failed, a.Reason)
	case !current: // the job does not wait for it
	case r.Cancel != "":
		r.end(now, cancelled, r.Cancel)
	case e.State == cancelled:
		r.end(now, cancelled, "it was cancelled on "+a.Rig+"; "+a.Reason)
	case e.State == refused:
		h.again(r, a.Rig, "its rig has refused it: "+a.Reason, true)
	default: // interrupted, or a fault of the lab
		a.Fault = "lab"
		r.Faults++
		if r.Faults > maxRetries {
			end := failed
			if e.State == interrupted {
				end = interrupted
			}
			r.end(now, end, fmt.Sprintf("the lab has failed %d times; %s", r.Faults, a.Reason))
			return
		}
		h.again(r, a.Rig, a.Reason, r.Replace)
	}
}

// again queues the job once more: on another rig, or only on the devices of its last attempt.
// Without another fitting rig the same one may do it, unless it has refused the job.
func (h *Hub) again(r *record, rig, reason string, other bool) {
	now, a := h.o.Now(), r.last()
	if len(r.Attempts) >= maxAttempts {
		r.end(now, failed, fmt.Sprintf("after %d attempts: %s", maxAttempts, reason))
		return
	}
	r.State, r.Reason = queued, clip(reason, maxReason)
	switch {
	case other:
		r.Only = ""
		if !slices.Contains(r.Not, rig) {
			r.Not = append(r.Not, rig)
		}
		if err := h.sched.Check(r.wanted()); err != nil && a.State == refused {
			r.end(now, failed, fmt.Sprintf("%s; %v", reason, err))
		} else if err != nil {
			r.Not = nil
		}
	case len(a.Devices) == 1:
		r.Only = a.Rig + "/" + a.Devices[0]
	case !slices.Contains(r.Needs, "rig="+a.Rig):
		r.Needs = append(slices.Clone(r.Needs), "rig="+a.Rig, "device="+strings.Join(a.Devices, ","))
	}
	if other {
		return
	}
	if err := h.sched.Check(r.wanted()); err != nil { // the device has left the fleet
		r.end(now, failed, fmt.Sprintf("%s; %v", reason, err))
	}
}

// lose ends the attempts that rigs no longer work at.
func (h *Hub) lose(now time.Time) {
	for _, name := range sortedKeys(h.rigs) {
		r := h.rigs[name]
		for _, id := range sortedKeys(r.live) {
			j := r.live[id]
			until := j.assigned.Add(time.Duration(j.EstimateNS))
			if j.seen.After(until) || r.online(now) && r.unreported <= r.reported {
				until = j.seen // a rig that is there tells all of its attempts
			}
			if now.Sub(until) <= h.o.LostAfter {
				continue
			}
			next := j.clone()
			a := next.last()
			a.State, a.Fault, a.EndedNS = lost, "lab", now.UnixNano()
			a.Reason = r.silence(now)
			switch {
			case next.Cancel != "":
				next.end(now, cancelled, next.Cancel)
			case next.Replace:
				if next.Faults++; next.Faults > maxRetries {
					next.end(now, failed, fmt.Sprintf("the lab has failed %d times; %s", next.Faults, a.Reason))
				} else {
					h.again(&next, a.Rig, a.Reason, true)
				}
			default:
				h.again(&next, a.Rig, a.Reason, false)
			}
			if err := h.write(j, next, func(err error) {
				if err == nil {
					h.figures.lost++
				}
			}); err != nil {
				h.warn("a lost attempt could not be stored", err, "job", id)
			}
		}
	}
}

// mention notes that a rig works at an attempt. It reports if the rig should go on.
func (h *Hub) mention(rig string, m *wire.Running) {
	id, n, ok := parseAttempt(m.Attempt)
	j := h.jobs[id]
	if !ok || j == nil || j.ended() || n != len(j.Attempts) || j.last().Rig != rig {
		return
	}
	// the rig was away, and works at it
	back := j.State == queued && j.last().State == lost && !h.rig(rig).uses(j.last().Devices)
	if !j.live() && !back {
		return
	}
	if m.State == running && j.State == assigned || back {
		next := j.clone()
		next.State, next.Reason = running, ""
		a := next.last()
		a.State, a.Fault, a.Reason, a.EndedNS = running, "", "", 0
		if err := h.write(j, next, nil); err != nil {
			h.warn("a job's state could not be stored", err, "job", id)
		}
		return // it is mentioned again after that
	}
	j.seen, j.told = h.o.Now(), true
	if p := clip(m.Progress, 200); p != j.progress {
		j.progress = p
		h.changed("", id)
	}
}

// Cancel ends a job. One that a rig works at ends when the rig reports it, or is lost. may reports
// if the caller may end jobs of an owner.
func (h *Hub) Cancel(ctx context.Context, id, reason string, may func(owner string) bool) (out api.FleetJob,
	err error) {
	did := false
	h.do(func() { out, err = h.cancel(ctx, id, reason, may, &did) }, func() {
		if j := h.jobs[id]; err == nil && j != nil {
			out = h.view(j)
		}
	})
	return out, err
}

func (h *Hub) cancel(ctx context.Context, id, reason string, may func(owner string) bool, did *bool) (api.FleetJob,
	error) {
	if err := h.ready(); err != nil {
		return api.FleetJob{}, err
	}
	j, err := h.find(ctx, id)
	switch {
	case err != nil:
		return api.FleetJob{}, err
	case j == nil:
		return api.FleetJob{}, api.Errorf(api.NotFound, "unknown job %.100q", id)
	case !may(j.Owner):
		return api.FleetJob{}, api.Errorf(api.Forbidden, "job %s is of %s", id, j.Owner)
	case *did:
		return api.FleetJob{}, nil
	case j.ended():
		return api.FleetJob{}, api.Errorf(api.Conflict, "job %s has ended: %s", id, j.State)
	case j.Cancel != "":
		return api.FleetJob{}, nil
	}
	next, now := j.clone(), h.o.Now()
	next.Cancel = clip(reason, maxReason)
	rig := ""
	switch {
	case !j.live():
		next.end(now, cancelled, next.Cancel)
	case !j.told: // no rig knows of it
		next.last().State, next.last().EndedNS = cancelled, now.UnixNano()
		next.end(now, cancelled, next.Cancel)
	default:
		rig = j.last().Rig
	}
	if err := h.write(j, next, func(err error) {
		if *did = err == nil; *did && rig != "" {
			_ = h.o.Bus.Wake(rig) // it polls anyway
		}
	}); err != nil {
		return api.FleetJob{}, unavailable(err)
	}
	return api.FleetJob{}, nil
}
