// Package sched assigns the jobs of a fleet to devices. It is pure: jobs, rigs and a clock go in,
// assignments and reasons come out. It does no I/O and starts no goroutine.
//
// Jobs with equal needs form a group. A free device compares only the groups that it fits. On each
// device the classes share its time as 8 to 4 to 2 to 1. The teams in a class share it by their
// shares, and the owners of a team equally. An owner without a team is one with the share 1. All
// are charged estimated device-seconds, which are corrected when a job has ended.
package sched

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// classes by weight. A class is charged its use times 1, 2, 4 or 8.
var classes = []string{api.ClassNow, api.ClassCheck, api.ClassWatch, api.ClassFill}

// Estimates are brought within these.
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
	Tests     []string // that its rig must have
	Browsers  []string // that each device must have
	Needs     Needs
	Devices   int // of one rig; 0: 1
	Estimate  time.Duration
	Queued    time.Time
	Not       []string // rigs to leave out
	Only      string   // RIG/DEVICE on which alone it may run
	// Keep names a set or bisect of several jobs. They run one after the other, on the device of the
	// first. It waits for the next one at most [MaxIdle]. Greater classes may come between.
	Keep string
}

// Rig is a rig as its hub knows it. Labels must not change after SetRig.
type Rig struct {
	ID            string
	Devices       []Device
	Online, Drain bool
	Reason        string // why it gets no jobs, or the note of Drain
	Accept        wire.Accept
	Tests         []string // names; nil: unknown, any may be there
	Yields        bool     // its sets of class fill let other jobs run between two blocks
}

// Device is a device of a rig.
type Device struct {
	Name   string
	Labels map[string]string
	Feeds  []string // whose builds run on it; nil: unknown, any may
	Free   bool     // except for jobs of this scheduler
	Reason string   // why it is not free
}

// Reservation keeps a share of the fitting devices for a class. The share is of their number,
// rounded to the nearest.
type Reservation struct {
	Needs    Needs
	Class    string
	Share    float64
	From, To int // hours of the day, by the clock given to Assign; equal: always
}

// Team is owners that share their turns, however many they are.
type Team struct {
	Owners []string // an owner belongs to the first team that has it
	Share  float64  // beside that of other teams
}

// Options of a scheduler.
type Options struct {
	Reserve []Reservation
	Teams   []Team
}

// Assignment gives devices of one rig to a job.
type Assignment struct {
	Job, Rig string
	Devices  []string
}

// Scheduler holds the waiting and running jobs. It is not safe for concurrent use.
type Scheduler struct {
	reserve []*reserve
	now     time.Time // of the latest Assign
	freed   int64     // devices so far, for their order
	rigs    []*rig    // by ID
	devices map[string]*device
	jobs    map[string]*entry
	busy    map[string]*entry // by device, also of one that is not enrolled now
	under   map[string]*entry // jobs of class fill that yield to the one in busy, by device
	groups  map[string]*group
	waiting int // groups with jobs
	owners  map[string]int32
	names   []string  // of owners
	teams   []int32   // by owner
	shares  []float64 // by team: first those of the options, then those of one owner
	listed  []Team
	turn    []int64 // by team, while a device is served
	holds   map[string]*hold
	left    map[string]*hold // of devices that are absent, by RIG/DEVICE
	ending  []*hold          // since the latest Assign
	ready   []*device
}

// New returns a scheduler without jobs and rigs.
func New(o Options) *Scheduler {
	s := &Scheduler{devices: map[string]*device{},
		jobs: map[string]*entry{}, busy: map[string]*entry{}, under: map[string]*entry{}, groups: map[string]*group{},
		listed: o.Teams, owners: map[string]int32{}, holds: map[string]*hold{}, left: map[string]*hold{}}
	for _, t := range o.Teams {
		s.addTeam(t.Share)
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
	claim    *rig     // whose devices are kept idle for it
	run      *running // nil: it waits
}

type running struct {
	devices []string // IDs
	end     time.Time
	hold    *hold
	lent    time.Duration // of jobs to which it yielded
}

// group has the jobs that fit the same devices.
type group struct {
	job     Job // its first, for the fields that all share
	waiting int
	classes [4]backlog
	fitting []*device
}

// backlog is the waiting jobs of a class in a group. Its teams take turns.
type backlog struct {
	waiting int
	now     int64
	teams   []*side
	queues  []*queue
}

// side is a team in a backlog. Its owners take turns.
type side struct {
	team      int32
	waiting   int
	turn, now int64
}

// queue is the waiting jobs of an owner, oldest first.
type queue struct {
	group *group
	class int
	owner int32
	team  int32
	side  *side
	turn  int64 // in its team; 0: it is alone there
	jobs  []*entry
}

type rig struct {
	Rig
	devices []*device // by name
	claim   *entry    // a job that waits for several of them
	taken   int
}

type device struct {
	Device
	id      string
	rig     *rig
	job     *entry
	hold    *hold
	groups  []*group
	classes turns
	teams   [4]turns
	owners  map[member]*turns // of teams with several owners
	reserve []*reserve
	ready   bool  // it is in Scheduler.ready
	freed   int64 // its number among those that became free
	rank    int64
}

// usable reports whether a device works, for a job that it has or for the next one.
func (d *device) usable() bool {
	return d.rig.Online && !d.rig.Drain && d.rig.Reason == "" && (d.Free || d.job != nil)
}

// touch lets the next Assign look for jobs for devices.
func (s *Scheduler) touch(devices ...*device) {
	for _, d := range devices {
		if !d.ready && d.open(0) {
			d.ready = true
			s.ready = append(s.ready, d)
		}
	}
}

func (j *Job) group() string {
	return fmt.Sprintf("%q%q%q%q%q%q%q%q%d", j.Needs, j.Feeds, j.Not, j.Kind, j.Only, j.Keep, j.Tests, j.Browsers,
		j.Devices)
}

// newGroup returns the group of a job, which is not stored yet.
func (s *Scheduler) newGroup(j Job) *group {
	g := &group{job: j}
	for _, r := range s.rigs {
		g.fitting = append(g.fitting, g.fit(r)...)
	}
	return g
}

// fit returns the devices of a rig that fit the group, or none if they are too few.
func (g *group) fit(r *rig) (all []*device) {
	j := &g.job
	if slices.Contains(j.Not, r.ID) || !accepts(r.Accept.Kinds, j.Kind) ||
		slices.ContainsFunc(j.Feeds, func(f string) bool { return !accepts(r.Accept.Feeds, f) }) || !r.has(j.Tests) {
		return nil
	}
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

func (g *group) fits(d *device) bool { return g.suits(d) && g.lacks(d) == "" }

// suits reports if a device fits, whatever browsers it has.
func (g *group) suits(d *device) bool {
	return (g.job.Only == "" || g.job.Only == d.id) && g.job.Needs.Fits(d.Labels) && told(d.Feeds, g.job.Feeds)
}

// has reports if a rig has tests. One that does not tell them may have any.
func (r *Rig) has(tests []string) bool {
	return told(r.Tests, tests)
}

// told reports if names are there. What is not told may have all.
func told(there, names []string) bool {
	return there == nil || !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(there, n) })
}

func accepts(list []string, word string) bool { return len(list) == 0 || slices.Contains(list, word) }

// Check returns an error if a job is invalid, or fits no enrolled device. It names the nearest
// label.
func (s *Scheduler) Check(j Job) error {
	j.Devices = max(1, j.Devices)
	var err error
	switch {
	case j.Owner == "":
		err = errors.New("its owner is missing")
	case j.Class != "" && !slices.Contains(classes, j.Class):
		err = fmt.Errorf("class %q must be one of %s", j.Class, strings.Join(classes, ", "))
	case j.Devices > wire.MaxDevices:
		err = fmt.Errorf("%d devices must be at most %d", j.Devices, wire.MaxDevices)
	case j.Only != "" && j.Devices > 1:
		err = fmt.Errorf("it keeps one device and cannot use %d", j.Devices)
	default:
		g := s.groups[j.group()]
		if g == nil {
			g = s.newGroup(j)
		}
		err = s.unfit(g, j.Owner, true)
	}
	if err != nil {
		return fmt.Errorf("job %s: %w", j.ID, err)
	}
	return nil
}

// Fitting returns the devices that fit a job, as RIG/DEVICE: those that are there, and others.
// Without any it returns the error of Check.
func (s *Scheduler) Fitting(j Job) (there, away []string, err error) {
	if err := s.Check(j); err != nil {
		return nil, nil, err
	}
	j.Devices = 1
	for _, d := range s.newGroup(j).fitting {
		switch r := d.rig; {
		case !accepts(r.Accept.Owners, j.Owner):
		case r.Online && !r.Drain && r.Reason == "" && d.Reason == "":
			there = append(there, d.id)
		default:
			away = append(away, d.id)
		}
	}
	return there, away, nil
}

// unfit returns why no enrolled device fits a group, or nil. named: it names the tests there.
func (s *Scheduler) unfit(g *group, owner string, named bool) error {
	if slices.ContainsFunc(g.fitting, func(d *device) bool { return accepts(d.rig.Accept.Owners, owner) }) {
		return nil
	}
	j := &g.job
	var all []*device
	for _, r := range s.rigs {
		all = append(all, r.devices...)
	}
	if j.Only != "" {
		if all = []*device{s.devices[j.Only]}; all[0] == nil {
			return fmt.Errorf("device %s is not enrolled", j.Only)
		}
	}
	switch {
	case !slices.ContainsFunc(all, func(d *device) bool { return j.Needs.Fits(d.Labels) }):
		return j.Needs.unfit(all)
	case !slices.ContainsFunc(all, g.suits):
		return fmt.Errorf("no fitting device runs builds of feed %s: its rig needs that feed in its own configuration",
			strings.Join(j.Feeds, " and "))
	case !slices.ContainsFunc(all, g.fits):
		return g.unbrowsed(all)
	case !slices.ContainsFunc(all, func(d *device) bool { return g.fits(d) && d.rig.has(j.Tests) }):
		return g.untested(all, named)
	case len(g.fitting) == 0 && j.Devices > 1:
		return fmt.Errorf("no rig has %d fitting devices that it may use", j.Devices)
	case len(g.fitting) == 0 && len(j.Not) > 0:
		return errors.New("no fitting device is on another rig than those that failed")
	}
	return fmt.Errorf("no rig with a fitting device accepts jobs of kind %q of %s", j.Kind, owner)
}

// maxNamed bounds the names of tests among which the nearest one is found.
const maxNamed = 5000

// untested names a test that no rig with a fitting device has. named: also the nearest one there,
// which takes long for many rigs.
func (g *group) untested(all []*device, named bool) error {
	var rigs []*rig
	for _, d := range all { // those of a rig follow each other
		if g.fits(d) && (len(rigs) == 0 || rigs[len(rigs)-1] != d.rig) {
			rigs = append(rigs, d.rig)
		}
	}
	for _, test := range g.job.Tests {
		if slices.ContainsFunc(rigs, func(r *rig) bool { return r.has([]string{test}) }) {
			continue
		}
		err := fmt.Errorf("no rig with a fitting device has a test %s", test)
		if !named {
			return err
		}
		var there []string
		for _, r := range rigs {
			there = append(there, r.Tests[:min(len(r.Tests), maxNamed-len(there))]...)
		}
		return fmt.Errorf("%w; there are %s", err, few(there, test))
	}
	return fmt.Errorf("no rig with a fitting device has all of the tests %s", strings.Join(g.job.Tests, ", "))
}

// Add makes a job wait. A waiting job of this ID is replaced. A running one is not changed.
func (s *Scheduler) Add(j Job) {
	if e := s.jobs[j.ID]; e != nil && e.run != nil {
		return
	}
	s.Remove(j.ID)
	e := s.enter(j)
	q := e.queue
	g, b := q.group, &q.group.classes[q.class]
	if q.side.waiting == 0 {
		q.side.turn = max(q.side.turn, b.now)
	}
	if len(q.jobs) == 0 {
		q.turn = max(q.turn, q.side.now)
	}
	q.side.waiting++
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
	key := j.group()
	g := s.groups[key]
	if g == nil {
		s.sweep()
		g = s.newGroup(j)
		s.groups[key] = g
		for _, d := range g.fitting {
			d.groups = append(d.groups, g)
		}
	}
	owner, ok := s.owners[j.Owner]
	if !ok {
		owner = int32(len(s.names))
		s.owners[j.Owner] = owner
		s.names, s.teams = append(s.names, j.Owner), append(s.teams, s.teamOf(j.Owner))
	}
	class := max(0, slices.Index(classes, j.Class))
	b := &g.classes[class]
	at := slices.IndexFunc(b.queues, func(q *queue) bool { return q.owner == owner })
	if at < 0 {
		at = len(b.queues)
		b.queues = append(b.queues, &queue{group: g, class: class, owner: owner, team: s.teams[owner],
			side: b.side(s.teams[owner])})
	}
	e := &entry{id: j.ID, queue: b.queues[at], queued: j.Queued.UnixNano(),
		estimate: int64(min(max(j.Estimate, minEstimate), maxEstimate))}
	s.jobs[e.id] = e
	return e
}

// addTeam returns a new team.
func (s *Scheduler) addTeam(share float64) int32 {
	s.shares, s.turn = append(s.shares, share), append(s.turn, 0)
	return int32(len(s.shares) - 1)
}

// teamOf returns the team of a new owner.
func (s *Scheduler) teamOf(owner string) int32 {
	for i, t := range s.listed {
		if slices.Contains(t.Owners, owner) {
			return int32(i)
		}
	}
	return s.addTeam(1)
}

// side returns a team's part of a backlog.
func (b *backlog) side(team int32) *side {
	at := slices.IndexFunc(b.teams, func(t *side) bool { return t.team == team })
	if at < 0 {
		at = len(b.teams)
		b.teams = append(b.teams, &side{team: team})
	}
	return b.teams[at]
}

func (e *entry) compare(f *entry) int {
	return cmp.Or(cmp.Compare(e.queued, f.queued), cmp.Compare(e.id, f.id))
}

// sweep forgets groups without waiting jobs, once they are the most.
func (s *Scheduler) sweep() {
	if len(s.groups) < 2*s.waiting+256 {
		return
	}
	maps.DeleteFunc(s.groups, func(_ string, g *group) bool { return g.waiting == 0 })
	for _, all := range []map[string]*hold{s.holds, s.left} {
		maps.DeleteFunc(all, func(_ string, h *hold) bool { return !h.holds(s.now) })
	}
	for _, d := range s.devices {
		d.groups = slices.DeleteFunc(d.groups, func(g *group) bool { return g.waiting == 0 })
	}
}

// Resume adds a job that already runs, after a restart of the hub. Its rig may enrol later.
func (s *Scheduler) Resume(j Job, a Assignment) {
	s.Remove(j.ID)
	s.take(s.enter(j), a)
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

// Ended removes a job and corrects the accounts of its owner and its class.
func (s *Scheduler) Ended(id string, used time.Duration) {
	if e := s.jobs[id]; e != nil && e.run != nil {
		lent := map[*entry]bool{e: true}
		for _, id := range e.run.devices {
			if u := s.under[id]; u != nil && !lent[u] {
				lent[u] = true
				u.run.lent += max(used, 0)
			}
		}
		more := int64(min(max(used-e.run.lent, 0), maxEstimate)) - e.estimate
		q := e.queue
		s.use(q, more*int64(len(e.run.devices)))
		for _, id := range e.run.devices {
			if d := s.devices[id]; d != nil {
				d.classes.correct(int32(q.class), more<<q.class)
				d.teams[q.class].correct(q.team, s.cost(q.team, more))
				if owners := d.owners[q.member()]; owners != nil {
					owners.correct(q.owner, more)
				}
			}
		}
	}
	s.Remove(id)
}

// SetRig enrols a rig or changes it. It costs little if labels and limits are as before.
func (s *Scheduler) SetRig(now Rig) {
	at, known := slices.BinarySearchFunc(s.rigs, now.ID, func(r *rig, id string) int { return cmp.Compare(r.ID, id) })
	if !known {
		s.rigs = slices.Insert(s.rigs, at, &rig{Rig: Rig{ID: now.ID}})
	}
	r := s.rigs[at]
	before := r.devices
	changed := !known || !reflect.DeepEqual(r.Accept, now.Accept) || !slices.Equal(r.Tests, now.Tests) ||
		(r.Tests == nil) != (now.Tests == nil)
	r.Rig, r.devices, r.taken = now, make([]*device, 0, len(now.Devices)), 0
	for _, n := range now.Devices {
		id := r.ID + "/" + n.Name
		d := s.devices[id]
		if d == nil {
			s.freed++
			d = &device{id: id, rig: r, job: s.busy[id], freed: s.freed, hold: s.left[id]}
			delete(s.left, id)
			if s.devices[id] = d; d.job != nil && d.job.run.hold != nil {
				d.hold = d.job.run.hold
			}
		}
		if slices.Contains(r.devices, d) {
			continue // it has this name twice
		}
		changed = changed || d.Labels == nil || !maps.Equal(d.Labels, n.Labels) ||
			!slices.Equal(d.Feeds, n.Feeds) || (d.Feeds == nil) != (n.Feeds == nil)
		d.Device = n
		r.devices = append(r.devices, d)
		if d.job != nil {
			r.taken++
		}
	}
	slices.SortFunc(r.devices, func(a, b *device) int { return cmp.Compare(a.Name, b.Name) })
	for _, d := range before {
		if !slices.Contains(r.devices, d) {
			changed = true
			delete(s.devices, d.id)
			if d.hold.holds(s.now) {
				s.left[d.id] = d.hold
			}
			d.Free, d.job = false, nil
		}
	}
	if changed {
		s.index(r)
	}
	if c := r.claim; c != nil && (changed || !s.enough(c.queue, r, true)) {
		s.unclaim(c)
	}
	s.touch(r.devices...)
}

// index finds the groups and reservations that fit the devices of a rig.
func (s *Scheduler) index(r *rig) {
	for _, d := range r.devices {
		d.groups = nil
		d.reserve = slices.DeleteFunc(slices.Clone(s.reserve), func(v *reserve) bool { return !v.Needs.Fits(d.Labels) })
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

// RemoveRig forgets a rig. Its running jobs stay until Ended or Remove.
func (s *Scheduler) RemoveRig(id string) {
	s.SetRig(Rig{ID: id})
	s.rigs = slices.DeleteFunc(s.rigs, func(r *rig) bool { return r.ID == id })
}
