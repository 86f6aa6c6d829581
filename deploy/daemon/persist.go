package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/api"
)

// Files in the data directory.
const (
	jobsFile    = "jobs.json"
	devicesFile = "devices.json"
	eventsFile  = "events.json"
	endedFile   = "ended.json"
	keptVersion = 1
	maxKept     = 256 << 20 // bytes: more than any that was ever written
)

// keptJobs is the content of jobs.json.
type keptJobs struct {
	Version int       `json:"version"`
	Waiting []keptJob `json:"waiting"` // in order
	Working []keptJob `json:"working"`
}

// keptEnded is the content of ended.json. A job that is in jobs.json too has ended: ended.json is
// written first.
type keptEnded struct {
	Version int       `json:"version"`
	Jobs    []api.Job `json:"jobs"` // the latest last
}

// keptJob has the data to run a job, or to describe its result.
type keptJob struct {
	ID           string             `json:"job"`
	Kind         string             `json:"kind"`
	Owner        string             `json:"owner"`
	Test         string             `json:"test"`
	QueuedWallNS int64              `json:"queued_wall_ns"`
	Start        *api.StartParams   `json:"start,omitempty"`
	Analyze      *api.AnalyzeParams `json:"analyze,omitempty"`
	Record       *api.RecordParams  `json:"record,omitempty"`
	Origin       json.RawMessage    `json:"origin,omitempty"` // of Start

	// Data of a job that was running, which is not planned again.
	StartedWallNS int64          `json:"started_wall_ns,omitempty"`
	Label         string         `json:"label,omitempty"`
	Devices       []string       `json:"devices,omitempty"`
	Browsers      []string       `json:"browsers,omitempty"`
	Total         int            `json:"runs_total,omitempty"`
	Params        *api.StartView `json:"params,omitempty"`
}

// keptDevices is the content of devices.json.
type keptDevices struct {
	Version int                   `json:"version"`
	Devices map[string]keptDevice `json:"devices"`
}

// keptEvents is the content of events.json.
type keptEvents struct {
	Version int    `json:"version"`
	Below   uint64 `json:"below"` // all numbers that were given
}

type keptDevice struct {
	Quarantine string `json:"quarantine"`
}

func (d *Daemon) saveJobs() error {
	out := keptJobs{Version: keptVersion, Waiting: []keptJob{}, Working: []keptJob{}}
	for _, j := range d.waiting {
		out.Waiting = append(out.Waiting, j.kept())
	}
	for _, j := range d.working {
		out.Working = append(out.Working, j.kept())
	}
	return d.save(jobsFile, out)
}

// saveEnded keeps the jobs that have ended. An error is logged: the daemon itself still has them.
func (d *Daemon) saveEnded() {
	out := keptEnded{Version: keptVersion, Jobs: []api.Job{}}
	for _, j := range d.ended {
		out.Jobs = append(out.Jobs, j.wire())
	}
	if err := d.save(endedFile, out); err != nil {
		d.log.Error("the jobs that have ended could not be kept", "error", err)
	}
}

// addEnded adds a job to those that have ended, of which the last are kept.
func (d *Daemon) addEnded(j *job) {
	d.ended = append(d.ended, j)
	d.ended = d.ended[max(0, len(d.ended)-maxEnded):]
}

func (j *job) kept() keptJob {
	k := keptJob{
		ID: j.ID, Kind: j.Kind, Owner: j.Owner, Test: j.Test, QueuedWallNS: j.QueuedWallNS, Start: j.start,
		Analyze: j.again, Record: j.keep,
		StartedWallNS: j.StartedWallNS, Label: j.Label, Devices: j.Devices, Browsers: j.Browsers, Total: j.Total,
		Params: j.Params,
	}
	if j.start != nil {
		k.Origin = j.start.Origin
	}
	return k
}

// weigh finds how many bytes a job has in jobs.json, but for those that set it apart there.
func (j *job) weigh() error {
	raw, err := encodeKept(j.kept())
	j.bytes = len(raw)
	return err
}

// encodeKept writes <, > and & as they are: a page in an upload has many of them.
func encodeKept(content any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(content)
	return b.Bytes(), err
}

func (d *Daemon) saveDevices() error {
	out := keptDevices{keptVersion, map[string]keptDevice{}}
	for _, u := range d.units {
		if u.quarantine != "" {
			out.Devices[u.about.Name] = keptDevice{u.quarantine}
		}
	}
	return d.save(devicesFile, out)
}

// beginEvents makes the events, whose numbers go on where those of the daemon ended that was here
// before.
func (d *Daemon) beginEvents() (broken error) {
	const most = 1 << 53 // what fits a double
	var kept keptEvents
	broken = d.load(eventsFile, &kept)
	if broken == nil && kept.Below > most/2 {
		broken = fmt.Errorf("read %s: no clock counts up to %d", eventsFile, kept.Below)
	}
	if broken != nil {
		kept.Below = 0
	}
	d.events = newEvents(d.now, kept.Below, func(below uint64) {
		// events cannot tell it: this is in the midst of one
		if err := d.save(eventsFile, keptEvents{keptVersion, below}); err != nil {
			d.eventsLog.Error("clients may miss events if the clock is set back: their numbers could not be kept",
				"error", err)
		}
	})
	return broken
}

func (d *Daemon) save(name string, content any) error {
	raw, err := encodeKept(content)
	if err != nil {
		return err
	}
	return staging.WriteFile(filepath.Join(d.options.Dir, name), raw, 0o640)
}

// load reads a file that save has written. A missing file is not an error.
func (d *Daemon) load(name string, content any) error {
	path := filepath.Join(d.options.Dir, name)
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && st.Size() > maxKept {
		err = fmt.Errorf("it has %d bytes, which none that was written here has", st.Size())
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, content)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// restore takes up the queue and the quarantines of the daemon that was here before. What cannot be
// read is put aside and told: a rig that does not start helps nobody.
func (d *Daemon) restore() {
	for _, name := range []string{jobsFile, devicesFile, eventsFile, endedFile} {
		staging.CleanFile(filepath.Join(d.options.Dir, name))
	}
	var jobs keptJobs
	if err := d.load(jobsFile, &jobs); err != nil {
		d.putAside(jobsFile, err)
	}
	var devices keptDevices
	if err := d.load(devicesFile, &devices); err != nil {
		d.putAside(devicesFile, err)
	}
	for name, k := range devices.Devices {
		if u := d.named[name]; u != nil {
			u.quarantine = k.Quarantine
		}
	}
	var ended keptEnded
	if err := d.load(endedFile, &ended); err != nil {
		d.putAside(endedFile, err)
		ended = keptEnded{}
	}
	over := map[string]bool{}
	for _, w := range ended.Jobs {
		j := &job{Job: w, done: make(chan struct{})}
		close(j.done)
		d.addEnded(j)
		over[j.ID] = true
	}
	for _, k := range jobs.Working {
		if over[k.ID] {
			continue
		}
		j := d.revive(k)
		j.State, j.Reason, j.EndedWallNS = interrupted, "the daemon ended in the middle of it", d.now().UnixNano()
		close(j.done)
		d.addEnded(j)
		d.tell(j)
		d.log.Warn("a job was interrupted by the end of the daemon", "job", j.ID)
	}
	for _, k := range jobs.Waiting {
		j := d.revive(k)
		if err := d.replan(j); err != nil {
			j.State, j.Reason, j.EndedWallNS = failed, err.Error(), d.now().UnixNano()
			close(j.done)
			d.addEnded(j)
			d.log.Warn("a job of the queue cannot be done any more", "job", j.ID, "error", err)
			continue
		}
		if err := j.weigh(); err != nil {
			d.log.Warn("a job of the queue cannot be weighed", "job", j.ID, "error", err)
		}
		j.place = d.turns.next(j.Owner, j.class())
		d.waiting = append(d.waiting, j)
	}
	d.turns.order(d.waiting)
	d.positions()
}

// revive makes a job of its kept data.
func (d *Daemon) revive(k keptJob) *job {
	j := &job{start: k.Start, again: k.Analyze, keep: k.Record, done: make(chan struct{})}
	j.Job = api.Job{
		ID: k.ID, Kind: k.Kind, Owner: k.Owner, Test: k.Test, State: queued, QueuedWallNS: k.QueuedWallNS,
		StartedWallNS: k.StartedWallNS, Label: k.Label,
		Devices: append([]string{}, k.Devices...), Browsers: append([]string{}, k.Browsers...), Total: k.Total,
		Params: k.Params,
	}
	if k.Start != nil {
		k.Start.Origin = k.Origin
		j.Seed, j.Label = k.Start.Seed, k.Start.Label // also where an older version has kept it
	}
	return j
}

// replan holds a job that was kept against what there is now. The reservation that it came with is
// gone.
func (d *Daemon) replan(j *job) error {
	switch {
	case j.Kind == kindRun && j.start != nil:
		if !filepath.IsLocal(j.ID) || filepath.Base(j.ID) != j.ID {
			return fmt.Errorf("%q is not a name of a job", j.ID)
		}
		j.start.Reservation = ""
		plan, err := d.plan(j.start)
		if err != nil {
			return err
		}
		if err := d.store.PlaceAgain(j.ID); err != nil {
			return err
		}
		plan.describe(&j.Job)
		j.units, j.dir = plan.units, filepath.Join(d.options.Dir, "runs", j.ID)
	case j.Kind == kindAnalyze && j.again != nil:
	default:
		return fmt.Errorf("jobs of kind %q are not kept", j.Kind)
	}
	return nil
}

func (d *Daemon) putAside(name string, why error) {
	path := filepath.Join(d.options.Dir, name)
	aside := path + ".unreadable"
	d.log.Error("kept state cannot be read, and is put aside", "error", why, "kept", aside)
	if err := os.Rename(path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Error("it cannot be put aside either", "error", err)
	}
}
