package input

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Action is one thing that a hand does: one of the types below.
type Action interface {
	// Validate reports why no device can do it, or nil.
	Validate() error
	fmt.Stringer
}

// MaxText is how many bytes one Text may have.
const MaxText = 64 << 10

// MaxFingers is how many fingers touch at once; theirs are 0 to MaxFingers-1.
const MaxFingers = 10

// MaxPlace bounds coordinates, in pixels.
const MaxPlace = 1 << 16

// MaxWheel bounds the detents of one Wheel.
const MaxWheel = 1000

// KeyDown presses a key, and KeyUp lets go of it.
type (
	KeyDown struct{ Key Key }
	KeyUp   struct{ Key Key }
)

// Text types text, through the input method where the platform has one.
type Text struct{ Text string }

// Move puts the pointer at a place of the device's screen, in its pixels from the upper left
// corner.
type Move struct{ X, Y float64 }

// Button is a button of a mouse.
type Button uint8

// The buttons, by their usual numbers on USB.
const (
	Left Button = iota + 1
	Right
	Middle
	Back
	Forward
)

// ButtonDown presses a button, and ButtonUp lets go of it.
type (
	ButtonDown struct{ Button Button }
	ButtonUp   struct{ Button Button }
)

// Wheel turns the wheel by detents: X to the right, Y down, as the content is to be seen further
// right or down.
type Wheel struct{ X, Y int }

// TouchDown sets a finger on a place, TouchMove draws it to another one, and TouchUp lifts it.
// Those given to a driver together are one report: fingers that move at once.
type (
	TouchDown struct {
		Finger int
		X, Y   float64
	}
	TouchMove struct {
		Finger int
		X, Y   float64
	}
	TouchUp struct{ Finger int }
)

func (a KeyDown) Validate() error { return a.Key.Validate() }
func (a KeyUp) Validate() error   { return a.Key.Validate() }

func (a Text) Validate() error {
	if len(a.Text) > MaxText {
		return fmt.Errorf("text has %d bytes, limit %d", len(a.Text), MaxText)
	}
	if !utf8.ValidString(a.Text) {
		return fmt.Errorf("text is not UTF-8")
	}
	return nil
}

func (a Move) Validate() error       { return checkPlace(a.X, a.Y) }
func (a ButtonDown) Validate() error { return a.Button.validate() }
func (a ButtonUp) Validate() error   { return a.Button.validate() }

func (a Wheel) Validate() error {
	if max(a.X, -a.X) > MaxWheel || max(a.Y, -a.Y) > MaxWheel {
		return fmt.Errorf("wheel turns by %d, %d: limit %d", a.X, a.Y, MaxWheel)
	}
	return nil
}

func (a TouchDown) Validate() error { return checkTouch(a.Finger, a.X, a.Y) }
func (a TouchMove) Validate() error { return checkTouch(a.Finger, a.X, a.Y) }
func (a TouchUp) Validate() error   { return checkTouch(a.Finger, 0, 0) }

func (b Button) validate() error {
	if b < Left || b > Forward {
		return fmt.Errorf("button %d: must be %d to %d", b, Left, Forward)
	}
	return nil
}

func checkPlace(x, y float64) error {
	if !(x >= 0 && x <= MaxPlace && y >= 0 && y <= MaxPlace) || math.IsNaN(x+y) {
		return fmt.Errorf("place %g, %g is on no screen", x, y)
	}
	return nil
}

func checkTouch(finger int, x, y float64) error {
	if finger < 0 || finger >= MaxFingers {
		return fmt.Errorf("finger %d: must be 0 to %d", finger, MaxFingers-1)
	}
	return checkPlace(x, y)
}

func (a KeyDown) String() string    { return "key down " + string(a.Key) }
func (a KeyUp) String() string      { return "key up " + string(a.Key) }
func (a Text) String() string       { return fmt.Sprintf("text %q", a.Text) }
func (a Move) String() string       { return fmt.Sprintf("move to %g,%g", a.X, a.Y) }
func (a ButtonDown) String() string { return "button down " + a.Button.String() }
func (a ButtonUp) String() string   { return "button up " + a.Button.String() }
func (a Wheel) String() string      { return fmt.Sprintf("wheel %d,%d", a.X, a.Y) }
func (a TouchDown) String() string {
	return fmt.Sprintf("finger %d down at %g,%g", a.Finger, a.X, a.Y)
}
func (a TouchMove) String() string { return fmt.Sprintf("finger %d to %g,%g", a.Finger, a.X, a.Y) }
func (a TouchUp) String() string   { return fmt.Sprintf("finger %d up", a.Finger) }

// String returns "left", "right" and so on.
func (b Button) String() string {
	names := [...]string{"left", "right", "middle", "back", "forward"}
	if b < Left || int(b) > len(names) {
		return fmt.Sprintf("button %d", uint8(b))
	}
	return names[b-1]
}
