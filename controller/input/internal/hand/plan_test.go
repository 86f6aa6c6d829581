package hand

import (
	"errors"
	"fmt"
	"testing"

	"github.com/eideticker/eideticker/controller/input"
)

// TestPlan: the actions of one report, and those left to lift.
func TestPlan(t *testing.T) {
	layout := input.US()
	layout['€'] = input.Place{Key: "KeyE", AltGr: true}
	layout['Ö'] = input.Place{Key: "KeyP", Shift: true, AltGr: true}
	for _, tc := range []struct {
		name    string
		actions []input.Action
		steps   string
		lift    string
	}{
		{"a chord", []input.Action{input.KeyDown{Key: "ControlLeft"}, input.KeyDown{Key: "f"}}, "[ControlLeft KeyF]",
			"f ControlLeft"},
		{"a capital within", []input.Action{input.KeyDown{Key: "ControlLeft"}, input.KeyDown{Key: "F"},
			input.KeyUp{Key: "F"}}, "[ControlLeft] [ShiftLeft] [KeyF] [-KeyF] [-ShiftLeft]", "ControlLeft"},
		{"shift that is held stays", []input.Action{input.KeyDown{Key: "ShiftLeft"}, input.Text{Text: "AB"}},
			"[ShiftLeft] [KeyA] [-KeyA] [KeyB] [-KeyB]", "ShiftLeft"},
		{"two modifiers", []input.Action{input.KeyDown{Key: "Ö"}}, "[ShiftLeft AltRight] [KeyP]", "Ö"},
		{"two modifiers up", []input.Action{input.KeyDown{Key: "Ö"}, input.KeyUp{Key: "Ö"}},
			"[ShiftLeft AltRight] [KeyP] [-KeyP] [-AltRight -ShiftLeft]", ""},
		{"text with AltGr", []input.Action{input.Text{Text: "e€"}},
			"[KeyE] [-KeyE] [AltRight] [KeyE] [-KeyE] [-AltRight]", ""},
		{"twice the same key", []input.Action{input.KeyDown{Key: "a"}, input.KeyUp{Key: "a"}, input.KeyDown{Key: "a"}},
			"[KeyA] [-KeyA] [KeyA]", "a"},
		{"no text", []input.Action{input.Text{}}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s State
			steps, err := s.Plan(layout, Screen{10, 10}, tc.actions...)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for i, step := range steps {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprint(names(step.Actions))
				s = step.After
			}
			if got != tc.steps {
				t.Errorf("%s\nwant %s", got, tc.steps)
			}
			lift := ""
			for i, a := range s.Lift() {
				if i > 0 {
					lift += " "
				}
				lift += string(a.(input.KeyUp).Key)
			}
			if lift != tc.lift || s.Holds() != (tc.lift != "") {
				t.Errorf("to lift is %q, want %q", lift, tc.lift)
			}
		})
	}
}

func names(actions []input.Action) (all []string) {
	for _, a := range actions {
		switch a := a.(type) {
		case input.KeyDown:
			all = append(all, string(a.Key))
		case input.KeyUp:
			all = append(all, "-"+string(a.Key))
		}
	}
	return all
}

// TestCutAnywhere: whichever step was the last, lifting then lifts each pressed key, and no other.
func TestCutAnywhere(t *testing.T) {
	actions := []input.Action{input.KeyDown{Key: "ControlLeft"}, input.KeyDown{Key: "Q"}, input.Text{Text: "aB"},
		input.KeyUp{Key: "Q"}}
	steps, err := State{}.Plan(input.US(), Screen{10, 10}, actions...)
	if err != nil {
		t.Fatal(err)
	}
	down := map[string]bool{}
	press := func(actions []input.Action, down map[string]bool) {
		for _, n := range names(actions) {
			if n[0] == '-' {
				delete(down, n[1:])
			} else {
				down[n] = true
			}
		}
	}
	for i, step := range steps {
		press(step.Actions, down)
		left := map[string]bool{}
		for k := range down {
			left[k] = true
		}
		if !step.After.Holds() {
			t.Fatalf("after step %d nothing is held, but %v", i, left)
		}
		lift, err := step.After.Plan(input.US(), Screen{10, 10}, step.After.Lift()...)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lift {
			press(l.Actions, left)
		}
		if len(left) > 0 {
			t.Errorf("cut after step %d: %v are left", i, left)
		}
	}
}

// Fault: The keyboard lacks a character or key
func TestPlanRefuses(t *testing.T) {
	for _, a := range []input.Action{input.Text{Text: "ß"}, input.KeyDown{Key: "ß"}, input.KeyUp{Key: "ß"},
		input.KeyDown{Key: "DeadAcute"}, input.Move{X: 10}, input.TouchDown{Y: 10}, unknown{}} {
		steps, err := State{}.Plan(input.US(), Screen{10, 10}, a)
		if !errors.Is(err, errors.ErrUnsupported) || steps != nil {
			t.Errorf("%v: %v, %v", a, steps, err)
		}
	}
}

// unknown is an action that is none of ours.
type unknown struct{}

func (unknown) Validate() error { return nil }
func (unknown) String() string  { return "something" }

// TestTrail: ways of any length, in pieces, end where they should.
func TestTrail(t *testing.T) {
	screen := Screen{MaxScreen, 300}
	var trail Trail
	x, y := 12345, 67 // where the pointer is, which nobody knows
	for _, to := range [][2]float64{{5, 5}, {MaxScreen - 1, 299}, {MaxScreen - 1, 299}, {0, 0}, {7.4, 7.5}} {
		for _, way := range trail.To(screen, to[0], to[1], 1000) {
			if max(way[0], -way[0], way[1], -way[1]) > 1000 {
				t.Errorf("a way of %v", way)
			}
			x, y = min(max(x+way[0], 0), screen.Width-1), min(max(y+way[1], 0), screen.Height-1)
		}
		if x != Pixel(to[0], screen.Width) || y != Pixel(to[1], screen.Height) {
			t.Errorf("to %v: at %d,%d", to, x, y)
		}
	}
}
