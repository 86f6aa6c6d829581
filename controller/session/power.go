package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/eideticker/eideticker/controller/device"
)

// PowerUse is what is done with a device's power.
type PowerUse string

// The uses.
const (
	PowerOn    PowerUse = "on"    // it is switched on; by a set of runs before the first, and off after the last
	PowerOff   PowerUse = "off"   // it is switched off; no run can be made so
	PowerCycle PowerUse = "cycle" // it is switched off and on again; by a set of runs before each
)

// How long a device stays off in a cycle, so that nothing in it is still charged, and how long it
// may take until it can be used after that, and how often that is tried.
const (
	powerPause = 5 * time.Second
	bootLimit  = 5 * time.Minute
	bootAgain  = time.Second
)

// switchable is a device with a description.
type switchable interface{ describe() device.Description }

func (l local) describe() device.Description     { return l.Description }
func (d described) describe() device.Description { return d.Description }

// Power switches a device, as whoever has its lock may. A line of a GPIO chip stays as it is until
// the returned release is called or this process ends; release is never nil.
func (d *Devices) Power(ctx context.Context, name string, use PowerUse) (release func() error, err error) {
	found, err := d.Find(name)
	if err != nil {
		return func() error { return nil }, err
	}
	return switchPower(ctx, found.(switchable).describe(), use, powerPause)
}

func switchPower(ctx context.Context, d device.Description, use PowerUse, pause time.Duration) (release func() error,
	err error) {
	switch use {
	case PowerOn, PowerOff:
		release, err = d.Power.Switch(ctx, use == PowerOn)
	case PowerCycle:
		release, err = d.Power.Cycle(ctx, pause)
	default:
		return func() error { return nil }, fmt.Errorf("power %q: must be on, off or cycle", use)
	}
	if err != nil {
		err = fmt.Errorf("device %s: %w", d.Name, err)
	}
	return release, err
}

// Powered is a device that is switched on, or off and on, when runs are made on it. Close ends its
// use.
type Powered struct {
	Device
	about device.Description
	use   PowerUse
	pause time.Duration
	boot  time.Duration
	again time.Duration

	mu      sync.Mutex
	release func() error // nil: it was not switched yet
}

// WithPower returns a device whose power runs switch. That it has none that could be switched wraps
// errors.ErrUnsupported.
func WithPower(d Device, use PowerUse) (*Powered, error) {
	s, ok := d.(switchable)
	if !ok || !s.describe().Power.Given() {
		return nil, fmt.Errorf("device %s cannot be switched: no power entry: %w", d.Name(),
			errors.ErrUnsupported)
	}
	if use != PowerOn && use != PowerCycle {
		return nil, fmt.Errorf("power %q: must be on or cycle", use)
	}
	return &Powered{Device: d, about: s.describe(), use: use, pause: powerPause, boot: bootLimit, again: bootAgain}, nil
}

// Host is that of the device.
func (p *Powered) Host() (string, error) { return pagesHost(p.Device) }

// Open switches the device, and waits until it can be used.
func (p *Powered) Open(ctx context.Context, w Wanted) (Stage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.use == PowerOn && p.release != nil {
		return p.Device.Open(ctx, w)
	}
	if err := p.letGo(); err != nil { // a line that is held cannot be had again
		return nil, err
	}
	release, err := switchPower(ctx, p.about, p.use, p.pause)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	p.release = release
	w.say("the device's power was switched", "use", string(p.use))
	limited, cancel := context.WithTimeout(ctx, p.boot)
	defer cancel()
	for {
		// Not the limited context: what is opened stays open.
		s, err := p.Device.Open(ctx, w)
		if err == nil {
			return s, nil
		}
		select {
		case <-time.After(p.again):
		case <-limited.Done():
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("%v after its power was switched: %w", p.boot, err)
		}
	}
}

// letGo gives back what the last switching holds.
func (p *Powered) letGo() error {
	if p.release == nil {
		return nil
	}
	err := p.release()
	p.release = nil
	return err
}

// Close lets go of the device's power, and switches a device off that was switched on. It is
// idempotent.
func (p *Powered) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.release == nil {
		return nil
	}
	err := p.letGo()
	if p.use == PowerOn {
		release, e := switchPower(context.Background(), p.about, PowerOff, 0) // powerTimeout bounds it
		err = errors.Join(err, e, release())
	}
	return err
}

// say writes into the run's log, where there is one.
func (w Wanted) say(what string, args ...any) {
	if w.Log != nil {
		w.Log.Info(what, args...)
	}
}
