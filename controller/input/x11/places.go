package x11

import "github.com/eideticker/eideticker/controller/input"

// places are the names that XKB has for the places of keys (xkeyboard-config, keycodes/evdev),
// whatever keycodes a server gives them.
var places = map[input.Key]string{
	"KeyA": "AC01", "KeyB": "AB05", "KeyC": "AB03", "KeyD": "AC03", "KeyE": "AD03", "KeyF": "AC04", "KeyG": "AC05",
	"KeyH": "AC06", "KeyI": "AD08",
	"KeyJ": "AC07", "KeyK": "AC08", "KeyL": "AC09", "KeyM": "AB07", "KeyN": "AB06", "KeyO": "AD09", "KeyP": "AD10",
	"KeyQ": "AD01", "KeyR": "AD04",
	"KeyS": "AC02", "KeyT": "AD05", "KeyU": "AD07", "KeyV": "AB04", "KeyW": "AD02", "KeyX": "AB02", "KeyY": "AD06",
	"KeyZ":   "AB01",
	"Digit1": "AE01", "Digit2": "AE02", "Digit3": "AE03", "Digit4": "AE04", "Digit5": "AE05", "Digit6": "AE06",
	"Digit7": "AE07", "Digit8": "AE08",
	"Digit9": "AE09", "Digit0": "AE10", "Minus": "AE11", "Equal": "AE12", "BracketLeft": "AD11", "BracketRight": "AD12",
	"Backslash": "BKSL",
	"Semicolon": "AC10", "Quote": "AC11", "Backquote": "TLDE", "Comma": "AB08", "Period": "AB09", "Slash": "AB10",
	"IntlBackslash": "LSGT",
	"Space":         "SPCE", "Enter": "RTRN", "Escape": "ESC", "Backspace": "BKSP", "Tab": "TAB", "CapsLock": "CAPS",
	"F1": "FK01", "F2": "FK02", "F3": "FK03", "F4": "FK04", "F5": "FK05", "F6": "FK06", "F7": "FK07", "F8": "FK08",
	"F9": "FK09", "F10": "FK10",
	"F11": "FK11", "F12": "FK12", "PrintScreen": "PRSC", "ScrollLock": "SCLK", "Pause": "PAUS", "Insert": "INS",
	"Home": "HOME", "PageUp": "PGUP",
	"Delete": "DELE", "End": "END", "PageDown": "PGDN", "ArrowRight": "RGHT", "ArrowLeft": "LEFT", "ArrowDown": "DOWN",
	"ArrowUp": "UP",
	"NumLock": "NMLK", "NumpadDivide": "KPDV", "NumpadMultiply": "KPMU", "NumpadSubtract": "KPSU", "NumpadAdd": "KPAD",
	"NumpadEnter": "KPEN",
	"Numpad1":     "KP1", "Numpad2": "KP2", "Numpad3": "KP3", "Numpad4": "KP4", "Numpad5": "KP5", "Numpad6": "KP6",
	"Numpad7": "KP7", "Numpad8": "KP8",
	"Numpad9": "KP9", "Numpad0": "KP0", "NumpadDecimal": "KPDL", "ContextMenu": "COMP", "ControlLeft": "LCTL",
	"ShiftLeft": "LFSH",
	"AltLeft":   "LALT", "MetaLeft": "LWIN", "ControlRight": "RCTL", "ShiftRight": "RTSH", "AltRight": "RALT",
	"MetaRight": "RWIN",
}

// named returns the keycode of a named key, or 0. A key that types is its place. Another one is
// found in this order: the key at its place if it has that meaning, another key with that meaning,
// the place. People swap Escape and CapsLock, and on most keyboards AltRight has a meaning of its
// own.
func (m *keymap) named(k input.Key) byte {
	codes, _ := k.Codes()
	place := m.names[places[k]]
	if place != 0 && (types(codes) || m.keys[place].has(codes.Keysym)) {
		return place
	}
	for code := range m.keys {
		if syms := m.keys[code].syms; len(syms) > 0 && syms[0] == codes.Keysym {
			return byte(code)
		}
	}
	for code := range m.keys {
		if m.keys[code].has(codes.Keysym) {
			return byte(code)
		}
	}
	return place
}

// types reports whether a named key types a character: what it means is a matter of the keyboard's
// layout.
func types(c input.Codes) bool {
	const firstKeypad, lastKeypad = 0xffaa, 0xffb9 // KP_Multiply, KP_9
	return c.Keysym < 0x100 || c.Keysym >= firstKeypad && c.Keysym <= lastKeypad
}
