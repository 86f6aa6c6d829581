package budget

import (
	"strings"
	"testing"
)

// TestParse: a condition has a known value, an operator, and a limit in a unit of the value.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"fps.longest_freeze > 100ms":        "fps.longest_freeze > 100 ms",
		"fps.longest_freeze>=0.1s":          "fps.longest_freeze >= 100 ms",
		"  fps.framerate < 58 ":             "fps.framerate < 58 frames/s",
		"speedindex.pixel.speed_index > 2s": "speedindex.pixel.speed_index > 2,000 ms",
	} {
		b, err := Parse(text)
		if err != nil || b.String() != want {
			t.Errorf("%s: %s, %v", text, b, err)
		}
	}
	for text, want := range map[string]string{
		"fps.longest_freeze":             "must be VALUE > LIMIT",
		"fps.longest_freeze = 3":         "must be VALUE > LIMIT",
		"fps.longest_freez > 100ms":      "unknown value fps.longest_freez; did you mean fps.longest_freeze?",
		"fps.longest_freeze > 100":       "",
		"fps.longest_freeze > 100frames": "has another unit than the value, ms",
		"fps.framerate < fast":           "is not a number",
		"fps.framerate < 1e999":          "is not a number",
	} {
		if _, err := Parse(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestOf: a limit lies on the worse side of a value.
func TestOf(t *testing.T) {
	for name, want := range map[string]string{"fps.longest_freeze": "fps.longest_freeze > 50 ms",
		"fps.framerate": "fps.framerate < 50 frames/s"} {
		if b, err := Of(name, "50"); err != nil || b.String() != want {
			t.Errorf("%s, %v", b, err)
		}
	}
}

// TestCheck: bounds on both sides of the limit decide nothing.
func TestCheck(t *testing.T) {
	above, below := Budget{Operator: ">", Limit: 100}, Budget{Operator: "<=", Limit: 100}
	for _, tc := range []struct {
		b                Budget
		value, low, high float64
		want             State
	}{
		{above, 100, 90, 110, Kept}, {above, 101, 100, 110, unsure}, {above, 102, 101, 110, Broken},
		{below, 101, 90, 110, Kept}, {below, 100, 90, 101, unsure}, {below, 99, 98, 100, Broken},
	} {
		if got := tc.b.Check(tc.value, tc.low, tc.high); got != tc.want {
			t.Errorf("%v of %v: %s, want %s", tc.value, tc.b, got, tc.want)
		}
	}
}
