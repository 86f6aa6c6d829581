package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/eideticker/eideticker/controller/device"
)

// PowerUse is an operation on a device's power.
type PowerUse string

// Operations. A set of runs switches a device on before its first run and off after its last.
const (
	powerOn    PowerUse = "on"    // on
	powerOff   PowerUse = "off"   // off; not for runs
	powerCycle PowerUse = "cycle" // off and on again; a set of runs does it before each run
)

const (
	powerPause = 5 * time.Second // off in a cycle: long enough to discharge
	bootLimit  = 5 * time.Minute // until the device can be used
	bootAgain  = time.Second     // between two attempts to use it
)

// switchable is a device with a description.
type switchable interface{ describe() device.Description }

func (l local) describe() device.Description     { return l.Description }
func (d described) describe() device.Description { return d.Description }

// Power switches a device. The caller must have its lock. A line of a GPIO chip keeps its state
// until the caller calls release, or until this process ends. release is never nil.
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
	case powerOn, powerOff:
		release, err = d.Power.Switch(ctx, use == powerOn)
	case powerCycle:
		release, err = d.Power.Cycle(ctx, pause)
	default:
		return func() error { return nil }, fmt.Errorf("power %q: must be on, off or cycle", use)
	}
	if err != nil {
		err = fmt.Errorf("device %s: %w", d.Name, err)
	}
	return release, err
}

// Powered is a device that runs switch on, or off and on. Its owner calls Close.
type Powered struct {
	Device
	about device.Description
	use   PowerUse
	pause time.Duration
	boot  time.Duration
	again time.Duration

	mu      sync.Mutex
	release func() error // nil: not switched yet
}

// WithPower returns a device whose power runs switch. The error of a device without a power switch
// wraps errors.ErrUnsupported.
func WithPower(d Device, use PowerUse) (*Powered, error) {
	s, ok := d.(switchable)
	if !ok || !s.describe().Power.Given() {
		return nil, fmt.Errorf("device %s cannot be switched: no power entry: %w", d.Name(),
			errors.ErrUnsupported)
	}
	if use != powerOn && use != powerCycle {
		return nil, fmt.Errorf("power %q: must be on or cycle", use)
	}
	return &Powered{Device: d, about: s.describe(), use: use, pause: powerPause, boot: bootLimit, again: bootAgain}, nil
}

// Host returns that of the device.
func (p *Powered) Host() (string, error) { return pagesHost(p.Device) }

// Open switches the device and waits until it can be used.
func (p *Powered) Open(ctx context.Context, w Wanted) (Stage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.use == powerOn && p.release != nil {
		return p.Device.Open(ctx, w)
	}
	if err := p.letGo(); err != nil { // a held line cannot be opened again
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
		// Not the limited context: the stage outlives it.
		s, err := p.Device.Open(ctx, w)
		if err == nil || errors.As(err, new(buildError)) {
			return s, err
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

// letGo releases the line of the last switching.
func (p *Powered) letGo() error {
	if p.release == nil {
		return nil
	}
	err := p.release()
	p.release = nil
	return err
}

// Close releases the power switch. It switches a device off that was switched on. It is idempotent.
func (p *Powered) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.release == nil {
		return nil
	}
	err := p.letGo()
	if p.use == powerOn {
		release, e := switchPower(context.Background(), p.about, powerOff, 0) // powerTimeout bounds it
		err = errors.Join(err, e, release())
	}
	return err
}

// say writes into the run's log, if there is one.
func (w Wanted) say(what string, args ...any) {
	if w.Log != nil {
		w.Log.Info(what, args...)
	}
}
