// Package sched assigns the jobs of a fleet to devices. It is pure: jobs, rigs and a clock go in,
// assignments and reasons come out. It does no I/O and starts no goroutine.
//
// Jobs with equal needs form a group. A free device compares only the groups that it fits. On each
// device the classes share its time as 8 to 4 to 2 to 1, and the owners in a class equally. Both are
// charged estimated device-seconds, which are corrected when a job has ended.
package sched

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// classes by weight. A class is charged its use times 1, 2, 4 or 8.
var classes = []string{api.ClassNow, api.ClassCheck, api.ClassWatch, api.ClassFill}

const (
	minEstimate = time.Second
	maxEstimate = 7 * 24 * time.Hour
)

// Job is a request for one or more devices of one rig.
type Job struct {
	ID, Owner string
	Class     string // as in api; "": now
	Kind      string // suite, url or upload
	Feeds     []string
	Needs     Needs
	Devices   int // of one rig; 0: 1
	Estimate  time.Duration
	Queued    time.Time
	Not       []string // rigs to leave out
	Only      string   // RIG/DEVICE on which alone it may run
	// Keep names a set or bisect of several jobs. They run one after the other on the device of the
	// first. The device waits for the next one at most Options.MaxIdle. Greater classes may come between.
	Keep string
}

// Rig is a rig as its hub knows it.
type Rig struct {
	ID      string
	Devices []Device
	Online  bool
	Drain   bool
	Reason  string // why it gets no jobs, or the note of Drain
	Accept  wire.Accept
}

// Device is a device of a rig.
type Device struct {
	Name   string
	Labels map[string]string
	Free   bool   // but for jobs of this scheduler
	Reason string // why it is not free
}

// Reservation keeps a share of the devices that fit for one class. The share is of their number,
// rounded to the nearest.
type Reservation struct {
	Needs    Needs
	Class    string
	Share    float64
	From, To int // hours of the day of the clock given to Assign; equal: always
}

// Options of a scheduler.
type Options struct {
	Reserve []Reservation
	MaxIdle time.Duration // of a kept device; 0: 10 min
}

// Assignment gives devices of one rig to a job.
type Assignment struct {
	Job, Rig string
	Devices  []string
}

// Scheduler holds the waiting and running jobs. It is not safe for concurrent use.
type Scheduler struct {
	maxIdle time.Duration
	now     time.Time // of the latest Assign
	count   int64     // of events, for an order

	rigs    map[string]*rig
	order   []*rig // by ID
	devices map[string]*device
	jobs    map[string]*entry
	busy    map[string]*entry // by device, also of devices that are not enrolled now
	groups  map[string]*group
	waiting int // groups with jobs

	owners  map[string]int32
	names   []string // of owners
	turn    []int64  // by owner, while one device is served
	holds   map[string]*hold
	ending  []*hold // since the latest Assign
	ready   []*device
	reserve []*reserve
}

// New returns a scheduler without jobs and rigs.
func New(o Options) *Scheduler {
	s := &Scheduler{
		maxIdle: cmp.Or(o.MaxIdle, 10*time.Minute),
		rigs:    map[string]*rig{}, devices: map[string]*device{}, jobs: map[string]*entry{},
		busy: map[string]*entry{}, groups: map[string]*group{}, owners: map[string]int32{}, holds: map[string]*hold{},
	}
	for _, r := range o.Reserve {
		s.reserve = append(s.reserve, &reserve{Reservation: r, class: max(0, slices.Index(classes, r.Class))})
	}
	return s
}

// entry is a job that waits or runs.
type entry struct {
	id       string
	queue    *queue
	queued   int64
	estimate int64
	claim    *rig     // whose devices wait for it
	run      *running // nil: it waits
}

type running struct {
	rig     string
	devices []string // IDs
	end     time.Time
	hold    *hold
}

// group is the jobs that fit the same devices.
type group struct {
	key     string
	job     Job // of its first: for all fields that its jobs share
	waiting int
	classes [4]backlog
	fitting []*device
}

// backlog is the waiting jobs of a class in a group. Its owners take turns.
type backlog struct {
	waiting int
	now     int64
	queues  []*queue
}

// queue is the waiting jobs of an owner, oldest first.
type queue struct {
	group *group
	class int
	owner int32
	turn  int64
	jobs  []*entry
}

type rig struct {
	Rig
	devices []*device // by name
	claim   *entry    // a job of several devices that waits for them
	taken   int       // devices
}

type device struct {
	id, name string
	rig      *rig
	labels   map[string]string
	free     bool
	reason   string
	job      *entry
	hold     *hold
	groups   []*group
	classes  turns
	owners   [4]turns
	reserve  []*reserve
	ready    bool  // it is in Scheduler.ready
	since    int64 // event that made it idle
}

// hold keeps the devices of a job for the next one of its set.
type hold struct {
	name    string
	class   int
	running int
	until   time.Time // zero: not known yet
}

func (h *hold) holds(now time.Time) bool {
	return h != nil && (h.running > 0 || h.until.IsZero() || now.Before(h.until))
}

// reserve counts the devices of a reservation, and those that other classes have.
type reserve struct {
	Reservation
	class           int
	devices, others int
}

// usable reports whether a device works, for a job that it has or for the next one.
func (d *device) usable() bool {
	return d.rig.Online && !d.rig.Drain && d.rig.Reason == "" && (d.free || d.job != nil)
}

func (d *device) available() bool { return d.job == nil && d.usable() }

// account adds a device to its reservations, or removes it before it changes.
func (d *device) account(sign int) {
	if !d.usable() {
		return
	}
	for _, r := range d.reserve {
		r.devices += sign
		if d.job != nil && d.job.queue.class != r.class {
			r.others += sign
		}
	}
}

// touch lets the next Assign look for a job for the device.
func (s *Scheduler) touch(devices ...*device) {
	for _, d := range devices {
		if !d.ready && d.available() {
			d.ready = true
			s.ready = append(s.ready, d)
		}
	}
}

// groupOf returns the group of a job. It may be a new one that is not stored.
func (s *Scheduler) groupOf(j *Job) *group {
	var b strings.Builder
	for _, t := range j.Needs {
		b.WriteString(t.Key)
		for _, v := range t.Values {
			b.WriteByte('=')
			b.WriteString(v)
		}
		b.WriteByte(0)
	}
	for _, list := range [][]string{j.Feeds, j.Not, {j.Kind, j.Only, j.Keep, strconv.Itoa(j.Devices)}} {
		b.WriteByte(1)
		for _, v := range list {
			b.WriteString(v)
			b.WriteByte(0)
		}
	}
	if g := s.groups[b.String()]; g != nil {
		return g
	}
	g := &group{key: b.String(), job: *j}
	for _, r := range s.order {
		g.fitting = append(g.fitting, g.fit(r)...)
	}
	return g
}

// fit returns the devices of a rig that the group's jobs can run on, or none if they are too few.
func (g *group) fit(r *rig) []*device {
	j := &g.job
	if slices.Contains(j.Not, r.ID) || !accepts(r.Accept.Kinds, j.Kind) ||
		slices.ContainsFunc(j.Feeds, func(f string) bool { return !accepts(r.Accept.Feeds, f) }) {
		return nil
	}
	var all []*device
	for _, d := range r.devices {
		if g.fits(d) {
			all = append(all, d)
		}
	}
	if len(all) < j.Devices {
		return nil
	}
	return all
}

func (g *group) fits(d *device) bool {
	return (g.job.Only == "" || g.job.Only == d.id) && g.job.Needs.Fits(d.labels)
}

func accepts(list []string, word string) bool { return len(list) == 0 || slices.Contains(list, word) }

// Check returns an error if a job is invalid, or fits no enrolled device. It names the nearest
// label.
func (s *Scheduler) Check(j Job) error {
	j.Devices = max(1, j.Devices)
	switch {
	case j.ID == "" || j.Owner == "":
		return errors.New("job: ID and owner are missing")
	case j.Class != "" && !slices.Contains(classes, j.Class):
		return fmt.Errorf("job %s: class %q must be one of %s", j.ID, j.Class, strings.Join(classes, ", "))
	case j.Devices > wire.MaxDevices:
		return fmt.Errorf("job %s: %d devices must be at most %d", j.ID, j.Devices, wire.MaxDevices)
	case j.Only != "" && j.Devices > 1:
		return fmt.Errorf("job %s: it keeps one device and cannot use %d", j.ID, j.Devices)
	}
	if err := s.unfit(s.groupOf(&j), j.Owner); err != nil {
		return fmt.Errorf("job %s: %w", j.ID, err)
	}
	return nil
}

// unfit returns why no enrolled device fits a group, or nil.
func (s *Scheduler) unfit(g *group, owner string) error {
	for _, d := range g.fitting {
		if accepts(d.rig.Accept.Owners, owner) {
			return nil
		}
	}
	j := &g.job
	var all, fitting []*device
	for _, r := range s.order {
		all = append(all, r.devices...)
		for _, d := range r.devices {
			if j.Needs.Fits(d.labels) {
				fitting = append(fitting, d)
			}
		}
	}
	only := s.devices[j.Only]
	switch {
	case len(fitting) == 0:
		return j.Needs.unfit(all)
	case j.Only != "" && only == nil:
		return fmt.Errorf("device %s is not enrolled", j.Only)
	case j.Only != "" && !g.fits(only):
		return j.Needs.unfit([]*device{only})
	case j.Devices > 1 && len(g.fitting) == 0:
		return fmt.Errorf("no rig has %d fitting devices that it may use", j.Devices)
	case len(g.fitting) == 0 && len(j.Not) > 0:
		return errors.New("no fitting device is on another rig than those that failed")
	}
	return fmt.Errorf("no rig with a fitting device accepts kind %s of %s", j.Kind, owner)
}

// Add makes a job wait. A waiting job of this ID is replaced. A running one is not changed.
func (s *Scheduler) Add(j Job) {
	if e := s.jobs[j.ID]; e != nil && e.run != nil {
		return
	}
	s.Remove(j.ID)
	e := s.enter(j)
	q := e.queue
	g := q.group
	b := &g.classes[q.class]
	if len(q.jobs) == 0 {
		q.turn = max(q.turn, b.now)
	}
	at, _ := slices.BinarySearchFunc(q.jobs, e, (*entry).compare)
	q.jobs = slices.Insert(q.jobs, at, e)
	b.waiting++
	if g.waiting++; g.waiting == 1 {
		s.waiting++
	}
	s.touch(g.fitting...)
}

// enter returns a new job with its queue.
func (s *Scheduler) enter(j Job) *entry {
	j.Devices = max(1, j.Devices)
	g := s.groupOf(&j)
	if s.groups[g.key] == nil {
		s.sweep()
		s.groups[g.key] = g
		for _, d := range g.fitting {
			d.groups = append(d.groups, g)
		}
	}
	owner, ok := s.owners[j.Owner]
	if !ok {
		owner = int32(len(s.names))
		s.owners[j.Owner] = owner
		s.names, s.turn = append(s.names, j.Owner), append(s.turn, 0)
	}
	class := max(0, slices.Index(classes, j.Class))
	b := &g.classes[class]
	at := slices.IndexFunc(b.queues, func(q *queue) bool { return q.owner == owner })
	if at < 0 {
		at = len(b.queues)
		b.queues = append(b.queues, &queue{group: g, class: class, owner: owner})
	}
	estimate := min(max(j.Estimate, minEstimate), maxEstimate)
	e := &entry{id: j.ID, queue: b.queues[at], queued: j.Queued.UnixNano(), estimate: int64(estimate)}
	s.jobs[e.id] = e
	return e
}

func (e *entry) compare(f *entry) int {
	return cmp.Or(cmp.Compare(e.queued, f.queued), cmp.Compare(e.id, f.id))
}

// sweep forgets groups without jobs, once they are the most.
func (s *Scheduler) sweep() {
	if len(s.groups) < 2*s.waiting+64 {
		return
	}
	maps.DeleteFunc(s.groups, func(_ string, g *group) bool { return g.waiting == 0 })
	maps.DeleteFunc(s.holds, func(_ string, h *hold) bool { return !h.holds(s.now) })
	for _, d := range s.devices {
		d.groups = slices.DeleteFunc(d.groups, func(g *group) bool { return g.waiting == 0 })
	}
}

// Resume adds a job that already runs, after a restart of the hub. Its rig may enrol later.
func (s *Scheduler) Resume(j Job, a Assignment) {
	s.Remove(j.ID)
	ids := make([]string, len(a.Devices))
	for i, name := range a.Devices {
		ids[i] = a.Rig + "/" + name
	}
	s.take(s.enter(j), a.Rig, ids)
}

// Remove forgets a job, whether it waits or runs.
func (s *Scheduler) Remove(id string) {
	if e := s.jobs[id]; e != nil {
		if e.run != nil {
			s.release(e)
		} else {
			s.dequeue(e)
		}
		delete(s.jobs, id)
	}
}

// Ended removes a job and corrects its owner's and its class's accounts.
func (s *Scheduler) Ended(id string, used time.Duration) {
	if e := s.jobs[id]; e != nil && e.run != nil {
		more := int64(min(max(used, 0), maxEstimate)) - e.estimate
		q := e.queue
		q.turn += more * int64(len(e.run.devices))
		for _, id := range e.run.devices {
			if d := s.devices[id]; d != nil {
				d.classes.correct(int32(q.class), more<<q.class)
				d.owners[q.class].correct(q.owner, more)
			}
		}
	}
	s.Remove(id)
}

// SetRig enrols a rig or changes it. A rig that has not changed costs little.
func (s *Scheduler) SetRig(now Rig) {
	r := s.rigs[now.ID]
	changed := r == nil
	if r == nil {
		r = &rig{Rig: Rig{ID: now.ID}}
		s.rigs[now.ID] = r
		at, _ := slices.BinarySearchFunc(s.order, r, func(a, b *rig) int { return cmp.Compare(a.ID, b.ID) })
		s.order = slices.Insert(s.order, at, r)
	}
	for _, d := range r.devices {
		d.account(-1)
	}
	changed = changed || !slices.Equal(r.Accept.Owners, now.Accept.Owners) ||
		!slices.Equal(r.Accept.Kinds, now.Accept.Kinds) || !slices.Equal(r.Accept.Feeds, now.Accept.Feeds)
	before := r.devices
	r.Rig, r.devices = now, make([]*device, 0, len(now.Devices))
	r.Rig.Devices = nil
	for _, n := range now.Devices {
		id := r.ID + "/" + n.Name
		d := s.devices[id]
		if slices.Contains(r.devices, d) {
			continue // it has this name twice
		}
		if d == nil {
			d = &device{id: id, name: n.Name, rig: r, job: s.busy[id]}
			s.devices[id] = d
		}
		if d.labels == nil || !maps.Equal(d.labels, n.Labels) {
			changed = true
			d.labels, d.reserve = maps.Clone(n.Labels), nil
			for _, v := range s.reserve {
				if v.Needs.Fits(d.labels) {
					d.reserve = append(d.reserve, v)
				}
			}
		}
		d.free, d.reason = n.Free, n.Reason
		r.devices = append(r.devices, d)
	}
	slices.SortFunc(r.devices, func(a, b *device) int { return cmp.Compare(a.name, b.name) })
	s.replaced(r, before, changed)
}

// RemoveRig forgets a rig. Its running jobs stay until Ended or Remove.
func (s *Scheduler) RemoveRig(id string) {
	if r := s.rigs[id]; r != nil {
		s.SetRig(Rig{ID: id})
		delete(s.rigs, id)
		s.order = slices.DeleteFunc(s.order, func(o *rig) bool { return o == r })
	}
}

// replaced updates the index after a change of a rig.
func (s *Scheduler) replaced(r *rig, before []*device, changed bool) {
	for _, d := range before {
		if !slices.Contains(r.devices, d) {
			changed = true
			delete(s.devices, d.id)
			d.free, d.job, d.groups = false, nil, nil
		}
	}
	r.taken = 0
	for _, d := range r.devices {
		d.account(1)
		if d.job != nil {
			r.taken++
		}
	}
	if changed {
		for _, d := range r.devices {
			d.groups = d.groups[:0]
		}
		for _, g := range s.groups {
			g.fitting = slices.DeleteFunc(g.fitting, func(d *device) bool { return d.rig == r })
			fit := g.fit(r)
			g.fitting = append(g.fitting, fit...)
			for _, d := range fit {
				d.groups = append(d.groups, g)
			}
		}
	}
	if c := r.claim; c != nil && !c.queue.group.enough(r) {
		s.unclaim(c)
	}
	s.touch(r.devices...)
}
