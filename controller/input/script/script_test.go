package script

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/input"
)

func says(all []input.Timed) string {
	var b strings.Builder
	for _, t := range all {
		fmt.Fprintf(&b, "%v %v\n", t.After, t.Actions)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"tap", "tap 100 200 2 50\n",
			"0s [finger 0 down at 110,220]\n50ms [finger 0 up]\n100ms [finger 0 down at 110,220]\n" +
				"150ms [finger 0 up]\n"},
		{"drag behind a sleep", "# down\n\nsleep 1000\n  drag 0 300 0 100 2 100",
			"1s [finger 0 down at 10,320]\n1.05s [finger 0 to 10,220]\n1.1s [finger 0 to 10,120]\n" +
				"1.1s [finger 0 up]\n"},
		{"pinch", "pinch 0 0 10 10 90 90 80 80 1 20",
			"0s [finger 0 down at 10,20 finger 1 down at 100,110]\n20ms [finger 0 to 20,30 finger 1 to 90,100]\n" +
				"20ms [finger 0 up finger 1 up]\n"},
		{"keys", "keydown 28\nsleep 10\nkeyup Enter\n", "0s [key down Enter]\n10ms [key up Enter]\n"},
		{"nothing", "", ""},
	} {
		all, err := Parse(tc.in, 10, 20)
		if err != nil || says(all) != tc.want {
			t.Errorf("%s: %v\n%swant\n%s", tc.name, err, says(all), tc.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for in, want := range map[string]string{
		"tap 1 2 3":                          "line 1: tap has 3 words behind it, want 4",
		"sleep 1\nswipe 1 2":                 `line 2: unknown command "swipe"`,
		"tap a 2 3 4":                        `"a" is not a number`,
		"tap -1 2 3 4":                       `"-1" is not a number`,
		"tap 1 2 0 4":                        "tap 0 times",
		"drag 1 2 3 4 0 10":                  "0 steps",
		"keydown 9999":                       "no key of a keyboard has the number 9999",
		"keyup Entre":                        "unknown key",
		"sleep 99999999":                     "not a number",
		strings.Repeat("sleep 3000000\n", 2): "line 2: the script is longer",
	} {
		_, err := Parse(in, 0, 0)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", in, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("tap 1 2 3 4\ndrag 1 2 3 4 5 6\nsleep 7\npinch 1 2 3 4 5 6 7 8 9 10\nkeydown 28\nkeyup 28")
	f.Add("tap 65536 65536 10000 65536")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse(text, 0, 0)
		if err != nil {
			return
		}
		last := time.Duration(0)
		for _, timed := range all {
			if timed.After < last || timed.After > maxDuration {
				t.Fatalf("%v behind %v", timed.After, last)
			}
			last = timed.After
			if err := input.Check(timed.Actions); err != nil {
				t.Fatal(err)
			}
		}
	})
}
