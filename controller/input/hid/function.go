package hid

import (
	"fmt"
	"slices"
)

// function is one interface of the gadget: its descriptors for the host.
type function struct {
	kind       kind
	descriptor []byte
	size       int // of its longest report
	subclass   int // 1: it speaks the boot protocol, HID 1.11, 4.2
	protocol   int // 1: as a keyboard does, HID 1.11, 4.3
}

// functions returns those that options ask for.
func (o *driverOptions) functions() (all []function) {
	switch o.Keyboard {
	case boot:
		all = append(all, function{bootKeyboard, boot.descriptor(), boot.size(), 1, 1})
	case full:
		all = append(all, function{fullKeyboard, full.descriptor(), full.size(), 0, 0})
	}
	switch o.Mouse {
	case pointingAbsolute:
		all = append(all, function{absoluteMouse, pointingAbsolute.descriptor(), pointingAbsolute.size(), 0, 0})
	case pointingRelative:
		all = append(all, function{relativeMouse, pointingRelative.descriptor(), pointingRelative.size(), 0, 0})
	}
	if o.Touch {
		all = append(all, function{touchScreen, touchDescriptor(o.WidthMM, o.HeightMM), touchBytes, 0, 0})
	}
	return all
}

// recognise returns the kind of a function with a descriptor of somebody, if its reports are like
// ours; "" if they are not.
func recognise(descriptor []byte) kind {
	theirs, err := parseFields(descriptor)
	if err != nil {
		return ""
	}
	for _, k := range kinds() {
		ours, err := parseFields(k.descriptor())
		if err == nil && slices.Equal(ours, theirs) {
			return k
		}
	}
	return ""
}

func (k kind) descriptor() []byte {
	switch k {
	case bootKeyboard:
		return boot.descriptor()
	case fullKeyboard:
		return full.descriptor()
	case absoluteMouse:
		return pointingAbsolute.descriptor()
	case relativeMouse:
		return pointingRelative.descriptor()
	case touchScreen:
		return touchDescriptor(1, 1)
	}
	return nil
}

// version is another one for each choice of functions: hosts remember what a device of a number
// has.
func version(all []function) string {
	n := 0
	for _, f := range all {
		switch f.kind {
		case bootKeyboard, absoluteMouse, touchScreen:
			n += map[part]int{theKeyboard: 1, theMouse: 3, theTouchScreen: 9}[f.kind.part()]
		default:
			n += map[part]int{theKeyboard: 2, theMouse: 6}[f.kind.part()]
		}
	}
	return fmt.Sprintf("0x01%02d", n) // binary coded decimals
}
