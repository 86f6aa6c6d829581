package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
)

// Start queues a test.
func (d *Daemon) Start(ctx context.Context, owner string, p api.StartParams) (api.Job, error) {
	if p.Seed == 0 {
		p.Seed = session.NewSeed()
	}
	return d.start(ctx, "", owner, p)
}

// start queues a test under an ID; "": one of the time.
func (d *Daemon) start(ctx context.Context, id, owner string, p api.StartParams) (api.Job, error) {
	plan, err := d.plan(&p)
	if err != nil {
		return api.Job{}, err
	}
	if err := d.checkBaseline(ctx, p.Baseline); err != nil {
		return api.Job{}, err
	}
	if err := d.mayBegin(plan, p.Reservation); err != nil {
		return api.Job{}, err
	}
	d.mu.Lock()
	err = d.roomInQueue(owner) // before a name is given out
	d.mu.Unlock()
	if err != nil {
		return api.Job{}, err
	}
	if err := d.diskRoom(ctx); err != nil {
		return api.Job{}, err
	}
	dir := filepath.Join(d.options.Dir, "runs", id)
	if id == "" {
		dir, err = d.store.Place(plan.set.Test.Name)
	} else {
		err = d.store.PlaceAgain(id)
	}
	if err != nil {
		return api.Job{}, api.Errorf(api.Unavailable, "%v", err)
	}
	j := &job{start: &p, dir: dir, key: p.Reservation}
	j.Job = api.Job{ID: filepath.Base(dir), Kind: kindRun, Owner: owner, Seed: p.Seed}
	plan.describe(&j.Job)
	j.units = plan.units
	job, err := d.enqueue(j)
	if err != nil {
		err = errors.Join(err, d.store.Add(context.WithoutCancel(ctx), dir)) // the name is free again
	}
	return job, err
}

// mayBegin rejects a job that could wait for ever.
func (d *Daemon) mayBegin(p *plan, key string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range p.units {
		if u.quarantine != "" {
			return api.Errorf(api.Unavailable, "device %s is under quarantine: %s", u.about.Name, u.quarantine)
		}
		if key != "" && (u.reserved == nil || u.reserved.key != key) {
			return api.Errorf(api.InvalidParams, "the key is not that of a reservation of device %s", u.about.Name)
		}
	}
	return nil
}

// describe fills in a plan's part of a job for clients.
func (p *plan) describe(j *api.Job) {
	o := &p.set
	j.Test, j.Label = o.Test.Name, o.Label
	j.Devices, j.Browsers = []string{}, []string{}
	for _, u := range p.units {
		j.Devices = append(j.Devices, u.about.Name)
	}
	seen := map[string]bool{}
	for _, v := range o.Variants {
		if b := cmp.Or(v.Build, v.Browser); b != "" && !seen[b] {
			seen[b] = true
			j.Browsers = append(j.Browsers, b)
		}
	}
	if !o.UntilFail {
		j.Total = len(o.Variants) * (o.Repeat + o.WarmUp)
	}
	j.Params = &api.StartView{Repeat: o.Repeat, WarmUp: o.WarmUp, Retries: o.Retries, UntilFail: o.UntilFail,
		NoVideo: o.NoVideo, Variants: []string{}, Plain: o.Plains()}
	for _, v := range o.Variants {
		j.Params.Variants = append(j.Params.Variants, v.Name())
	}
}

// run makes the runs of a job.
func (d *Daemon) run(j *job) error {
	plan, err := d.plan(j.start)
	if err == nil {
		err = inLab(d.diskRoom(j.context)) // there was some when it was queued
	}
	if err != nil {
		return errors.Join(err, d.store.Add(context.WithoutCancel(j.context), j.dir)) // the name is free again
	}
	o := plan.set
	o.Folder = submitted.MatchString(j.ID)
	o.Dir, o.Program, o.Progress = j.dir, d.options.Program, &jobProgress{daemon: d, job: j}
	o.Labels.Set = j.ID
	o.Plans = d.plans(o.Test)
	o.Observe, o.Remote = d.observers(j), &session.Remote{}
	d.mu.Lock()
	plan.describe(&j.Job) // its test may have changed since it was queued
	j.remote, j.networked = o.Remote, networked(&o)
	d.mu.Unlock()
	o.Ran = func(m *session.Made) { d.ran(j, o.Variants[m.Variant], m) }
	if j.class() == api.ClassFill {
		o.Between = func(context.Context) error { return d.between(j) }
	}
	done, err := d.programs(j, plan)
	defer done()
	if err = inLab(err); err != nil {
		return errors.Join(err, d.store.Add(context.WithoutCancel(j.context), j.dir)) // the name is free again
	}
	release, err := d.replayed(j, &o)
	defer release()
	if err == nil && j.start.Origin != nil {
		err = writeOrigin(j.dir, j.start.Origin)
	}
	if err != nil {
		return errors.Join(err, d.store.Add(context.WithoutCancel(j.context), j.dir)) // the name is free again
	}
	set, err := session.RunSet(j.context, o)
	if err == nil {
		err = shortfall(set, o)
	}
	if err == nil {
		d.judge(j, o, set)
		if j.start.WhyChanged {
			d.explain(j, o, set)
		}
	}
	if e := d.store.Add(context.WithoutCancel(j.context), j.dir); e != nil {
		err = errors.Join(err, fmt.Errorf("put into the store: %w", e))
	}
	d.options.at("indexed")
	d.stored(j.ID, "added", "")
	return err
}

// networked reports if a test of a set asks for a network.
func networked(o *session.SetOptions) bool {
	for i := range o.Variants {
		if o.TestOf(i).Network.Given() {
			return true
		}
	}
	return false
}

// observers returns the observer of each device of a job.
func (d *Daemon) observers(j *job) func(session.Device) session.Observer {
	of := map[string]session.Observer{}
	for _, u := range j.units {
		of[u.about.Name] = d.observer(u)
	}
	return func(device session.Device) session.Observer { return of[device.Name()] }
}

// shortfall is the reason why a set is incomplete.
func shortfall(set *session.Set, o session.SetOptions) error {
	if broken := set.Failed(); len(broken) > 0 {
		err := fmt.Errorf("%d of %d runs failed: %s", len(broken), len(set.Made), broken[0].Record.Reason)
		if slices.ContainsFunc(broken, func(m *session.Made) bool { return m.Record.Fault == session.ProductFault }) {
			err = productError{err}
		}
		return err
	}
	for i, v := range o.Variants {
		if n := len(set.Of(i)); n < o.Repeat && !o.UntilFail {
			return fmt.Errorf("%d runs of %s count, and not %d: the others were captured too badly", n, v.Name(),
				o.Repeat)
		}
	}
	return nil
}

// ran notes and tells that a run is over.
func (d *Daemon) ran(j *job, v session.Variant, m *session.Made) {
	if err := d.store.Refresh(context.WithoutCancel(j.context), j.dir); err != nil {
		d.log.Warn("a run could not be put into the index", "job", j.ID, "error", err)
	}
	dir := filepath.Join(j.dir, m.Dir)
	id, err := d.store.ID(dir)
	if err != nil {
		id = j.ID
	}
	r := m.Record
	made := api.Made{Run: id, Variant: v.Name(), State: string(r.State), Reason: r.Reason, WarmUp: r.WarmUp}
	d.mu.Lock()
	defer d.mu.Unlock()
	j.Runs = append(j.Runs, made)
	j.Runs = j.Runs[max(0, len(j.Runs)-maxMade):]
	j.Done++
	d.events.add(api.Event{Kind: "run", JobID: j.ID, Run: &made})
	d.figures.made(v.Device.Name(), string(r.State))
	if j.context.Err() == nil {
		d.health(v.Device.Name(), r)
	}
	d.tell(j)
}

// health counts consecutive faults of the lab on a device, and quarantines it when they are too
// many. Faults of the product do not change the count.
func (d *Daemon) health(name string, r *session.Record) {
	u := d.named[name]
	if r.Fault == session.ProductFault {
		return
	}
	if r.State != session.Failed {
		u.failures = 0
		return
	}
	u.failures++
	if limit := d.options.QuarantineAfter; limit > 0 && u.failures >= limit && u.quarantine == "" {
		u.quarantine = bounded(fmt.Sprintf("%d runs in a row have failed, the last one since: %s", u.failures,
			r.Reason))
		d.log.Warn("device put under quarantine", "device", name, "reason", u.quarantine)
		if err := d.saveDevices(); err != nil {
			d.log.Error("the quarantine could not be kept", "error", err)
		}
	}
	d.deviceChanged(u)
}

// stored reports a change of the store.
func (d *Daemon) stored(id, what, why string) {
	d.events.add(api.Event{Kind: "store", Store: &api.Change{ID: id, What: what, Why: why}})
}

// Cancel takes a job out of the queue, or ends it.
func (d *Daemon) Cancel(id string, may func(owner string) bool) (api.Job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.find(id)
	switch {
	case j == nil:
		return api.Job{}, api.Errorf(api.NotFound, "unknown job %.80q", id)
	case !may(j.Owner):
		return api.Job{}, api.Errorf(api.Forbidden, "job %s is of %s: only its owner and admins may end it", id,
			j.Owner)
	case j.EndedWallNS != 0:
		return api.Job{}, api.Errorf(api.Conflict, "job %s has ended already", id)
	case j.stop != nil && j.Kind == kindRecord:
		j.stop(errStopped)
	case j.stop != nil:
		j.stop(errCancelled)
	default:
		if err := d.drop(j); err != nil {
			return api.Job{}, err
		}
	}
	return j.wire(), nil
}

// drop takes a job out of the queue.
func (d *Daemon) drop(j *job) error {
	kept := d.waiting
	d.waiting = nil
	for _, o := range kept {
		if o != j {
			d.waiting = append(d.waiting, o)
		}
	}
	if err := d.saveJobs(); err != nil {
		d.waiting = kept
		return api.Errorf(api.Unavailable, "the queue cannot be kept: %v", err)
	}
	j.State, j.Reason, j.Position, j.EndedWallNS = cancelled, errCancelled.Error(), 0, d.now().UnixNano()
	d.addEnded(j)
	d.saveEnded()
	d.figures.ended(j.Kind, j.State)
	close(j.done)
	d.tell(j)
	d.dispatch()
	return nil
}

// find returns a job that waits, is at work or has ended, or nil.
func (d *Daemon) find(id string) *job {
	for _, list := range [][]*job{d.waiting, d.working, d.ended} {
		for _, j := range list {
			if j.ID == id {
				return j
			}
		}
	}
	return nil
}

// Job returns a job.
func (d *Daemon) Job(id string) (api.Job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if j := d.find(id); j != nil {
		return j.wire(), nil
	}
	return api.Job{}, api.Errorf(api.NotFound, "unknown job %.80q", id)
}

// Jobs returns the waiting and running jobs, in the order in which they begin. With alsoEnded, it
// adds those that have ended, latest first.
func (d *Daemon) Jobs(alsoEnded bool) []api.Job {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := []api.Job{}
	for _, list := range [][]*job{d.working, d.waiting} {
		for _, j := range list {
			all = append(all, j.wire())
		}
	}
	if alsoEnded {
		for i := range d.ended {
			all = append(all, d.ended[len(d.ended)-1-i].wire())
		}
	}
	return all
}

// newID names a job that makes no folder.
func (d *Daemon) newID(kind string) string {
	return fmt.Sprintf("%s-%s-%s", d.now().UTC().Format("20060102-150405"), kind, randomName())
}

// randomName is four letters or digits that are easy to tell apart.
func randomName() string {
	const from = "abcdefghjkmnpqrstuvwxyz23456789"
	b := make([]byte, 4)
	for i := range b {
		b[i] = from[rand.IntN(len(from))]
	}
	return string(b)
}

// until is the end of a time from now on, on the wall clock.
func (d *Daemon) until(t time.Duration) int64 { return d.now().Add(t).UnixNano() }
