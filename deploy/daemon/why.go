package daemon

import (
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/verdict"
	"github.com/eideticker/eideticker/deploy/api"
)

// further returns the options of the runs that explain a change of a set.
func (d *Daemon) further(o session.SetOptions) (session.SetOptions, error) {
	return session.Further(o, compare.Blocks(max(1, len(o.Compared())-1)), d.follows)
}

// checkWhyChanged rejects a set whose changes cannot be explained.
func (d *Daemon) checkWhyChanged(p *plan, untrusted bool) error {
	later, err := d.further(p.set)
	if err != nil {
		return api.Errorf(api.InvalidParams, "why_changed: %v", err)
	}
	_, err = d.checkTests(p, &later, untrusted)
	return err
}

// explain plays further runs with measuring code, if a primary value of a set changed. Comparisons
// read them from the folder of the set. Errors go to the log: the set is whole without them.
func (d *Daemon) explain(j *job, o session.SetOptions, set *session.Set) {
	err := d.playFurther(j, o, set)
	if err != nil && j.context.Err() == nil {
		d.log.Warn("the change is not explained", "job", j.ID, "error", err)
	}
}

func (d *Daemon) playFurther(j *job, o session.SetOptions, set *session.Set) error {
	if changed, err := d.changed(j, &o, set); err != nil || !changed {
		return err
	}
	more, err := d.further(o)
	if err == nil {
		err = d.diskRoom(j.context)
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	j.Total = j.Done + more.Repeat*len(more.Variants)
	d.tell(j)
	d.mu.Unlock()
	_, end := o.Progress.Phase(fmt.Sprintf("playing %d further blocks: a primary value changed", more.Repeat), 0)
	end()
	more.Ran = func(m *session.Made) { d.ranFurther(j, more.Variants[m.Variant], m) }
	made, err := session.RunSet(j.context, more)
	if failed := made.Failed(); err == nil && len(failed) > 0 {
		err = fmt.Errorf("%d of %d further runs failed: %s", len(failed), len(made.Made), failed[0].Record.Reason)
	}
	return err
}

// changed reports if a primary value of a variant differs from that of the first one.
func (d *Daemon) changed(j *job, o *session.SetOptions, set *session.Set) (bool, error) {
	of := verdict.Set{Options: o, Made: set}
	sets, err := of.Load(j.context)
	if err != nil {
		return false, err
	}
	all, err := of.Comparisons(sets, compare.Options{JudgeUnlike: j.start.JudgeUnlike})
	if slices.ContainsFunc(all, (*compare.Comparison).Changed) {
		return true, nil // another variant may have nothing in common
	}
	if n := len(o.Compared()) - 1; err == nil && len(all) < n {
		err = fmt.Errorf("%d comparisons made, want %d", len(all), n)
	}
	return false, err
}

// ranFurther notes that a run with measuring code is over. It is not one of the job's set.
func (d *Daemon) ranFurther(j *job, v session.Variant, m *session.Made) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j.Done++
	d.figures.made(v.Device.Name(), string(m.Record.State))
	if j.context.Err() == nil {
		d.health(v.Device.Name(), m.Record)
	}
	d.tell(j)
}
