package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
)

// unit is a device and what it is at. Its fields are guarded by the daemon's mutex.
type unit struct {
	device  session.Device
	about   device.Description
	preview *Preview

	job        *job // at work on it
	reserved   *reservation
	quarantine string
	failures   int   // of the lab, in a row
	circle     *idle // keeps the last seconds; nil: nobody does
	// the requested keeping of the last seconds; it outlives the jobs that interrupt it
	keep      *keep
	glance    *idle   // shows an idle device to who looks at it; nil: nobody does
	trouble   trouble // with that
	switching bool    // its power
	elsewhere string  // who else has locked it, as it was found last
	signal    *api.Signal
	capture   *api.Capture

	hold  hold
	letGo func() error // of what its power was switched by; used while it is held
}

// reservation reserves a device for the owners of its key.
type reservation struct {
	api.Reservation
	key  string
	free *time.Timer
}

// readiness is whether a job could begin on a device, or what it waits for.
type readiness int

const (
	isReady   readiness = iota
	forWork             // to end
	forPeople           // to do something, which may take long
)

func (u *unit) readiness(j *job) readiness {
	switch {
	case u.quarantine != "" || u.reserved != nil && u.reserved.key != j.key:
		return forPeople
	case u.job != nil || u.switching:
		return forWork
	}
	return isReady
}

// waitsFor says what keeps a device from a job, in words; "" is nothing.
func (u *unit) waitsFor(j *job) string {
	name := u.about.Name
	switch {
	case u.quarantine != "":
		return "device " + name + " is under quarantine: " + u.quarantine
	case u.reserved != nil && u.reserved.key != j.key:
		return "device " + name + " is reserved for " + u.reserved.Owner
	case u.job != nil:
		why := "device " + name + " is at job " + u.job.ID
		if u.job.yieldsTo(j) {
			why += ", which yields after the present block of its set"
		}
		return why
	case u.switching:
		return "device " + name + " is being switched on or off"
	}
	return ""
}

// wire is the device as clients see it.
func (u *unit) wire() api.Device {
	d := api.Device{
		Name: u.about.Name, About: u.about.About, Source: u.about.Source, Input: u.about.Input.String(),
		Browsers: append([]string{}, u.about.Browsers...),
		Power:    u.about.Power.Given(), Quarantine: u.quarantine, Failures: u.failures, Signal: u.signal,
		Capture: u.capture,
	}
	if u.reserved != nil {
		r := u.reserved.Reservation
		d.Reserved = &r
	}
	switch {
	case u.job != nil && u.elsewhere == "":
		d.State, d.Job = "running", u.job.ID
	case u.elsewhere != "":
		d.State, d.InUseBy = "elsewhere", u.elsewhere
	case u.quarantine != "":
		d.State = "quarantined"
	case u.keep != nil:
		d.State = "keeping"
	case u.reserved != nil:
		d.State = "reserved"
	default:
		d.State = "free"
	}
	return d
}

// hold is the lock of a device, which jobs, reservations and who looks at it share within this
// program. Other programs see it taken from the first to the last of them.
type hold struct {
	locks  session.Locks
	mu     sync.Mutex
	users  int
	lock   *session.Lock
	taking chan struct{} // there while somebody takes it
}

// take locks a device for one more user. With wait it waits until other programs have let go; told
// is called once if it has to.
func (h *hold) take(ctx context.Context, name string, told func(busy *session.BusyError)) error {
	for {
		h.mu.Lock()
		if h.users > 0 {
			h.users++
			h.mu.Unlock()
			return nil
		}
		if h.taking == nil {
			break
		}
		taking := h.taking
		h.mu.Unlock()
		select {
		case <-taking:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	h.taking = make(chan struct{})
	h.mu.Unlock()
	lock, err := take(ctx, h.locks, name, told)
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.taking)
	h.taking = nil
	if err == nil {
		h.lock, h.users = lock, 1
	}
	return err
}

func take(ctx context.Context, locks session.Locks, name string, told func(*session.BusyError)) (*session.Lock, error) {
	lock, err := locks.Take(ctx, name, false)
	busy, is := asBusy(err)
	if !is || told == nil {
		return lock, err
	}
	told(busy)
	return locks.Take(ctx, name, true)
}

// other returns the other program that has the device; "": none, or unknown.
func (h *hold) other(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users > 0 || h.taking != nil {
		return ""
	}
	return h.locks.Holder(name)
}

// release lets go. The last user gives the device back.
func (h *hold) release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users--; h.users > 0 {
		return nil
	}
	lock := h.lock
	h.lock = nil
	return lock.Close()
}

// idle is something that goes on while a device has no job, and makes way for one.
type idle struct {
	context context.Context
	stop    context.CancelCauseFunc
	done    chan struct{}
	save    chan *saving // of a circle: one asks to have what it keeps saved
}

// observer returns the observer of a recording of a device.
func (d *Daemon) observer(u *unit) session.Observer {
	c := &watched{daemon: d, unit: u, began: d.now()}
	return session.Observer{Host: d.host, Watch: u.preview, Progress: c.progress, Recorded: c.recorded}
}

// watched is a recording that is looked at.
type watched struct {
	daemon  *Daemon
	unit    *unit
	began   time.Time
	told    time.Time
	frames  uint64 // counted so far
	crowded bool   // it was told that nobody is shown it for a while
}

// recordEvery is the least time between two events about one recording.
const recordEvery = 500 * time.Millisecond

func (c *watched) progress(p recorder.Progress) {
	d, u := c.daemon, c.unit
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.Frames < c.frames { // the next recording of a set
		c.frames, c.began = 0, now
	}
	d.figures.captured(u.about.Name, p.Frames-c.frames)
	c.frames = p.Frames
	if p.Frames > 0 {
		d.shown(u, now.Sub(c.began))
	}
	if u.preview.givenUp.Swap(false) && !c.crowded {
		c.crowded = true
		d.log.Info("a device is shown to nobody for a while: its recording needs the memory", "device", u.about.Name)
	}
	u.capture = &api.Capture{
		Frames: p.Frames, Lost: p.Missing, Bytes: p.Bytes, RingFill: p.RingFill, Encoding: p.Encoding,
		ElapsedNS: int64(now.Sub(c.began)),
	}
	if now.Sub(c.told) < recordEvery {
		return
	}
	c.told = now
	event := api.Event{Kind: "record", Record: &api.Record{Device: u.about.Name, Capture: *u.capture}}
	if u.job != nil {
		event.JobID = u.job.ID
	}
	d.events.add(event)
	d.options.at("recording")
}

func (c *watched) recorded(res recorder.Result) {
	d, u := c.daemon, c.unit
	d.mu.Lock()
	defer d.mu.Unlock()
	if res.Stored > c.frames {
		d.figures.captured(u.about.Name, res.Stored-c.frames)
	}
	for _, l := range res.Lost {
		d.figures.lost(u.about.Name, l.Cause.String(), l.Frames)
	}
	c.frames, u.capture = 0, nil
	d.options.at("recorded")
}
