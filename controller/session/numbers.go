package session

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/eideticker/eideticker/controller/suite"
)

// DefaultMaxLost is how many frames of what is measured may be missing: where the machine that is
// measured also records, a few always are.
const DefaultMaxLost = 0.05

// Numbers are what somebody asks of a set in place of what its test says, or of what is usual where
// that says nothing. Nil is not asked for.
type Numbers struct {
	Repeat   *int // of each variant
	WarmUp   *int
	Retries  *int // of all
	Cooldown *time.Duration
	MaxLost  *float64
}

// NewSet returns a test's set with what is asked of it. Whoever makes the runs adds the rest. What
// cannot be asked is a *RangeError.
func NewSet(t *suite.Test, on []Variant, asked Numbers) (SetOptions, error) {
	if err := asked.Check(); err != nil {
		return SetOptions{}, err
	}
	o := SetOptions{
		Test: t, Variants: on, Repeat: or(asked.Repeat, max(t.Repeat, 1)), WarmUp: or(asked.WarmUp, t.Warmup),
		Cooldown: or(asked.Cooldown, t.Cooldown),
		MaxLost:  or(asked.MaxLost, DefaultMaxLost),
	}
	usual := t.Retries
	if usual == 0 {
		usual = min(o.Repeat*len(on), suite.MaxRuns)
	}
	o.Retries = or(asked.Retries, usual)
	return o, nil
}

func or[T any](asked *T, usual T) T {
	if asked != nil {
		return *asked
	}
	return usual
}

// Check returns a *RangeError for what cannot be asked of any set.
func (n *Numbers) Check() error {
	for _, err := range []*RangeError{
		within("repeat", n.Repeat, 1, suite.MaxRuns), within("warm-up", n.WarmUp, 0, suite.MaxRuns),
		within("retries", n.Retries, 0, suite.MaxRuns),
		within("cooldown", n.Cooldown, 0, suite.MaxDuration), within("max-lost", n.MaxLost, 0, 1),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func within[T int | time.Duration | float64](name string, asked *T, low, high T) *RangeError {
	if asked == nil || *asked >= low && *asked <= high { // what is no number is in no range
		return nil
	}
	return &RangeError{Name: name, Is: *asked, Low: low, High: high}
}

// RangeError says that a number is too small or too large.
type RangeError struct {
	Name          string // "repeat", "warm-up", "retries", "cooldown", "max-lost"
	Is, Low, High any    // int; time.Duration of cooldown, float64 of max-lost: a part of all frames
}

func (e *RangeError) Error() string { return e.In(e.Name, func(v any) string { return fmt.Sprint(v) }) }

// In is the sentence in the words of who has asked: what he calls the number, and how he writes it.
func (e *RangeError) In(name string, write func(any) string) string {
	return fmt.Sprintf("%s is %s: must be %s to %s", name, write(e.Is), write(e.Low), write(e.High))
}

// NewSeed chooses the seed of a set: short, so that people can type it.
func NewSeed() uint64 { return rand.Uint64N(1_000_000) + 1 }
