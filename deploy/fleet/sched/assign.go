package sched

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// turns shares a device by start-time fair queueing. Each key (class, team or owner) has a turn.
// Its use moves the turn on. The least turn comes next. An idle key saves up no turns.
type turns struct {
	now  int64 // turn of the latest key that was served
	last []turn
}

// turn is the next one of a key. Keys without one have the turn now.
type turn struct {
	key int32
	at  int64
}

func (t *turns) start(key int32) int64 {
	for _, l := range t.last {
		if l.key == key {
			return max(l.at, t.now)
		}
	}
	return t.now
}

func (t *turns) charge(key int32, use int64) {
	t.now = t.start(key)
	t.correct(key, use)
}

// correct moves the turn of a key that used more or less than it was charged. It forgets turns
// that are over.
func (t *turns) correct(key int32, use int64) {
	at := t.start(key) + use
	t.last = slices.DeleteFunc(t.last, func(l turn) bool { return l.key == key || l.at <= t.now })
	if at > t.now {
		t.last = append(t.last, turn{key, at})
	}
}

// Assign gives waiting jobs to free devices, which are taken until Ended or Remove. It looks only
// at devices to which something has happened, or that wait for a time.
func (s *Scheduler) Assign(now time.Time) (all []Assignment) {
	s.now = now
	for _, h := range s.ending {
		h.until = now.Add(MaxIdle)
	}
	s.ending = s.ending[:0]
	s.recount()
	var later []*device
	for len(s.ready) > 0 {
		ready := s.ready
		s.ready = nil
		// A device that fits few jobs comes first, so that it does not stay idle. Then come devices of
		// rigs that measure nothing, and those that have been idle longest.
		for _, d := range ready {
			d.ready = false
			d.rank = int64(len(d.groups))<<48 + int64(d.rig.taken)<<40 + d.freed
			if d.job != nil {
				d.rank += 1 << 62 // a set yields if no other device is free
			}
		}
		slices.SortFunc(ready, func(a, b *device) int { return cmp.Compare(a.rank, b.rank) })
		for _, d := range ready {
			if s.waiting == 0 || !d.open(0) {
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

// serve finds a job for a free device. wait: it may get one later without a further event.
func (s *Scheduler) serve(d *device) (a *Assignment, wait bool) {
	var there uint // classes
	allowed := s.allowed(d)
	for _, g := range d.groups {
		for c := range g.classes {
			if g.waiting > 0 && g.classes[c].waiting > 0 && d.open(c) {
				if allowed&(1<<c) != 0 && s.unheld(g, d, c) {
					there |= 1 << c
				} else {
					wait = true
				}
			}
		}
	}
	if c := s.claim(d); c != nil && there&^(1<<fill) != 0 && s.passed(c, d) {
		there, wait = there&^(1<<fill), true
	} else if c != nil {
		if devices := s.place(c.queue, d); devices != nil {
			return s.assign(c, devices), false
		}
		if s.claimable(c.queue, d) {
			return nil, true
		}
		s.unclaim(c)
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
			if devices := s.place(e.queue, d); devices != nil {
				return s.assign(e, devices), false
			}
			if c := d.rig.claim; c != nil {
				c.claim = nil
			}
			e.claim, d.rig.claim = d.rig, e
			if wait = true; !s.passed(e, d) {
				return nil, true
			}
		}
	}
	return nil, wait
}

// member is a team and a class on a device.
type member struct {
	team  int32
	class int
}

func (q *queue) member() member { return member{q.team, q.class} }

// several reports if a team may have several owners.
func (s *Scheduler) several(team int32) bool { return int(team) < len(s.listed) }

// cost is what a team is charged for its use.
func (s *Scheduler) cost(team int32, use int64) int64 {
	if share := s.shares[team]; share != 1 {
		return int64(float64(use) / share)
	}
	return use
}

// use moves the turns of a team and of its owner in a backlog.
func (s *Scheduler) use(q *queue, use int64) {
	q.side.turn += s.cost(q.team, use)
	if s.several(q.team) {
		q.turn += use
	}
}

// next returns the job of a class that comes next on a device, or nil. The team that used the
// device least for its share comes first. In it, the owner who used it least comes first. Then the
// least turn decides in a group, and the older job between groups.
func (s *Scheduler) next(d *device, class int) (next *entry) {
	t := &d.teams[class]
	for _, l := range t.last {
		s.turn[l.key] = l.at
	}
	kept := d.rig.claim != nil && (class == fill || !s.passed(d.rig.claim, d))
	var first, firstOwn int64
	for _, g := range d.groups {
		b := &g.classes[class]
		if b.waiting == 0 || !s.unheld(g, d, class) {
			continue
		}
		var head *entry
		var turn, own int64
		for _, q := range b.queues {
			if len(q.jobs) == 0 || !accepts(d.rig.Accept.Owners, s.names[q.owner]) || g.job.Devices > 1 &&
				(kept || q.jobs[0].claim != nil || !s.claimable(q, d)) && s.place(q, d) == nil {
				continue
			}
			at, of := max(s.turn[q.team], t.now), int64(0)
			if s.several(q.team) {
				if owners := d.owners[q.member()]; owners != nil {
					of = owners.start(q.owner) - owners.now
				}
			}
			if order := cmp.Or(cmp.Compare(at, turn), cmp.Compare(of, own)); head == nil || order < 0 ||
				order == 0 && q.before(head.queue) {
				head, turn, own = q.jobs[0], at, of
			}
		}
		if head != nil && (next == nil ||
			cmp.Or(cmp.Compare(turn, first), cmp.Compare(own, firstOwn), head.compare(next)) < 0) {
			next, first, firstOwn = head, turn, own
		}
	}
	for _, l := range t.last {
		s.turn[l.key] = 0
	}
	return next
}

// before orders the queues of a backlog.
func (q *queue) before(o *queue) bool {
	return cmp.Or(cmp.Compare(q.side.turn, o.side.turn), cmp.Compare(q.turn, o.turn), q.jobs[0].compare(o.jobs[0])) < 0
}

// place returns the device and others of its rig for a job, or nil if too few are free.
func (s *Scheduler) place(q *queue, d *device) []*device {
	if !d.open(q.class) {
		return nil
	}
	n := q.group.job.Devices
	all := []*device{d}
	for _, o := range d.rig.devices {
		if len(all) < n && o != d && o.open(q.class) && q.group.fits(o) &&
			s.unheld(q.group, o, q.class) && s.allowed(append(all, o)...)&(1<<q.class) != 0 {
			all = append(all, o)
		}
	}
	if len(all) < n || s.allowed(all...)&(1<<q.class) == 0 {
		return nil
	}
	return all
}

// claimable reports whether enough devices of a rig will be free if they are kept idle.
func (s *Scheduler) claimable(q *queue, d *device) bool {
	like := slices.Repeat([]*device{d}, q.group.job.Devices)
	return s.allowed(like...)&(1<<q.class) != 0 && s.enough(q, d.rig, true)
}

// enough reports whether a rig has the devices for a job, free or soon. Those that sets keep do not
// count, nor those that are not for jobs after the present one. filled: those with jobs of class
// fill count.
func (s *Scheduler) enough(q *queue, r *rig, filled bool) bool {
	n := 0
	for _, d := range r.devices {
		if d.usable() && d.Reason == "" && q.group.fits(d) && s.unheld(q.group, d, q.class) &&
			(filled || s.under[d.id] == nil && (d.job == nil || !d.job.fills())) {
			n++
		}
	}
	return n >= q.group.job.Devices
}

// claim returns the job for which a device is kept idle, or nil.
func (s *Scheduler) claim(d *device) *entry {
	if c := d.rig.claim; c != nil && c.queue.group.fits(d) && s.unheld(c.queue.group, d, c.queue.class) {
		return c
	}
	return nil
}

// passed reports if jobs of other classes may use a device although it is kept idle for a job. They
// may if that is of class fill and waits for another one of its class, which may take long.
func (s *Scheduler) passed(c *entry, d *device) bool {
	return c.fills() && (d.job != nil || !s.enough(c.queue, d.rig, false))
}

// unclaim gives up the devices that are kept idle for a job.
func (s *Scheduler) unclaim(e *entry) {
	if r := e.claim; r != nil {
		e.claim, r.claim = nil, nil
		s.touch(r.devices...)
	}
}

// reserve counts the devices of a reservation, and those that other classes have.
type reserve struct {
	Reservation
	class, devices, others int
}

// counts reports if a device is one of those that other classes have.
func (r *reserve) counts(d *device) bool { return d.job != nil && d.job.queue.class != r.class }

func (s *Scheduler) recount() {
	for _, r := range s.reserve {
		r.devices, r.others = 0, 0
	}
	if len(s.reserve) == 0 {
		return
	}
	for _, d := range s.devices {
		for _, r := range d.reserve {
			if d.usable() {
				r.devices++
			}
			if r.counts(d) {
				r.others++
			}
		}
	}
}

// allowed returns the classes that may take devices, by the reservations.
func (s *Scheduler) allowed(all ...*device) uint {
	allowed := uint(1)<<len(classes) - 1
	for _, d := range all {
		for _, r := range d.reserve {
			others := r.others
			for _, o := range all {
				if !r.counts(o) && (o == d || slices.Contains(o.reserve, r)) {
					others++
				}
			}
			if r.holds(s.now) && others > r.devices-int(math.Round(r.Share*float64(r.devices))) {
				allowed &= 1 << r.class
			}
		}
	}
	return allowed
}

func (r *Reservation) holds(now time.Time) bool {
	h := now.Hour()
	if r.From < r.To {
		return h >= r.From && h < r.To
	}
	return r.From == r.To || h >= r.From || h < r.To
}

// unheld reports whether the sets that keep devices permit a group's job on this one.
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
	b.now = max(b.now, q.side.turn)
	q.side.now = max(q.side.now, q.turn)
	s.use(q, e.estimate*int64(len(devices)))
	s.dequeue(e)
	a := &Assignment{Job: e.id, Rig: devices[0].rig.ID}
	for _, d := range devices {
		d.classes.charge(int32(q.class), e.estimate<<q.class)
		d.teams[q.class].charge(q.team, s.cost(q.team, e.estimate))
		if s.several(q.team) {
			d.ownersOf(q.member()).charge(q.owner, e.estimate)
		}
		a.Devices = append(a.Devices, d.Name)
		for _, r := range d.reserve {
			if r.class != q.class && !r.counts(d) {
				r.others++
			}
		}
	}
	s.take(e, *a)
	return a
}

// ownersOf returns the turns of a team's owners.
func (d *device) ownersOf(m member) *turns {
	if d.owners == nil {
		d.owners = map[member]*turns{}
	}
	if d.owners[m] == nil {
		d.owners[m] = &turns{}
	}
	return d.owners[m]
}

// dequeue removes a waiting job from its queue.
func (s *Scheduler) dequeue(e *entry) {
	q := e.queue
	if at, _ := slices.BinarySearchFunc(q.jobs, e, (*entry).compare); at == 0 {
		q.jobs[0] = nil
		q.jobs = q.jobs[1:]
	} else {
		q.jobs = slices.Delete(q.jobs, at, at+1)
	}
	q.side.waiting--
	q.group.classes[q.class].waiting--
	if q.group.waiting--; q.group.waiting == 0 {
		s.waiting--
	}
	s.unclaim(e)
}

// take marks devices as taken. Those that are not enrolled are marked when they are.
func (s *Scheduler) take(e *entry, a Assignment) {
	e.run = &running{end: s.now.Add(time.Duration(e.estimate))}
	if name := e.queue.group.job.Keep; name != "" {
		if h := s.holds[name]; !h.holds(s.now) {
			s.holds[name] = &hold{}
		}
		e.run.hold = s.holds[name]
		e.run.hold.class = e.queue.class
		e.run.hold.running++
	}
	for _, name := range a.Devices {
		id := a.Rig + "/" + name
		e.run.devices = append(e.run.devices, id)
		if was := s.busy[id]; was != nil && was != e && was.fills() != e.fills() {
			if e.fills() { // after a restart
				s.under[id] = e
				continue
			}
			s.under[id] = was
		}
		s.busy[id] = e
		if d := s.devices[id]; d != nil {
			if d.job == nil {
				d.rig.taken++
			}
			if d.job = e; e.run.hold != nil {
				d.hold = e.run.hold
			}
		}
	}
}

// release frees the devices of a running job.
func (s *Scheduler) release(e *entry) {
	if h := e.run.hold; h != nil {
		h.running--
		h.until = time.Time{}
		s.ending = append(s.ending, h)
	}
	for _, id := range e.run.devices {
		if s.under[id] == e {
			delete(s.under, id)
		}
		if s.busy[id] != e {
			continue
		}
		under := s.under[id]
		delete(s.under, id)
		if s.busy[id] = under; under == nil {
			delete(s.busy, id)
		}
		if d := s.devices[id]; d != nil {
			s.freed++
			d.job, d.freed = under, s.freed
			if under == nil {
				d.rig.taken--
			}
			s.touch(d)
		} else if e.run.hold != nil {
			s.left[id] = e.run.hold
		}
	}
}
