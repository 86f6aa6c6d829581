package x11

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/controller/input"
)

// maxButton is the highest button that is used: 4 to 7 are the wheel, 8 and 9 lead back and
// forward.
const maxButton = 9

// buttons are the numbers that X gives to the buttons of a mouse.
var buttons = map[input.Button]byte{input.Left: 1, input.Middle: 2, input.Right: 3, input.Back: 8, input.Forward: 9}

// stroke is one event that the server is to make.
type stroke struct {
	kind byte   // a number of xproto's: KeyPress and so on
	code byte   // of the key or button
	sym  uint32 // if not 0, the key is the one that was lent to this keysym
	x, y int16
}

// part is strokes that can be sent together: there is room for all the keysyms that are to be lent
// keys.
type part struct {
	lend    []uint32
	strokes []stroke
}

// press is a key that is held down for a Key, and those that are held for it alone.
type press struct {
	key  input.Key
	code byte
	sym  uint32 // if not 0, code is the one that was lent to it
	hold []byte
}

// union returns the keys that are held in one or the other.
func union(a, b []press) []press {
	all := slices.Clone(a)
	for _, h := range b {
		if !slices.ContainsFunc(a, func(o press) bool { return o.key == h.key }) {
			all = append(all, h)
		}
	}
	return all
}

// planner turns actions into strokes. It changes only its own copy of the held state.
type planner struct {
	*keymap
	state
	old           map[rune]uint32
	presses       []press
	pointer       []byte // the logical button of each physical one
	width, height int
	room          func([]press) int

	parts []part
}

func (p *planner) plan(actions []input.Action) error {
	// What other keyboards hold is what the server says is held, without what we do.
	p.held &^= p.holding(true)
	p.parts = []part{{}}
	for _, a := range actions {
		if err := p.act(a); err != nil {
			return fmt.Errorf("%v: %w", a, err)
		}
	}
	return nil
}

func (p *planner) act(a input.Action) error {
	switch a := a.(type) {
	case input.KeyDown:
		return p.keyDown(a.Key)
	case input.KeyUp:
		return p.keyUp(a.Key)
	case input.Text:
		return p.text(a.Text)
	case input.Move:
		if a.X >= float64(p.width) || a.Y >= float64(p.height) {
			return fmt.Errorf("the screen is %dx%d", p.width, p.height)
		}
		p.add(stroke{kind: xproto.MotionNotify, x: int16(math.Floor(a.X)), y: int16(math.Floor(a.Y))})
		return nil
	case input.ButtonDown:
		return p.button(xproto.ButtonPress, buttons[a.Button])
	case input.ButtonUp:
		return p.button(xproto.ButtonRelease, buttons[a.Button])
	case input.Wheel:
		return p.wheel(a)
	case input.TouchDown, input.TouchMove, input.TouchUp:
		return fmt.Errorf("XTEST has no fingers; uinput (on the device) and hid (a cable to it) do: %w",
			errors.ErrUnsupported)
	}
	return fmt.Errorf("not known here: %w", errors.ErrUnsupported)
}

func (p *planner) add(s stroke) {
	last := &p.parts[len(p.parts)-1]
	last.strokes = append(last.strokes, s)
}

func (p *planner) key(kind, code byte) { p.add(stroke{kind: kind, code: code}) }

// borrow sees to it that a keysym is lent a key in the part that follows.
func (p *planner) borrow(sym uint32) error {
	last := &p.parts[len(p.parts)-1]
	if slices.Contains(last.lend, sym) {
		return nil
	}
	room := p.room(p.presses)
	if room < 1 {
		return fmt.Errorf("no key types it, and the display has no keycode to spare: %w", errors.ErrUnsupported)
	}
	if len(last.lend) >= room {
		p.parts = append(p.parts, part{})
		last = &p.parts[len(p.parts)-1]
	}
	last.lend = append(last.lend, sym)
	return nil
}

// holding returns the modifiers that our keys hold, with those that are held only to type
// something, or without.
func (p *planner) holding(all bool) (set byte) {
	for _, h := range p.presses {
		s, _ := p.keys[h.code].sets()
		if h.sym == 0 {
			set |= s
		}
		for _, code := range h.hold {
			if s, _ := p.keys[code].sets(); all {
				set |= s
			}
		}
	}
	return set
}

// now returns the modifiers in effect.
func (p *planner) now(all bool) mode {
	m := mode{p.held | p.latched | p.locked | p.holding(all), p.group}
	for _, h := range p.presses {
		if h.sym == 0 {
			m.group = p.keys[h.code].switches(m.group, p.groups)
		}
		for _, code := range h.hold {
			if all {
				m.group = p.keys[code].switches(m.group, p.groups)
			}
		}
	}
	return m
}

// text types each character by itself.
func (p *planner) text(text string) error {
	now, last := p.now(true), rune(0)
	for _, r := range text {
		crlf := last == '\r' && r == '\n'
		if last = r; crlf {
			continue // it was one end of a line
		}
		at, sym, ok := p.locate(r, now)
		switch {
		case !ok && sym == 0:
			return fmt.Errorf("no key types %U: %w", r, errors.ErrUnsupported)
		case !ok:
			if err := p.borrow(sym); err != nil {
				return fmt.Errorf("%q: %w", r, err)
			}
			p.add(stroke{kind: xproto.KeyPress, sym: sym})
			p.add(stroke{kind: xproto.KeyRelease, sym: sym})
			continue
		}
		for _, code := range at.hold {
			p.key(xproto.KeyPress, code)
		}
		p.key(xproto.KeyPress, at.code)
		p.key(xproto.KeyRelease, at.code)
		for _, code := range slices.Backward(at.hold) {
			p.key(xproto.KeyRelease, code)
		}
	}
	return nil
}

// locate finds how a character is typed, or else the keysym that a key must be lent to; 0 if it is
// none.
func (p *planner) locate(r rune, now mode) (at place, sym uint32, ok bool) {
	sym = symOf(r)
	for _, s := range []uint32{p.old[r], sym} {
		if s != 0 {
			if at, ok = p.find(s, now); ok {
				return at, s, true
			}
		}
	}
	return place{}, sym, false
}

func (p *planner) keyDown(k input.Key) error {
	if i := slices.IndexFunc(p.presses, func(h press) bool { return h.key == k }); i >= 0 {
		// As a keyboard does whose key stays down.
		p.add(stroke{kind: xproto.KeyPress, code: p.presses[i].code, sym: p.presses[i].sym})
		return nil
	}
	h, err := p.place(k)
	if err != nil {
		return err
	}
	for _, code := range h.hold {
		if p.users(code, 0) == 0 {
			p.key(xproto.KeyPress, code)
		}
	}
	p.add(stroke{kind: xproto.KeyPress, code: h.code, sym: h.sym})
	p.presses = append(p.presses, h)
	if h.sym == 0 {
		_, lock := p.keys[h.code].sets()
		p.locked ^= lock
	}
	return nil
}

// place returns the keys to hold for a key. A character is pressed so that it is typed now, and so
// is a dead key. While another key such as Control is held, the key itself is meant, without regard
// to locks.
func (p *planner) place(k input.Key) (press, error) {
	if codes, named := k.Codes(); named {
		if code := p.named(k); code != 0 {
			return press{key: k, code: code}, nil
		}
		return press{key: k, sym: codes.Keysym}, p.borrow(codes.Keysym)
	}
	now := p.now(false)
	if len(p.presses) > 0 {
		now.modifiers = 0
	}
	at, sym, ok := p.seek(k, now)
	switch {
	case ok:
		effective := p.now(false).modifiers
		missing := slices.DeleteFunc(slices.Clone(at.hold), func(code byte) bool {
			set, _ := p.keys[code].sets()
			return set != 0 && set&^effective == 0
		})
		return press{key: k, code: at.code, hold: missing}, nil
	case sym == 0:
		return press{}, fmt.Errorf("no key types %+q: %w", string(k), errors.ErrUnsupported)
	}
	return press{key: k, sym: sym}, p.borrow(sym)
}

// seek finds the strokes for a key with a meaning, or else the keysym that a key must borrow. sym
// is 0 if it is not a meaning.
func (p *planner) seek(k input.Key, now mode) (at place, sym uint32, ok bool) {
	if sym, ok = k.Composing(); ok {
		at, ok = p.find(sym, now)
		return at, sym, ok
	}
	r, _ := k.Rune()
	return p.locate(r, now)
}

func (p *planner) keyUp(k input.Key) error {
	i := slices.IndexFunc(p.presses, func(h press) bool { return h.key == k })
	if i < 0 {
		return nil // nothing of ours is down
	}
	h := p.presses[i]
	p.presses = slices.Delete(p.presses, i, i+1)
	if p.users(h.code, h.sym) == 0 {
		p.add(stroke{kind: xproto.KeyRelease, code: h.code, sym: h.sym})
	}
	for _, code := range slices.Backward(h.hold) {
		if p.users(code, 0) == 0 {
			p.key(xproto.KeyRelease, code)
		}
	}
	return nil
}

// users returns how many of the held keys need a key to be down.
func (p *planner) users(code byte, sym uint32) (n int) {
	for _, h := range p.presses {
		if h.code == code && h.sym == sym || sym == 0 && slices.Contains(h.hold, code) {
			n++
		}
	}
	return n
}

// button acts on the button that windows see under a number, whichever it is on the mouse:
// left-handed people swap them.
func (p *planner) button(kind, number byte) error {
	i := slices.Index(p.pointer, number)
	if i < 0 {
		return fmt.Errorf("no button of the display's pointer is number %d: %w", number, errors.ErrUnsupported)
	}
	p.add(stroke{kind: kind, code: byte(i + 1)})
	return nil
}

func (p *planner) wheel(w input.Wheel) error {
	for _, axis := range []struct {
		detents    int
		less, more byte
	}{{w.Y, 4, 5}, {w.X, 6, 7}} {
		n, number := axis.detents, axis.more
		if n < 0 {
			n, number = -n, axis.less
		}
		for range n {
			for _, kind := range []byte{xproto.ButtonPress, xproto.ButtonRelease} {
				if err := p.button(kind, number); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
