package x11

import (
	"testing"
)

// FuzzMap reads what servers say of their keys, cut and changed, and looks for a character in it.
func FuzzMap(f *testing.F) {
	x, err := openXKB(startDisplay(f).Name())
	if err != nil {
		f.Fatal(err)
	}
	defer x.close()
	ask := make([]byte, 24)
	le.PutUint16(ask, coreKeyboard)
	le.PutUint16(ask[2:], mapTypes|mapSyms|mapModifiers|mapActions)
	whole, err := x.request(xkbGetMap, ask...)
	if err != nil {
		f.Fatal(err)
	}
	names, err := x.request(xkbGetNames, 0, 1, 0, 0, 0, (nameKeys|nameAliases)>>8, 0, 0)
	if err != nil {
		f.Fatal(err)
	}
	m, err := parseMap(whole)
	if err != nil {
		f.Fatal(err)
	}
	if m.names, err = parseNames(names); err != nil || len(m.names) < 100 {
		f.Fatalf("%d names, %v", len(m.names), err)
	}
	m.prepare()
	if p, ok := m.find('A', mode{}); !ok || p.code != 38 || len(p.hold) != 1 || p.hold[0] != 50 {
		f.Fatalf("A is at %v, %v", p, ok)
	}
	for n := range len(whole) { // cut anywhere
		if _, err := parseMap(whole[:n]); err == nil && n < len(whole)-4 {
			f.Fatalf("a map that ends after %d bytes of %d is read", n, len(whole))
		}
	}
	for n := range len(names) {
		_, _ = parseNames(names[:n])
	}
	f.Add(whole, names, byte(0), byte(0))
	f.Add(whole, names, byte(0x92), byte(3))
	f.Add(make([]byte, 40), make([]byte, 32), byte(1), byte(1))
	f.Fuzz(func(t *testing.T, whole, names []byte, modifiers, group byte) {
		m, err := parseMap(whole)
		if err != nil {
			return
		}
		if m.names, err = parseNames(names); err != nil {
			return
		}
		m.prepare()
		p, ok := m.find('a', mode{modifiers, int(group)})
		if !ok {
			return
		}
		for _, code := range p.hold {
			set, _ := m.keys[code].sets()
			modifiers |= set
			group = byte(m.keys[code].switches(int(group), m.groups))
		}
		if sym := m.sym(p.code, modifiers, int(group)); sym != 'a' {
			t.Errorf("key %d with %v means %#x", p.code, p.hold, sym)
		}
	})
}
