package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store"
)

// room is why nothing may be recorded since there is too little on the disk, or nil.
func (d *Daemon) room() error {
	if d.options.Room != nil {
		return d.options.Room()
	}
	return d.store.Room(d.options.Retain)
}

// diskRoom says why nothing is begun that fills the disk. What the policy would delete within a
// minute is deleted before that is said.
func (d *Daemon) diskRoom(ctx context.Context) error {
	err := d.room()
	if errors.Is(err, store.ErrNoSpace) {
		d.retainOnce(ctx)
		err = d.room()
	}
	if err != nil {
		return api.Errorf(api.Unavailable, "%v: no run begins until there is more", err)
	}
	return nil
}

// tellRoom tells once that the disk is too full for runs, and once that it is not any more.
func (d *Daemon) tellRoom() {
	err := d.room()
	if full := err != nil; d.full.Swap(full) != full {
		if full {
			d.log.Error("no run begins until there is more room on the disk", "why", err)
		} else {
			d.log.Info("there is room on the disk again: runs begin")
		}
	}
}

// watchRoom checks the disk during recordings, and ends them when less than the reserved space is
// free. A recording writes at most some hundred megabytes a second, and the check takes
// microseconds.
func (d *Daemon) watchRoom(ctx context.Context) {
	every := d.options.RoomEvery
	if every == 0 {
		every = time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			d.lookAtRoom(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// lookAtRoom does it now. What the policy deletes makes room first.
func (d *Daemon) lookAtRoom(ctx context.Context) {
	if len(d.filling()) == 0 || !errors.Is(d.room(), store.ErrNoSpace) {
		return
	}
	d.retainOnce(ctx)
	why := d.room()
	if !errors.Is(why, store.ErrNoSpace) {
		return
	}
	for _, f := range d.filling() {
		f.stop(&session.EndError{Why: fmt.Errorf("%w: %w", errNoRoom, why)})
		d.log.Error("a recording is ended, since the disk is nearly full", "device", f.device, "job", f.job, "why", why)
	}
}

// filling is what fills the disk.
type filling struct {
	device, job string // empty: not a job, but the kept last seconds
	stop        context.CancelCauseFunc
}

// filling returns the running recordings that were not ended yet. A job in another phase, such as
// measuring, may continue: it fills little.
func (d *Daemon) filling() (all []filling) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range d.units {
		switch {
		case u.capture == nil:
		case u.job != nil && u.job.context != nil && u.job.context.Err() == nil:
			all = append(all, filling{u.about.Name, u.job.ID, u.job.stop})
		case u.job == nil && u.circle != nil && u.circle.context.Err() == nil:
			all = append(all, filling{u.about.Name, "", u.circle.stop})
		}
	}
	return all
}
