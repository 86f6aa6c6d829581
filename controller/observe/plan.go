package observe

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/harm"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// openPlan continues the plan of the folder, or begins one.
func (o *Observer) openPlan() error {
	wanted, err := plan.New(o.o.Adapt, 0, 0)
	if err != nil {
		return err
	}
	if o.plan, err = session.ContinuePlan(o.planFile(), wanted, false); err != nil {
		return fmt.Errorf("%s: %w; remove it", o.planFile(), err)
	}
	for _, of := range o.plan.Programs {
		for _, at := range of.Points {
			if at.Verdict == plan.Slow {
				o.sum.Plan.Slow++
			}
		}
	}
	all, err := policy.Named(strings.Join(o.o.Policies, ","))
	if err != nil {
		return err
	}
	var costs []plan.Cost
	for _, p := range all {
		costs = append(costs, plan.Cost{Policy: p.Name})
	}
	o.plan.Spend(costs)
	return nil
}

func (o *Observer) planFile() string { return filepath.Join(o.o.Dir, plan.File) }

// keepPlan writes the plan.
func (o *Observer) keepPlan() {
	o.mu.Lock()
	p := *o.plan // its lists only grow
	o.mu.Unlock()
	if err := session.WritePlan(o.planFile(), &p); err != nil {
		o.tell(fmt.Sprintf("the plan cannot be written: %v", err))
	}
}

// judge judges the loads, if that is due. After harm, the next loads are without a policy.
func (o *Observer) judge() {
	o.mu.Lock()
	look := o.meta.look
	o.meta.look = nil
	on := len(o.plan.On())
	o.mu.Unlock()
	if look == nil || on == 0 {
		return
	}
	found := look() // takes a while
	if found.Reason == "" {
		o.keepPlan() // it counts the looks
		return
	}
	costs := o.costs()
	o.mu.Lock()
	o.plan.Spend(costs)
	off := harm.SwitchOff(o.plan, found)
	o.meta = meta{reported: o.meta.reported}
	o.mu.Unlock()
	if on > 1 {
		o.tell(fmt.Sprintf("policy %s is off, because pages are worse with %d policies after %d loads: %s", off.Policy,
			on, off.Loads, off.Reason))
		o.rotate()
	} else {
		o.tell(fmt.Sprintf("policy %s is off, because it harms after %d loads: %s; pages are served as they are",
			off.Policy, off.Loads, off.Reason))
		o.replace(nil)
	}
	o.keepPlan()
	o.write()
}

// costs sums up those of the open parts with the present policies. The present part may be new.
func (o *Observer) costs() (all []plan.Cost) {
	for _, p := range o.open() {
		if p.off != len(o.plan.Off) {
			continue
		}
		run, err := p.pages.Read()
		if err != nil { // the other parts and earlier costs count
			continue
		}
		for i, c := range run.Costs() {
			if i == len(all) {
				all = append(all, plan.Cost{Policy: c.Policy})
			}
			all[i].Records += c.Records
			all[i].Places += c.Places
		}
	}
	if all == nil {
		all = slices.Clone(o.plan.Costs)
	}
	return all
}

// patientUpdates is the number of updates after which the time between two gets longer.
const patientUpdates = 20

// learn adds the calls of a part to the plan, at most once a minute. It reports whether the next
// loads need another instrument. A stable plan stays until there are other programs or verdicts.
func (o *Observer) learn(p *part) bool {
	wait := min(leastPart*time.Duration(1+o.sum.Plan.Updates/patientUpdates), o.o.Rotate)
	if o.o.Adapt == "" || o.plan.IsOff("calls") || o.o.Now().Sub(p.begun) < wait ||
		o.o.Now().Sub(o.learned) < wait || p.pages.Bytes() == 0 {
		return false
	}
	o.learned = o.o.Now()
	run, err := p.pages.Read()
	if err != nil {
		o.tell(fmt.Sprintf("records cannot be read: %v", err))
		return false
	}
	o.mu.Lock()
	next := o.plan.Clone()
	o.mu.Unlock()
	stable, dropped, programs := next.Stable, next.Dropped, len(next.Programs)
	report := next.Update(run.Load(false))
	next.Spend(run.Costs())
	if stable && next.Stable && next.Dropped == dropped && len(next.Programs) == programs &&
		report.Slow == o.sum.Plan.Slow {
		return false
	}
	o.mu.Lock()
	next.Trial, o.plan = o.plan.Trial, next // requests add to the trial meanwhile
	o.sum.Plan.Updates++
	o.sum.Plan.Slow = report.Slow
	o.mu.Unlock()
	o.tell(fmt.Sprintf("update %d of the plan: %d of %d functions are slow; stable: %t", o.sum.Plan.Updates,
		report.Slow, report.Points, next.Stable))
	o.keepPlan()
	return true
}
