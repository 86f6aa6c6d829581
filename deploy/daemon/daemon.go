package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store"
)

// Devices are those that jobs run on.
type Devices interface {
	Find(name string) (session.Device, error)
	Descriptions() []device.Description
}

// Options say what a daemon has.
type Options struct {
	Dir     string // the data directory, the store's too
	Store   *store.Store
	Devices Devices
	Suite   []suite.Source
	Known   suite.Known // what tests are held against
	Builds  Builds      // of feeds; nil: no feeds are configured
	Program string
	Log     *slog.Logger

	AllowLoopback   bool // clients may have pages of this machine loaded
	QuarantineAfter int  // faults of the lab in a row; 0: never by itself
	// tests and recordings at once, and devices whose last seconds are kept; 0: as many as there
	// are devices
	Parallel    int
	KeepLast    map[string]time.Duration // devices that keep their last seconds from the beginning
	Retain      store.Policy
	RetainEvery time.Duration // 0: a minute

	// Room is why nothing may be recorded since the disk is full, or nil; nil: what the store says
	// by Retain. RoomEvery is how often that is asked while something is; 0: a second.
	Room      func() error
	RoomEvery time.Duration

	// Reconcile is when the store is held against its folders, if no job is at work; nil: every
	// quarter of an hour.
	Reconcile <-chan time.Time
	// Now is the time; nil: the system's.
	Now func() time.Time
	// Open opens the source of a device that has no test; nil: [rig.OpenSource].
	Open func(ctx context.Context, uri string) (capture.Source, error)
	// RetryAfter returns the pause before the source of an idle device is tried again, after
	// failures in a row. nil means a second, doubled each time up to half a minute.
	RetryAfter func(failures int) time.Duration
	// Point is called where it would matter that the program ends there, with the mutex held or
	// not: for tests, which kill it.
	Point func(name string)
}

func (o *Options) at(point string) {
	if o.Point != nil {
		o.Point(point)
	}
}

// Daemon is a rig at work. Its methods may be called from any goroutine.
type Daemon struct {
	options Options
	store   *store.Store
	log     *slog.Logger
	events  *Events

	eventsLog *slog.Logger // of the events themselves: what log gets is one

	now   func() time.Time
	began time.Time
	units []*unit // in the order of the file
	named map[string]*unit
	host  *recorder.Host

	// quiet is held by each test and recording, and whole by a job that fetches builds.
	quiet *semaphore.Weighted

	full     atomic.Bool    // the disk, as it was told last
	switches sync.WaitGroup // of devices' power; begun with the mutex held, and not when ending

	mu      sync.Mutex
	ctx     context.Context // of all that is done; nil before Run
	group   *errgroup.Group // nil before Run; nothing begins in it when ending
	ending  bool
	waiting []*job // in the order in which they begin
	working []*job
	ended   []*job // latest last
	turns   turns
	rests   bool // sets of class fill do not go on
	figures Figures
	space   api.Space // as it was found last
	hurry   func()    // ends that the store is held against its folders; nil: it is not
}

// New makes a daemon, with the queue of the one that was here before. Nothing begins before Run.
func New(o Options) (*Daemon, error) {
	d := &Daemon{options: o, store: o.Store, now: o.Now, named: map[string]*unit{}, figures: newFigures(),
		quiet: semaphore.NewWeighted(allQuiet)}
	if d.now == nil {
		d.now = time.Now
	}
	if d.options.Open == nil {
		d.options.Open = recorder.OpenSource
	}
	if d.options.RetryAfter == nil {
		d.options.RetryAfter = retryAfter
	}
	d.began = d.now()
	base := slog.DiscardHandler
	if o.Log != nil {
		base = o.Log.Handler()
	}
	d.eventsLog = slog.New(base)
	broken := d.beginEvents()
	d.log = slog.New(&teller{Handler: base, events: d.events})
	if broken != nil {
		d.putAside(eventsFile, broken)
	}
	for _, about := range o.Devices.Descriptions() {
		dev, err := o.Devices.Find(about.Name)
		if err != nil {
			return nil, err
		}
		u := &unit{device: dev, about: about, preview: newPreview(about.Name, d.now),
			hold: hold{locks: o.Store.Locks}}
		d.units = append(d.units, u)
		d.named[about.Name] = u
	}
	if len(d.units) == 0 {
		return nil, errors.New("no device is configured")
	}
	if d.options.Parallel <= 0 {
		d.options.Parallel = len(d.units)
	}
	if n := len(o.KeepLast); n > d.options.Parallel {
		return nil, fmt.Errorf("keep the last seconds of %d devices: runs.parallel is %d, and not more are kept",
			n, d.options.Parallel)
	}
	for name, last := range o.KeepLast {
		u := d.named[name]
		switch {
		case u == nil:
			return nil, fmt.Errorf("keep the last seconds of device %s: unknown device", name)
		case u.about.Source == device.Virtual:
			return nil, fmt.Errorf("keep the last seconds of device %s: it has a display only while a test runs", name)
		}
		u.keep = &keep{params: api.RecordParams{Device: name, KeepLastNS: int64(last)}, owner: "configuration"}
	}
	d.restore()
	return d, nil
}

// Run runs the jobs until ctx ends, and then ends the running ones: tests as interrupted. It
// returns when all goroutines have ended.
func (d *Daemon) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	d.host = recorder.NewHost(d.recordings())
	defer d.host.Close()
	group, end := &errgroup.Group{}, make(chan struct{})
	for _, u := range d.units {
		group.Go(func() error { return u.preview.run(end) })
	}
	group.Go(func() error { d.retain(work); return nil })
	group.Go(func() error { d.reconcile(work); return nil })
	group.Go(func() error { d.watchRoom(work); return nil })
	group.Go(func() error { d.watchLocks(work); return nil })
	d.log.Info("ready", "devices", len(d.units)) // clients that wait for Health do not get this event
	d.mu.Lock()
	d.ctx, d.group = work, group
	d.saveEnded()
	if err := d.saveJobs(); err != nil {
		d.log.Error("the queue could not be kept", "error", err)
	}
	d.dispatch()
	d.mu.Unlock()
	<-ctx.Done()
	d.mu.Lock()
	d.ending = true
	busy := len(d.working)
	for _, u := range d.units {
		if u.reserved != nil {
			u.reserved.free.Stop()
		}
	}
	d.mu.Unlock()
	d.log.Info("ending", "jobs_at_work", busy)
	stop(errEnding)
	d.drain()
	close(end)
	return group.Wait()
}

// drain waits for running jobs and the goroutines beside them, so that their pictures can still be
// packed. It also waits for devices that are briefly switched off.
func (d *Daemon) drain() {
	d.switches.Wait()
	for {
		var next chan struct{}
		d.mu.Lock()
		if len(d.working) > 0 {
			next = d.working[0].done
		}
		for _, u := range d.units {
			for _, i := range []*idle{u.circle, u.glance} {
				if i != nil {
					next = i.done
				}
			}
		}
		d.mu.Unlock()
		if next == nil {
			return
		}
		<-next
	}
}

// retain deletes old runs when space for new ones is missing, and checks the space regularly.
func (d *Daemon) retain(ctx context.Context) {
	every := d.options.RetainEvery
	if every == 0 {
		every = time.Minute
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		d.retainOnce(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (d *Daemon) retainOnce(ctx context.Context) {
	deleted, err := d.store.Retain(ctx, d.options.Retain)
	if err != nil && ctx.Err() == nil {
		d.log.Warn("room could not be made", "error", err)
	}
	for _, id := range deleted {
		d.stored(id, "deleted", "retention")
	}
	space, err := d.spaceNow(ctx)
	if err != nil && ctx.Err() == nil {
		d.log.Warn("how much room there is could not be found", "error", err)
	}
	d.tellRoom()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.figures.Deleted += uint64(len(deleted))
	if err == nil {
		d.space = space
	}
}

func (d *Daemon) spaceNow(ctx context.Context) (api.Space, error) {
	used, free, err := d.store.Space()
	if err != nil {
		return api.Space{}, err
	}
	page, err := d.store.List(ctx, store.Query{Limit: 1})
	return api.Space{UsedBytes: used, FreeBytes: free, MaxBytes: d.options.Retain.MaxBytes, Runs: int(page.Total)}, err
}

// Status is what the rig is, and what it is at; the caller adds what it knows of the client.
func (d *Daemon) Status() api.Status {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	s := api.Status{
		Program: d.options.Program, Host: host, NowWallNS: d.now().UnixNano(), StartedWallNS: d.began.UnixNano(),
		State: "running",
		Seq:   d.events.Latest(), Devices: d.Devices(), Jobs: d.Jobs(false),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending {
		s.State = "ending"
	}
	s.Store = d.space
	return s
}

// Events are what happens, for who wants to hear it.
func (d *Daemon) Events() *Events { return d.events }

// Log writes to the daemon's log, of which clients hear.
func (d *Daemon) Log() *slog.Logger { return d.log }

// Suite is where tests are looked for, and what they are held against.
func (d *Daemon) Suite() ([]suite.Source, suite.Known) { return d.options.Suite, d.options.Known }

// Changed tells that the store has another content, by somebody else's hand.
func (d *Daemon) Changed(id, what string) { d.stored(id, what, "") }

// FleetChanged adds an event about a rig or a job of the fleet.
func (d *Daemon) FleetChanged(rig, job string) {
	d.events.add(api.Event{Kind: "fleet", Fleet: &api.FleetChange{Rig: rig, Job: job}})
}

// TrendChanged adds an event about schedules, points, a change or an alert.
func (d *Daemon) TrendChanged(what string, id int64) {
	d.events.add(api.Event{Kind: "trend", Trend: &api.TrendChange{What: what, ID: id}})
}

// BisectChanged adds an event about a bisection.
func (d *Daemon) BisectChanged(id string) {
	d.events.add(api.Event{Kind: "trend", Trend: &api.TrendChange{What: "bisect", Bisect: id}})
}

// Store is where runs are.
func (d *Daemon) Store() *store.Store { return d.store }

// healthTime is how long the daemon may take to say how it is.
const healthTime = 10 * time.Second

// Health is why the daemon is not well, or nil: it cannot say how it is, or it is starting or
// ending.
func (d *Daemon) Health() error {
	ctx, cancel := context.WithTimeout(context.Background(), healthTime)
	defer cancel()
	for !d.mu.TryLock() {
		if wait(ctx, 10*time.Millisecond); ctx.Err() != nil {
			return errors.New("the daemon does not answer")
		}
	}
	defer d.mu.Unlock()
	if d.group == nil || d.ending {
		return errors.New("the daemon is starting or ending")
	}
	return nil
}

// Ready is why the rig begins no runs, or nil. A full disk is a reason, though the daemon is well:
// starting it anew makes no room.
func (d *Daemon) Ready() error {
	if err := d.Health(); err != nil || !d.full.Load() {
		return err
	}
	return d.room() // there may be some by now
}
