package sched

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Assign gives waiting jobs to free devices, which are taken until Ended or Remove. It looks only at
// devices to which something has happened, or that wait for a time.
func (s *Scheduler) Assign(now time.Time) (all []Assignment) {
	s.now = now
	for _, h := range s.ending {
		if h.running == 0 {
			h.until = now.Add(s.maxIdle)
		}
	}
	s.ending = s.ending[:0]
	var later []*device
	for len(s.ready) > 0 {
		ready := s.ready
		s.ready = nil
		for _, d := range ready {
			d.ready = false
		}
		// A device that fits few jobs comes first, so that it does not stay idle. Then come devices of
		// rigs that measure nothing, and those that have been idle longest.
		slices.SortFunc(ready, func(a, b *device) int {
			return cmp.Or(cmp.Compare(len(a.groups), len(b.groups)), cmp.Compare(a.rig.taken, b.rig.taken),
				cmp.Compare(a.since, b.since), cmp.Compare(a.id, b.id))
		})
		for _, d := range ready {
			if !d.available() {
				continue
			}
			if a, wait := s.serve(d); a != nil {
				all = append(all, *a)
			} else if wait {
				later = append(later, d)
			}
		}
	}
	s.touch(later...)
	return all
}

// serve finds a job for a free device. wait tells that one may get it later without a further event.
func (s *Scheduler) serve(d *device) (a *Assignment, wait bool) {
	if c := d.rig.claim; c != nil && c.queue.group.fits(d) {
		if devices := s.place(c.queue.group, d, c.queue.class, true); devices != nil {
			return s.assign(c, devices), false
		}
		if s.claimable(c.queue.group, d, c.queue.class) {
			return nil, true
		}
		s.unclaim(c)
	}
	allowed := s.allowed(d, 1)
	var there uint // classes
	for _, g := range d.groups {
		if g.waiting == 0 {
			continue
		}
		for c := range g.classes {
			if g.classes[c].waiting == 0 {
				continue
			}
			if allowed&(1<<c) == 0 || !s.unheld(g, d, c) {
				wait = true
			} else {
				there |= 1 << c
			}
		}
	}
	for there != 0 {
		class, least := 0, int64(math.MaxInt64)
		for c := range classes {
			if at := d.classes.start(int32(c)); there&(1<<c) != 0 && at < least {
				class, least = c, at
			}
		}
		there &^= 1 << class
		if e := s.next(d, class); e != nil {
			if devices := s.place(e.queue.group, d, class, false); devices != nil {
				return s.assign(e, devices), false
			}
			e.claim, d.rig.claim = d.rig, e
			return nil, true
		}
	}
	return nil, wait
}

// next returns the job of a class whose turn it is on a device, or nil.
func (s *Scheduler) next(d *device, class int) (next *entry) {
	t := &d.owners[class]
	for _, l := range t.last {
		s.turn[l.key] = l.at
	}
	first, owners := int64(0), d.rig.Accept.Owners
	for _, g := range d.groups {
		b := &g.classes[class]
		if b.waiting == 0 || !s.unheld(g, d, class) {
			continue
		}
		whole := g.job.Devices == 1 || s.place(g, d, class, false) != nil
		if !whole && (d.rig.claim != nil || !s.claimable(g, d, class)) {
			continue
		}
		for _, q := range b.queues {
			if len(q.jobs) == 0 || !accepts(owners, s.names[q.owner]) || !whole && q.jobs[0].claim != nil {
				continue
			}
			e, at := q.jobs[0], max(s.turn[q.owner], t.now)
			if next == nil || at < first || at == first && e.before(next) {
				next, first = e, at
			}
		}
	}
	for _, l := range t.last {
		s.turn[l.key] = 0
	}
	return next
}

// before orders heads of owners who have used a device equally.
func (e *entry) before(f *entry) bool {
	if e.queue.group == f.queue.group && e.queue.turn != f.queue.turn {
		return e.queue.turn < f.queue.turn
	}
	return e.compare(f) < 0
}

// place returns the device and others of its rig for a job, or nil if too few are free. A claim goes
// before kept devices.
func (s *Scheduler) place(g *group, d *device, class int, claim bool) []*device {
	n := g.job.Devices
	if n == 1 {
		return []*device{d}
	}
	all := []*device{d}
	if s.allowed(d, n)&(1<<class) == 0 {
		return nil
	}
	for _, o := range d.rig.devices {
		if len(all) < n && o != d && o.available() && g.fits(o) && s.allowed(o, n)&(1<<class) != 0 &&
			(claim || s.unheld(g, o, class)) {
			all = append(all, o)
		}
	}
	if len(all) < n {
		return nil
	}
	return all
}

// claimable reports whether enough devices of a rig will be free if they are kept idle.
func (s *Scheduler) claimable(g *group, d *device, class int) bool {
	return s.allowed(d, g.job.Devices)&(1<<class) != 0 && g.enough(d.rig)
}

// enough reports whether a rig has the devices for a job of the group, free or not.
func (g *group) enough(r *rig) bool {
	n := 0
	for _, d := range r.devices {
		if d.usable() && g.fits(d) {
			n++
		}
	}
	return n >= g.job.Devices
}

// unclaim lets others have the devices that wait for a job.
func (s *Scheduler) unclaim(e *entry) {
	if r := e.claim; r != nil {
		e.claim, r.claim = nil, nil
		s.touch(r.devices...)
	}
}

// allowed returns the classes that may take n devices such as this one, by the reservations.
func (s *Scheduler) allowed(d *device, n int) uint {
	allowed := uint(1)<<len(classes) - 1
	for _, r := range d.reserve {
		if r.holds(s.now) && r.others+n > r.devices-int(math.Round(r.Share*float64(r.devices))) {
			allowed &= 1 << r.class
		}
	}
	return allowed
}

// holds reports whether the reservation is valid at a time.
func (r *Reservation) holds(now time.Time) bool {
	h := now.Hour()
	if r.From < r.To {
		return h >= r.From && h < r.To
	}
	return r.From == r.To || h >= r.From || h < r.To
}

// unheld reports whether sets that keep devices permit a group's job on this one.
func (s *Scheduler) unheld(g *group, d *device, class int) bool {
	if g.job.Keep != "" {
		if h := s.holds[g.job.Keep]; h.holds(s.now) {
			return h.running == 0 && d.hold == h
		}
	}
	return !d.hold.holds(s.now) || class < d.hold.class
}

// assign takes devices of one rig for a waiting job. It charges the job's estimate.
func (s *Scheduler) assign(e *entry, devices []*device) *Assignment {
	q := e.queue
	b := &q.group.classes[q.class]
	b.now = max(b.now, q.turn)
	q.turn += e.estimate * int64(len(devices))
	s.dequeue(e)
	a := &Assignment{Job: e.id, Rig: devices[0].rig.ID}
	ids := make([]string, len(devices))
	for i, d := range devices {
		d.classes.charge(int32(q.class), e.estimate<<q.class)
		d.owners[q.class].charge(q.owner, e.estimate)
		ids[i] = d.id
		a.Devices = append(a.Devices, d.name)
	}
	s.take(e, a.Rig, ids)
	return a
}

// dequeue removes a waiting job from its queue.
func (s *Scheduler) dequeue(e *entry) {
	q := e.queue
	if at, ok := slices.BinarySearchFunc(q.jobs, e, (*entry).compare); ok {
		if at == 0 {
			q.jobs[0] = nil
			q.jobs = q.jobs[1:]
		} else {
			q.jobs = slices.Delete(q.jobs, at, at+1)
		}
		q.group.classes[q.class].waiting--
		if q.group.waiting--; q.group.waiting == 0 {
			s.waiting--
		}
	}
	s.unclaim(e)
}

// take marks devices as taken. Those that are not enrolled are marked when they are.
func (s *Scheduler) take(e *entry, rig string, ids []string) {
	e.run = &running{rig: rig, devices: ids, end: s.now.Add(time.Duration(e.estimate))}
	if name := e.queue.group.job.Keep; name != "" {
		h := s.holds[name]
		if !h.holds(s.now) {
			h = &hold{name: name}
			s.holds[name] = h
		}
		h.class = e.queue.class
		h.running++
		e.run.hold = h
	}
	for _, id := range ids {
		s.busy[id] = e
		if d := s.devices[id]; d != nil {
			d.account(-1)
			if d.job == nil {
				d.rig.taken++
			}
			d.job = e
			if e.run.hold != nil {
				d.hold = e.run.hold
			}
			d.account(1)
		}
	}
}

// release frees the devices of a running job.
func (s *Scheduler) release(e *entry) {
	if h := e.run.hold; h != nil {
		if h.running--; h.running == 0 {
			h.until = time.Time{}
			s.ending = append(s.ending, h)
		}
	}
	s.count++
	for _, id := range e.run.devices {
		if s.busy[id] != e {
			continue
		}
		delete(s.busy, id)
		if d := s.devices[id]; d != nil {
			d.account(-1)
			d.job = nil
			d.since = s.count
			d.rig.taken--
			d.account(1)
			s.touch(d)
		}
	}
}
