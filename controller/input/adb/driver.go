package adb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// Options of a driver.
type Options struct {
	Serial        string // "" for the only device
	Server        Server
	Width, Height int            // of the screen, pixels; 0: what the device says
	Way           string         // "uinput", "evdev" or "input"; "": the best that works
	Clock         timeline.Clock // the rig's; nil for timeline.Monotonic
}

// way does actions that were checked.
type way interface {
	// plan returns a function that sends the actions, or an error if they cannot be done. The
	// function is called before the next plan is made. If actions are sent in part, fingers that
	// were or came down count as down. So they can be lifted.
	plan(actions []input.Action) (tell func(context.Context) error, err error)
	name() string
	close() error
}

// Driver is an [input.Driver] of an Android device.
type Driver struct {
	device *Device
	clock  timeline.Clock
	way    way
	echo   *echo         // nil where the end of a command is waited for
	there  time.Duration // the longest way to the device and back that was measured; 0 without echo
	held   input.Held
	note   string
	closed bool
}

// echoTimes is how many ways to and fro are measured.
const echoTimes = 16

// Open finds the device and chooses the way.
func Open(ctx context.Context, o Options) (*Driver, error) {
	device, err := o.Server.Find(ctx, o.Serial)
	if err != nil {
		return nil, err
	}
	d := &Driver{device: device, clock: o.Clock}
	if d.clock == nil {
		d.clock = timeline.Monotonic()
	}
	if o.Width == 0 || o.Height == 0 {
		if o.Width, o.Height, err = device.screenSize(ctx); err != nil {
			return nil, err
		}
	}
	if d.echo, err = openEcho(ctx, device); err != nil {
		return nil, fmt.Errorf("device %s: %w", device.Serial, err)
	}
	if d.there, err = d.echo.longest(ctx, echoTimes); err != nil {
		d.silence()
		return nil, fmt.Errorf("measure the way to device %s: %w", device.Serial, err)
	}
	if err := d.choose(ctx, o); err != nil {
		d.silence()
		return nil, fmt.Errorf("device %s: %w", device.Serial, err)
	}
	return d, nil
}

// silence ends the echoes.
func (d *Driver) silence() {
	if d.echo != nil {
		d.echo.close()
		d.echo = nil
	}
}

// choose takes the first way that works, and notes why the ones before it do not.
func (d *Driver) choose(ctx context.Context, o Options) error {
	screen := size{o.Width, o.Height}
	ways := []struct {
		name string
		open func() (way, error)
	}{
		{"uinput", func() (way, error) { return openUinput(ctx, d.device, screen) }},
		{"evdev", func() (way, error) { return openEvdev(ctx, d.device, screen) }},
		{"input", func() (way, error) { return openInput(ctx, d.device) }},
	}
	var why error
	for _, w := range ways {
		if o.Way != "" && o.Way != w.name {
			continue
		}
		opened, err := w.open()
		if err == nil {
			d.way = opened
			if w.name == "input" {
				d.silence()
				d.there = 0
			}
			if why != nil {
				d.note = why.Error()
			}
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, input.ErrGone) {
			return err
		}
		why = errors.Join(why, fmt.Errorf("%s: %w", w.name, err))
	}
	if why == nil {
		why = fmt.Errorf("no way is called %q; known: uinput, evdev, input", o.Way)
	}
	return why
}

// Do is as [input.Driver] has it.
func (d *Driver) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	if d.closed {
		return timeline.Interval{}, errors.New("adb: the driver is closed")
	}
	if err := input.Check(actions); err != nil {
		return timeline.Interval{}, err
	}
	if err := timeline.SleepUntil(ctx, at); err != nil {
		return timeline.Interval{}, err
	}
	sent := timeline.Interval{Earliest: d.clock.Now()}
	if err := d.do(ctx, actions); err != nil {
		return timeline.Interval{}, err
	}
	if d.echo != nil {
		if err := d.echo.ask(ctx); err != nil {
			return timeline.Interval{}, fmt.Errorf("device %s: %w", d.device.Serial, err)
		}
	}
	sent.Latest = d.clock.Now().Add(d.there)
	return sent, nil
}

// do tells actions, and notes what they hold.
func (d *Driver) do(ctx context.Context, actions []input.Action) error {
	tell, err := d.way.plan(actions)
	if err != nil {
		return err
	}
	// Actions that fail from here on may have been done in part. Keys held before or by them count
	// as held.
	for _, a := range actions {
		switch a.(type) {
		case input.KeyDown, input.TouchDown:
			d.held.Note(a)
		}
	}
	if err := tell(ctx); err != nil {
		return err
	}
	d.held.Note(actions...)
	return nil
}

// Release is as [input.Driver] has it.
func (d *Driver) Release(ctx context.Context) error {
	if d.closed {
		return nil
	}
	lift := d.held.Lift() // fingers first
	n := 0
	for n < len(lift) && ofFingers(lift[n]) {
		n++
	}
	for _, part := range [][]input.Action{lift[:n], lift[n:]} { // they are of two devices
		if len(part) == 0 {
			continue
		}
		if err := d.do(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// Info is as [input.Driver] has it.
func (d *Driver) Info() input.Info {
	return input.Info{
		Driver: "adb-" + d.way.name(), Device: d.device.Serial, Realism: input.System, Latency: d.there / 2,
		Note: d.note,
	}
}

// Close is as [input.Driver] has it.
func (d *Driver) Close() error {
	if d.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := d.Release(ctx)
	if errors.Is(err, input.ErrGone) {
		// our input devices ended with the shell; opening the device again lifts the fingers of
		// other ways
		err = nil
	}
	d.closed = true
	d.silence()
	return errors.Join(err, d.way.close())
}

const closeTimeout = 3 * time.Second

// size is a screen's, in pixels.
type size struct{ width, height int }
