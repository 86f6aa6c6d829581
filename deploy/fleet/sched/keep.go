package sched

import (
	"slices"
	"time"
)

// MaxIdle is how long a device is kept for the next job of a set.
const MaxIdle = 10 * time.Minute

// hold keeps a device for the next job of a set.
type hold struct {
	class, running int
	until          time.Time // zero: not known yet
	released       bool      // the set has no next job
}

func (h *hold) holds(now time.Time) bool {
	return h != nil && (h.running > 0 || !h.released && (h.until.IsZero() || now.Before(h.until)))
}

// Rest keeps the devices of a set's job that has ended, after a restart of the hub. It is called
// with the latest job first, and after Resume. A device that runs another job, or that a later set
// keeps, is left out.
func (s *Scheduler) Rest(j Job, a Assignment) {
	if s.holds[j.Keep].holds(s.now) {
		return
	}
	h := &hold{class: max(0, slices.Index(classes, j.Class))}
	for _, name := range a.Devices {
		id := a.Rig + "/" + name
		d := s.devices[id]
		switch {
		case s.busy[id] != nil || s.left[id].holds(s.now) || d != nil && d.hold.holds(s.now):
			continue
		case d != nil:
			d.hold = h
		default:
			s.left[id] = h
		}
		if s.holds[j.Keep] != h {
			s.holds[j.Keep] = h
			s.ending = append(s.ending, h)
		}
	}
}

// Release ends a set, so that its device is free for all.
func (s *Scheduler) Release(set string) {
	h := s.holds[set]
	if h == nil {
		return
	}
	h.released = true
	delete(s.holds, set)
	for _, d := range s.devices {
		if d.hold == h {
			s.touch(d)
		}
	}
}
