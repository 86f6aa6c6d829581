package hand

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/controller/input"
)

// Screen is what a device shows, in pixels.
type Screen struct{ Width, Height int }

// MaxScreen bounds either side of a screen. Devices count places with 15 bits: a pixel of a larger
// one could not be told from the next.
const MaxScreen = 1 << 15

// Validate reports a screen that there is not.
func (s Screen) Validate() error {
	if s.Width < 1 || s.Width > MaxScreen || s.Height < 1 || s.Height > MaxScreen {
		return fmt.Errorf("screen of %dx%d: it has from 1 to %d pixels each way", s.Width, s.Height, MaxScreen)
	}
	return nil
}

// contains reports a place that is not on the screen.
func (s Screen) contains(x, y float64) error {
	if x >= float64(s.Width) || y >= float64(s.Height) {
		return fmt.Errorf("%g,%g lies outside the screen of %dx%d: %w", x, y, s.Width, s.Height, errors.ErrUnsupported)
	}
	return nil
}

// State has the held keys, buttons and fingers. The zero value holds nothing. It is a value: plans
// are made on copies.
type State struct {
	keys    []held
	buttons []input.Button
	fingers [input.MaxFingers]bool
}

// held is a key that is down.
type held struct {
	key       input.Key   // as it was asked for: "F"
	place     input.Key   // "KeyF"
	modifiers []input.Key // that were pressed for it alone: "ShiftLeft"
}

func (s State) clone() State {
	s.keys, s.buttons = slices.Clone(s.keys), slices.Clone(s.buttons)
	return s
}

// down reports whether a place is pressed.
func (s *State) down(place input.Key) bool {
	return slices.ContainsFunc(s.keys, func(h held) bool {
		return h.place == place ||
			slices.Contains(h.modifiers, place)
	})
}

// Holds reports whether anything is down.
func (s *State) Holds() bool {
	return len(s.keys) > 0 || len(s.buttons) > 0 || slices.Contains(s.fingers[:], true)
}

// Lift returns the actions that lift everything, to be planned: fingers first, then buttons, then
// keys, the last pressed first.
func (s *State) Lift() (all []input.Action) {
	for finger, down := range s.fingers {
		if down {
			all = append(all, input.TouchUp{Finger: finger})
		}
	}
	for _, b := range slices.Backward(s.buttons) {
		all = append(all, input.ButtonUp{Button: b})
	}
	for _, h := range slices.Backward(s.keys) {
		all = append(all, input.KeyUp{Key: h.key})
	}
	return all
}

// ParseScreen reads "1920x1080".
func ParseScreen(s string) (Screen, error) {
	w, h, ok := strings.Cut(s, "x")
	width, errW := strconv.Atoi(w)
	height, errH := strconv.Atoi(h)
	if !ok || errW != nil || errH != nil {
		return Screen{}, fmt.Errorf("%.40q is not a size like 1920x1080", s)
	}
	screen := Screen{width, height}
	return screen, screen.Validate()
}
