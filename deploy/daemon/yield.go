package daemon

import (
	"context"
	"slices"

	"github.com/eideticker/eideticker/deploy/api"
)

// A set of class fill yields between two blocks, if a job of another class can then begin. It stays
// at work and keeps the locks of its devices. It goes on when its turn comes: each block has the
// share of a job. Blocks stay whole, since their runs are compared with each other. The first block
// follows the warm-up at once.

// yieldsTo reports if a job at work yields to one that waits.
func (j *job) yieldsTo(o *job) bool {
	return j.Kind == kindRun && j.class() == api.ClassFill && o.class() != api.ClassFill &&
		(j.Params == nil || j.Params.Repeat > 1 || j.Params.UntilFail)
}

// between lets other jobs have the devices of a set between two blocks. It returns when the set
// goes on. Work that waits until nothing is measured comes first.
func (d *Daemon) between(j *job) error {
	yields := d.yield(j)
	j.quiet = false
	d.quiet.Release(1)
	if yields != nil {
		select {
		case <-yields:
			for _, u := range j.units {
				d.makeWay(u)
			}
		case <-j.context.Done():
			d.mu.Lock()
			j.yields = nil
			d.mu.Unlock()
		}
	}
	if !d.quiet.TryAcquire(1) {
		d.tellReason(j, "waits: builds of another job are fetched")
		if err := d.quiet.Acquire(j.context, 1); err != nil {
			return context.Cause(j.context)
		}
		d.tellReason(j, "")
	}
	j.quiet = true
	return context.Cause(j.context)
}

// yield gives the devices of a set to other jobs, if some can begin. Nil: the set goes on.
func (d *Daemon) yield(j *job) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending || j.context.Err() != nil {
		return nil
	}
	yields := make(chan struct{})
	j.yields, j.place.turn = yields, 0 // it is the first of its class
	d.turns.charge(j.place.class)
	d.occupy(j, nil)
	begin, left := choose(d.inOrder(), d.world())
	if !d.resting() && (slices.Contains(begin, j) || len(begin) == 0 &&
		!slices.ContainsFunc(j.units, func(u *unit) bool { return left[u] })) {
		j.yields = nil
		d.occupy(j, j)
		return nil
	}
	j.Phase = nil
	for _, u := range j.units {
		d.deviceChanged(u)
	}
	d.dispatch()
	d.log.Info("job yields", "job", j.ID, "reason", j.Reason)
	return yields
}

// goOn continues a set that has yielded.
func (d *Daemon) goOn(j *job) {
	d.turns.begun(j.place)
	d.occupy(j, j)
	for _, u := range j.units {
		d.deviceChanged(u)
	}
	close(j.yields)
	j.yields, j.Reason = nil, ""
	d.tell(j)
	d.log.Info("job goes on", "job", j.ID)
}

func (d *Daemon) occupy(j, by *job) {
	for _, u := range j.units {
		u.job, u.elsewhere = by, ""
	}
}

// inOrder returns the jobs that wait and those that yield, in the order in which they begin. It
// leaves out those of class fill while sets rest.
func (d *Daemon) inOrder() []*job {
	yielding := func(j *job) bool { return j.yields != nil }
	all := slices.Clone(d.waiting)
	for _, j := range d.working {
		if yielding(j) {
			all = append(all, j)
		}
	}
	d.turns.order(all)
	d.waiting = slices.DeleteFunc(slices.Clone(all), yielding)
	if d.resting() {
		all = slices.DeleteFunc(all, func(j *job) bool { return j.class() == api.ClassFill })
	}
	return all
}

// tellYields tells to which jobs those yield that do.
func (d *Daemon) tellYields() {
	for _, j := range d.working {
		if j.yields == nil {
			continue
		}
		if why := d.whyYields(j); why != j.Reason {
			j.Reason = why
			d.tell(j)
		}
	}
}

func (d *Daemon) whyYields(j *job) string {
	for _, u := range j.units {
		if u.job != nil {
			return "waits: yields to " + u.job.ID
		}
		if why := u.waitsFor(j); why != "" { // it was reserved meanwhile
			return "waits: " + why
		}
	}
	if d.resting() {
		return "waits: " + whyRests
	}
	for _, o := range d.waiting {
		if j.yieldsTo(o) && slices.ContainsFunc(j.units, func(u *unit) bool { return slices.Contains(o.units, u) }) {
			return "waits: yields to " + o.ID // once it has its other devices
		}
	}
	for _, o := range slices.Backward(d.working) {
		if o.yields == nil {
			return "waits: yields to " + o.ID // an analysis, or the last of so many at once
		}
	}
	return "waits for its turn"
}

const whyRests = "the rig sends results to its hub"

// Rest has sets of class fill wait after their present blocks, or go on. A rig sends nothing to its
// hub while it measures. So the result of a job to which a set yielded would wait for its end.
func (d *Daemon) Rest(is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rests || is {
		d.rests = is
		d.dispatch()
	}
}

// resting reports if sets rest. They do not while another job measures: nothing is sent then.
func (d *Daemon) resting() bool {
	return d.rests && !slices.ContainsFunc(d.working, func(o *job) bool {
		return o.yields == nil && o.class() != api.ClassFill
	})
}

// charge has the next job of a class wait as long as after a job of it.
func (t *turns) charge(name string) {
	c := t.class(name)
	c.next = max(c.next, t.now+span(name))
}
