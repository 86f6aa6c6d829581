package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
)

// The kinds of jobs.
const (
	kindRun     = "run"
	kindRecord  = "record"
	kindAnalyze = "analyze"
)

// The states of jobs.
const (
	queued      = "queued"
	running     = "running"
	succeeded   = "ok"
	failed      = "failed"
	cancelled   = "cancelled"
	interrupted = "interrupted"
)

// Causes for which the context of a job ends.
var (
	errCancelled = errors.New("it was cancelled")
	errStopped   = errors.New("it was stopped") // a recording, which is as it should be
	errEnding    = errors.New("the daemon ends")
	errMakeWay   = errors.New("a job needs the device")
	errNoRoom    = errors.New("it was ended while it was recorded") // wrapped, with what the disk has
)

// job is one at work, before, or after. Its fields are guarded by the daemon's mutex.
type job struct {
	api.Job
	place place
	key   string // of a reservation
	start *api.StartParams
	again *api.AnalyzeParams
	keep  *api.RecordParams
	units []*unit
	dir   string
	bytes int           // that it has in jobs.json
	done  chan struct{} // closed when it has ended

	// Of a job that has begun:
	context context.Context
	stop    context.CancelCauseFunc
	secured bool // its devices are locked; of its own goroutine
	quiet   bool // it holds the daemon's quiet; of its own goroutine
	// yields is closed when the set goes on. Nil: it does not yield.
	yields chan struct{}

	remote    *session.Remote // of its runs; nil: they have not begun
	networked bool            // its test asks for a network
}

// Bounds of the queue.
const (
	maxQueued  = 1000
	maxOfOwner = 200
	maxBytes   = 32 << 20 // of jobs.json, which is written anew with each change
	ownerBytes = 8 << 20  // of the jobs of one owner in it
	maxEnded   = 200
	maxMade    = 200 // runs listed in a job
)

// wire is the job as clients see it.
func (j *job) wire() api.Job {
	w := j.Job
	w.Runs = slices.Clone(j.Runs)
	if w.Runs == nil {
		w.Runs = []api.Made{}
	}
	return w
}

// tell tells all who hear it how a job is. Its runs have had events of their own.
func (d *Daemon) tell(j *job) {
	w := j.Job
	w.Runs = []api.Made{}
	d.events.add(api.Event{Kind: "job", Job: &w})
}

// enqueue puts a new job into the queue.
func (d *Daemon) enqueue(j *job) (api.Job, error) {
	j.State, j.QueuedWallNS, j.Runs, j.done = queued, d.now().UnixNano(), nil, make(chan struct{})
	if err := j.weigh(); err != nil {
		return api.Job{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if o := d.find(j.ID); o != nil { // it was submitted twice at once
		return o.wire(), nil
	}
	if err := d.roomInQueue(j.Owner); err != nil {
		return api.Job{}, err
	}
	if err := d.roomToKeep(j); err != nil {
		return api.Job{}, err
	}
	j.place = d.turns.next(j.Owner, j.class())
	d.waiting = append(d.waiting, j)
	d.turns.order(d.waiting)
	if err := d.saveJobs(); err != nil {
		d.waiting = slices.DeleteFunc(d.waiting, func(o *job) bool { return o == j })
		return api.Job{}, api.Errorf(api.Unavailable, "the queue cannot be kept: %v", err)
	}
	d.options.at("queued")
	d.positions()
	answer := j.wire()
	d.tell(j)
	d.log.Info("job queued", "job", j.ID, "kind", j.Kind, "test", j.Test, "owner", j.Owner, "position", j.Position)
	d.dispatch()
	return answer, nil
}

// class returns the class of a job; "": that of people's jobs.
func (j *job) class() string {
	if j.start == nil {
		return ""
	}
	return j.start.Class
}

// roomInQueue says why no more jobs are taken.
func (d *Daemon) roomInQueue(owner string) error {
	if d.ending {
		return api.Errorf(api.Unavailable, "the rig is ending")
	}
	of := 0
	for _, j := range d.waiting {
		if j.Owner == owner {
			of++
		}
	}
	switch {
	case len(d.waiting) >= maxQueued:
		return api.Errorf(api.TooMany, "%d jobs wait already, and no more are taken", maxQueued)
	case of >= maxOfOwner:
		return api.Errorf(api.TooMany, "%d jobs of %s wait already, and no more are taken", maxOfOwner, owner)
	}
	return nil
}

// roomToKeep returns an error if a job cannot be accepted. The size of all jobs is bounded, so that
// they can be written fast and read again.
func (d *Daemon) roomToKeep(j *job) error {
	all, of := j.bytes, j.bytes
	for _, list := range [][]*job{d.waiting, d.working} {
		for _, o := range list {
			all += o.bytes
			if o.Owner == j.Owner {
				of += o.bytes
			}
		}
	}
	switch {
	case of > ownerBytes:
		return api.Errorf(api.TooMany,
			"the jobs of %s take %d bytes, more than %d; wait, or send smaller files", j.Owner, of, ownerBytes)
	case all > maxBytes:
		return api.Errorf(api.TooMany,
			"the jobs that wait would take %d bytes to keep, and may take %d: try again later", all, maxBytes)
	}
	return nil
}

// positions numbers those that wait, and says what for.
func (d *Daemon) positions() {
	d.tellYields()
	for i, j := range d.waiting {
		j.Position, j.Reason = i+1, ""
		for _, u := range j.units {
			if why := u.waitsFor(j); why != "" {
				j.Reason = why
				break
			}
		}
		if j.Reason == "" && j.class() == api.ClassFill && d.resting() {
			j.Reason = whyRests
		}
	}
}

// dispatch starts the jobs that can begin. The mutex is held.
func (d *Daemon) dispatch() {
	if d.group == nil || d.ending {
		return
	}
	for rested := true; rested; { // a job that begins ends the rest
		rested = d.resting()
		begin, _ := choose(d.inOrder(), d.world())
		for _, j := range begin {
			if j.yields == nil {
				d.begin(j)
			} else {
				d.goOn(j)
			}
		}
		rested = rested && !d.resting()
	}
	d.positions()
	for _, u := range d.units {
		d.whileIdle(u)
	}
}

// world returns the state beside the queue.
func (d *Daemon) world() world {
	w := world{room: d.options.Parallel}
	for _, j := range d.working {
		switch {
		case j.yields != nil:
		case j.Kind == kindAnalyze:
			w.analyzing = true
		default:
			w.testing = true
			w.room--
		}
	}
	return w
}

// begin takes a job out of the queue and has it done.
func (d *Daemon) begin(j *job) {
	if d.hurry != nil {
		d.hurry()
	}
	d.waiting = slices.DeleteFunc(d.waiting, func(o *job) bool { return o == j })
	d.engage(j)
	if err := d.saveJobs(); err != nil {
		d.log.Error("the queue could not be kept", "error", err)
	}
	d.options.at("begun")
	d.group.Go(func() error {
		d.carryOut(j)
		return nil
	})
}

// engage makes a job one that is at work.
func (d *Daemon) engage(j *job) {
	d.turns.begun(j.place)
	d.working = append(d.working, j)
	j.State, j.StartedWallNS, j.Position, j.Reason = running, d.now().UnixNano(), 0, ""
	for _, u := range j.units {
		u.job, u.elsewhere = j, "" // until it is locked
		d.deviceChanged(u)
	}
	j.context, j.stop = context.WithCancelCause(d.ctx)
	d.tell(j)
	d.log.Info("job begun", "job", j.ID, "kind", j.Kind, "owner", j.Owner, "devices", strings.Join(j.Devices, " "))
}

// carryOut does a job, and brings it to its end.
func (d *Daemon) carryOut(j *job) {
	err := d.secure(j)
	if err == nil {
		switch j.Kind {
		case kindRun:
			err = d.run(j)
		case kindAnalyze:
			err = d.analyze(j)
		case kindRecord:
			held := d.quiet.Acquire(j.context, 1) == nil // else it was stopped, and ends at once
			if err = d.record(j); held {
				d.quiet.Release(1)
			}
		}
	}
	d.end(j, err)
}

// end notes what became of a job, and lets its devices go.
func (d *Daemon) end(j *job, err error) {
	d.options.at("ending")
	cause := context.Cause(j.context)
	j.stop(nil)
	for _, u := range j.units {
		if j.secured {
			if e := u.hold.release(); e != nil {
				d.log.Warn("a device's lock could not be given back", "device", u.about.Name, "error", e)
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	j.State, j.Reason = outcome(err, cause)
	if j.State == failed && j.Kind == kindRun {
		j.Fault = string(session.LabFault)
		if errors.As(err, new(productError)) {
			j.Fault = string(session.ProductFault)
		}
		if submitted.MatchString(j.ID) && !isAttempt(j.ID) && errors.As(err, new(labError)) {
			j.State = interrupted // the schedule submits it again
		}
	}
	j.Reason = d.withoutFolders(j.Reason)
	j.EndedWallNS, j.Phase = d.now().UnixNano(), nil
	d.working = slices.DeleteFunc(d.working, func(o *job) bool { return o == j })
	d.addEnded(j)
	d.saveEnded()
	for _, u := range j.units {
		if u.job == j { // it does not yield
			u.job, u.elsewhere, u.capture = nil, "", nil
			d.deviceChanged(u)
		}
	}
	if err := d.saveJobs(); err != nil {
		d.log.Error("the queue could not be kept", "error", err)
	}
	d.figures.ended(j.Kind, j.State)
	d.tell(j)
	d.log.Info("job ended", "job", j.ID, "state", j.State, "reason", j.Reason)
	close(j.done)
	d.dispatch()
}

// withoutFolders leaves out where the rig keeps things: clients know runs by their IDs, which are
// the names of their folders.
func (d *Daemon) withoutFolders(text string) string {
	for _, dir := range []string{filepath.Join(d.options.Dir, "runs"), d.options.Dir} {
		text = strings.ReplaceAll(text, dir+string(filepath.Separator), "")
	}
	return text
}

// outcome is the state of a job that has ended, and why.
func outcome(err, cause error) (state, reason string) {
	switch {
	case errors.Is(cause, errCancelled):
		return cancelled, cause.Error()
	case errors.Is(cause, errEnding):
		return interrupted, "the daemon was stopped in the middle of it"
	case errors.Is(cause, errNoRoom):
		return failed, cause.Error()
	case err != nil:
		return failed, err.Error()
	}
	return succeeded, ""
}

// labError is a failure of the rig before the first run. It says nothing about the browser.
type labError struct{ error }

func (e labError) Unwrap() error { return e.error }

// productError is a failure of runs that may be one of the tested program.
type productError struct{ error }

func (e productError) Unwrap() error { return e.error }

func inLab(err error) error {
	if err == nil {
		return nil
	}
	return labError{err}
}

// secure stops idle work on a job's devices, and locks them.
func (d *Daemon) secure(j *job) error {
	for i, u := range j.units {
		d.makeWay(u)
		waited := false
		err := u.hold.take(j.context, u.about.Name, func(busy *session.BusyError) {
			waited = true
			d.elsewhere(j, u, busy.Holder())
		})
		if err != nil {
			for _, held := range j.units[:i] {
				err = errors.Join(err, held.hold.release())
			}
			return err
		}
		if waited {
			d.elsewhere(j, u, "")
		}
	}
	j.secured = true
	return nil
}

// elsewhere notes that another program has a device, or no longer.
func (d *Daemon) elsewhere(j *job, u *unit, holder string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u.elsewhere, j.Reason = holder, ""
	if holder != "" {
		j.Reason = "device " + u.about.Name + " is in use by " + holder
	}
	d.deviceChanged(u)
	d.tell(j)
}

// locksEvery is the time between two looks at the locks of devices without a job.
const locksEvery = time.Second

// watchLocks notes which devices other programs use.
func (d *Daemon) watchLocks(ctx context.Context) {
	for ; ctx.Err() == nil; wait(ctx, locksEvery) {
		for _, u := range d.units {
			by := u.hold.other(u.about.Name)
			d.mu.Lock()
			if u.job == nil && u.elsewhere != by {
				u.elsewhere = by
				d.deviceChanged(u)
			}
			d.mu.Unlock()
		}
	}
}

func asBusy(err error) (*session.BusyError, bool) {
	var busy *session.BusyError
	return busy, errors.As(err, &busy)
}
