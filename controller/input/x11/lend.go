package x11

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jezek/xgb/xproto"
)

// lent is a keycode that nobody uses and that means one keysym for now.
type lent struct {
	code byte
	sym  uint32
	used uint64 // when it was pressed last, in the driver's count
}

// maxLent bounds how many keycodes are lent at once: each change makes every client read the
// mapping again.
const maxLent = 64

// codeFor returns the keycode that a keysym was lent.
func (d *Driver) codeFor(sym uint32) (byte, bool) {
	for i := range d.lent {
		if d.lent[i].sym == sym {
			return d.lent[i].code, true
		}
	}
	return 0, false
}

// room returns how many keysyms can be lent a keycode at once, beside those that are held down.
func (d *Driver) room(holds []press) int {
	n := len(d.lent)
	for code := range d.keymap.keys {
		if d.spare(byte(code)) {
			n++
		}
	}
	n = min(n, maxLent)
	for _, h := range union(d.presses, holds) {
		if h.sym != 0 {
			n--
		}
	}
	return n
}

// spare reports whether a keycode may be lent. Keys of a keyboard's places stay as they are, also
// if they are without a meaning.
func (d *Driver) spare(code byte) bool {
	m := d.keymap
	if int(code) < d.minCode || int(code) > d.maxCode || !m.keys[code].empty() || usualPlace(m.labels[code]) {
		return false
	}
	return !slices.ContainsFunc(d.lent, func(l lent) bool { return l.code == code })
}

// lend sees to it that every keysym has a keycode, and that the window that has the keyboard knows.
func (d *Driver) lend(syms []uint32) error {
	var missing []uint32
	for _, s := range syms {
		if _, ok := d.codeFor(s); !ok {
			missing = append(missing, s)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var changed []lent
	// From the highest on: those are the ones that the fewest keyboards have.
	room := min(len(missing), maxLent-len(d.lent))
	for code := d.maxCode; code >= d.minCode && len(changed) < room; code-- {
		if d.spare(byte(code)) {
			changed = append(changed, lent{code: byte(code)})
		}
	}
	if short := len(missing) - len(changed); short > 0 {
		again, err := d.reclaim(short, syms)
		if err != nil {
			return err
		}
		changed = append(changed, again...)
	}
	slices.SortFunc(changed, func(a, b lent) int { return int(a.code) - int(b.code) })
	for i := range changed {
		changed[i].sym = missing[i]
	}
	d.lent = append(d.lent, changed...)
	// The note comes first. After a crash in between, a noted key without the noted meaning is left
	// alone.
	if err := d.note(); err != nil {
		return err
	}
	if err := d.change(changed); err != nil {
		return err
	}
	return errors.Join(d.spread(), d.refresh())
}

// reclaim returns keycodes of the least recently pressed keysyms. Their window must have looked
// them up.
func (d *Driver) reclaim(n int, keep []uint32) ([]lent, error) {
	if err := d.settle(); err != nil {
		return nil, err
	}
	var free []lent
	for _, l := range d.lent {
		if !slices.Contains(keep, l.sym) &&
			!slices.ContainsFunc(d.presses, func(p press) bool { return p.sym == l.sym }) {
			free = append(free, l)
		}
	}
	if len(free) < n {
		return nil, fmt.Errorf("the display has no keycode to spare for another character: %w", errors.ErrUnsupported)
	}
	slices.SortStableFunc(free, func(a, b lent) int { return int(int64(a.used) - int64(b.used)) })
	free = free[:n]
	d.lent = slices.DeleteFunc(d.lent, func(l lent) bool {
		return slices.ContainsFunc(free, func(f lent) bool { return f.code == l.code })
	})
	return free, nil
}

// change writes keycodes, in order, to the server's mapping, neighbours together. A key means the
// same with and without Shift, since the server would invent a capital letter.
func (d *Driver) change(all []lent) error {
	return d.ask(func() error {
		var sent []xproto.ChangeKeyboardMappingCookie
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n].code == all[n-1].code+1 {
				n++
			}
			var syms []xproto.Keysym
			for _, l := range all[:n] {
				syms = append(syms, xproto.Keysym(l.sym), xproto.Keysym(l.sym))
			}
			sent = append(sent, xproto.ChangeKeyboardMappingChecked(d.Conn, byte(n), xproto.Keycode(all[0].code),
				2, syms))
			all = all[n:]
		}
		for _, s := range sent {
			if err := s.Check(); err != nil {
				return err
			}
		}
		return nil
	})
}

// takeBack gives up all that was lent.
func (d *Driver) takeBack() error {
	if len(d.lent) == 0 {
		return nil
	}
	if err := d.settle(); err != nil {
		return err
	}
	if err := d.refresh(); err != nil { // another mapping may have been loaded meanwhile
		return err
	}
	return d.empty(d.lent)
}

// empty takes the meaning from those keys that still mean what they were lent for.
func (d *Driver) empty(all []lent) error {
	var mine []lent
	for _, l := range all {
		if d.keymap.means(l) {
			mine = append(mine, lent{code: l.code})
		}
	}
	slices.SortFunc(mine, func(a, b lent) int { return int(a.code) - int(b.code) })
	return d.change(mine)
}

// means reports whether a key means what it was lent for, and nothing else.
func (m *keymap) means(l lent) bool {
	k := &m.keys[l.code]
	for _, s := range k.syms {
		if s != l.sym {
			return false
		}
	}
	return len(k.syms) > 0
}
