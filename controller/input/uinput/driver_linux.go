package uinput

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
)

// driver has a keyboard, a mouse and a touch screen.
type driver struct {
	keyboard, mouse, touch *device
	screen                 hand.Screen
	layout                 input.Layout
	clock                  timeline.Clock
	relative               bool

	state    hand.State
	trail    hand.Trail // of a relative mouse
	tracking int32      // number of the last touch
	touching touching
	closed   bool
}

// newDriver makes the devices.
func newDriver(ctx context.Context, o options) (*driver, error) {
	d := &driver{screen: hand.Screen{Width: o.Width, Height: o.Height}, layout: o.Layout, clock: o.Clock,
		relative: o.Relative}
	if err := d.screen.Validate(); err != nil {
		return nil, fmt.Errorf("uinput: %w", err)
	}
	if d.layout == nil {
		d.layout = input.US()
	}
	if d.clock == nil {
		d.clock = timeline.Monotonic()
	}
	for _, m := range []struct {
		kind kind
		to   **device
	}{{keyboard(), &d.keyboard}, {mouse(d.screen, o.Relative), &d.mouse}, {touchscreen(d.screen), &d.touch}} {
		made, err := m.kind.make(ctx)
		if err != nil {
			_ = closeAll(d.devices()) // the first error is returned
			return nil, fmt.Errorf("uinput: %w", err)
		}
		*m.to = made
	}
	return d, nil
}

func (d *driver) devices() []*device { return []*device{d.keyboard, d.mouse, d.touch} }

// Do implements input.Driver. Actions of one device that are given together are one report; of two
// devices, one after the other.
func (d *driver) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	if d.closed {
		return timeline.Interval{}, fmt.Errorf("uinput: %w", os.ErrClosed)
	}
	steps, err := d.state.Plan(d.layout, d.screen, actions...)
	if err != nil {
		return timeline.Interval{}, fmt.Errorf("uinput: %w", err)
	}
	if err := timeline.SleepUntil(ctx, at); err != nil {
		return timeline.Interval{}, fmt.Errorf("uinput: wait for the time of %v: %w", actions[0], err)
	}
	return d.tell(ctx, steps)
}

// tell writes steps, and updates the held state after each.
func (d *driver) tell(ctx context.Context, steps []hand.Step) (timeline.Interval, error) {
	sent := timeline.At(d.clock.Now())
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return timeline.Interval{}, fmt.Errorf("uinput: %w", err)
		}
		for _, r := range d.reports(s.Actions) {
			if err := r.to.write(r.events); err != nil {
				return timeline.Interval{}, fmt.Errorf("uinput: %w", err)
			}
		}
		d.state = s.After
	}
	sent.Latest = d.clock.Now()
	return sent, nil
}

// report is the events that one device gets at once.
type report struct {
	to     *device
	events []evdev.Event
}

// Release implements input.Driver.
func (d *driver) Release(ctx context.Context) error {
	if d.closed || !d.state.Holds() {
		return nil
	}
	steps, err := d.state.Plan(d.layout, d.screen, d.state.Lift()...)
	if err != nil {
		return fmt.Errorf("uinput: %w", err)
	}
	_, err = d.tell(ctx, steps)
	return err
}

// Info implements input.Driver.
func (d *driver) Info() input.Info {
	kind := "absolute"
	note := "devices of the kernel: what a USB port would add is not in their way"
	if d.relative {
		kind = "relative"
		note += "; places are reached by ways from the upper left corner, right where the device accelerates no pointer"
	}
	return input.Info{
		Driver: "uinput", Realism: input.System, Note: note,
		Device: fmt.Sprintf("keyboard %s, %s mouse %s, touch screen %s of %dx%d", base(d.keyboard), kind, base(d.mouse),
			base(d.touch), d.screen.Width, d.screen.Height),
	}
}

func base(d *device) string { return strings.TrimPrefix(d.path, "/dev/input/") }

// Close implements input.Driver.
func (d *driver) Close() error {
	if d.closed {
		return nil
	}
	err := d.Release(context.Background())
	d.closed = true
	if e := closeAll(d.devices()); err == nil && e != nil {
		err = fmt.Errorf("uinput: %w", e)
	}
	return err
}
