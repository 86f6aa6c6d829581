package windows

import "github.com/eideticker/eideticker/controller/input"

// scanCode is a key's code in set 1, and the system's name for it if the code is ambiguous.
type scanCode struct {
	code     uint16
	extended bool   // E0 stands before it
	vk       uint16 // not 0: told by this, with the code beside it
}

// special are the keys beyond those that the first PCs had. The codes of the others are what Linux
// numbers keys by.
var special = map[input.Key]scanCode{
	"NumpadEnter": {0x1c, true, 0}, "ControlRight": {0x1d, true, 0}, "NumpadDivide": {0x35, true, 0},
	"PrintScreen": {0x37, true, 0},
	"AltRight":    {0x38, true, 0}, "Home": {0x47, true, 0}, "ArrowUp": {0x48, true, 0}, "PageUp": {0x49, true, 0},
	"ArrowLeft":  {0x4b, true, 0},
	"ArrowRight": {0x4d, true, 0}, "End": {0x4f, true, 0}, "ArrowDown": {0x50, true, 0}, "PageDown": {0x51, true, 0},
	"Insert": {0x52, true, 0},
	"Delete": {0x53, true, 0}, "MetaLeft": {0x5b, true, 0}, "MetaRight": {0x5c, true, 0},
	"ContextMenu": {0x5d, true, 0},
	// Both keys have code 0x45, since Pause was Control and NumLock once.
	"NumLock": {0x45, true, 0x90}, "Pause": {0x45, false, 0x13},
}

// scan returns the code of a named key.
func scan(k input.Key) (scanCode, bool) {
	if s, ok := special[k]; ok {
		return s, true
	}
	c, ok := k.Codes()
	if !ok || c.Evdev == 0 || c.Evdev > 88 {
		return scanCode{}, false
	}
	return scanCode{code: c.Evdev}, true
}

// key encodes a press of a named key, or its release.
func (s scanCode) key(release bool) inputRecord {
	flags := uint32(keyScanCode)
	if s.vk != 0 {
		flags = 0
	}
	if s.extended {
		flags |= keyExtended
	}
	if release {
		flags |= keyRelease
	}
	return keyboard(s.vk, s.code, flags)
}
