package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/certify"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
)

// keep is that the last seconds of a device are kept while it has no job.
type keep struct {
	params api.RecordParams
	owner  string
}

// saving is a request to save the kept frames.
type saving struct {
	label string
	done  chan savedRun // has room for one
}

type savedRun struct {
	id  string
	err error
}

// Record begins a recording of a device without a test, or to keep its last seconds.
func (d *Daemon) Record(ctx context.Context, owner string, p api.RecordParams) (api.Job, error) {
	if err := checkText("label", p.Label); err != nil {
		return api.Job{}, err
	}
	u, err := d.unit(p.Device)
	if err != nil {
		return api.Job{}, err
	}
	if err := checkTimes(&p); err != nil {
		return api.Job{}, err
	}
	if u.about.Source == device.Virtual {
		return api.Job{}, api.Errorf(api.Conflict,
			"device %s has a display only while a test runs: there is nothing to record without one", u.about.Name)
	}
	if err := d.diskRoom(ctx); err != nil {
		return api.Job{}, err
	}
	dir := ""
	if p.KeepLastNS == 0 {
		if dir, err = d.store.Place(""); err != nil {
			return api.Job{}, api.Errorf(api.Unavailable, "%v", err)
		}
	}
	job, err := d.beginRecording(u, owner, p, dir)
	if err != nil && dir != "" {
		err = errors.Join(err, d.store.Add(context.WithoutCancel(ctx), dir)) // the name is free again
	}
	return job, err
}

func checkTimes(p *api.RecordParams) error {
	length, last := time.Duration(p.DurationNS), time.Duration(p.KeepLastNS)
	switch {
	case length < 0 || length > api.MaxRecording:
		return api.Errorf(api.InvalidParams, "duration_ns is %d: must be 0 to %d", p.DurationNS, api.MaxRecording)
	case last != 0 && (last < api.MinKeepLast || last > api.MaxKeepLast):
		return api.Errorf(api.InvalidParams, "keep_last_ns is %d: must be %d to %d", p.KeepLastNS, api.MinKeepLast,
			api.MaxKeepLast)
	case last != 0 && length != 0:
		return api.Errorf(api.InvalidParams, "give one of duration_ns and keep_last_ns")
	}
	return nil
}

// beginRecording begins at once, if the device is free.
func (d *Daemon) beginRecording(u *unit, owner string, p api.RecordParams, dir string) (api.Job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := &job{keep: &p, key: p.Reservation, units: []*unit{u}, dir: dir, done: make(chan struct{})}
	j.Job = api.Job{Kind: kindRecord, Owner: owner, Label: p.Label, Devices: []string{u.about.Name},
		Browsers: []string{}, QueuedWallNS: d.now().UnixNano()}
	switch why := u.waitsFor(j); {
	case d.ending || d.group == nil:
		return api.Job{}, api.Errorf(api.Unavailable, "the rig is ending")
	case u.quarantine != "":
		return api.Job{}, api.Errorf(api.Unavailable, "%s", why)
	case why != "":
		return api.Job{}, api.Errorf(api.Busy, "%s", why)
	case u.keep != nil:
		return api.Job{}, api.Errorf(api.Conflict,
			"device %s keeps its last seconds: end that with record.stop, or save them with record.keepLast",
			u.about.Name)
	}
	if err := d.mayRecord(p.KeepLastNS > 0); err != nil {
		return api.Job{}, err
	}
	if p.KeepLastNS > 0 {
		j.ID, j.State, j.StartedWallNS = d.newID("keep"), running, d.now().UnixNano()
		u.keep = &keep{params: p, owner: owner}
		d.deviceChanged(u)
		d.whileIdle(u)
		return j.wire(), nil
	}
	j.ID, j.place = filepath.Base(dir), d.turns.next(owner, "")
	d.waiting = append(d.waiting, j)
	d.begin(j)
	return j.wire(), nil
}

// mayRecord returns an error if another recording may not begin. Each takes memory for its ring and
// a share of the processors, be it of a test or by hand. The same limit applies separately to
// keeping the last seconds. The mutex is held.
func (d *Daemon) mayRecord(circle bool) error {
	if !circle {
		if d.world().room <= 0 {
			return api.Errorf(api.TooMany,
				"%d tests and recordings are at work, and more are not by runs.parallel: try again when one has ended",
				d.options.Parallel)
		}
		return nil
	}
	kept := 0
	for _, u := range d.units {
		if u.keep != nil {
			kept++
		}
	}
	if kept >= d.options.Parallel {
		return api.Errorf(api.TooMany,
			"the last seconds of %d devices are kept, the maximum of runs.parallel; end one with record.stop", kept)
	}
	return nil
}

// recordings is how many there are at once at the most: those of jobs, those that keep the last
// seconds, and never two of one device.
func (d *Daemon) recordings() int { return min(2*d.options.Parallel, len(d.units)) }

// record carries out a recording.
func (d *Daemon) record(j *job) error {
	u := j.units[0]
	rec, err := d.newRecording(j.dir, u, j.Label)
	if err != nil {
		return errors.Join(err, d.store.Add(context.WithoutCancel(j.context), j.dir)) // the name is free again
	}
	observer := d.observer(u)
	length := time.Duration(j.keep.DurationNS)
	if length == 0 {
		length = api.MaxRecording
	}
	(&jobProgress{daemon: d, job: j}).Phase("recording", 0)
	res, err := d.capture(j.context, u, filepath.Join(j.dir, runfolder.RecordingFile), recorder.Options{
		Duration: length, Watch: observer.Watch, Progress: observer.Progress,
	})
	observer.Recorded(res)
	return errors.Join(err, d.recorded(j.dir, rec, res, err, context.Cause(j.context)))
}

// newRecording makes the folder of a recording without a test.
func (d *Daemon) newRecording(dir string, u *unit, label string) (*session.Record, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	rec := &session.Record{
		Schema: session.Schema, Version: session.Version, Device: u.about.Name, State: session.Running, Attempt: 1,
		Block: 1, Place: 1,
		Labels: session.Labels{Label: label}, StartedWallNS: d.now().UnixNano(), Program: d.options.Program,
		Environment: result.Environment{result.EnvDUT: u.about.Name},
	}
	if err := rec.Write(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir)) // a folder that says nothing of what it is would stay for ever
	}
	return rec, nil
}

// capture records what a device shows.
func (d *Daemon) capture(ctx context.Context, u *unit, path string, o recorder.Options) (recorder.Result, error) {
	src, err := d.options.Open(ctx, u.about.Source)
	if err != nil {
		return recorder.Result{}, err
	}
	known, err := json.Marshal(result.Environment{result.EnvDUT: u.about.Name})
	if err != nil {
		return recorder.Result{}, errors.Join(err, src.Close())
	}
	o.Program, o.Host = d.options.Program, d.host
	o.Metadata = append(certify.Metadata(src.Info()), capture.Metadata{Name: runfolder.MetadataName, Value: known})
	res, err := recorder.Record(ctx, src, path, o)
	return res, errors.Join(err, src.Close())
}

// recorded closes the folder of a recording, and puts it into the store.
func (d *Daemon) recorded(dir string, rec *session.Record, res recorder.Result, err, cause error) error {
	rec.State = session.Passed
	rec.Frames, rec.LostFrames, rec.Notes = res.Stored, res.Missing, res.Notes
	rec.ElapsedNS = d.now().UnixNano() - rec.StartedWallNS
	rec.Recording = session.RecordingID(filepath.Join(dir, runfolder.RecordingFile))
	switch {
	case errors.Is(cause, errEnding):
		rec.State, rec.Reason = session.Failed, "interrupted: the daemon ended in the middle of the recording"
	case errors.Is(cause, errNoRoom):
		rec.State, rec.Reason = session.Failed, "interrupted: "+cause.Error()
	case err != nil:
		rec.State, rec.Reason = session.Failed, err.Error()
	}
	err = rec.Write(dir)
	if e := d.store.Add(context.Background(), dir); e != nil {
		err = errors.Join(err, e)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stored(filepath.Base(dir), "added", "")
	return err
}

// Stop ends a recording, or the keeping of the last seconds, and returns the recording's ID.
func (d *Daemon) Stop(ctx context.Context, name string, may func(owner string) bool) (string, error) {
	u, err := d.unit(name)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	j, k, circle := u.job, u.keep, u.circle
	switch {
	case j != nil && j.Kind == kindRecord:
		if !may(j.Owner) {
			d.mu.Unlock()
			return "", api.Errorf(api.Forbidden, "the recording is %s's: only its owner and admins may end it", j.Owner)
		}
		j.stop(errStopped)
		d.mu.Unlock()
		return d.stopped(ctx, j)
	case k != nil:
		if !may(k.owner) {
			d.mu.Unlock()
			return "", api.Errorf(api.Forbidden, "the last seconds are kept for %s: only they and admins may end it",
				k.owner)
		}
		u.keep = nil
		d.deviceChanged(u)
		d.whileIdle(u)
		d.mu.Unlock()
		return "", dropped(ctx, circle)
	}
	d.mu.Unlock()
	return "", api.Errorf(api.Conflict, "device %s is not being recorded without a test", name)
}

// dropped ends keeping the last seconds, and waits until nothing of them is left.
func dropped(ctx context.Context, circle *idle) error {
	if circle == nil {
		return nil
	}
	circle.stop(errStopped)
	select {
	case <-circle.done:
		return nil
	case <-ctx.Done():
		return api.Errorf(api.Failed, "the kept frames are still being removed")
	}
}

// stopped waits for the end of a recording.
func (d *Daemon) stopped(ctx context.Context, j *job) (string, error) {
	select {
	case <-j.done:
	case <-ctx.Done():
		return "", api.Errorf(api.Failed, "the recording is still being closed")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if j.State == failed {
		return "", api.Errorf(api.Failed, "%s", j.Reason)
	}
	return j.ID, nil
}

// KeepLast saves what a device has kept, and goes on keeping.
func (d *Daemon) KeepLast(ctx context.Context, p api.KeepParams) (string, error) {
	if err := checkText("label", p.Label); err != nil {
		return "", err
	}
	u, err := d.unit(p.Device)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	k, circle := u.keep, u.circle
	d.mu.Unlock()
	if k == nil || circle == nil {
		return "", api.Errorf(api.Conflict,
			"device %s does not keep its last seconds now; record.start with keep_last_ns begins that", p.Device)
	}
	s := &saving{p.Label, make(chan savedRun, 1)}
	select {
	case circle.save <- s:
		circle.stop(errStopped)
		d.options.at("asked for the kept frames")
	default:
		return "", api.Errorf(api.Conflict, "the last seconds of device %s are being saved already", p.Device)
	}
	select {
	case saved := <-s.done:
		return saved.answer()
	case <-circle.done:
	case <-ctx.Done():
		return "", api.Errorf(api.Failed, "the last seconds are still being saved")
	}
	select {
	case saved := <-s.done: // it was the last that the circle did
		return saved.answer()
	default:
		return "", api.Errorf(api.Conflict,
			"the last seconds of device %s are dropped: it is in other use, or its source has failed", p.Device)
	}
}

func (s savedRun) answer() (string, error) {
	if s.err != nil {
		return "", api.Errorf(api.Failed, "%v", s.err)
	}
	return s.id, nil
}

// keepLast records in a circle until it is stopped, and saves the kept frames if this was
// requested.
func (d *Daemon) keepLast(ctx context.Context, u *unit, k *keep, save <-chan *saving) error {
	if err := d.room(); err != nil {
		return err // and it is tried again
	}
	dir, err := d.store.Place("")
	if err != nil {
		return err
	}
	rec, err := d.newRecording(dir, u, k.params.Label)
	if err != nil {
		return errors.Join(err, d.store.Add(context.WithoutCancel(ctx), dir))
	}
	observer := d.observer(u)
	res, err := d.capture(ctx, u, filepath.Join(dir, runfolder.RecordingFile), recorder.Options{
		KeepLast: time.Duration(k.params.KeepLastNS), Watch: observer.Watch, Progress: observer.Progress,
	})
	observer.Recorded(res)
	if err == nil && ctx.Err() == nil {
		err = errSourceEnded
	}
	var asked *saving
	select {
	case asked = <-save:
		rec.Label = asked.label
	default:
	}
	d.options.at("circle closing")
	closed := d.closeCircle(ctx, dir, rec, res, err, asked != nil)
	if asked != nil {
		asked.done <- savedRun{filepath.Base(dir), errors.Join(err, closed)}
		return nil
	}
	return errors.Join(err, closed)
}

// closeCircle keeps the last frames if they are wanted or the recording failed. Otherwise it
// removes them.
func (d *Daemon) closeCircle(ctx context.Context, dir string, rec *session.Record, res recorder.Result, err error,
	wanted bool) error {
	switch {
	case err != nil && res.Stored > 0:
		return d.broken(ctx, dir, rec, res, err)
	case err == nil && wanted:
		return d.recorded(dir, rec, res, nil, nil)
	case err == nil && errors.Is(context.Cause(ctx), errEnding):
		return d.recorded(dir, rec, res, nil, errEnding)
	}
	return errors.Join(os.RemoveAll(dir), d.store.Add(context.WithoutCancel(ctx), dir))
}

// broken closes the folder of a circle that has broken off: a recording is made of its parts. Those
// that cannot be put together are left to people.
func (d *Daemon) broken(ctx context.Context, dir string, rec *session.Record, res recorder.Result, why error) error {
	joined, err := recorder.JoinParts(context.WithoutCancel(ctx), filepath.Join(dir, runfolder.RecordingFile), nil)
	if joined != nil {
		res.Notes = append(res.Notes, joined.Notes...)
	}
	if err == nil && joined != nil {
		res.Stored = uint64(joined.Frames)
	}
	return errors.Join(err, d.recorded(dir, rec, res, why, nil))
}
