package daemon

import (
	"context"
	"slices"
)

// above reports if a job may come between two runs of a set.
func (j *job) above(set *job) bool {
	return j.Kind == kindRun && span(j.place.class) < span(set.place.class)
}

// yield lends the devices of a set of class fill to one waiting job of a higher class. It returns
// when the set may go on.
func (d *Daemon) yield(j *job) error {
	if !d.lend(j) {
		return nil
	}
	d.quiet.Release(1) // the other job may fetch builds
	d.mu.Lock()
	back := j.back
	d.mu.Unlock()
	if back != nil {
		select {
		case <-back:
		case <-j.context.Done():
		}
	}
	_ = d.quiet.Acquire(context.WithoutCancel(j.context), 1) // without an end it returns no error
	return context.Cause(j.context)
}

// lend has a waiting job begin on the devices of a set. It reports if one did.
func (d *Daemon) lend(j *job) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending || !slices.ContainsFunc(d.waiting, func(o *job) bool {
		return o.above(j) && slices.ContainsFunc(o.units, func(u *unit) bool { return u.job == j })
	}) {
		return false
	}
	j.back = make(chan struct{})
	for _, u := range j.units {
		u.job, u.lent = nil, j
	}
	d.beginAll()
	if d.takeBack(); j.back == nil {
		return false // none could begin
	}
	j.Reason = "between two runs, its devices are lent to a job of a higher class"
	d.tell(j)
	return true
}

// takeBack gives sets their devices back that no other job uses.
func (d *Daemon) takeBack() {
	w := d.world()
	for _, j := range d.working {
		if j.back == nil || w.analyzing || w.room <= 0 ||
			slices.ContainsFunc(j.units, func(u *unit) bool { return u.job != nil || u.switching }) {
			continue
		}
		for _, u := range j.units {
			u.job, u.lent = j, nil
			d.deviceChanged(u)
		}
		close(j.back)
		j.back, j.Reason = nil, ""
		w.room--
		d.tell(j)
	}
}
