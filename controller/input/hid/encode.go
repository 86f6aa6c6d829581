package hid

import (
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
)

// encoder makes reports of a hand's actions. It is a value: changes of a copy do not affect it.
type encoder struct {
	screen   hand.Screen
	keyboard keyboard
	mouse    mouse
	touch    touch
	hasTouch bool
	trail    hand.Trail
	pressed  uint8 // buttons that were told
}

// outgoing is a report and the kind of function that tells it.
type outgoing struct {
	to     part
	report []byte
}

// part is one of the three functions that a gadget has at most.
type part uint8

const (
	theKeyboard part = iota
	theMouse
	theTouchScreen
	parts
)

func (p part) String() string { return [...]string{"keyboard", "mouse", "touch screen"}[p] }

func (k kind) part() part {
	switch k {
	case bootKeyboard, fullKeyboard:
		return theKeyboard
	case absoluteMouse, relativeMouse:
		return theMouse
	}
	return theTouchScreen
}

// equip gives the encoder a function.
func (e *encoder) equip(k kind) {
	switch k {
	case bootKeyboard:
		e.keyboard.Rollover = boot
	case fullKeyboard:
		e.keyboard.Rollover = full
	case absoluteMouse:
		e.mouse.Pointing = pointingAbsolute
	case relativeMouse:
		e.mouse.Pointing = pointingRelative
	case touchScreen:
		e.hasTouch = true
	}
}

// has reports whether there is a function.
func (e *encoder) has(p part) bool {
	return [...]bool{e.keyboard.Rollover != noKeyboard, e.mouse.Pointing != pointingNone, e.hasTouch}[p]
}

// neutral lifts all of a part, and returns the report that says so.
func (e *encoder) neutral(p part) []byte {
	switch p {
	case theKeyboard:
		e.keyboard = keyboard{Rollover: e.keyboard.Rollover}
		return e.keyboard.report()
	case theMouse:
		e.mouse.buttons, e.pressed = 0, 0
		return e.mouse.report(0, 0, 0, 0)
	}
	e.touch.liftAll()
	return e.touch.report(0)
}

// plan makes the reports of actions before any is sent, and returns the state after them.
func (e *encoder) plan(state hand.State, layout input.Layout, actions []input.Action) (all []outgoing, after hand.State,
	err error) {
	steps, err := state.Plan(layout, e.screen, actions...)
	if err != nil {
		return nil, state, err
	}
	after = state
	for _, s := range steps {
		reports, err := e.encode(s.Actions)
		if err != nil {
			return nil, state, err
		}
		all = append(all, reports...)
		after = s.After
	}
	return all, after, nil
}

// encode returns the reports of a step, one for each part that has something to tell; of a relative
// mouse, and of a wheel that turns far, more.
func (e *encoder) encode(step []input.Action) ([]outgoing, error) {
	var touched [parts]bool
	turn := input.Wheel{}
	var ways [][2]int
	for _, a := range step {
		p := partOf(a)
		if !e.has(p) {
			return nil, fmt.Errorf("%v: the gadget has no %v: %w", a, p, errors.ErrUnsupported)
		}
		touched[p] = true
		switch a := a.(type) {
		case input.KeyDown, input.KeyUp:
			if err := e.key(a); err != nil {
				return nil, fmt.Errorf("%v: %w", a, err)
			}
		case input.Move:
			if e.mouse.Pointing == pointingRelative {
				ways = e.trail.To(e.screen, a.X, a.Y, maxWay)
			} else {
				e.mouse.place(place(a.X, e.screen.Width), place(a.Y, e.screen.Height))
			}
		case input.ButtonDown:
			e.mouse.button(uint8(a.Button), true)
		case input.ButtonUp:
			e.mouse.button(uint8(a.Button), false)
		case input.Wheel:
			turn = a
		case input.TouchDown:
			e.touch.set(a.Finger, place(a.X, e.screen.Width), place(a.Y, e.screen.Height))
		case input.TouchMove:
			e.touch.set(a.Finger, place(a.X, e.screen.Width), place(a.Y, e.screen.Height))
		case input.TouchUp:
			e.touch.lift(a.Finger)
		}
	}
	return e.reports(touched, ways, turn), nil
}

func partOf(a input.Action) part {
	switch a.(type) {
	case input.KeyDown, input.KeyUp:
		return theKeyboard
	case input.TouchDown, input.TouchMove, input.TouchUp:
		return theTouchScreen
	}
	return theMouse
}

// key presses or lifts a named key.
func (e *encoder) key(a input.Action) error {
	var k input.Key
	var down bool
	switch a := a.(type) {
	case input.KeyDown:
		k, down = a.Key, true
	case input.KeyUp:
		k = a.Key
	}
	codes, _ := k.Codes() // a plan names keys that have them
	return e.keyboard.set(codes.HID, down)
}

func (e *encoder) reports(touched [parts]bool, ways [][2]int, turn input.Wheel) (all []outgoing) {
	if touched[theKeyboard] {
		all = append(all, outgoing{theKeyboard, e.keyboard.report()})
	}
	if touched[theMouse] {
		for _, r := range e.mouseReports(ways, turn) {
			all = append(all, outgoing{theMouse, r})
		}
	}
	if touched[theTouchScreen] {
		all = append(all, outgoing{theTouchScreen, e.touch.report(0)})
	}
	return all
}

// mouseReports tells ways and turns, in as many reports as they take. The buttons of a relative
// mouse change where its last way ends.
func (e *encoder) mouseReports(ways [][2]int, turn input.Wheel) (all [][]byte) {
	last := [2]int{}
	if n := len(ways); n > 0 {
		before := e.mouse
		before.buttons = e.pressed
		for _, way := range ways[:n-1] {
			all = append(all, before.report(way[0], way[1], 0, 0))
		}
		last = ways[n-1]
	}
	for {
		x, y := bound(turn.X, maxTurn), bound(turn.Y, maxTurn)
		turn.X, turn.Y = turn.X-x, turn.Y-y
		// a wheel counts away from the hand, which scrolls up
		all = append(all, e.mouse.report(last[0], last[1], -y, x))
		last = [2]int{}
		if turn.X == 0 && turn.Y == 0 {
			e.pressed = e.mouse.buttons
			return all
		}
	}
}
