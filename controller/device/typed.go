package device

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/strict"
)

// Typed is a browser that runs already, and is typed into: all that is known of it is how its
// address bar is reached.
type Typed struct {
	Input input.Driver
	Bar   AddressBar
	Touch bool // a place is touched, not clicked
	Clock timeline.Clock
	// Opens reaches the bar by what it is given, and returns when the bar is seen to open; nil:
	// nobody looks. From when it was reached it has the time that bars take in either case.
	Opens func(ctx context.Context, reach func(context.Context) error) error
}

// The speed of a hand that reaches the address bar, and the delay until browsers accept typed text.
const (
	barHeld  = 60 * time.Millisecond
	barOpens = 500 * time.Millisecond
)

// Go has the browser go to an address: the bar is reached, the address typed, and Enter pressed. It
// returns when Enter was sent: that is when it was told to go.
func (t Typed) Go(ctx context.Context, address string) (timeline.Interval, error) {
	if address == "" || len(address) > 8<<10 || strings.ContainsFunc(address, unicode.IsControl) {
		return timeline.Interval{}, fmt.Errorf("address %q: must be one line of at most 8 KiB", strict.Clip(address))
	}
	clock := t.Clock
	if clock == nil {
		clock = timeline.Monotonic()
	}
	down, up := t.reach()
	var reached timeline.Time
	reach := func(ctx context.Context) error {
		return input.Play(ctx, t.Input, clock.Now(), []input.Timed{{Actions: down}, {After: barHeld, Actions: up}},
			func(_ input.Timed, sent timeline.Interval) { reached = sent.Latest })
	}
	err := error(nil)
	if t.Opens != nil {
		err = t.Opens(ctx, reach)
	} else {
		err = reach(ctx)
	}
	if err != nil {
		return timeline.Interval{}, fmt.Errorf("reach the address bar: %w", err)
	}
	var entered timeline.Interval
	enter := input.KeyDown{Key: "Enter"}
	all := []input.Timed{
		// Browsers complete typed text, some time later, to a visited address, and Enter would go
		// there. They do not complete text that ends in a space.
		{After: 0, Actions: []input.Action{input.Text{Text: address + " "}}},
		{After: 0, Actions: []input.Action{enter}},
		{After: barHeld, Actions: []input.Action{input.KeyUp{Key: "Enter"}}},
	}
	err = input.Play(ctx, t.Input, reached.Add(barOpens), all, func(done input.Timed, sent timeline.Interval) {
		if done.Actions[0] == input.Action(enter) {
			entered = sent
		}
	})
	if err != nil {
		return timeline.Interval{}, fmt.Errorf("type the address: %w", err)
	}
	return entered, nil
}

// reach is what reaches the address bar, and what lets go again.
func (t Typed) reach() (down, up []input.Action) {
	x, y := float64(t.Bar.X), float64(t.Bar.Y)
	switch {
	case t.Bar.pressed():
		return input.Chord(t.Bar.Keys)
	case t.Touch:
		return []input.Action{input.TouchDown{X: x, Y: y}}, []input.Action{input.TouchUp{}}
	}
	return []input.Action{input.Move{X: x, Y: y}, input.ButtonDown{Button: input.Left}},
		[]input.Action{input.ButtonUp{Button: input.Left}}
}
