package x11

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// pace is how long a window has for what was typed, after it has read it, where an input method is
// at work: the window asks that about each key, goes on meanwhile, and does with the key what it
// answers. Keys that come too soon overtake others there.
const pace = 60 * time.Millisecond

// serverPrefix begins the name of a selection that a server of XIM owns (The Input Method Protocol,
// "Connection").
const serverPrefix = "@server="

// method is an input method that serves windows of the display.
type method struct {
	name   string
	server xproto.Atom // selection
	owner  xproto.Window
}

// askMethods notes the input methods that are at work on this display: those that say so as servers
// of XIM do, which IBus and Fcitx are, whichever way windows speak to them.
func (d *Driver) askMethods() error {
	const most = 16
	var all []method
	p, err := get(d.connection, xproto.GetProperty(d.Conn, false, d.root, d.atoms.servers, xproto.AtomAtom, 0,
		most).Reply)
	if err != nil {
		return err
	}
	for b := p.Value; p.Format == 32 && len(b) >= 4; b = b[4:] {
		m := method{server: xproto.Atom(le.Uint32(b))}
		owner, err := get(d.connection, xproto.GetSelectionOwner(d.Conn, m.server).Reply)
		if err == nil && owner.Owner == xproto.WindowNone {
			continue // it was there once
		}
		var name *xproto.GetAtomNameReply
		if err == nil {
			name, err = get(d.connection, xproto.GetAtomName(d.Conn, m.server).Reply)
		}
		switch {
		case notGone(err) != nil:
			return err
		case err == nil: // else it is no atom: anybody may write to the root window
			ok := false
			if m.name, ok = strings.CutPrefix(name.Name, serverPrefix); ok &&
				!slices.ContainsFunc(all, func(o method) bool { return o.server == m.server }) {
				m.owner = owner.Owner
				all = append(all, m)
			}
		}
	}
	d.methods = all
	// One that was started again is another one.
	d.silent = slices.DeleteFunc(d.silent, func(m method) bool { return !slices.Contains(all, m) })
	return nil
}

// digest returns when what was typed has come to be in the window, as far as can be told, if an
// input method is at work: the window has read it and the method answers. A machine on which that
// takes its time is given more of it.
func (d *Driver) digest(ctx context.Context) error {
	if !d.undigested {
		return nil
	}
	d.undigested = false
	clock := timeline.Monotonic()
	began, lost := clock.Now(), d.lost
	w, err := d.listener()
	if err == nil && w != xproto.WindowNone {
		_, err = d.await(w)
	}
	for _, m := range d.methods {
		if err == nil {
			err = d.call(m)
		}
	}
	if err != nil {
		return err
	}
	now := clock.Now()
	return timeline.SleepUntil(ctx, now.Add(pause(now.Sub(began)-(d.lost-lost))))
}

// pause is how long a window has for what was typed, when it and the method have taken so long to
// answer: what the method said of it comes to the window on the same way. What was waited for in
// vain does not count.
func pause(took time.Duration) time.Duration { return pace + min(2*max(0, took), answer) }

// call asks an input method something that it answers to everybody, for how to speak to it. It
// comes to that after the keys which windows have asked it about.
func (d *Driver) call(m method) error {
	if slices.Contains(d.silent, m) {
		return nil
	}
	if err := d.ask(xproto.ConvertSelectionChecked(d.Conn, d.window, m.server, d.atoms.transport, d.atoms.mark,
		xproto.TimeCurrentTime).Check); err != nil {
		return err
	}
	answered, err := d.hear(answer, func(e xgb.Event) bool {
		s, ok := e.(xproto.SelectionNotifyEvent)
		return ok && s.Requestor == d.window && s.Selection == m.server
	})
	if err == nil && !answered {
		d.silent = append(d.silent, m) // it is not asked again before it has answered this
	}
	return err
}

// late notes that a method has answered after all.
func (d *Driver) late(e xproto.SelectionNotifyEvent) {
	d.silent = slices.DeleteFunc(d.silent, func(m method) bool {
		return e.Requestor == d.window &&
			m.server == e.Selection
	})
}

// methodical reports whether an input method may be asked about an action.
func methodical(a input.Action) bool {
	switch a.(type) {
	case input.KeyDown, input.Text:
		return true
	}
	return false
}

// presses reports whether an action is no key's, and should not overtake keys: it may give the
// keyboard to another field.
func presses(a input.Action) bool { _, ok := a.(input.ButtonDown); return ok }

// about is what a result says of text that was typed here.
func (d *Driver) about() string {
	const always = "XTEST events of the server; text is typed as keysyms, which a window's input method may take or leave"
	var names []string
	for _, m := range d.methods {
		names = append(names, m.name)
	}
	if len(names) == 0 {
		return always
	}
	return fmt.Sprintf("%s. One is at work on this display, %s: text is typed character after character, and letters that it is set to compose are composed",
		always, strings.Join(names, ", "))
}
