package x11

import (
	"context"
	"errors"
	"time"

	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"

	"github.com/eideticker/eideticker/capture/timeline"
)

// mark is the name of the selection that the one driver of a display owns. The property of that
// name on the root window lists its borrowed keycodes and keysyms alternately. Selections end with
// their owner. The property stays, and so reveals a driver that was cut off.
const mark = "EIDETICKER_INPUT"

// handover is how long a driver is waited for that may be ending.
const handover = time.Second

// own makes this the display's only driver, and cleans up after one that was cut off.
func (d *Driver) own() error {
	until := timeline.Monotonic().Now().Add(handover)
	for {
		free, err := d.claim()
		if err != nil {
			return err
		}
		if free {
			if err := d.impervious(); err != nil {
				return err
			}
			return d.recover()
		}
		now := timeline.Monotonic().Now()
		if now > until {
			return errors.New("another driver of this program has its keyboard and pointer")
		}
		_ = timeline.SleepUntil(context.Background(), now.Add(10*time.Millisecond))
	}
}

// claim takes the selection unless somebody has it. Nobody else is served meanwhile.
func (d *Driver) claim() (free bool, err error) {
	xproto.GrabServer(d.Conn)
	defer xproto.UngrabServer(d.Conn)
	owner, err := get(d.connection, xproto.GetSelectionOwner(d.Conn, d.atoms.mark).Reply)
	if err != nil || owner.Owner != xproto.WindowNone {
		return false, err
	}
	return true, d.ask(xproto.SetSelectionOwnerChecked(d.Conn, d.window, d.atoms.mark, xproto.TimeCurrentTime).Check)
}

// recover lifts and takes back what a driver left behind that could not close.
func (d *Driver) recover() error {
	const most = 256 // as many as there are keycodes
	p, err := get(d.connection, xproto.GetProperty(d.Conn, false, d.root, d.atoms.mark, xproto.AtomCardinal, 0,
		2*most).Reply)
	if err != nil {
		return err
	}
	if p.Type == xproto.AtomNone {
		return nil
	}
	var left []lent
	for b := p.Value; p.Format == 32 && len(b) >= 8; b = b[8:] {
		if code := le.Uint32(b); code >= uint32(d.minCode) && code <= uint32(d.maxCode) {
			left = append(left, lent{code: byte(code), sym: le.Uint32(b[4:])})
		}
	}
	if err := d.liftAll(); err != nil {
		return err
	}
	if err := d.refresh(); err != nil {
		return err
	}
	return d.empty(left)
}

// liftAll lifts every key and button that is down. It cannot know which of them XTEST pressed. So
// it also lifts one that a person holds at this moment.
func (d *Driver) liftAll() error {
	down, err := get(d.connection, xproto.QueryKeymap(d.Conn).Reply)
	if err != nil {
		return err
	}
	var all []stroke
	for button := byte(1); button <= maxButton; button++ {
		all = append(all, stroke{kind: xproto.ButtonRelease, code: button})
	}
	for i, keys := range down.Keys {
		for bit := range 8 {
			if keys>>bit&1 != 0 {
				all = append(all, stroke{kind: xproto.KeyRelease, code: byte(8*i + bit)})
			}
		}
	}
	_, err = d.send(all)
	return err
}

// note records the borrowed keycodes, and that a driver is at work.
func (d *Driver) note() error {
	var b []byte
	for _, l := range d.lent {
		b = le.AppendUint32(b, uint32(l.code))
		b = le.AppendUint32(b, l.sym)
	}
	return d.ask(xproto.ChangePropertyChecked(d.Conn, xproto.PropModeReplace, d.root, d.atoms.mark, xproto.AtomCardinal,
		32, uint32(len(b)/4), b).Check)
}

// disown ends what own began.
func (d *Driver) disown() error {
	return d.ask(func() error {
		if err := xproto.DeletePropertyChecked(d.Conn, d.root, d.atoms.mark).Check(); err != nil {
			return err
		}
		return xproto.SetSelectionOwnerChecked(d.Conn, xproto.WindowNone, d.atoms.mark, xproto.TimeCurrentTime).Check()
	})
}

// adopt has the server take XTEST's keyboard for the one that was used last, whose mapping windows
// then see: else the first key would have them read another mapping. A key is let go that is not
// down.
func (d *Driver) adopt() error {
	down, err := get(d.connection, xproto.QueryKeymap(d.Conn).Reply)
	if err != nil {
		return err
	}
	for code := d.maxCode; code >= d.minCode; code-- {
		if down.Keys[code/8]>>(code%8)&1 == 0 {
			_, err := d.send([]stroke{{kind: xproto.KeyRelease, code: byte(code)}})
			return err
		}
	}
	return nil
}

// impervious lets the server serve us even while a client, such as a window manager, holds up all
// others.
func (d *Driver) impervious() error {
	for _, c := range []*connection{d.connection, d.xkb.connection} {
		if err := xtest.Init(c.Conn); err != nil {
			return err
		}
		if err := c.ask(xtest.GrabControlChecked(c.Conn, true).Check); err != nil {
			return err
		}
	}
	return nil
}
