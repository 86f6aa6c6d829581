package remote

import (
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/controller/input"
)

// maxActions bounds how many are done together: every finger, button and key of a hand, and more.
const maxActions = 64

// action is an input.Action on its way.
type action struct {
	Do     string       `json:"do"`
	Key    input.Key    `json:"key,omitempty"`
	Text   string       `json:"text,omitempty"`
	Button input.Button `json:"button,omitempty"`
	Finger int          `json:"finger,omitempty"`
	X      float64      `json:"x,omitempty"`
	Y      float64      `json:"y,omitempty"`
}

// The names of actions.
const (
	keyDown    = "key down"
	keyUp      = "key up"
	text       = "text"
	move       = "move"
	buttonDown = "button down"
	buttonUp   = "button up"
	wheel      = "wheel"
	touchDown  = "touch down"
	touchMove  = "touch move"
	touchUp    = "touch up"
)

func pack(actions []input.Action) ([]action, error) {
	if err := input.Check(actions); err != nil {
		return nil, err
	}
	if len(actions) > maxActions {
		return nil, fmt.Errorf("%d actions at once, limit %d: %w", len(actions), maxActions, errors.ErrUnsupported)
	}
	all := make([]action, 0, len(actions))
	for _, a := range actions {
		switch a := a.(type) {
		case input.KeyDown:
			all = append(all, action{Do: keyDown, Key: a.Key})
		case input.KeyUp:
			all = append(all, action{Do: keyUp, Key: a.Key})
		case input.Text:
			all = append(all, action{Do: text, Text: a.Text})
		case input.Move:
			all = append(all, action{Do: move, X: a.X, Y: a.Y})
		case input.ButtonDown:
			all = append(all, action{Do: buttonDown, Button: a.Button})
		case input.ButtonUp:
			all = append(all, action{Do: buttonUp, Button: a.Button})
		case input.Wheel:
			all = append(all, action{Do: wheel, X: float64(a.X), Y: float64(a.Y)})
		case input.TouchDown:
			all = append(all, action{Do: touchDown, Finger: a.Finger, X: a.X, Y: a.Y})
		case input.TouchMove:
			all = append(all, action{Do: touchMove, Finger: a.Finger, X: a.X, Y: a.Y})
		case input.TouchUp:
			all = append(all, action{Do: touchUp, Finger: a.Finger})
		default:
			return nil, fmt.Errorf("a %T: %w", a, errors.ErrUnsupported)
		}
	}
	return all, nil
}

// unpack returns actions that were checked.
func unpack(actions []action) ([]input.Action, error) {
	if len(actions) > maxActions {
		return nil, fmt.Errorf("%d actions at once, limit %d", len(actions), maxActions)
	}
	var all []input.Action
	for _, a := range actions {
		b, err := a.unpack()
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, input.Check(all)
}

func (a action) unpack() (input.Action, error) {
	switch a.Do {
	case keyDown:
		return input.KeyDown{Key: a.Key}, nil
	case keyUp:
		return input.KeyUp{Key: a.Key}, nil
	case text:
		return input.Text{Text: a.Text}, nil
	case move:
		return input.Move{X: a.X, Y: a.Y}, nil
	case buttonDown:
		return input.ButtonDown{Button: a.Button}, nil
	case buttonUp:
		return input.ButtonUp{Button: a.Button}, nil
	case wheel:
		if a.X != float64(int32(a.X)) || a.Y != float64(int32(a.Y)) {
			return nil, fmt.Errorf("wheel turns by %g, %g: no whole numbers", a.X, a.Y)
		}
		return input.Wheel{X: int(a.X), Y: int(a.Y)}, nil
	case touchDown:
		return input.TouchDown{Finger: a.Finger, X: a.X, Y: a.Y}, nil
	case touchMove:
		return input.TouchMove{Finger: a.Finger, X: a.X, Y: a.Y}, nil
	case touchUp:
		return input.TouchUp{Finger: a.Finger}, nil
	}
	return nil, fmt.Errorf("unknown action %.40q", a.Do)
}
