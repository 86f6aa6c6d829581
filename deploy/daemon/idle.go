package daemon

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/device"
)

// whileIdle starts the work on a device without a job: keeping its last seconds, or showing it to
// viewers. The mutex is held.
func (d *Daemon) whileIdle(u *unit) {
	if d.group == nil || d.ending || u.job != nil || u.switching || u.circle != nil ||
		u.about.Source == device.Virtual {
		return
	}
	switch {
	case u.glance != nil:
		if u.keep != nil {
			// this is called again when it has ended; viewers see the kept frames
			u.glance.stop(errMakeWay)
		}
	case u.keep != nil:
		k, save := u.keep, make(chan *saving, 1)
		u.circle = d.beside(u, func(ctx context.Context) error { return d.keepLast(ctx, u, k, save) },
			func() { u.circle = nil })
		u.circle.save = save
	case u.preview.viewers.Load() > 0:
		u.glance = d.beside(u, func(ctx context.Context) error { return d.glance(ctx, u) }, func() { u.glance = nil })
	}
}

// errSourceEnded is the error of idle work whose source ended.
var errSourceEnded = errors.New("the source has ended by itself")

// trouble counts consecutive failures of an idle device's source. A lasting failure is reported
// once.
type trouble struct {
	failures int
	pause    time.Duration // after the last one
}

// retryAfter is longer the more often something has failed, and never quite the same.
func retryAfter(failures int) time.Duration {
	const first, most = time.Second, 30 * time.Second
	pause := min(first<<min(failures-1, 10), most)
	return pause + rand.N(pause/5)
}

// troubled notes that an idle device could not be looked at, and returns for how long it is left
// alone.
func (d *Daemon) troubled(u *unit, why error) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &u.trouble
	t.failures++
	t.pause = d.options.RetryAfter(t.failures)
	if t.failures == 1 {
		d.log.Warn("an idle device cannot be looked at, and is tried again from time to time", "device", u.about.Name,
			"error", why)
	}
	return t.pause
}

// shown notes for how long frames of a device have come. Its trouble is over when they did for as
// long as it was left alone. The mutex is held.
func (d *Daemon) shown(u *unit, length time.Duration) (well bool) {
	if t := &u.trouble; t.failures > 0 {
		if length < t.pause {
			return false
		}
		d.log.Info("an idle device can be looked at again", "device", u.about.Name, "failures", t.failures)
		*t = trouble{}
	}
	return true
}

// beside runs work until it is stopped, and then decides again about idle work. Failed work is
// tried again after a pause.
func (d *Daemon) beside(u *unit, work func(context.Context) error, over func()) *idle {
	ctx, stop := context.WithCancelCause(d.ctx)
	i := &idle{context: ctx, stop: stop, done: make(chan struct{})}
	d.group.Go(func() error {
		err := d.holding(ctx, u, work)
		if err != nil && ctx.Err() == nil {
			wait(ctx, d.troubled(u, err))
		}
		stop(nil)
		d.mu.Lock()
		defer d.mu.Unlock()
		over()
		close(i.done)
		d.deviceChanged(u)
		d.whileIdle(u)
		return nil
	})
	return i
}

// holding does something while a device is locked.
func (d *Daemon) holding(ctx context.Context, u *unit, work func(context.Context) error) error {
	if err := u.hold.take(ctx, u.about.Name, nil); err != nil {
		return err
	}
	return errors.Join(work(ctx), u.hold.release())
}

// makeWay frees an idle device for a job. Its kept last seconds are dropped, unless they were
// requested.
func (d *Daemon) makeWay(u *unit) {
	d.mu.Lock()
	var ends []chan struct{}
	for _, i := range []*idle{u.circle, u.glance} {
		if i != nil {
			i.stop(errMakeWay)
			ends = append(ends, i.done)
		}
	}
	d.mu.Unlock()
	for _, end := range ends {
		<-end
	}
}

// glance shows what an idle device shows until nobody looks any more.
func (d *Daemon) glance(ctx context.Context, u *unit) error {
	src, err := d.options.Open(ctx, u.about.Source)
	if err != nil {
		return err
	}
	p := u.preview
	p.Begin(nil, empty)
	defer p.End(0, false)
	layout, err := frame.NewLayout(src.Info().Format)
	if err != nil {
		return errors.Join(err, src.Close())
	}
	step := frame.Step{}
	began, well := d.now(), false
	err = recorder.Peek(ctx, src, func(pix []byte, m frame.Meta) bool {
		step.Number, step.Meta, step.Image = step.Number+1, m, layout.View(pix)
		p.Frame(&step, m.Sampled.Latest)
		if !well {
			d.mu.Lock()
			well = d.shown(u, d.now().Sub(began))
			d.mu.Unlock()
		}
		return p.viewers.Load() > 0
	})
	if err == nil && ctx.Err() == nil && p.viewers.Load() > 0 {
		err = errSourceEnded
	}
	return errors.Join(err, src.Close())
}

func wait(ctx context.Context, t time.Duration) {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
