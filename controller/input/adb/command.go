package adb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/controller/input"
)

// inputCommand is the way through the command input, of which one is run for each action, and
// waited for. It knows whole keys and one finger.
type inputCommand struct {
	device *Device
	at     [2]float64 // of the finger
	down   bool
}

func openInput(ctx context.Context, d *Device) (way, error) {
	if _, err := d.Run(ctx, "command -v input"); err != nil {
		return nil, errors.Join(errors.New("the device has no such command"), err)
	}
	// A finger of a lost device may still be down. Cancelling it clicks nothing. If the command
	// does not support touches it fails, and no finger is down.
	var failed *exitError
	if _, err := d.Run(ctx, "input touchscreen motionevent CANCEL 0 0"); err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	return &inputCommand{device: d}, nil
}

func (*inputCommand) name() string { return "input" }
func (*inputCommand) close() error { return nil }

func (w *inputCommand) plan(actions []input.Action) (func(context.Context) error, error) {
	var commands []string
	next, touched := *w, w.down
	for _, a := range actions {
		c, err := next.command(a)
		if err != nil {
			return nil, err
		}
		if c != "" {
			commands = append(commands, c)
		}
		touched = touched || next.down
	}
	return func(ctx context.Context) error {
		w.at, w.down = next.at, touched
		if len(commands) > 0 {
			if _, err := w.device.Run(ctx, strings.Join(commands, " && ")); err != nil {
				return err
			}
		}
		*w = next
		return nil
	}, nil
}

// command returns what does an action.
func (w *inputCommand) command(a input.Action) (string, error) {
	touch := func(what string, x, y float64, down bool) string {
		w.at, w.down = [2]float64{x, y}, down
		return fmt.Sprintf("input touchscreen motionevent %s %d %d", what, int(x), int(y))
	}
	switch a := a.(type) {
	case input.KeyDown: // the command presses and lets go
		c, ok := androidKey(a.Key)
		if !ok {
			return "", fmt.Errorf("key %q: the command input has none for it: %w", a.Key, errors.ErrUnsupported)
		}
		if a.Key.Modifier() {
			return "", fmt.Errorf("key %q: the command input holds no key: %w", a.Key, errors.ErrUnsupported)
		}
		return fmt.Sprintf("input keyevent %d", c), nil
	case input.KeyUp:
		return "", nil
	case input.Text:
		return w.text(a.Text)
	case input.TouchDown:
		if a.Finger != 0 {
			return "", fmt.Errorf("the command input has one finger: %w", errors.ErrUnsupported)
		}
		return touch("DOWN", a.X, a.Y, true), nil
	case input.TouchMove:
		if a.Finger != 0 || !w.down {
			return "", errFinger
		}
		return touch("MOVE", a.X, a.Y, true), nil
	case input.TouchUp:
		if a.Finger != 0 || !w.down {
			return "", errFinger
		}
		return touch("UP", w.at[0], w.at[1], false), nil
	}
	return "", fmt.Errorf("%v: a device by adb has a touch screen and a keyboard: %w", a, errors.ErrUnsupported)
}

// androidKey returns the number of a key. For a key that types, it is that of its place on a US
// keyboard.
func androidKey(k input.Key) (uint16, bool) {
	p, ok := input.US().Find(k)
	if !ok || p.Shift || p.AltGr {
		return 0, false
	}
	c, _ := p.Key.Codes()
	return c.Android, c.Android != 0
}

// text returns what types text. The command takes ASCII; a space is %s there, and a line's end is a
// key.
func (w *inputCommand) text(text string) (string, error) {
	var commands []string
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			commands = append(commands, "input keyevent 66")
		}
		for _, c := range line {
			if c < ' ' || c > '~' {
				return "", fmt.Errorf("%q: the command input types ASCII only: %w", c, errors.ErrUnsupported)
			}
		}
		if strings.Contains(line, "%s") {
			return "", fmt.Errorf("the command input takes %%s for a space, and cannot type it: %w",
				errors.ErrUnsupported)
		}
		if line != "" {
			commands = append(commands, "input text "+w.device.Quote(strings.ReplaceAll(line, " ", "%s")))
		}
	}
	return strings.Join(commands, " && "), nil
}
