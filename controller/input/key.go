package input

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Key is a key by its meaning or by its name. A meaning is one character that it types ("f", "ß").
// A name is that of KeyboardEvent.code in the W3C's UI Events, such as "Enter", "ControlLeft" or
// "Numpad1". Keys that type characters also have names, of their place on a US keyboard: "KeyQ"
// types a on a French one. Dead keys and Compose have names by their meaning: "DeadAcute".
type Key string

// Codes are the numbers of a named key in the systems that drivers speak to. None is 0.
type Codes struct {
	HID     uint8  // usage on page 7 of the USB HID Usage Tables
	Evdev   uint16 // KEY_… of linux/input-event-codes.h
	Keysym  uint32 // XK_… of X11/keysymdef.h
	VK      uint16 // VK_… of Windows
	Android uint16 // KEYCODE_… of android.view.KeyEvent
	Driver  rune   // key of WebDriver's actions, in its private use area
}

// Codes returns the numbers of a named key.
func (k Key) Codes() (Codes, bool) {
	c, ok := named[k]
	return c, ok
}

// Rune returns the character that a key types which has no name.
func (k Key) Rune() (rune, bool) {
	if _, ok := named[k]; ok {
		return 0, false
	}
	r, n := utf8.DecodeRuneInString(string(k))
	return r, n > 0 && n == len(k) && r != utf8.RuneError
}

// Validate returns an error for an unknown key.
func (k Key) Validate() error {
	if _, ok := named[k]; ok {
		return nil
	}
	if _, ok := composing[k]; ok {
		return nil
	}
	if r, ok := k.Rune(); ok && unicode.IsPrint(r) {
		return nil
	}
	return fmt.Errorf("unknown key %.40q", string(k))
}

// Modifier reports whether a key changes what others mean.
func (k Key) Modifier() bool {
	c, ok := named[k]
	return ok && c.HID >= 0xe0
}

// aliases are other names, in small letters.
var aliases = map[string]Key{
	"control": "ControlLeft", "ctrl": "ControlLeft", "shift": "ShiftLeft", "alt": "AltLeft", "option": "AltLeft",
	"altgr": "AltRight",
	"meta":  "MetaLeft", "super": "MetaLeft", "win": "MetaLeft", "command": "MetaLeft", "cmd": "MetaLeft",
	"return": "Enter", "esc": "Escape", "del": "Delete", "ins": "Insert", "left": "ArrowLeft", "right": "ArrowRight",
	"up":   "ArrowUp",
	"down": "ArrowDown", "pgup": "PageUp", "pgdn": "PageDown", "pagedn": "PageDown", "menu": "ContextMenu",
	"print": "PrintScreen", "plus": "+",
}

// ParseKey returns the key of a name. A name is that of the key, in any case, a common one ("Ctrl",
// "Left"), or a single character.
func ParseKey(name string) (Key, error) {
	if utf8.RuneCountInString(name) == 1 {
		if name == " " {
			return "Space", nil
		}
		return Key(name), Key(name).Validate()
	}
	low := strings.ToLower(name)
	if k, ok := aliases[low]; ok {
		return k, nil
	}
	for k := range named {
		if strings.ToLower(string(k)) == low {
			return k, nil
		}
	}
	if k, ok := composingNamed(low); ok {
		return k, nil
	}
	if near := nearestKey(low); near != "" {
		return "", fmt.Errorf("unknown key %.40q; did you mean %s?", name, near)
	}
	return "", fmt.Errorf("unknown key %.40q", name)
}

// nearestKey finds a name that begins like another one, or that it lies within.
func nearestKey(low string) (near Key) {
	low = strings.ReplaceAll(low, "_", "")
	look := func(k Key) {
		n := strings.ToLower(string(k))
		if (len(low) >= 3 && (strings.HasPrefix(n, low) || strings.HasPrefix(low, n))) && (near == "" || k < near) {
			near = k
		}
	}
	for k := range named {
		look(k)
	}
	for k := range composing {
		look(k)
	}
	return near
}

// ParseChord returns the keys of "Control+Shift+F", in the order in which they are pressed. A
// letter is that of the key, so it is taken as a small one where modifiers stand before it.
func ParseChord(s string) ([]Key, error) {
	const most = 6 // as many as a keyboard of USB's boot protocol tells at once
	var keys []Key
	rest := s
	for rest != "" {
		name := rest
		if i := strings.IndexByte(rest[1:], '+'); i >= 0 { // a plus that stands first is a key
			name, rest = rest[:i+1], rest[i+2:]
			if rest == "" {
				return nil, fmt.Errorf("keys %.80q end in a plus: the key itself is called Plus", s)
			}
		} else {
			rest = ""
		}
		if trimmed := strings.TrimSpace(name); trimmed != "" {
			name = trimmed
		}
		k, err := ParseKey(name)
		if err != nil {
			return nil, err
		}
		if len(keys) > 0 {
			k = lower(k)
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 || len(keys) > most {
		return nil, fmt.Errorf("%.80q is %d keys: from 1 to %d are pressed at once", s, len(keys), most)
	}
	return keys, nil
}

func lower(k Key) Key {
	if r, ok := k.Rune(); ok {
		return Key(unicode.ToLower(r))
	}
	return k
}

// Chord returns what presses keys and lets go of them in the other order.
func Chord(keys []Key) (down, up []Action) {
	for _, k := range keys {
		down = append(down, KeyDown{k})
	}
	for i := range keys {
		up = append(up, KeyUp{keys[len(keys)-1-i]})
	}
	return down, up
}

// Keys returns the named keys, in the order of their names.
func Keys() []Key { return slices.Sorted(maps.Keys(named)) }
