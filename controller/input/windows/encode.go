package windows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
)

// call is the input of one call of the system: one of the two.
type call struct {
	Inputs   []inputRecord // by SendInput
	Contacts []contact     // by InjectTouchInput: all fingers that are down, or were
}

// encoder makes calls of actions. It is a value: changes of a copy do not affect it.
type encoder struct {
	Width, Height int          // of the primary screen, in pixels
	Layout        input.Layout // of the device; nil: US
	state         hand.State
	fingers       [input.MaxFingers]finger
}

type finger struct {
	down bool
	at   point
}

// encode returns calls in order, and records the held state after them. On an error it records
// nothing.
func (e *encoder) encode(actions ...input.Action) ([]call, error) {
	if err := input.Check(actions); err != nil {
		return nil, err
	}
	next := *e
	if next.Layout == nil {
		next.Layout = input.US()
	}
	var calls []call
	for len(actions) > 0 {
		var err error
		if t, ok := actions[0].(input.Text); ok {
			calls, err = next.text(calls, t.Text)
			actions = actions[1:]
		} else {
			n := slices.IndexFunc(actions, func(a input.Action) bool { _, ok := a.(input.Text); return ok })
			if n < 0 {
				n = len(actions)
			}
			calls, err = next.plan(calls, actions[:n])
			actions = actions[n:]
		}
		if err != nil {
			return nil, err
		}
	}
	*e = next
	return calls, nil
}

// lift returns the actions that let go of all that is held.
func (e *encoder) lift() []input.Action { return e.state.Lift() }

// touching reports whether a finger is down.
func (e *encoder) touching() bool {
	return slices.ContainsFunc(e.fingers[:], func(f finger) bool { return f.down })
}

// still returns the contacts that repeat where the fingers are.
func (e *encoder) still() []contact { return e.contacts([input.MaxFingers]uint32{}) }

func (e *encoder) plan(calls []call, actions []input.Action) ([]call, error) {
	steps, err := e.state.Plan(e.Layout, hand.Screen{Width: e.Width, Height: e.Height}, actions...)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		c, err := e.step(s.Actions)
		if err != nil {
			return nil, err
		}
		calls = append(calls, c...)
		e.state = s.After
	}
	return calls, nil
}

// step encodes what changes at once.
func (e *encoder) step(actions []input.Action) (calls []call, err error) {
	var inputs []inputRecord
	var changes [input.MaxFingers]uint32
	touched := false
	for _, a := range actions {
		switch a := a.(type) {
		case input.TouchDown:
			changes[a.Finger], touched = pointerDown, true
			e.fingers[a.Finger] = finger{true, e.pixel(a.X, a.Y)}
		case input.TouchMove:
			touched = true
			e.fingers[a.Finger].at = e.pixel(a.X, a.Y)
		case input.TouchUp:
			if e.fingers[a.Finger].down {
				changes[a.Finger], touched = pointerUp, true
			}
		default:
			if inputs, err = e.inputs(inputs, a); err != nil {
				return nil, err
			}
		}
	}
	if len(inputs) > 0 {
		calls = append(calls, call{Inputs: inputs})
	}
	if touched {
		calls = append(calls, call{Contacts: e.contacts(changes)})
		for i, change := range changes {
			if change == pointerUp {
				e.fingers[i].down = false
			}
		}
	}
	return calls, nil
}

func (e *encoder) inputs(to []inputRecord, a input.Action) ([]inputRecord, error) {
	switch a := a.(type) {
	case input.KeyDown:
		return press(to, a.Key, false)
	case input.KeyUp:
		return press(to, a.Key, true)
	case input.Move:
		p := e.pixel(a.X, a.Y)
		return append(to, mouse(normal(p.X, e.Width), normal(p.Y, e.Height), 0, mouseMove|mouseAbsolute)), nil
	case input.ButtonDown:
		return append(to, button(a.Button, false)), nil
	case input.ButtonUp:
		return append(to, button(a.Button, true)), nil
	case input.Wheel:
		return turn(turn(to, mouseWheel, -a.Y), mouseHWheel, a.X), nil
	}
	return nil, fmt.Errorf("%v: %w", a, errors.ErrUnsupported)
}

func press(to []inputRecord, k input.Key, release bool) ([]inputRecord, error) {
	s, ok := scan(k)
	if !ok {
		return nil, fmt.Errorf("key %s has no scan code: %w", k, errors.ErrUnsupported)
	}
	return append(to, s.key(release)), nil
}

// text encodes characters, each a press and a release, in one call: nothing else gets between them.
func (e *encoder) text(calls []call, text string) ([]call, error) {
	var inputs []inputRecord
	for _, r := range text {
		var named input.Key
		switch r {
		case '\n':
			named = "Enter"
		case '\t':
			named = "Tab"
		default:
			units := utf16.AppendRune(nil, r)
			for _, u := range units {
				inputs = append(inputs, keyboard(0, u, keyUnicode))
			}
			for _, u := range units {
				inputs = append(inputs, keyboard(0, u, keyUnicode|keyRelease))
			}
			continue
		}
		for _, release := range []bool{false, true} {
			var err error
			if inputs, err = press(inputs, named, release); err != nil {
				return nil, err
			}
		}
	}
	if len(inputs) == 0 {
		return calls, nil
	}
	return append(calls, call{Inputs: inputs}), nil
}

// contacts returns all fingers that are down: what changes, and the others where they are. A frame
// that leaves one out would lose it.
func (e *encoder) contacts(changes [input.MaxFingers]uint32) (all []contact) {
	const around, centre, pressure = 2, 90, 512 // pixels, degrees, of 1024
	for i, f := range e.fingers {
		if !f.down {
			continue
		}
		flags := uint32(pointerInRange | pointerContact | pointerUpdate)
		switch changes[i] {
		case pointerDown:
			flags = pointerInRange | pointerContact | pointerDown
		case pointerUp:
			flags = pointerUp
		}
		all = append(all, contact{
			Type: typeTouch, ID: uint32(i), Flags: flags, Pixel: f.at,
			TouchMask: maskArea | maskOrientation | maskPressure, Orientation: centre, Pressure: pressure,
			Area: rect{f.at.X - around, f.at.Y - around, f.at.X + around, f.at.Y + around},
		})
	}
	return all
}

func (e *encoder) pixel(x, y float64) point {
	return point{int32(hand.Pixel(x, e.Width)), int32(hand.Pixel(y, e.Height))}
}

// normal returns the middle of a pixel, where the side of the screen is 65536: whichever way the
// system rounds, it finds the pixel.
func normal(pixel int32, size int) int32 {
	return int32((2*int64(pixel) + 1) * 65536 / (2 * int64(size)))
}

func keyboard(vk, code uint16, flags uint32) inputRecord {
	i := inputRecord{Kind: kindKeyboard}
	binary.LittleEndian.PutUint16(i.Data[0:], vk)
	binary.LittleEndian.PutUint16(i.Data[2:], code)
	binary.LittleEndian.PutUint32(i.Data[4:], flags)
	return i
}

func mouse(x, y, data int32, flags uint32) inputRecord {
	i := inputRecord{Kind: kindMouse}
	binary.LittleEndian.PutUint32(i.Data[0:], uint32(x))
	binary.LittleEndian.PutUint32(i.Data[4:], uint32(y))
	binary.LittleEndian.PutUint32(i.Data[8:], uint32(data))
	binary.LittleEndian.PutUint32(i.Data[12:], flags)
	return i
}

func button(b input.Button, release bool) inputRecord {
	flags := map[input.Button]uint32{input.Left: 0x2, input.Right: 0x8, input.Middle: 0x20, input.Back: 0x80,
		input.Forward: 0x80}[b]
	data := map[input.Button]int32{input.Back: 1, input.Forward: 2}[b]
	if release {
		flags <<= 1
	}
	return mouse(0, 0, data, flags)
}

// turn encodes detents, in as many events as it takes: programs read 16 bits of one.
func turn(to []inputRecord, flags uint32, detents int) []inputRecord {
	const detent, most = 120, 200
	for detents != 0 {
		n := min(max(detents, -most), most)
		to = append(to, mouse(0, 0, int32(n*detent), flags))
		detents -= n
	}
	return to
}
