package webdriver

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/eideticker/eideticker/controller/input"
)

// wheelPixels is how far a detent of the wheel scrolls.
const wheelPixels = 100

// source is one of input.performActions: what it does, tick by tick. Sources act at once in each
// tick.
type source struct {
	Type       string      `json:"type"`
	ID         string      `json:"id"`
	Parameters *parameters `json:"parameters,omitempty"`
	Actions    []tick      `json:"actions"`
}

type parameters struct {
	PointerType string `json:"pointerType"`
}

type tick struct {
	Type   string `json:"type"`
	Value  string `json:"value,omitempty"`
	Button *int   `json:"button,omitempty"`
	X      *int   `json:"x,omitempty"`
	Y      *int   `json:"y,omitempty"`
	DeltaX *int   `json:"deltaX,omitempty"`
	DeltaY *int   `json:"deltaY,omitempty"`
}

// perform gathers the sources of one command.
type perform struct {
	at               [2]int
	key, mouse, turn *source
	touch            map[int]*source
	order            []*source
}

func (p *perform) add(a input.Action) error {
	switch a := a.(type) {
	case input.KeyDown:
		return p.press("keyDown", a.Key)
	case input.KeyUp:
		return p.press("keyUp", a.Key)
	case input.Text:
		return p.text(a.Text)
	case input.Move:
		p.at = [2]int{pixel(a.X), pixel(a.Y)}
		p.pointer().do(tick{Type: "pointerMove", X: &p.at[0], Y: &p.at[1]}.own())
	case input.ButtonDown:
		p.pointer().do(tick{Type: "pointerDown", Button: button(a.Button)})
	case input.ButtonUp:
		p.pointer().do(tick{Type: "pointerUp", Button: button(a.Button)})
	case input.Wheel:
		if p.turn == nil {
			p.turn = p.new(&source{Type: "wheel", ID: "wheel"})
		}
		x, y := a.X*wheelPixels, a.Y*wheelPixels
		p.turn.do(tick{Type: "scroll", X: &p.at[0], Y: &p.at[1], DeltaX: &x, DeltaY: &y}.own())
	case input.TouchDown:
		p.finger(a.Finger).do(move(a.X, a.Y), tick{Type: "pointerDown", Button: new(int)})
	case input.TouchMove:
		p.finger(a.Finger).do(move(a.X, a.Y))
	case input.TouchUp:
		p.finger(a.Finger).do(tick{Type: "pointerUp", Button: new(int)})
	default:
		return fmt.Errorf("%v: %w", a, errors.ErrUnsupported)
	}
	return nil
}

// own has a tick keep places of its own, that do not change with the pointer's.
func (t tick) own() tick {
	x, y := *t.X, *t.Y
	t.X, t.Y = &x, &y
	return t
}

func pixel(v float64) int { return int(math.Round(v)) }

func move(x, y float64) tick {
	px, py := pixel(x), pixel(y)
	return tick{Type: "pointerMove", X: &px, Y: &py}
}

// button returns a button's number in the browsers' own events.
func button(b input.Button) *int {
	n := slices.Index([]input.Button{input.Left, input.Middle, input.Right, input.Back, input.Forward}, b)
	return &n
}

func (p *perform) new(s *source) *source {
	p.order = append(p.order, s)
	return s
}

func (s *source) do(t ...tick) { s.Actions = append(s.Actions, t...) }

func (p *perform) pointer() *source {
	if p.mouse == nil {
		p.mouse = p.new(&source{Type: "pointer", ID: "mouse", Parameters: &parameters{"mouse"}})
	}
	return p.mouse
}

func (p *perform) finger(n int) *source {
	if p.touch[n] == nil {
		p.touch[n] = p.new(&source{Type: "pointer", ID: "finger" + strconv.Itoa(n), Parameters: &parameters{"touch"}})
	}
	return p.touch[n]
}

func (p *perform) keyboard() *source {
	if p.key == nil {
		p.key = p.new(&source{Type: "key", ID: "keyboard"})
	}
	return p.key
}

// press presses a key by the character that it types, or by the number that WebDriver has for it.
func (p *perform) press(what string, k input.Key) error {
	value := ""
	if r, ok := k.Rune(); ok {
		value = string(r)
	} else if c, _ := k.Codes(); c.Driver != 0 {
		value = string(c.Driver)
	} else if c.Keysym >= ' ' && c.Keysym < 0x7f {
		value = string(rune(c.Keysym))
	}
	if value == "" {
		return fmt.Errorf("key %s has no number in WebDriver: %w", k, errors.ErrUnsupported)
	}
	p.keyboard().do(tick{Type: what, Value: value})
	return nil
}

func (p *perform) text(text string) error {
	for _, r := range text {
		k := input.Key(r)
		switch r {
		case '\n':
			k = "Enter"
		case '\t':
			k = "Tab"
		case ' ':
			k = "Space"
		}
		if err := k.Validate(); err != nil {
			return fmt.Errorf("%q cannot be typed: %w", r, errors.ErrUnsupported)
		}
		if err := errors.Join(p.press("keyDown", k), p.press("keyUp", k)); err != nil {
			return err
		}
	}
	return nil
}

// sources returns the collected sources. Sources act in parallel. To keep the order of actions,
// sources other than fingers wait for each other: the first does everything, then the next.
func (p *perform) sources() []*source {
	done := 0
	for _, s := range p.order {
		if s.Parameters != nil && s.Parameters.PointerType == "touch" {
			continue
		}
		pauses := make([]tick, done)
		for i := range pauses {
			pauses[i].Type = "pause"
		}
		done += len(s.Actions)
		s.Actions = append(pauses, s.Actions...)
	}
	return p.order
}
