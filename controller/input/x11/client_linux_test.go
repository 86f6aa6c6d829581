package x11

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/device"
)

// startDisplay starts a display, and ends it with the test. It skips on a developer's machine
// without the program for it; the build machine has it.
func startDisplay(t testing.TB, options ...device.DisplayOptions) *device.Display {
	t.Helper()
	o := device.DisplayOptions{Width: 320, Height: 200}
	if len(options) > 0 {
		o = options[0]
	}
	d, err := device.StartDisplay(t.Context(), o)
	var missing *device.MissingError
	if errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skipf("%v: no display is started", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func openDriver(t testing.TB, display string) *Driver {
	t.Helper()
	d, err := Open(display)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// seen is an event as the client has it.
type seen struct {
	at     timeline.Time // when it was read
	kind   string
	detail byte
	state  uint16
	x, y   int
	sym    uint32 // looked up by the client
}

// client is a window as others write them: over all of the screen, reading what keys mean by the
// core protocol, without XKB.
type client struct {
	t testing.TB
	*connection
	window  xproto.Window
	width   int // of the mapping: keysyms of a keycode
	first   int
	syms    []xproto.Keysym
	level3  uint16
	mode    uint16 // modifier of Mode_switch, where the server has it as one
	atoms   struct{ protocols, ping, done xproto.Atom }
	events  chan seen
	mapped  chan struct{}
	paint   bool // at once, on each key
	gc      xproto.Gcontext
	ended   chan struct{}
	answers atomic.Bool

	tellsPings atomic.Bool // they are events too
}

// startClient shows a window that answers pings, or not.
func startClient(t testing.TB, display string, answers, paint bool) *client {
	t.Helper()
	conn, err := connect(display)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, connection: conn, events: make(chan seen, 1<<20), mapped: make(chan struct{}),
		ended: make(chan struct{}), paint: paint}
	c.answers.Store(answers)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	atom := func(name string) xproto.Atom {
		r, err := xproto.InternAtom(c.Conn, false, uint16(len(name)), name).Reply()
		check(err)
		return r.Atom
	}
	c.atoms.protocols, c.atoms.ping, c.atoms.done = atom("WM_PROTOCOLS"), atom("_NET_WM_PING"), atom("DONE")
	c.window, err = xproto.NewWindowId(c.Conn)
	check(err)
	const events = xproto.EventMaskKeyPress | xproto.EventMaskKeyRelease | xproto.EventMaskButtonPress |
		xproto.EventMaskButtonRelease | xproto.EventMaskPointerMotion | xproto.EventMaskStructureNotify
	check(xproto.CreateWindowChecked(c.Conn, 0, c.window, c.root, 0, 0, 320, 200, 0, xproto.WindowClassInputOutput, 0,
		xproto.CwBackPixel|xproto.CwOverrideRedirect|xproto.CwEventMask, []uint32{0, 1, events}).Check())
	c.gc, err = xproto.NewGcontextId(c.Conn)
	check(err)
	check(xproto.CreateGCChecked(c.Conn, c.gc, xproto.Drawable(c.window), 0, nil).Check())
	if answers {
		b := le.AppendUint32(nil, uint32(c.atoms.ping))
		check(xproto.ChangePropertyChecked(c.Conn, xproto.PropModeReplace, c.window, c.atoms.protocols, xproto.AtomAtom,
			32, 1, b).Check())
	}
	check(c.readMapping())
	go c.run()
	check(xproto.MapWindowChecked(c.Conn, c.window).Check())
	<-c.mapped
	check(xproto.SetInputFocusChecked(c.Conn, xproto.InputFocusPointerRoot, c.window, xproto.TimeCurrentTime).Check())
	t.Cleanup(func() { c.close(); <-c.ended })
	return c
}

// run reads events in their order, as a program does.
func (c *client) run() {
	defer close(c.ended)
	for {
		e, xerr := c.WaitForEvent()
		now := timeline.Monotonic().Now()
		if e == nil && xerr == nil {
			return
		}
		switch e := e.(type) {
		case xproto.MapNotifyEvent:
			close(c.mapped)
		case xproto.MappingNotifyEvent:
			if err := c.readMapping(); err != nil {
				return
			}
		case xproto.ClientMessageEvent:
			c.message(e)
		case xproto.KeyPressEvent:
			if c.paint {
				c.draw()
			}
			c.events <- seen{now, "press", byte(e.Detail), e.State, int(e.EventX), int(e.EventY),
				c.lookup(byte(e.Detail), e.State)}
		case xproto.KeyReleaseEvent:
			c.events <- seen{now, "release", byte(e.Detail), e.State, int(e.EventX), int(e.EventY), 0}
		case xproto.ButtonPressEvent:
			c.events <- seen{now, "button", byte(e.Detail), e.State, int(e.EventX), int(e.EventY), 0}
		case xproto.ButtonReleaseEvent:
			c.events <- seen{now, "unbutton", byte(e.Detail), e.State, int(e.EventX), int(e.EventY), 0}
		case xproto.MotionNotifyEvent:
			c.events <- seen{now, "motion", byte(e.Detail), e.State, int(e.EventX), int(e.EventY), 0}
		}
	}
}

func (c *client) message(e xproto.ClientMessageEvent) {
	switch {
	case e.Type == c.atoms.protocols && e.Data.Data32[0] == uint32(c.atoms.ping) && c.answers.Load():
		if c.tellsPings.Load() {
			c.events <- seen{kind: "ping"}
		}
		e.Window = c.root
		xproto.SendEvent(c.Conn, false, c.root, xproto.EventMaskSubstructureNotify|xproto.EventMaskSubstructureRedirect,
			string(e.Bytes()))
	case e.Type == c.atoms.done:
		c.events <- seen{kind: "done"}
	}
}

// draw changes the colour of the upper left corner.
func (c *client) draw() {
	xproto.PolyFillRectangle(c.Conn, xproto.Drawable(c.window), c.gc, []xproto.Rectangle{{Width: 32, Height: 32}})
}

// readMapping reads the mapping, and which modifiers choose the third level and the second group.
func (c *client) readMapping() error {
	s := xproto.Setup(c.Conn)
	c.first = int(s.MinKeycode)
	m, err := xproto.GetKeyboardMapping(c.Conn, s.MinKeycode, byte(s.MaxKeycode-s.MinKeycode+1)).Reply()
	if err != nil {
		return err
	}
	mods, err := xproto.GetModifierMapping(c.Conn).Reply()
	if err != nil {
		return err
	}
	c.width, c.syms, c.level3, c.mode = int(m.KeysymsPerKeycode), m.Keysyms, 0, 0
	per := int(mods.KeycodesPerModifier)
	for i, code := range mods.Keycodes {
		if code == 0 {
			continue
		}
		for _, s := range c.row(byte(code)) {
			switch s {
			case symLevel3:
				c.level3 |= 1 << (i / per)
			case symModeSwitch:
				c.mode |= 1 << (i / per)
			}
		}
	}
	return nil
}

func (c *client) row(code byte) []xproto.Keysym {
	i := (int(code) - c.first) * c.width
	if i < 0 || i+c.width > len(c.syms) {
		return nil
	}
	return c.syms[i : i+c.width]
}

// lookup is the core protocol's rule for the keysym of a key (X Window System Protocol, section 5,
// "Keyboards"). The third and fourth level are after the second group, as in XKB's servers.
func (c *client) lookup(code byte, state uint16) uint32 {
	row := c.row(code)
	at := func(i int) uint32 {
		if i < len(row) {
			return uint32(row[i])
		}
		return 0
	}
	i := 0
	if group := state >> 13 & 3; group == 1 || state&c.mode != 0 {
		i = 2
	}
	if state&c.level3 != 0 && at(4) != 0 {
		i = 4
	}
	plain, shift := at(i), at(i+1)
	if shift == 0 {
		shift = plain
	}
	lower := runeOf(plain)
	switch {
	case state&xproto.ModMaskLock != 0 && unicode.IsLower(lower) && runeOf(shift) == unicode.ToUpper(lower):
		if state&xproto.ModMaskShift != 0 {
			return plain
		}
		return shift
	case state&xproto.ModMaskShift != 0:
		return shift
	}
	return plain
}

// runeOf returns the character of a keysym.
func runeOf(sym uint32) rune {
	switch {
	case sym == symReturn:
		return '\n'
	case sym == symTab:
		return '\t'
	case sym >= symUnicode && sym <= symUnicode|unicode.MaxRune:
		return rune(sym &^ symUnicode)
	case sym >= 0x20 && sym < 0x100:
		return rune(sym)
	}
	for _, run := range old {
		if n := int(sym) - int(run.first); n >= 0 {
			if r := []rune(run.runes); n < len(r) && r[n] != ' ' {
				return r[n]
			}
		}
	}
	return -1
}

// all returns the events so far. It sends a request on the same connection as the events, so none
// is on its way.
func (c *client) all() []seen {
	c.t.Helper()
	if err := c.sync(); err != nil {
		c.t.Fatal(err)
	}
	m := xproto.ClientMessageEvent{Format: 32, Window: c.window, Type: c.atoms.done,
		Data: xproto.ClientMessageDataUnionData32New(make([]uint32, 5))}
	if err := xproto.SendEventChecked(c.Conn, false, c.window, 0, string(m.Bytes())).Check(); err != nil {
		c.t.Fatal(err)
	}
	var all []seen
	for {
		select {
		case e := <-c.events:
			if e.kind == "done" {
				return all
			}
			all = append(all, e)
		case <-time.After(time.Minute):
			c.t.Fatal("the client does not come to an end")
		}
	}
}

// typed returns what the client has read on its keys: characters as they are, and other keysyms by
// their numbers. Keys that are held for others are left out.
func typed(all []seen) string {
	var b strings.Builder
	for _, e := range all {
		if e.kind != "press" || slices.Contains([]uint32{symShiftL, symShiftR, symLevel3, symModeSwitch}, e.sym) {
			continue
		}
		if r := runeOf(e.sym); r >= 0 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "<%#x>", e.sym)
		}
	}
	return b.String()
}

// story returns events for people.
func story(all []seen) string {
	var s []string
	for _, e := range all {
		switch e.kind {
		case "motion":
			s = append(s, fmt.Sprintf("%d,%d", e.x, e.y))
		default:
			s = append(s, fmt.Sprintf("%s %d", e.kind, e.detail))
		}
	}
	return strings.Join(s, " ")
}

// mapping returns the server's whole mapping.
func mapping(t testing.TB, display string) string {
	t.Helper()
	c, err := connect(display)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	s := xproto.Setup(c.Conn)
	m, err := xproto.GetKeyboardMapping(c.Conn, s.MinKeycode, byte(s.MaxKeycode-s.MinKeycode+1)).Reply()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := 0; i < len(m.Keysyms); i += int(m.KeysymsPerKeycode) {
		row := m.Keysyms[i : i+int(m.KeysymsPerKeycode)]
		for len(row) > 0 && row[len(row)-1] == 0 { // the server widens all rows for one
			row = row[:len(row)-1]
		}
		fmt.Fprintf(&b, "%d %x\n", int(s.MinKeycode)+i/int(m.KeysymsPerKeycode), row)
	}
	return b.String()
}
