package sched

import (
	"fmt"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
)

// Wait returns a waiting job's place and the reason why it waits. The place counts jobs of its
// class with equal needs, from 1. It supposes that all take equally long. 0: the job does not wait.
func (s *Scheduler) Wait(id string, now time.Time) (place int, reason string) {
	e := s.jobs[id]
	if e == nil || e.run != nil {
		return 0, ""
	}
	q := e.queue
	own, _ := slices.BinarySearchFunc(q.jobs, e, (*entry).compare)
	place = own + 1
	for _, o := range q.group.classes[q.class].queues {
		if o == q || len(o.jobs) == 0 {
			continue
		}
		rounds := own
		if o.before(q) {
			rounds++
		}
		place += min(rounds, len(o.jobs))
	}
	s.now = now
	return place, s.why(e, place) + s.without(q.group)
}

// why returns the reason as a sentence without its end.
func (s *Scheduler) why(e *entry, place int) string {
	g, owner := e.queue.group, s.names[e.queue.owner]
	if err := s.unfit(g, owner, false); err != nil {
		return err.Error()
	}
	var fitting, away int
	var free bool
	var first *device // of those at work, the one that ends first
	var blocked string
	var broken []string
	known := map[string]bool{} // of broken
	for _, d := range g.fitting {
		if !accepts(d.rig.Accept.Owners, owner) {
			continue
		}
		fitting++
		switch {
		case !d.rig.Online:
			away++
			broken = append(broken, d.id+" is away")
		case !d.usable():
			if state := d.state(); !known[state] {
				known[state] = true
				broken = append(broken, state)
			}
		case !d.open(e.queue.class):
			if first == nil || d.job.run.end.Before(first.job.run.end) {
				first = d
			}
		default:
			why := s.blocked(e, d)
			free = free || why == ""
			blocked = why
		}
	}
	switch {
	case away == fitting && fitting > 1:
		return fmt.Sprintf("all %d fitting devices are away", fitting)
	case !free && first == nil && blocked != "":
		return blocked
	case !free && first == nil:
		return wording.Few(broken)
	case place > 1:
		return "its owner's turn comes after " + wording.Plural(place-1, "job")
	case free:
		return "it begins next"
	}
	return fmt.Sprintf("waits for %s, which runs %s", first.id, first.job.id)
}

// state explains why a device of a rig that is online gets no jobs.
func (d *device) state() string {
	text, reason := d.id, d.Reason
	if d.rig.Drain {
		text, reason = d.rig.ID+" drains", d.rig.Reason
	} else if d.rig.Reason != "" {
		text, reason = d.rig.ID, d.rig.Reason
	} else if reason == "" {
		return text + " is not ready"
	}
	if reason != "" {
		text += ": " + reason
	}
	return text
}

// blocked explains why a free device is not for a job now. It is empty if nothing blocks it.
func (s *Scheduler) blocked(e *entry, d *device) string {
	q, g := e.queue, e.queue.group
	if c := s.claim(d); c != nil && c != e && (e.fills() || !s.passed(c, d)) {
		return fmt.Sprintf("%s waits for other devices of its rig, for %s", d.id, c.id)
	}
	if !s.unheld(g, d, q.class) {
		if h := s.holds[g.job.Keep]; h.holds(s.now) {
			return "waits for the device that " + g.job.Keep + " keeps"
		}
		return d.id + " is kept for a set of jobs"
	}
	like := slices.Repeat([]*device{d}, g.job.Devices)
	for _, r := range d.reserve {
		if r.class != q.class && s.allowed(like...)&(1<<q.class) == 0 && r.Reservation.holds(s.now) {
			return fmt.Sprintf("reserved for class %s from %d to %d", classes[r.class], r.From, r.To)
		}
	}
	if s.place(q, d) == nil {
		why := fmt.Sprintf("waits until %d devices of %s are free", g.job.Devices, d.rig.ID)
		for _, o := range d.rig.devices {
			if g.fits(o) && !s.unheld(g, o, q.class) {
				return why + "; " + o.id + " is kept for a set of jobs"
			}
		}
		return why
	}
	return ""
}
