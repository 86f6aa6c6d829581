package daemon

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
)

// unit returns the device of a name.
func (d *Daemon) unit(name string) (*unit, error) {
	if u := d.named[name]; u != nil {
		return u, nil
	}
	_, err := d.options.Devices.Find(name)
	if err != nil {
		return nil, api.Errorf(api.NotFound, "%v", err)
	}
	return nil, api.Errorf(api.NotFound, "unknown device %.80q", name)
}

// Devices returns what all devices are at.
func (d *Daemon) Devices() []api.Device {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := []api.Device{}
	for _, u := range d.units {
		all = append(all, d.deviceNow(u))
	}
	return all
}

// deviceNow is a device as clients see it, with the signal that its source delivers.
func (d *Daemon) deviceNow(u *unit) api.Device {
	u.signal = u.preview.signal.Load()
	return u.wire()
}

// deviceChanged tells what a device is at. The mutex is held.
func (d *Daemon) deviceChanged(u *unit) {
	w := d.deviceNow(u)
	d.events.add(api.Event{Kind: "device", Device: &w})
}

// Reserve reserves a device for the owner of a key, or ends the reservation.
func (d *Daemon) Reserve(owner string, admin bool, p api.ReserveParams) (api.Reserved, error) {
	u, err := d.unit(p.Device)
	if err != nil {
		return api.Reserved{}, err
	}
	if err := checkText("note", p.Note); err != nil {
		return api.Reserved{}, err
	}
	if length := time.Duration(p.ForNS); !p.Release && (length <= 0 || length > api.MaxReservation) {
		return api.Reserved{}, api.Errorf(api.InvalidParams, "for_ns is %v: must be over 0 and at most %v", length,
			api.MaxReservation)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := u.reserved
	mine := now != nil && (sameKey(now.key, p.Key) || now.Owner == owner || admin)
	switch {
	case p.Release && now != nil && !mine:
		return api.Reserved{}, api.Errorf(api.Forbidden, "device %s is reserved for %s, and the key is another one",
			p.Device, now.Owner)
	case p.Release:
		d.unreserve(u)
		return api.Reserved{Device: p.Device}, nil
	case now != nil && !sameKey(now.key, p.Key):
		return api.Reserved{}, api.Errorf(api.Busy, "device %s is reserved for %s", p.Device, now.Owner)
	}
	r := &reservation{key: rand.Text()}
	if now != nil {
		now.free.Stop()
		r.key = now.key
	}
	r.Reservation = api.Reservation{Owner: owner, Note: p.Note, UntilWallNS: d.until(time.Duration(p.ForNS))}
	r.free = time.AfterFunc(time.Duration(p.ForNS), func() { d.expire(u, r) })
	u.reserved = r
	d.deviceChanged(u)
	d.positions()
	d.log.Info("device reserved", "device", p.Device, "owner", owner, "note", p.Note)
	return api.Reserved{Device: p.Device, Key: r.key, Reservation: r.Reservation}, nil
}

func sameKey(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// expire ends a reservation whose time is over, if it is still the one.
func (d *Daemon) expire(u *unit, r *reservation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if u.reserved == r {
		d.unreserve(u)
	}
}

func (d *Daemon) unreserve(u *unit) {
	if u.reserved == nil {
		return
	}
	u.reserved.free.Stop()
	u.reserved = nil
	d.deviceChanged(u)
	d.dispatch()
}

// Quarantine has no job begin on a device, or jobs begin again.
func (d *Daemon) Quarantine(p api.QuarantineParams) (api.Device, error) {
	u, err := d.unit(p.Device)
	if err != nil {
		return api.Device{}, err
	}
	if err := checkText("reason", p.Reason); err != nil {
		return api.Device{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	before := u.quarantine
	switch {
	case p.Lift:
		u.quarantine, u.failures = "", 0
	case p.Reason == "":
		u.quarantine = "by hand"
	default:
		u.quarantine = p.Reason
	}
	if err := d.saveDevices(); err != nil {
		u.quarantine = before
		return api.Device{}, api.Errorf(api.Unavailable, "the quarantine cannot be kept: %v", err)
	}
	d.deviceChanged(u)
	d.log.Info("quarantine changed", "device", p.Device, "quarantine", u.quarantine)
	d.dispatch()
	return d.deviceNow(u), nil
}

// powerPause is how long a device is without power when it is switched off and on again.
const powerPause = 3 * time.Second

// Power switches a device on or off, or off and on again.
func (d *Daemon) Power(ctx context.Context, p api.PowerParams) (api.Device, error) {
	u, err := d.unit(p.Device)
	if err != nil {
		return api.Device{}, err
	}
	if !slices.Contains([]string{"on", "off", "cycle"}, p.Do) {
		return api.Device{}, api.Errorf(api.InvalidParams, "do is %.80q: must be on, off or cycle", p.Do)
	}
	if !u.about.Power.Given() {
		return api.Device{}, api.Errorf(api.Conflict, "devices.yaml does not say how device %s is switched", p.Device)
	}
	if err := d.beginSwitching(u); err != nil {
		return api.Device{}, err
	}
	defer d.switches.Done()
	err = d.switched(ctx, u, p.Do)
	d.mu.Lock()
	defer d.mu.Unlock()
	u.switching = false
	d.deviceChanged(u)
	d.dispatch()
	if err != nil {
		return api.Device{}, api.Errorf(api.Failed, "switch device %s: %v", p.Device, err)
	}
	d.log.Info("power switched", "device", p.Device, "do", p.Do)
	return d.deviceNow(u), nil
}

// beginSwitching keeps jobs from a device that nobody uses, and the rig from ending.
func (d *Daemon) beginSwitching(u *unit) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending {
		return api.Errorf(api.Conflict, "the rig is ending")
	}
	if why := u.waitsFor(&job{}); (u.job != nil || u.switching) && why != "" {
		return api.Errorf(api.Busy, "%s", why)
	}
	u.switching = true
	d.switches.Add(1)
	return nil
}

// switched switches an unused device. A started switch is completed even if the client disconnects,
// so that a device does not stay off.
func (d *Daemon) switched(ctx context.Context, u *unit, do string) error {
	d.makeWay(u)
	if err := u.hold.take(ctx, u.about.Name, nil); err != nil {
		if busy, is := asBusy(err); is {
			return &session.BusyError{Device: u.about.Name, By: busy.By}
		}
		return err
	}
	defer func() { _ = u.hold.release() }() // the switch is what counts
	return u.power(context.WithoutCancel(ctx), do)
}

// power sets a device's power. A line of a chip keeps its value as long as it is held.
func (u *unit) power(ctx context.Context, do string) (err error) {
	if u.letGo != nil {
		if err := u.letGo(); err != nil {
			return err
		}
		u.letGo = nil
	}
	if do == "cycle" {
		u.letGo, err = u.about.Power.Cycle(ctx, powerPause)
	} else {
		u.letGo, err = u.about.Power.Switch(ctx, do == "on")
	}
	return err
}

// Preview adds a viewer of what a device shows; leave takes it away again.
func (d *Daemon) Preview(name string) (p *Preview, leave func(), err error) {
	u, err := d.unit(name)
	if err != nil {
		return nil, nil, err
	}
	u.preview.view()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.whileIdle(u)
	return u.preview, u.preview.leave, nil
}
