//go:build amd64 || arm64

package windows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/windows"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// driver tells Windows what a hand does. One thread of its own makes all calls, and repeats fingers
// that lie still.
type driver struct {
	api     *api
	clock   counter
	encoder encoder // of the thread
	orders  chan order
	ended   chan struct{}
	noTouch error // why fingers are unsupported; of the thread
	closed  bool
}

// order is something for the thread to do.
type order struct {
	do   func() error
	done chan error
}

// New makes a driver for the primary screen, and returns the clock of its times. Layout nil is that
// of the US.
func New(layout input.Layout) (input.Driver, timeline.Clock, error) {
	a, err := load()
	if err != nil {
		return nil, nil, fmt.Errorf("windows: %w", err)
	}
	clock, err := newCounter(a)
	if err != nil {
		return nil, nil, fmt.Errorf("windows: %w", err)
	}
	d := &driver{api: a, clock: clock, orders: make(chan order), ended: make(chan struct{})}
	d.encoder.Layout = layout
	if d.encoder.Width, d.encoder.Height, err = a.screen(); err != nil {
		return nil, nil, fmt.Errorf("windows: %w", err)
	}
	go d.run()
	return d, clock, nil
}

// repeat is the interval at which still fingers are sent again. It is well within the 100 ms after
// which the system drops them.
const repeat = 40 * time.Millisecond

func (d *driver) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(d.ended)
	d.noTouch = d.api.beginTouch()
	t := time.NewTicker(repeat)
	defer t.Stop()
	for {
		select {
		case o, ok := <-d.orders:
			if !ok {
				return
			}
			o.done <- o.do()
		case <-t.C:
			if d.encoder.touching() {
				_ = d.api.touch(d.encoder.still()) // the next one that is asked for says why it fails
			}
		}
	}
}

// have has the thread do something.
func (d *driver) have(do func() error) error {
	o := order{do, make(chan error, 1)}
	d.orders <- o
	return <-o.done
}

// Do implements input.Driver.
func (d *driver) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (sent timeline.Interval,
	err error) {
	if d.closed {
		return sent, fmt.Errorf("windows: %w", os.ErrClosed)
	}
	var next encoder
	var calls []call
	err = d.have(func() (err error) {
		next = d.encoder
		if next.Width, next.Height, err = d.api.screen(); err != nil { // it may have been turned
			return err
		}
		calls, err = next.encode(actions...)
		if err == nil && d.noTouch != nil &&
			slices.ContainsFunc(calls, func(c call) bool { return len(c.Contacts) > 0 }) {
			err = fmt.Errorf("%w: %w", d.noTouch, errors.ErrUnsupported)
		}
		return err
	})
	if err == nil {
		err = d.clock.sleepUntil(ctx, at)
	}
	if err == nil {
		err = d.have(func() (err error) {
			d.encoder = next // fingers that were half told are lifted too
			sent, err = d.tell(calls)
			return err
		})
	}
	if err != nil {
		return timeline.Interval{}, fmt.Errorf("windows: %w", err)
	}
	return sent, nil
}

func (d *driver) tell(calls []call) (sent timeline.Interval, err error) {
	sent = timeline.At(d.clock.Now())
	for _, c := range calls {
		if len(c.Inputs) > 0 {
			err = d.api.send(c.Inputs)
		} else {
			err = d.api.touch(c.Contacts)
		}
		if err != nil {
			return sent, err
		}
	}
	sent.Latest = d.clock.Now()
	return sent, nil
}

// Release implements input.Driver.
func (d *driver) Release(context.Context) error {
	if d.closed {
		return nil
	}
	err := d.have(func() error {
		up := d.encoder.lift()
		if len(up) == 0 {
			return nil
		}
		calls, err := d.encoder.encode(up...)
		if err != nil {
			return err
		}
		for _, c := range calls { // whatever fails, the others are lifted
			_, e := d.tell([]call{c})
			err = errors.Join(err, e)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("windows: %w", err)
	}
	return nil
}

// Info implements input.Driver.
func (d *driver) Info() input.Info {
	v := windows.RtlGetVersion()
	return input.Info{
		Driver: "windows", Realism: input.System,
		Device: fmt.Sprintf("Windows %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber),
		Note:   "an interval ends when the system has queued the input",
	}
}

// Close implements input.Driver.
func (d *driver) Close() error {
	if d.closed {
		return nil
	}
	err := d.Release(context.Background())
	d.closed = true
	close(d.orders)
	<-d.ended
	return err
}
