package hid

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
)

// driver is a gadget's keyboard, mouse and touch screen, as far as it has them.
type driver struct {
	port      *port // nil where nothing is known of it
	gadget    *gadget
	endpoints [parts]*endpoint
	kinds     []kind
	screen    hand.Screen
	layout    input.Layout
	clock     timeline.Clock
	wait      time.Duration // see port

	state   hand.State
	encoder encoder
	lost    bool // what the host knows is not what we know
	closed  bool
}

// newDriver plugs a gadget in, or finds one, and waits for the host.
func newDriver(ctx context.Context, o driverOptions) (*driver, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("hid: %w", err)
	}
	d := &driver{screen: hand.Screen{Width: o.Width, Height: o.Height}, layout: o.Layout, clock: o.Clock}
	if d.layout == nil {
		d.layout = input.US()
	}
	if d.clock == nil {
		d.clock = timeline.Monotonic()
	}
	d.encoder.screen = d.screen
	if err := d.open(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("hid: %w", err), d.end())
	}
	return d, nil
}

func (d *driver) open(ctx context.Context, o driverOptions) error {
	all, udc, err := d.interfaces(o)
	if err != nil {
		return err
	}
	if udc != "" {
		if d.port, err = openPort(udc); err != nil {
			return err
		}
	}
	for _, i := range all {
		e, err := openEndpoint(i.node, d.port, d.clock)
		if err != nil {
			return err
		}
		d.endpoints[i.kind.part()] = e
		d.kinds = append(d.kinds, i.kind)
		d.encoder.equip(i.kind)
		if err := d.answers(e, i.kind); err != nil {
			return err
		}
	}
	if d.port == nil {
		err = d.settle()
	} else {
		err = d.port.await(ctx, o.Wait, d.settle)
	}
	d.wait = d.port.wait()
	return err
}

// answers leaves what a host may ask for: that nothing is held, and how many fingers there may be.
func (d *driver) answers(e *endpoint, k kind) error {
	report := d.encoder.neutral(k.part())
	if k != touchScreen {
		return e.answer(0, report)
	}
	return errors.Join(e.answer(touchReport, report), e.answer(countReport, encodeCountReport()))
}

// interfaces sets a gadget up or finds it.
func (d *driver) interfaces(o driverOptions) (all []interfaceOf, udc string, err error) {
	if o.Node != "" {
		return find(o.Node, o.As)
	}
	functions := o.functions()
	if d.gadget, err = plug(functions, o.UDC); err != nil {
		return nil, "", err
	}
	for _, f := range functions {
		node, err := nodeOf(filepath.Join(d.gadget.dir, "functions/hid."+string(f.kind)))
		if err != nil {
			return nil, "", err
		}
		all = append(all, interfaceOf{f.kind, node})
	}
	return all, d.gadget.udc, nil
}

// settle makes functions lift everything, if the host may hold something that the driver does not
// know of. Functions that cannot send now do it at their next use.
func (d *driver) settle() error {
	for p, e := range d.endpoints {
		if e == nil || !e.dirty {
			continue
		}
		report := d.encoder.neutral(part(p))
		taken, err := e.write(report)
		if err != nil {
			return err
		}
		e.dirty = !taken
	}
	return nil
}

// lose notes that the host was gone, or was not told all that it should have been: nothing is held
// any more, and all functions lift everything first.
func (d *driver) lose() {
	d.lost = true
	d.state = hand.State{}
	for _, e := range d.endpoints {
		if e != nil {
			e.dirty = true
		}
	}
}

// present checks whether the host is there. When it has returned, held keys are lifted first.
func (d *driver) present() error {
	there, state, err := d.port.look()
	held := d.state.Holds()
	switch {
	case err != nil:
		d.lose()
		return err
	case there == absent:
		d.lose()
		return d.port.gone(state)
	case there == returned:
		d.lose()
		if err := d.port.drain(); err != nil {
			return err
		}
	}
	if d.lost {
		if err := d.settle(); err != nil {
			return err
		}
		d.lost = false
	}
	if there == returned && held {
		return fmt.Errorf("%w: it was unplugged or asleep, and is back with nothing held", input.ErrGone)
	}
	return nil
}

// Do implements input.Driver. The interval begins before the kernel got the first report. It ends
// when the host has fetched the last one for certain.
func (d *driver) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	if d.closed {
		return timeline.Interval{}, fmt.Errorf("hid: %w", os.ErrClosed)
	}
	sent, err := d.do(ctx, at, actions)
	if err != nil {
		return timeline.Interval{}, fmt.Errorf("hid: %w", err)
	}
	return sent, nil
}

func (d *driver) do(ctx context.Context, at timeline.Time, actions []input.Action) (timeline.Interval, error) {
	if err := d.present(); err != nil {
		return timeline.Interval{}, err
	}
	next := d.encoder
	reports, after, err := next.plan(d.state, d.layout, actions)
	if err != nil {
		return timeline.Interval{}, err
	}
	if err := timeline.SleepUntil(ctx, at); err != nil {
		return timeline.Interval{}, fmt.Errorf("wait for the time of %v: %w", actions[0], err)
	}
	sent, err := d.tell(ctx, reports)
	if err != nil {
		d.lose()
		return timeline.Interval{}, err
	}
	d.encoder, d.state = next, after
	return sent, nil
}

// tell sends reports in order.
func (d *driver) tell(ctx context.Context, reports []outgoing) (timeline.Interval, error) {
	sent := timeline.At(d.clock.Now())
	for i, r := range reports {
		e := d.endpoints[r.to]
		if e.dirty {
			clean := d.encoder
			if _, err := e.send(ctx, clean.neutral(r.to)); err != nil {
				return sent, err
			}
			e.dirty = false
		}
		if r.to == theTouchScreen {
			const tenth = 100_000 // nanoseconds
			setScan(r.report, uint16(d.clock.Now()/tenth))
		}
		one, err := e.send(ctx, r.report)
		if err != nil {
			return sent, err
		}
		if i == 0 {
			sent.Earliest = one.Earliest
		}
		sent.Latest = one.Latest.Add(d.wait)
	}
	return sent, nil
}

// Release implements input.Driver. Of a host that is gone nothing is held any more.
func (d *driver) Release(ctx context.Context) error {
	if d.closed {
		return nil
	}
	err := d.present()
	if err == nil && d.state.Holds() {
		_, err = d.do(ctx, d.clock.Now(), d.state.Lift())
	}
	if err != nil && !errors.Is(err, input.ErrGone) {
		return fmt.Errorf("hid: %w", err)
	}
	return nil
}

// Info implements input.Driver.
func (d *driver) Info() input.Info {
	var names []string
	for _, k := range d.kinds {
		names = append(names, string(k))
	}
	i := input.Info{
		Driver: "hid", Realism: input.Hardware, Device: strings.Join(names, ", "),
		Note: "an interval ends when the host has fetched the report",
	}
	if d.wait > 0 {
		i.Note += fmt.Sprintf(", or %v behind that, where the port may have it still", d.wait)
	}
	if d.port != nil {
		i.Device += " at " + d.port.name
		if speed, err := readLine(filepath.Join(udcClass, d.port.name, "current_speed")); err == nil && speed != "" {
			i.Device += ", " + speed
		}
	}
	if slices.Contains(d.kinds, relativeMouse) {
		i.Note += "; places are reached from the upper left corner; switch pointer acceleration off on the device"
	}
	return i
}

// Close implements input.Driver.
func (d *driver) Close() error {
	if d.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := d.Release(ctx)
	if d.gadget != nil {
		err = nil // what could not be lifted is when the gadget goes
	}
	d.closed = true
	if e := d.end(); e != nil {
		err = errors.Join(err, fmt.Errorf("hid: %w", e))
	}
	return err
}

// end closes everything, and removes the gadget that was set up: the nodes first, since a function
// stays while its node is open.
func (d *driver) end() error {
	var errs []error
	for _, e := range d.endpoints {
		errs = append(errs, e.close())
	}
	errs = append(errs, d.port.close(), d.gadget.unplug())
	return errors.Join(errs...)
}
