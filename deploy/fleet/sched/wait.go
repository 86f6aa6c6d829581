package sched

import (
	"fmt"
	"sort"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
)

// Wait returns a waiting job's place among the jobs of its class with equal needs, from 1, and why
// it waits. The place supposes that all jobs take equally long. 0 means that the job does not wait.
func (s *Scheduler) Wait(id string, now time.Time) (place int, reason string) {
	e := s.jobs[id]
	if e == nil || e.run != nil {
		return 0, ""
	}
	place = e.place()
	return place, s.why(e, place, now)
}

// place counts the jobs of other owners that have their turns before.
func (e *entry) place() int {
	q := e.queue
	own := sort.Search(len(q.jobs), func(i int) bool { return q.jobs[i].compare(e) >= 0 })
	place := own + 1
	for _, o := range q.group.classes[q.class].queues {
		if o == q || len(o.jobs) == 0 {
			continue
		}
		rounds := own
		if o.jobs[0].before(q.jobs[0]) {
			rounds++
		}
		place += min(rounds, len(o.jobs))
	}
	return place
}

// why returns the reason as a sentence without its end.
func (s *Scheduler) why(e *entry, place int, now time.Time) string {
	g, owner := e.queue.group, s.names[e.queue.owner]
	if err := s.unfit(g, owner); err != nil {
		return err.Error()
	}
	var fitting, away int
	var free bool
	var first *device // of those at work, the one that ends first
	var blocked, broken string
	for _, d := range g.fitting {
		if !accepts(d.rig.Accept.Owners, owner) {
			continue
		}
		fitting++
		switch {
		case !d.rig.Online:
			away++
		case !d.usable():
			broken = d.state()
		case d.job != nil:
			if first == nil || d.job.run.end.Before(first.job.run.end) {
				first = d
			}
		default:
			if why := s.blocked(e, d, now); why != "" {
				blocked = why
			} else {
				free = true
			}
		}
	}
	switch {
	case away == fitting && fitting == 1:
		return g.fitting[0].id + " is away"
	case away == fitting:
		return fmt.Sprintf("all %d fitting devices are away", fitting)
	case !free && first == nil && blocked == "":
		return broken
	case !free && first == nil:
		return blocked
	case place > 1:
		return "its owner's turn comes after " + wording.Plural(place-1, "job")
	case free:
		return "it begins next"
	}
	return fmt.Sprintf("waits for %s, which runs %s", first.id, first.job.id)
}

// state explains why a device of a rig that is there gets no jobs.
func (d *device) state() string {
	text, reason := d.id, d.reason
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
func (s *Scheduler) blocked(e *entry, d *device, now time.Time) string {
	g, class := e.queue.group, e.queue.class
	s.now = now
	if c := d.rig.claim; c != nil && c != e && c.queue.group.fits(d) {
		return fmt.Sprintf("%s waits for other devices of its rig, for %s", d.id, c.id)
	}
	if !s.unheld(g, d, class) {
		if h := s.holds[g.job.Keep]; h.holds(now) {
			return "waits for the device that " + g.job.Keep + " keeps"
		}
		return fmt.Sprintf("%s is kept for %s", d.id, d.hold.name)
	}
	if s.allowed(d, g.job.Devices)&(1<<class) == 0 {
		for _, r := range d.reserve {
			if r.holds(now) && r.class != class {
				return "reserved for class " + r.words()
			}
		}
	}
	if g.job.Devices > 1 && s.place(g, d, class, false) == nil {
		return fmt.Sprintf("waits until %d devices of %s are free", g.job.Devices, d.rig.ID)
	}
	return ""
}

func (r *reserve) words() string {
	if r.From == r.To {
		return classes[r.class]
	}
	return fmt.Sprintf("%s from %d to %d", classes[r.class], r.From, r.To)
}
