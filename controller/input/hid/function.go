package hid

import (
	"fmt"
	"slices"
)

// function is one interface of the gadget: what the host is told of it.
type function struct {
	kind       Kind
	descriptor []byte
	size       int // of its longest report
	subclass   int // 1: it speaks the boot protocol, HID 1.11, 4.2
	protocol   int // 1: as a keyboard does, HID 1.11, 4.3
}

// functions returns those that options ask for.
func (o *Options) functions() (all []function) {
	switch o.Keyboard {
	case Boot:
		all = append(all, function{BootKeyboard, Boot.Descriptor(), Boot.Size(), 1, 1})
	case Full:
		all = append(all, function{FullKeyboard, Full.Descriptor(), Full.Size(), 0, 0})
	}
	switch o.Mouse {
	case Absolute:
		all = append(all, function{AbsoluteMouse, Absolute.Descriptor(), Absolute.Size(), 0, 0})
	case Relative:
		all = append(all, function{RelativeMouse, Relative.Descriptor(), Relative.Size(), 0, 0})
	}
	if o.Touch {
		all = append(all, function{TouchScreen, TouchDescriptor(o.WidthMM, o.HeightMM), touchBytes, 0, 0})
	}
	return all
}

// recognise returns the kind of a function with a descriptor of somebody, if its reports are like
// ours; "" if they are not.
func recognise(descriptor []byte) Kind {
	theirs, err := ParseFields(descriptor)
	if err != nil {
		return ""
	}
	for _, k := range kinds() {
		ours, err := ParseFields(k.descriptor())
		if err == nil && slices.Equal(ours, theirs) {
			return k
		}
	}
	return ""
}

func (k Kind) descriptor() []byte {
	switch k {
	case BootKeyboard:
		return Boot.Descriptor()
	case FullKeyboard:
		return Full.Descriptor()
	case AbsoluteMouse:
		return Absolute.Descriptor()
	case RelativeMouse:
		return Relative.Descriptor()
	case TouchScreen:
		return TouchDescriptor(1, 1)
	}
	return nil
}

// version is another one for each choice of functions: hosts remember what a device of a number
// has.
func version(all []function) string {
	n := 0
	for _, f := range all {
		switch f.kind {
		case BootKeyboard, AbsoluteMouse, TouchScreen:
			n += map[part]int{theKeyboard: 1, theMouse: 3, theTouchScreen: 9}[f.kind.part()]
		default:
			n += map[part]int{theKeyboard: 2, theMouse: 6}[f.kind.part()]
		}
	}
	return fmt.Sprintf("0x01%02d", n) // binary coded decimals
}
