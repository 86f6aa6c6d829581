package input

// Place is a key by its place, and the keys held with it.
type Place struct {
	Key   Key // a named one
	Shift bool
	AltGr bool // the right Alt key
}

// Layout says where the characters of a keyboard are.
type Layout map[rune]Place

// Find returns the place of a key: that of a named key is its own.
func (l Layout) Find(k Key) (Place, bool) {
	if _, ok := named[k]; ok {
		return Place{Key: k}, true
	}
	r, ok := k.Rune()
	if !ok {
		return Place{}, false
	}
	p, ok := l[r]
	return p, ok
}

// US returns the layout of a US keyboard. A line's end is Enter, and a tabulator Tab.
func US() Layout {
	l := Layout{'\n': {Key: "Enter"}, '\t': {Key: "Tab"}, ' ': {Key: "Space"}}
	for c := 'a'; c <= 'z'; c++ {
		upper := c - 'a' + 'A'
		key := Key("Key" + string(upper))
		l[c], l[upper] = Place{Key: key}, Place{Key: key, Shift: true}
	}
	for i, c := range ")!@#$%^&*(" {
		key := Key("Digit" + string(rune('0'+i)))
		l[rune('0'+i)], l[c] = Place{Key: key}, Place{Key: key, Shift: true}
	}
	for _, k := range []struct {
		key          Key
		plain, shift rune
	}{
		{"Minus", '-', '_'}, {"Equal", '=', '+'}, {"BracketLeft", '[', '{'}, {"BracketRight", ']', '}'},
		{"Backslash", '\\', '|'},
		{"Semicolon", ';', ':'}, {"Quote", '\'', '"'}, {"Backquote", '`', '~'}, {"Comma", ',', '<'},
		{"Period", '.', '>'}, {"Slash", '/', '?'},
	} {
		l[k.plain], l[k.shift] = Place{Key: k.key}, Place{Key: k.key, Shift: true}
	}
	return l
}

// Type returns what types text on the layout, one press after another: each is done on its own,
// since a keyboard tells one key at a time. A character that the layout has not is returned.
func (l Layout) Type(text string) (presses [][]Action, missing rune) {
	for _, r := range text {
		p, ok := l[r]
		if !ok {
			return nil, r
		}
		presses = append(presses, p.press()...)
	}
	return presses, 0
}

func (p Place) press() [][]Action {
	var before, after [][]Action
	for _, m := range []struct {
		held bool
		key  Key
	}{{p.Shift, "ShiftLeft"}, {p.AltGr, "AltRight"}} {
		if m.held {
			before = append(before, []Action{KeyDown{m.key}})
			after = append([][]Action{{KeyUp{m.key}}}, after...)
		}
	}
	all := append(before, []Action{KeyDown{p.Key}}, []Action{KeyUp{p.Key}})
	return append(all, after...)
}
