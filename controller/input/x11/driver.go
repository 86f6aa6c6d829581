package x11

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

var _ input.Driver = (*Driver)(nil)

// Driver does actions on a display. It is used by one goroutine.
type Driver struct {
	*connection
	xkb              *xkb
	display          string
	window           xproto.Window // never seen; it owns the mark
	minCode, maxCode int
	old              map[rune]uint32
	atoms            struct{ mark, protocols, ping xproto.Atom }

	keymap        *keymap
	pointer       []byte
	stale         bool // the server has said that these two have changed
	width, height int

	held    input.Held
	presses []press

	lent         []lent
	count        uint64 // of strokes
	unsettled    bool   // lent keys were pressed that may not have been looked up yet
	pings, waits uint32
	hung         xproto.Window // a window that should have answered, or 0
	closed       bool
}

// Open takes the keyboard and pointer of a display, ":9"; an empty string means $DISPLAY. The
// server decides whether it lets us in by the cookie in the Xauthority file, or by who we are.
func Open(display string) (*Driver, error) {
	if display == "" {
		if display = os.Getenv("DISPLAY"); display == "" {
			return nil, errors.New("input to x11: no display is named and DISPLAY is not set")
		}
	}
	d, err := open(display)
	if err != nil {
		return nil, fmt.Errorf("input to x11:%s: %w", display, err)
	}
	return d, nil
}

func open(display string) (*Driver, error) {
	c, err := connect(display)
	if err != nil {
		return nil, err
	}
	setup := xproto.Setup(c.Conn)
	d := &Driver{connection: c, display: display, old: oldSyms(), minCode: int(setup.MinKeycode),
		maxCode: int(setup.MaxKeycode)}
	if d.xkb, err = openXKB(display); err == nil {
		if err = d.start(); err == nil {
			return d, nil
		}
		d.xkb.close()
	}
	c.close()
	return nil, err
}

// start does what Open needs a server for.
func (d *Driver) start() error {
	if err := xtest.Init(d.Conn); err != nil {
		return fmt.Errorf("the server lacks the XTEST extension, which sends keys: %w", err)
	}
	for _, a := range []struct {
		atom *xproto.Atom
		name string
	}{{&d.atoms.mark, mark}, {&d.atoms.protocols, "WM_PROTOCOLS"}, {&d.atoms.ping, "_NET_WM_PING"}} {
		r, err := get(d.connection, xproto.InternAtom(d.Conn, false, uint16(len(a.name)), a.name).Reply)
		if err != nil {
			return err
		}
		*a.atom = r.Atom
	}
	var err error
	if d.window, err = xproto.NewWindowId(d.Conn); err != nil {
		return err
	}
	if err := d.ask(xproto.CreateWindowChecked(d.Conn, 0, d.window, d.root, 0, 0, 1, 1, 0, xproto.WindowClassInputOnly,
		0, 0, nil).Check); err != nil {
		return err
	}
	if err := d.listen(xproto.EventMaskStructureNotify); err != nil {
		return err
	}
	g, err := get(d.connection, xproto.GetGeometry(d.Conn, xproto.Drawable(d.root)).Reply)
	if err != nil {
		return err
	}
	d.width, d.height = int(g.Width), int(g.Height)
	if err := d.own(); err != nil {
		return err
	}
	if err := d.note(); err != nil {
		return err
	}
	if err := d.adopt(); err != nil {
		return err
	}
	return d.refresh()
}

// poll takes all that has been read.
func (d *Driver) poll() {
	for {
		e, xerr := d.PollForEvent()
		if e == nil && xerr == nil {
			return
		}
		d.take(e)
	}
}

// refresh reads the mapping until the server says no more that it has changed. What it says of our
// own changes it has said before it answers.
func (d *Driver) refresh() error {
	const most = 8 // a mapping that changes all the time is read some time
	for range most {
		if err := d.sync(); err != nil {
			return err
		}
		d.poll()
		d.stale = false
		if err := d.load(); err != nil {
			return err
		}
		if d.poll(); !d.stale {
			break
		}
	}
	return nil
}

func (d *Driver) load() error {
	m, err := d.xkb.keymap()
	if err != nil {
		return err
	}
	p, err := get(d.connection, xproto.GetPointerMapping(d.Conn).Reply)
	if err != nil {
		return err
	}
	d.keymap, d.pointer = m, p.Map
	// A newly loaded layout also drops borrowed keycodes.
	d.lent = slices.DeleteFunc(d.lent, func(l lent) bool { return !m.means(l) })
	for _, l := range d.lent {
		m.lent[l.code] = true
	}
	m.prepare()
	return nil
}

// lead is how long before their time actions are planned again, by the keys that are then locked
// and held.
const lead = 5 * time.Millisecond

// Do implements [input.Driver]. Text that needs more keycodes than the display can spare is sent in
// parts. The interval is from before the first to the end of the last.
func (d *Driver) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	if err := input.Check(actions); err != nil {
		return timeline.Interval{}, err
	}
	sent, err := d.do(ctx, at, actions)
	if err != nil {
		return timeline.Interval{}, fmt.Errorf("input to x11:%s: %w", d.display, err)
	}
	return sent, nil
}

func (d *Driver) do(ctx context.Context, at timeline.Time, actions []input.Action) (sent timeline.Interval, err error) {
	if d.closed {
		return sent, os.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return sent, err
	}
	p, err := d.prepare(actions)
	if early := at.Add(-lead); err == nil && timeline.Monotonic().Now() < early {
		if err = timeline.SleepUntil(ctx, early); err == nil {
			p, err = d.prepare(actions)
		}
	}
	if err == nil {
		err = timeline.SleepUntil(ctx, at)
	}
	if err != nil {
		return sent, err
	}
	// Actions that fail from here on may have been done in part. Keys held before or by them count
	// as held, and their borrowed keycodes stay.
	d.presses = union(d.presses, p.presses)
	for _, a := range actions {
		switch a.(type) {
		case input.KeyDown, input.ButtonDown:
			d.held.Note(a)
		}
	}
	for i, part := range p.parts {
		if i > 0 {
			if err := ctx.Err(); err != nil {
				return sent, err
			}
			if err := d.lend(part.lend); err != nil {
				return sent, err
			}
		}
		s, err := d.send(part.strokes)
		if err != nil {
			return sent, err
		}
		if i == 0 {
			sent.Earliest = s.Earliest
		}
		sent.Latest = s.Latest
	}
	d.presses = p.presses
	d.held.Note(actions...)
	return sent, nil
}

// prepare plans, and lends the keys that the first part needs. It plans again after that, since the
// mapping was read again.
func (d *Driver) prepare(actions []input.Action) (*planner, error) {
	for {
		if err := d.sync(); err != nil { // before it answers, the server reports earlier changes
			return nil, err
		}
		if d.poll(); d.stale {
			if err := d.refresh(); err != nil {
				return nil, err
			}
		}
		s, err := d.xkb.state()
		if err != nil {
			return nil, err
		}
		p := &planner{keymap: d.keymap, state: s, old: d.old, presses: slices.Clone(d.presses), pointer: d.pointer,
			width: d.width, height: d.height, room: d.room}
		if err := p.plan(actions); err != nil {
			return nil, err
		}
		if lent := func(sym uint32) bool {
			_, ok := d.codeFor(sym)
			return ok
		}; !slices.ContainsFunc(p.parts[0].lend, func(s uint32) bool { return !lent(s) }) {
			return p, nil
		}
		if err := d.lend(p.parts[0].lend); err != nil {
			return nil, err
		}
	}
}

// maxStrokes bounds one write. A socket takes it whole, and the library's list of pending requests
// has room for a thousand.
const maxStrokes = 256

// send has the server make events, and returns when it has.
func (d *Driver) send(all []stroke) (sent timeline.Interval, err error) {
	for i := 0; i == 0 || i < len(all); i += maxStrokes {
		s, err := d.flush(all[i:min(i+maxStrokes, len(all))])
		if err != nil {
			return sent, err
		}
		if i == 0 {
			sent.Earliest = s.Earliest
		}
		sent.Latest = s.Latest
	}
	return sent, nil
}

func (d *Driver) flush(strokes []stroke) (sent timeline.Interval, err error) {
	err = d.ask(func() error {
		d.wire.cork()
		var made []xtest.FakeInputCookie
		for _, s := range strokes {
			made = append(made, xtest.FakeInputChecked(d.Conn, s.kind, d.resolve(s), 0, d.root, s.x, s.y, 0))
		}
		answer := xproto.GetInputFocus(d.Conn)
		var err error
		if sent.Earliest, err = d.wire.flush(); err != nil {
			return err
		}
		if r, err := answer.Reply(); r == nil || err != nil {
			return errors.Join(io.EOF, err)
		}
		sent.Latest = timeline.Time(d.wire.read.Load())
		for _, m := range made {
			if err := m.Check(); err != nil {
				return err
			}
		}
		return nil
	})
	return sent, err
}

// resolve returns the code of a stroke's key or button.
func (d *Driver) resolve(s stroke) byte {
	if s.sym == 0 {
		return s.code
	}
	d.count++
	d.unsettled = true
	for i := range d.lent {
		if d.lent[i].sym == s.sym {
			d.lent[i].used = d.count
			return d.lent[i].code
		}
	}
	return 0 // the server refuses it
}

// Release implements [input.Driver].
func (d *Driver) Release(ctx context.Context) error {
	lift := d.held.Lift()
	if len(lift) == 0 {
		return nil
	}
	_, err := d.Do(ctx, 0, lift...)
	return err
}

// Info implements [input.Driver].
func (d *Driver) Info() input.Info {
	setup := xproto.Setup(d.Conn)
	return input.Info{
		Driver: "x11",
		Device: fmt.Sprintf("display %s, %dx%d, %s %d", d.display, d.width, d.height, setup.Vendor,
			setup.ReleaseNumber),
		Realism: input.System,
		Note: "XTEST events of the server; text is typed as keysyms, at once. " +
			"An input method such as IBus may change or reorder it.",
	}
}

// Close implements [input.Driver]. If the connection was cut while the server lives on, another one
// is made to clean up by.
func (d *Driver) Close() error {
	if d.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := d.Release(ctx)
	for _, f := range []func() error{d.takeBack, d.disown} {
		if err == nil {
			err = f()
		}
	}
	d.closed = true
	d.xkb.close()
	d.connection.close()
	if errors.Is(err, input.ErrGone) {
		again, e := open(d.display)
		if e != nil {
			return nil // whoever comes next to this display, if there is one, finds the mark
		}
		return again.Close()
	}
	return err
}
