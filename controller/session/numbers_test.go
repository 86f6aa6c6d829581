package session

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/suite"
)

// TestNewSet: given numbers override those of the test, and those override the usual ones.
func TestNewSet(t *testing.T) {
	plain, slow := &suite.Test{}, &suite.Test{Repeat: 4, Warmup: 1, Cooldown: 5 * time.Second, Retries: 3}
	one, two := []Variant{{}}, []Variant{{}, {}}
	type set struct {
		repeat, warmUp, retries int
		cooldown                time.Duration
		maxLost                 float64
	}
	none := Numbers{WarmUp: new(int), Retries: new(int), Cooldown: new(time.Duration), MaxLost: new(float64)}
	many, all := suite.MaxRuns, 1.0
	for name, tc := range map[string]struct {
		test  *suite.Test
		on    []Variant
		asked Numbers
		want  set
	}{
		"nothing is said":      {plain, one, Numbers{}, set{1, 0, 1, 0, 0.05}},
		"the test's":           {slow, two, Numbers{}, set{4, 1, 3, 5 * time.Second, 0.05}},
		"none":                 {slow, one, none, set{4, 0, 0, 0, 0}},
		"more than the test's": {slow, one, Numbers{Repeat: &many, MaxLost: &all}, set{many, 1, 3, 5 * time.Second, 1}},
		"a retry for each":     {plain, two, Numbers{Repeat: &slow.Repeat}, set{4, 0, 8, 0, 0.05}},
		"no more than may be":  {plain, two, Numbers{Repeat: &many}, set{many, 0, many, 0, 0.05}},
	} {
		o, err := NewSet(tc.test, tc.on, tc.asked)
		if got := (set{o.Repeat, o.WarmUp, o.Retries, o.Cooldown, o.MaxLost}); err != nil || got != tc.want ||
			o.Test != tc.test || len(o.Variants) != len(tc.on) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tc.want)
		}
	}
}

// TestNumbersThatCannotBe: each has bounds, and the sentence says which.
func TestNumbersThatCannotBe(t *testing.T) {
	number := func(n int) *int { return &n }
	length := func(d time.Duration) *time.Duration { return &d }
	part := func(p float64) *float64 { return &p }
	for want, asked := range map[string]Numbers{
		"repeat is 0: must be 1 to 10000":                      {Repeat: number(0)},
		"repeat is 10001: must be 1 to 10000":                  {Repeat: number(suite.MaxRuns + 1)},
		"warm-up is -1: must be 0 to 10000":                    {WarmUp: number(-1)},
		"retries is 10001: must be 0 to 10000":                 {Retries: number(suite.MaxRuns + 1)},
		"cooldown is -1ns: must be 0s to 24h0m0s":              {Cooldown: length(-1)},
		"cooldown is 24h0m0.000000001s: must be 0s to 24h0m0s": {Cooldown: length(suite.MaxDuration + 1)},
		"max-lost is 1.5: must be 0 to 1":                      {MaxLost: part(1.5)},
		"max-lost is NaN: must be 0 to 1":                      {MaxLost: part(math.NaN())},
	} {
		_, err := NewSet(&suite.Test{}, []Variant{{}}, asked)
		var out *RangeError
		if !errors.As(err, &out) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
