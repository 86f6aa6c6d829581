package x11

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jezek/xgb/xproto"
)

// The requests of the XKEYBOARD extension that are made here (XKB Protocol, appendix "Encoding").
// The library has none of them.
const (
	xkbUseExtension = 0
	xkbGetState     = 4
	xkbGetMap       = 8
	xkbGetNames     = 17

	coreKeyboard = 0x100 // for a device: the keyboard that windows get their events from

	mapTypes, mapSyms, mapModifiers, mapActions = 1 << 0, 1 << 1, 1 << 2, 1 << 4 // parts of a map
	nameKeys, nameAliases                       = 1 << 9, 1 << 10                // kinds of names
)

// xkb is the extension. It has a connection of its own: clients that use it get changes by its own
// events only, which the library cannot read.
type xkb struct {
	*connection
	opcode byte
}

var le = binary.LittleEndian

func openXKB(display string) (*xkb, error) {
	c, err := connect(display)
	if err != nil {
		return nil, err
	}
	const name = "XKEYBOARD"
	ext, err := get(c, xproto.QueryExtension(c.Conn, uint16(len(name)), name).Reply)
	if err == nil && !ext.Present {
		err = errors.New("the server has no XKEYBOARD extension, which says what its keys are")
	}
	if err != nil {
		c.close()
		return nil, err
	}
	x := &xkb{c, ext.MajorOpcode}
	if _, err := x.request(xkbUseExtension, 1, 0, 0, 0); err != nil { // version 1.0
		c.close()
		return nil, err
	}
	return x, nil
}

// request sends a request of the extension.
func (x *xkb) request(minor byte, body ...byte) ([]byte, error) {
	b := []byte{x.opcode, minor, 0, 0}
	b = append(b, body...)
	le.PutUint16(b[2:], uint16(len(b)/4))
	return x.raw(b)
}

// state has the held and locked keys.
type state struct {
	held, latched, locked byte // modifiers
	group                 int  // the one that is locked
}

func (x *xkb) state() (state, error) {
	b, err := x.request(xkbGetState, coreKeyboard&0xff, coreKeyboard>>8, 0, 0)
	if err != nil {
		return state{}, err
	}
	return state{held: b[9], latched: b[10], locked: b[11], group: int(b[13])}, nil
}

func (x *xkb) keymap() (*keymap, error) {
	parts := uint16(mapTypes | mapSyms | mapModifiers | mapActions)
	ask := make([]byte, 24)
	le.PutUint16(ask, coreKeyboard)
	le.PutUint16(ask[2:], parts)
	reply, err := x.request(xkbGetMap, ask...)
	if err != nil {
		return nil, err
	}
	m, err := parseMap(reply)
	if err != nil {
		return nil, fmt.Errorf("the server's keyboard mapping: %w", err)
	}
	if reply, err = x.request(xkbGetNames, coreKeyboard&0xff, coreKeyboard>>8, 0, 0, 0, (nameKeys|nameAliases)>>8, 0,
		0); err != nil {
		return nil, err
	}
	if m.names, err = parseNames(reply); err != nil {
		return nil, fmt.Errorf("the names of the server's keys: %w", err)
	}
	return m, nil
}

// reader takes numbers from bytes; beyond their end it returns zeros, and notes it.
type reader struct {
	b     []byte
	at    int
	short bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || len(r.b)-r.at < n {
		r.short = true
		return make([]byte, min(max(n, 0), 1<<16))
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

func (r *reader) err() error {
	if r.short {
		return fmt.Errorf("it ends after %d bytes, in the middle", len(r.b))
	}
	return nil
}

// parseMap reads the reply to GetMap.
func parseMap(b []byte) (*keymap, error) {
	const header = 40
	if len(b) < header {
		return nil, fmt.Errorf("a reply of %d bytes", len(b))
	}
	m := &keymap{}
	r := &reader{b: b, at: header}
	present := le.Uint16(b[12:])
	if present&mapTypes != 0 {
		for range b[15] {
			m.types = append(m.types, parseType(r))
		}
	}
	if present&mapSyms != 0 {
		parseSyms(r, m, int(b[17]), int(b[20]))
	}
	if present&mapActions != 0 {
		counts := r.take(int(b[24]))
		r.take(-len(counts) & 3)
		for i, n := range counts {
			acts := make([]action, n)
			for j := range acts {
				acts[j] = action(r.take(8))
			}
			if code := int(b[21]) + i; code < len(m.keys) {
				m.keys[code].actions = acts
			}
		}
	}
	if present&mapModifiers != 0 {
		// Behaviours, virtual modifiers and explicit components stand before these, and were not
		// asked for.
		for range b[33] {
			pair := r.take(2)
			m.keys[pair[0]].modifiers = pair[1]
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	for code := range m.keys {
		k := &m.keys[code]
		for g := range min(k.groupCount(), len(k.types)) {
			if int(k.types[g]) >= len(m.types) {
				return nil, fmt.Errorf("key %d is of type %d, and there are %d", code, k.types[g], len(m.types))
			}
		}
	}
	return m, nil
}

func parseType(r *reader) keyType {
	b := r.take(8)
	t := keyType{mask: b[0]}
	n, preserves := int(b[5]), b[6] != 0
	for range n {
		if e := r.take(8); e[0] != 0 { // else one of its virtual modifiers is on no key
			t.entries = append(t.entries, typeEntry{modifiers: e[1], level: int(e[2])})
		}
	}
	if preserves {
		r.take(4 * n)
	}
	return t
}

func parseSyms(r *reader, m *keymap, first, n int) {
	for i := range n {
		b := r.take(8)
		k := mapKey{types: [4]byte(b), info: b[4], width: int(b[5])}
		count := int(le.Uint16(b[6:]))
		if r.short {
			return
		}
		for syms := r.take(4 * count); len(syms) >= 4; syms = syms[4:] {
			k.syms = append(k.syms, le.Uint32(syms))
		}
		if first+i < len(m.keys) {
			m.keys[first+i] = k
		}
	}
}

// parseNames reads the reply to GetNames: keycodes by the names of their places, "AD01", and by
// other names for those.
func parseNames(b []byte) (map[string]byte, error) {
	const header = 32
	if len(b) < header {
		return nil, fmt.Errorf("a reply of %d bytes", len(b))
	}
	names := map[string]byte{}
	r := &reader{b: b, at: header}
	which := le.Uint32(b[8:])
	if which&nameKeys != 0 {
		for i := range int(b[19]) {
			if name := nameOf(r.take(4)); name != "" && int(b[18])+i < 256 {
				names[name] = byte(int(b[18]) + i)
			}
		}
	}
	if which&nameAliases != 0 {
		for range b[25] {
			pair := r.take(8)
			if code, ok := names[nameOf(pair[:4])]; ok {
				names[nameOf(pair[4:])] = code
			}
		}
	}
	return names, r.err()
}

func nameOf(b []byte) string {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return string(b)
}
