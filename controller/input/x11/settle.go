package x11

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/capture/timeline"
)

const (
	// answer is how long a window may take to answer a ping before it is taken for one that hangs.
	answer = 2 * time.Second
	// grace is how long a window has that answers no pings.
	grace = 100 * time.Millisecond
)

var errEnded = errors.New("the connection has ended")

// settle returns when the window that has the keyboard has looked up the lent keys that were
// pressed.
func (d *Driver) settle() error {
	if !d.unsettled {
		return nil
	}
	d.unsettled = false
	w, err := d.listener()
	if err != nil {
		return err
	}
	if w != xproto.WindowNone {
		answered, err := d.await(w)
		if err != nil || answered {
			return err
		}
	}
	return timeline.SleepUntil(context.Background(), timeline.Monotonic().Now().Add(grace))
}

// spread returns when the window with the keyboard has read that keys have new meanings. On one
// connection the server ensures the order. But browsers look up a key's meaning in a toolkit with a
// connection of its own. A window that answers no pings is assumed to have one connection.
func (d *Driver) spread() error {
	w, err := d.listener()
	if err == nil && w != xproto.WindowNone {
		_, err = d.await(w)
	}
	return err
}

// await waits until a window has come to what it was sent. One that hangs is not waited for as long
// again until it answers.
func (d *Driver) await(w xproto.Window) (answered bool, err error) {
	limit := answer
	if w == d.hung {
		limit = grace
	}
	if answered, err = d.ping(w, limit); !answered {
		d.hung = w
	} else if w == d.hung {
		d.hung = xproto.WindowNone
	}
	return answered, err
}

// answers reports whether an event is a window's answer to a ping.
func (d *Driver) answers(e xproto.ClientMessageEvent) bool {
	return e.Format == 32 && e.Type == d.atoms.protocols && e.Data.Data32[0] == uint32(d.atoms.ping)
}

// ping asks a window whether it is alive, and waits for as long as limit. It answers when it comes
// to the question, which is after the keys: both wait in one queue.
func (d *Driver) ping(w xproto.Window, limit time.Duration) (answered bool, err error) {
	d.pings++
	token := d.pings
	// The answer goes to the root window, for whoever manages windows; we look on.
	if err := d.listen(xproto.EventMaskStructureNotify | xproto.EventMaskSubstructureNotify); err != nil {
		return false, err
	}
	defer func() {
		if e := d.listen(xproto.EventMaskStructureNotify); err == nil {
			err = e
		}
	}()
	question := xproto.ClientMessageEvent{Format: 32, Window: w, Type: d.atoms.protocols,
		Data: xproto.ClientMessageDataUnionData32New([]uint32{uint32(d.atoms.ping), token, uint32(w), 0, 0})}
	if err := d.ask(xproto.SendEventChecked(d.Conn, false, w, xproto.EventMaskNoEvent,
		string(question.Bytes())).Check); err != nil {
		return false, notGone(err)
	}
	return d.hear(limit, func(e xgb.Event) bool {
		m, ok := e.(xproto.ClientMessageEvent)
		return ok && d.answers(m) && m.Data.Data32[1] == token
	})
}

// hear waits for an event, for a while.
func (d *Driver) hear(limit time.Duration, wanted func(xgb.Event) bool) (heard bool, err error) {
	// After the timeout we send a message to ourselves, so that the next read returns.
	d.waits++
	token := d.waits
	enough := xproto.ClientMessageEvent{Format: 32, Window: d.window, Type: d.atoms.mark,
		Data: xproto.ClientMessageDataUnionData32New([]uint32{token, 0, 0, 0, 0})}
	late := time.AfterFunc(limit,
		func() { xproto.SendEvent(d.Conn, false, d.window, xproto.EventMaskNoEvent, string(enough.Bytes())) })
	defer late.Stop()
	err = d.ask(func() error {
		for {
			e, xerr := d.WaitForEvent()
			if e == nil && xerr == nil {
				return errEnded
			}
			if e != nil && wanted(e) {
				heard = true
				return nil
			}
			if m, ok := e.(xproto.ClientMessageEvent); ok && m.Format == 32 && m.Type == d.atoms.mark &&
				m.Window == d.window && m.Data.Data32[0] == token {
				return nil
			}
			d.take(e)
		}
	})
	return heard, err
}

// take takes what the server says by itself.
func (d *Driver) take(e any) {
	switch e := e.(type) {
	case xproto.MappingNotifyEvent:
		d.stale = true
	case xproto.ConfigureNotifyEvent:
		if e.Window == d.root {
			d.width, d.height = int(e.Width), int(e.Height)
		}
	case xproto.ClientMessageEvent:
		if d.answers(e) && xproto.Window(e.Data.Data32[2]) == d.hung { // to an earlier ping
			d.hung = xproto.WindowNone
		}
	}
}

// listen asks for events of the root window.
func (d *Driver) listen(mask uint32) error {
	return d.ask(xproto.ChangeWindowAttributesChecked(d.Conn, d.root, xproto.CwEventMask, []uint32{mask}).Check)
}

// listener returns the window that answers pings for the one that has the keyboard, or none.
func (d *Driver) listener() (xproto.Window, error) {
	const deep = 64 // windows within windows
	focus, err := get(d.connection, xproto.GetInputFocus(d.Conn).Reply)
	if err != nil {
		return 0, err
	}
	w := focus.Focus
	if w == xproto.InputFocusPointerRoot {
		// The keyboard's window is the one under the pointer.
		w = d.root
		for range deep {
			p, err := get(d.connection, xproto.QueryPointer(d.Conn, w).Reply)
			if err != nil {
				return 0, notGone(err)
			}
			if p.Child == xproto.WindowNone {
				break
			}
			w = p.Child
		}
	}
	for range deep {
		if w == xproto.WindowNone || w == d.root {
			break
		}
		p, err := get(d.connection, xproto.GetProperty(d.Conn, false, w, d.atoms.protocols, xproto.AtomAtom, 0,
			64).Reply)
		if err != nil {
			return 0, notGone(err)
		}
		var known []xproto.Atom
		for b := p.Value; p.Format == 32 && len(b) >= 4; b = b[4:] {
			known = append(known, xproto.Atom(le.Uint32(b)))
		}
		if slices.Contains(known, d.atoms.ping) {
			return w, nil
		}
		tree, err := get(d.connection, xproto.QueryTree(d.Conn, w).Reply)
		if err != nil {
			return 0, notGone(err)
		}
		w = tree.Parent
	}
	return xproto.WindowNone, nil
}

// notGone drops what the server says of a window that has closed meanwhile.
func notGone(err error) error {
	if _, refused := err.(xgb.Error); refused {
		return nil
	}
	return err
}
