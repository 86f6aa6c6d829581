package adb

import (
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
)

// of is an event without a time, which the device puts in itself.
func of(kind, code uint16, value int32) evdev.Event {
	return evdev.Event{Type: kind, Code: code, Value: value}
}

var report = evdev.Event{Type: evdev.Syn, Code: evdev.Report}

// fingers makes the events of a touch screen, in slots: protocol B of
// Documentation/input/multi-touch-protocol.
type fingers struct {
	to   func(x, y float64) (int32, int32) // places of the screen to those of the touch screen
	down [input.MaxFingers]bool
	next int32 // tracking id
}

var errFinger = errors.New("a finger that is not down moves or is lifted, or one that is down comes down")

// report makes the events of actions that are all of fingers, and nothing if one of them cannot be.
func (f *fingers) report(actions []input.Action) ([]evdev.Event, error) {
	after := *f
	before := after.touching()
	var all []evdev.Event
	place := func(finger int, x, y float64) {
		px, py := f.to(x, y)
		all = append(all, of(evdev.Abs, evdev.AbsMTPositionX, px), of(evdev.Abs, evdev.AbsMTPositionY, py))
		after.down[finger] = true
	}
	for _, a := range actions {
		switch a := a.(type) {
		case input.TouchDown:
			if after.down[a.Finger] {
				return nil, errFinger
			}
			all = append(all, of(evdev.Abs, evdev.AbsMTSlot, int32(a.Finger)),
				of(evdev.Abs, evdev.AbsMTTrackingID, after.next))
			after.next = (after.next + 1) & 0x7fff
			place(a.Finger, a.X, a.Y)
		case input.TouchMove:
			if !after.down[a.Finger] {
				return nil, errFinger
			}
			all = append(all, of(evdev.Abs, evdev.AbsMTSlot, int32(a.Finger)))
			place(a.Finger, a.X, a.Y)
		case input.TouchUp:
			if !after.down[a.Finger] {
				return nil, errFinger
			}
			all = append(all, of(evdev.Abs, evdev.AbsMTSlot, int32(a.Finger)), of(evdev.Abs, evdev.AbsMTTrackingID, -1))
			after.down[a.Finger] = false
		default:
			return nil, fmt.Errorf("%v together with fingers: %w", a, errors.ErrUnsupported)
		}
	}
	if now := after.touching(); now != before {
		value := int32(0)
		if now {
			value = 1
		}
		all = append(all, of(evdev.Key, evdev.BtnTouch, value))
	}
	*f = after
	return append(all, report), nil
}

// keep handles actions that were sent in part: fingers that were down before them, or came down in
// them, may be down.
func (f *fingers) keep(before [input.MaxFingers]bool, actions []input.Action) {
	for i, down := range before {
		f.down[i] = f.down[i] || down
	}
	for _, a := range actions {
		if a, ok := a.(input.TouchDown); ok {
			f.down[a.Finger] = true
		}
	}
}

func (f *fingers) touching() bool { return f.down != [input.MaxFingers]bool{} }

// keys makes the events of keys, each press in a report of its own.
func keys(l input.Layout, actions []input.Action) ([]evdev.Event, error) {
	var all []evdev.Event
	press := func(k input.Key, value int32) error {
		p, ok := l.Find(k)
		if !ok || p.AltGr {
			return fmt.Errorf("key %q is not on a US keyboard, which this is: %w", k, errors.ErrUnsupported)
		}
		if p.Shift {
			return fmt.Errorf("key %q needs Shift: press both, or type it as text: %w", k, errors.ErrUnsupported)
		}
		codes, _ := p.Key.Codes()
		all = append(all, of(evdev.Key, codes.Evdev, value), report)
		return nil
	}
	for _, a := range actions {
		switch a := a.(type) {
		case input.KeyDown:
			if err := press(a.Key, 1); err != nil {
				return nil, err
			}
		case input.KeyUp:
			if err := press(a.Key, 0); err != nil {
				return nil, err
			}
		case input.Text:
			presses, missing := l.Type(a.Text)
			if missing != 0 {
				return nil, fmt.Errorf("%q is not on a US keyboard, which this is: %w", missing, errors.ErrUnsupported)
			}
			for _, p := range presses {
				more, err := keys(l, p)
				if err != nil {
					return nil, err
				}
				all = append(all, more...)
			}
		default:
			return nil, fmt.Errorf("%v: a device by adb has a touch screen and a keyboard: %w", a,
				errors.ErrUnsupported)
		}
	}
	return all, nil
}

// ofFingers reports whether an action is one of fingers.
func ofFingers(a input.Action) bool {
	switch a.(type) {
	case input.TouchDown, input.TouchMove, input.TouchUp:
		return true
	}
	return false
}
