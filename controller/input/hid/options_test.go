//go:build !rigvm

package hid

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct{ path, query, want, err string }{
		{"", "", `"" "" udc "" 1 1 true 508x285 1920x1080 10s`, ""},
		{"", "udc=fe980000.usb&keyboard=full&pointer=relative&touch=no&wait=1m",
			`"" "" udc "fe980000.usb" 2 2 false 508x285 1920x1080 1m0s`, ""},
		{"", "size=1080x2400&mm=68x150", `"" "" udc "" 1 1 true 68x150 1080x2400 10s`, ""},
		{"", "keyboard=no&pointer=no", `"" "" udc "" 0 0 true 508x285 1920x1080 10s`, ""},
		{"/dev/hidg3", "as=touch&layout=us", `"/dev/hidg3" "touch" udc "" 1 1 true 508x285 1920x1080 10s`, ""},
		{"/dev/hidg3", "udc=x", "", `unknown parameter "udc": here are as, layout, size, wait`},
		{"/dev/../etc/passwd", "", "", "not a node below /dev"},
		{"hidg3", "", "", "not a node below /dev"},
		{"/dev/hidg3", "as=joystick", "", `"joystick" is none of full-keyboard, keyboard,`},
		{"", "keyboard=no&pointer=no&touch=no", "", "nothing to plug in"},
		{"", "udc=../x", "", "not a name of a port"},
		{"", "size=40000x1", "", "from 1 to 32768"},
		{"", "mm=0x5", "", "millimetres"},
		{"", "mm=5000x5", "", "from 1 to 3000"},
		{"", "wait=-1s", "", "from 0 to 1h"},
		{"", "wait=long", "", "invalid duration"},
		{"", "layout=fr", "", "only us"},
		{"", "touch=yes&touch=no", "", "2 times"},
	} {
		q, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		o, err := parse(tc.path, q)
		got := fmt.Sprintf("%q %q udc %q %d %d %t %dx%d %dx%d %v", o.Node, o.As, o.UDC, o.Keyboard, o.Mouse, o.Touch,
			o.WidthMM, o.HeightMM, o.Width, o.Height, o.Wait)
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) || tc.err == "" &&
			(err != nil || got != tc.want) {
			t.Errorf("%s?%s: %s, %v; want %s%s", tc.path, tc.query, got, err, tc.want, tc.err)
		}
	}
}

// TestVersions: the host gets another version for each choice of functions.
func TestVersions(t *testing.T) {
	seen := map[string]string{}
	for _, keyboard := range []rollover{noKeyboard, boot, full} {
		for _, mouse := range []pointing{pointingNone, pointingAbsolute, pointingRelative} {
			for _, touch := range []bool{false, true} {
				o := defaults()
				o.Keyboard, o.Mouse, o.Touch = keyboard, mouse, touch
				choice := fmt.Sprint(keyboard, mouse, touch)
				v := version(o.functions())
				if other, twice := seen[v]; twice {
					t.Errorf("%s and %s are both %s", choice, other, v)
				}
				if len(v) != 6 || strings.Trim(v[2:], "0123456789") != "" {
					t.Errorf("%s: %q is not four decimals", choice, v)
				}
				seen[v] = choice
			}
		}
	}
}

// TestOpenHere: where nothing can be plugged in, that is said, and no driver comes back.
func TestOpenHere(t *testing.T) {
	d, err := Open(t.Context(), "/dev/null", url.Values{"wait": {"0s"}})
	if err == nil || d != nil {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := Open(t.Context(), "", url.Values{"colour": {"red"}}); err == nil ||
		errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
