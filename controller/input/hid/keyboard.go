package hid

import (
	"errors"
	"fmt"
	"slices"
)

// rollover is how many keys a keyboard tells at once.
type rollover uint8

// The keyboards. Boot reports six keys beside the modifiers, which every firmware supports (HID
// 1.11, appendix B.1). Full reports all.
const (
	noKeyboard rollover = iota
	boot
	full
)

// Usages of page 7: HID Usage Tables 1.5, 10.
const (
	firstModifier = 0xe0 // Keyboard LeftControl
	modifiers     = 8    // up to Keyboard Right GUI
	lastKey       = 0x65 // Keyboard Application, our last key apart from modifiers
	bootKeys      = 6
	bitmapBytes   = (lastKey + 1 + 7) / 8
)

// descriptor returns the report descriptor of a keyboard, and nil for none.
func (r rollover) descriptor() []byte {
	if r == noKeyboard {
		return nil
	}
	var d descriptor
	d.page(pageDesktop)
	d.usage(usageKeyboard)
	d.collection(application, func() {
		d.page(pageKeyboard)
		d.usages(firstModifier, firstModifier+modifiers-1)
		d.bounds(0, 1)
		d.fields(itemInput, modifiers, 1, variable)
		d.page(pageLEDs)
		d.usages(usageNumLock, usageKana)
		d.fields(itemOutput, 5, 1, variable)
		d.fields(itemOutput, 1, 3, constant)
		d.page(pageKeyboard)
		if r == full {
			d.usages(0, lastKey)
			d.fields(itemInput, lastKey+1, 1, variable)
			d.fields(itemInput, 1, bitmapBytes*8-lastKey-1, constant)
			return
		}
		d.fields(itemInput, 1, 8, constant) // reserved
		d.usages(0, lastKey)
		d.bounds(0, lastKey)
		d.fields(itemInput, bootKeys, 8, array)
	})
	return d
}

// size is how many bytes a report has.
func (r rollover) size() int {
	switch r {
	case boot:
		return 2 + bootKeys
	case full:
		return 1 + bitmapBytes
	}
	return 0
}

// keyboard makes the reports of a keyboard. One with a Rollover and nothing else has no key
// pressed.
type keyboard struct {
	Rollover  rollover
	modifiers uint8
	keys      []uint8 // usages, in the order in which they were pressed
}

// set presses or lifts the key of a usage on page 7. What the keyboard cannot tell is an error that
// wraps errors.ErrUnsupported, and changes nothing.
func (k *keyboard) set(usage uint8, down bool) error {
	if usage >= firstModifier && usage < firstModifier+modifiers {
		bit := uint8(1) << (usage - firstModifier)
		k.modifiers &^= bit
		if down {
			k.modifiers |= bit
		}
		return nil
	}
	// The first four usages are errors of the keyboard, not keys.
	if usage < 4 || usage > lastKey {
		return fmt.Errorf("usage %#x is not a key of this keyboard: %w", usage, errors.ErrUnsupported)
	}
	held := slices.Contains(k.keys, usage)
	switch {
	case down && !held:
		if k.Rollover == boot && len(k.keys) == bootKeys {
			return fmt.Errorf("a boot keyboard holds %d keys beside the modifiers: %w; use keyboard=full",
				bootKeys, errors.ErrUnsupported)
		}
		k.keys = append(slices.Clone(k.keys), usage)
	case !down && held:
		k.keys = slices.DeleteFunc(slices.Clone(k.keys), func(u uint8) bool { return u == usage })
	}
	return nil
}

// report returns what the keyboard tells.
func (k *keyboard) report() []byte {
	b := make([]byte, k.Rollover.size())
	switch k.Rollover {
	case boot:
		b[0] = k.modifiers
		copy(b[2:], k.keys)
	case full:
		b[0] = k.modifiers
		for _, u := range k.keys {
			b[1+u/8] |= 1 << (u % 8)
		}
	}
	return b
}
