package hand

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/eideticker/eideticker/controller/input"
)

// Step is sent to a device at once, with the state after it.
type Step struct {
	Actions []input.Action
	After   State
}

// Plan takes actions apart. What the layout or the screen does not have is an error that wraps
// errors.ErrUnsupported.
func (s State) Plan(layout input.Layout, screen Screen, actions ...input.Action) ([]Step, error) {
	if err := input.Check(actions); err != nil {
		return nil, err
	}
	p := planner{state: s.clone(), layout: layout, screen: screen, changed: map[thing]bool{}}
	for _, a := range actions {
		if err := p.plan(a); err != nil {
			return nil, fmt.Errorf("%.200v: %w", a, err)
		}
	}
	p.end()
	return p.steps, nil
}

// planner makes steps of actions.
type planner struct {
	state   State
	layout  input.Layout
	screen  Screen
	steps   []Step
	actions []input.Action // of the step that is being made
	changed map[thing]bool // in it
}

// thing is a part of a device that has one state at a time.
type thing struct {
	kind   byte
	key    input.Key
	number int
}

// The kinds of things.
const (
	aKey byte = iota
	aButton
	aFinger
	thePointer
	theWheel
)

// tell adds a change to the step. If the thing has changed in this step already, it begins a new
// one: a host would miss a key that goes down and up in one report.
func (p *planner) tell(t thing, a input.Action) {
	if p.changed[t] {
		p.end()
	}
	p.changed[t] = true
	p.actions = append(p.actions, a)
}

// end ends a step.
func (p *planner) end() {
	if len(p.actions) == 0 {
		return
	}
	p.steps = append(p.steps, Step{p.actions, p.state.clone()})
	p.actions = nil
	clear(p.changed)
}

func (p *planner) plan(a input.Action) error {
	switch a := a.(type) {
	case input.KeyDown:
		place, ok := p.layout.Find(a.Key)
		if !ok {
			return missing(string(a.Key))
		}
		p.press(a.Key, place)
	case input.KeyUp:
		place, ok := p.layout.Find(a.Key)
		if !ok {
			return missing(string(a.Key))
		}
		p.lift(a.Key, place)
	case input.Text:
		return p.text(a.Text)
	case input.Move:
		p.tell(thing{kind: thePointer}, a)
		return p.screen.contains(a.X, a.Y)
	case input.ButtonDown:
		p.tell(thing{kind: aButton, number: int(a.Button)}, a)
		if !slices.Contains(p.state.buttons, a.Button) {
			p.state.buttons = append(p.state.buttons, a.Button)
		}
	case input.ButtonUp:
		p.tell(thing{kind: aButton, number: int(a.Button)}, a)
		p.state.buttons = slices.DeleteFunc(p.state.buttons, func(b input.Button) bool { return b == a.Button })
	case input.Wheel:
		p.tell(thing{kind: theWheel}, a)
	case input.TouchDown:
		return p.touch(a.Finger, a, false, true, a.X, a.Y)
	case input.TouchMove:
		return p.touch(a.Finger, a, true, true, a.X, a.Y)
	case input.TouchUp:
		return p.touch(a.Finger, a, true, false, 0, 0)
	default:
		return fmt.Errorf("a %T is not an action of a keyboard, mouse or touch screen: %w", a, errors.ErrUnsupported)
	}
	return nil
}

func missing(what string) error {
	if utf8.RuneCountInString(what) > 1 {
		return fmt.Errorf("the keyboard's layout has no key %.40s: %w", what, errors.ErrUnsupported)
	}
	return fmt.Errorf("%.40q (%U) is not on the keyboard's layout: %w", what, []rune(what)[0], errors.ErrUnsupported)
}

// press presses a place, and before it the modifiers that it needs and that are not down.
func (p *planner) press(k input.Key, place input.Place) {
	h := held{key: k, place: place.Key}
	for _, m := range modifiers(place) {
		if !p.state.down(m) {
			h.modifiers = append(h.modifiers, m)
		}
	}
	p.modify(h.modifiers)
	p.tell(thing{kind: aKey, key: place.Key}, input.KeyDown{Key: place.Key})
	if !slices.ContainsFunc(p.state.keys, func(h held) bool { return h.key == k }) {
		p.state.keys = append(p.state.keys, h)
	}
}

// modify presses modifiers in a step of their own: hosts take the keys of one report in an order of
// their own.
func (p *planner) modify(modifiers []input.Key) {
	if len(modifiers) == 0 {
		return
	}
	p.end()
	for _, m := range modifiers {
		p.tell(thing{kind: aKey, key: m}, input.KeyDown{Key: m})
	}
	// A step that ends here and is the last one told leaves the modifier pressed: it is held for
	// its own sake until the key is.
	before := p.state.keys
	for _, m := range modifiers {
		p.state.keys = append(slices.Clone(p.state.keys), held{key: m, place: m})
	}
	p.end()
	p.state.keys = before
}

// lift lets go of a place, and after it of the modifiers that were pressed for it.
func (p *planner) lift(k input.Key, place input.Place) {
	i := slices.IndexFunc(p.state.keys, func(h held) bool { return h.key == k })
	if i < 0 {
		p.tell(thing{kind: aKey, key: place.Key}, input.KeyUp{Key: place.Key})
		return
	}
	h := p.state.keys[i]
	p.state.keys = slices.Delete(p.state.keys, i, i+1)
	p.tell(thing{kind: aKey, key: h.place}, input.KeyUp{Key: h.place})
	if len(h.modifiers) == 0 {
		return
	}
	after := p.state.keys
	for _, m := range h.modifiers {
		p.state.keys = append(slices.Clone(p.state.keys), held{key: m, place: m})
	}
	p.end()
	p.state.keys = after
	for _, m := range slices.Backward(h.modifiers) {
		p.tell(thing{kind: aKey, key: m}, input.KeyUp{Key: m})
	}
	p.end()
}

// text types characters, one change at a time.
func (p *planner) text(text string) error {
	for _, r := range text {
		if _, ok := p.layout[r]; !ok {
			return missing(string(r))
		}
	}
	for _, r := range text {
		place := p.layout[r]
		p.end()
		p.press(input.Key(r), place)
		p.end()
		p.lift(input.Key(r), place)
		p.end()
	}
	return nil
}

func modifiers(place input.Place) (all []input.Key) {
	if place.Shift {
		all = append(all, "ShiftLeft")
	}
	if place.AltGr {
		all = append(all, "AltRight")
	}
	return all
}

// touch changes a finger that must be down before, or must not.
func (p *planner) touch(finger int, a input.Action, before, after bool, x, y float64) error {
	switch down := p.state.fingers[finger]; {
	case before && !down:
		return fmt.Errorf("finger %d is not down", finger)
	case !before && down:
		return fmt.Errorf("finger %d is down already", finger)
	}
	p.tell(thing{kind: aFinger, number: finger}, a)
	p.state.fingers[finger] = after
	return p.screen.contains(x, y)
}
