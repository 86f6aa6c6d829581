package x11

import "math/bits"

// keymap is what the server's keys mean.
type keymap struct {
	types []keyType
	keys  [256]mapKey // by keycode
	names map[string]byte
	lent  [256]bool // keys that are lent to what they mean, and found by that

	groups  int             // how many the key with the most of them has
	typing  []hold          // keys that are held to type others
	indexes map[mode]index  // of characters, as they were asked for
	labels  map[byte]string // names by keycodes
}

// keyType says which level of a key its modifiers choose.
type keyType struct {
	mask    byte
	entries []typeEntry
}

type typeEntry struct {
	modifiers byte
	level     int
}

// mapKey is one key: for each group a row of keysyms, one for each level.
type mapKey struct {
	types     [4]byte
	info      byte
	width     int
	syms      []uint32
	actions   []action // as many as keysyms, or none
	modifiers byte
}

// action is what a key does beside being pressed (XKB Protocol, "Key Actions").
type action [8]byte

const (
	setModifiers  = 1
	lockModifiers = 3
	setGroup      = 4

	groupAbsolute = 1 << 2 // flag of setGroup
)

func (k *mapKey) groupCount() int { return int(k.info & 0x0f) }

// groupFor returns the group of the key that a group of the keyboard comes to.
func (k *mapKey) groupFor(group int) int {
	n := k.groupCount()
	if group < n || n == 0 {
		return group
	}
	switch k.info & 0xc0 {
	case 0x40:
		return n - 1
	case 0x80:
		if g := int(k.info & 0x30 >> 4); g < n {
			return g
		}
		return 0
	}
	return group % n
}

// at returns the index of what a key means with modifiers, or -1.
func (m *keymap) at(k *mapKey, modifiers byte, group int) int {
	if k.groupCount() == 0 {
		return -1
	}
	g := k.groupFor(group)
	if g >= len(k.types) || int(k.types[g]) >= len(m.types) {
		return -1
	}
	t, level := &m.types[k.types[g]], 0
	for _, e := range t.entries {
		if e.modifiers == modifiers&t.mask {
			level = e.level
			break
		}
	}
	if i := g*k.width + level; level < k.width && i < len(k.syms) {
		return i
	}
	return -1
}

// sym returns what a key means, or 0.
func (m *keymap) sym(code byte, modifiers byte, group int) uint32 {
	k := &m.keys[code]
	if i := m.at(k, modifiers, group); i >= 0 {
		return k.syms[i]
	}
	return 0
}

// has reports whether a key means something in any group and level.
func (k *mapKey) has(sym uint32) bool {
	for _, s := range k.syms {
		if s == sym {
			return true
		}
	}
	return false
}

// empty reports whether a key means nothing and does nothing.
func (k *mapKey) empty() bool {
	for _, s := range k.syms {
		if s != 0 {
			return false
		}
	}
	for _, a := range k.actions {
		if a[0] != 0 {
			return false
		}
	}
	return k.modifiers == 0
}

// action returns what a key does while nothing else is held.
func (k *mapKey) action() action {
	if len(k.actions) == 0 {
		return action{}
	}
	return k.actions[0]
}

// sets returns the modifiers that a key sets while it is down, and those that it locks.
func (k *mapKey) sets() (set, lock byte) {
	switch a := k.action(); a[0] {
	case setModifiers:
		return a[2], 0
	case lockModifiers:
		return 0, a[2]
	}
	return 0, 0
}

// switches returns the group that a key switches to from another one while it is down.
func (k *mapKey) switches(from, groups int) int {
	a := k.action()
	if a[0] != setGroup || groups < 1 {
		return from
	}
	to := int(int8(a[2]))
	if a[1]&groupAbsolute == 0 {
		to += from
	}
	return ((to % groups) + groups) % groups
}

// hold is a key that is held to get at what others mean.
type hold struct {
	code      byte
	modifiers byte
	group     bool
}

// prepare computes the values for frequent lookups.
func (m *keymap) prepare() {
	m.indexes, m.labels, m.groups = map[mode]index{}, map[byte]string{}, 1
	for name, code := range m.names {
		if old, ok := m.labels[code]; !ok || name < old {
			m.labels[code] = name
		}
	}
	for code := range m.keys {
		m.groups = max(m.groups, m.keys[code].groupCount())
	}
	// Keys that are on no keyboard come last: they carry modifiers for programs.
	for _, made := range []bool{false, true} {
		for code := range m.keys {
			k := &m.keys[code]
			switch name := m.labels[byte(code)]; {
			case len(k.syms) == 0 || made != (name == "LVL3" || name == "LVL5" || name == "MDSW"):
			case k.syms[0] == symShiftL || k.syms[0] == symShiftR || k.syms[0] == symLevel3 || k.syms[0] == symLevel5 ||
				k.syms[0] == symModeSwitch:
				set, _ := k.sets()
				if group := k.switches(0, m.groups) != 0; set != 0 || group {
					m.typing = append(m.typing, hold{byte(code), set, group})
				}
			}
		}
	}
}

// mode is the state that a place is looked for in.
type mode struct {
	modifiers byte
	group     int
}

// place is a key, and the keys that must be held with it.
type place struct {
	code byte
	hold []byte
}

// index says where each keysym is.
type index map[uint32]place

// find returns how to type a keysym while other keys are held or locked.
func (m *keymap) find(sym uint32, now mode) (place, bool) {
	ix, ok := m.indexes[now]
	if !ok {
		ix = m.index(now)
		m.indexes[now] = ix
	}
	p, ok := ix[sym]
	return p, ok
}

// index looks through the usual typing keys first. Others, such as one for a bracket, are not on
// keyboards. The key for < is missing on US keyboards too. Of these, the one that needs the fewest
// held keys wins.
func (m *keymap) index(now mode) index {
	ix := index{}
	for _, usual := range []bool{true, false} {
		for _, with := range m.reach(now) {
			for code := range m.keys {
				if m.lent[code] || usualPlace(m.labels[byte(code)]) != usual {
					continue
				}
				if sym := m.sym(byte(code), with.modifiers, with.group); sym != 0 {
					if _, found := ix[sym]; !found {
						ix[sym] = place{byte(code), with.hold}
					}
				}
			}
		}
	}
	return ix
}

// usualPlace reports whether a key is one of those that every keyboard types with.
func usualPlace(label string) bool {
	if len(label) != 4 {
		return label == "TAB"
	}
	switch label[:2] {
	case "AA", "AB", "AC", "AD", "AE":
		return true
	}
	switch label {
	case "TLDE", "HZTG", "BKSL", "AC12", "SPCE", "RTRN": // HZTG is TLDE, and AC12 BKSL, where a server has both names
		return true
	}
	return false
}

// reached is a state, and the keys to hold for it.
type reached struct {
	mode
	hold []byte
}

// reach returns the states that holding keys leads to, from the least of them on.
func (m *keymap) reach(now mode) []reached {
	var one []hold // of each kind
	for _, h := range m.typing {
		known := false
		for _, o := range one {
			known = known || o.modifiers == h.modifiers && o.group == h.group
		}
		if !known && len(one) < 5 {
			one = append(one, h)
		}
	}
	var all []reached
	for n := range len(one) + 1 {
		for set := range 1 << len(one) {
			if bits.OnesCount(uint(set)) != n {
				continue
			}
			r := reached{mode: now}
			for i, h := range one {
				if set>>i&1 != 0 {
					r.modifiers |= h.modifiers
					r.group = m.keys[h.code].switches(r.group, m.groups)
					r.hold = append(r.hold, h.code)
				}
			}
			all = append(all, r)
		}
	}
	return all
}
