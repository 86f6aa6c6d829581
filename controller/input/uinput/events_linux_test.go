//go:build !rigvm

package uinput

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
)

// TestReports: simultaneous actions are one report to each device. A device without events gets
// none.
func TestReports(t *testing.T) {
	d := &driver{
		keyboard: &device{name: "keys"}, mouse: &device{name: "mouse"}, touch: &device{name: "touch"},
		screen: hand.Screen{Width: 1000, Height: 500}, layout: input.US(),
	}
	for _, tc := range []struct {
		name    string
		actions []input.Action
		want    string
	}{
		{"a key", []input.Action{input.KeyDown{Key: "f"}}, "keys 1/0x21=1"},
		{"two keys at once", []input.Action{input.KeyUp{Key: "f"}, input.KeyDown{Key: "ControlLeft"}},
			"keys 1/0x21=0 1/0x1d=1"},
		{"a key that is held", []input.Action{input.KeyUp{Key: "ControlLeft"}}, "keys 1/0x1d=0"},
		{"a capital", []input.Action{input.KeyDown{Key: "F"}}, "keys 1/0x2a=1; keys 1/0x21=1"},
		{"a capital up", []input.Action{input.KeyUp{Key: "F"}}, "keys 1/0x21=0; keys 1/0x2a=0"},
		{"text", []input.Action{input.Text{Text: "a!\n"}},
			"keys 1/0x1e=1; keys 1/0x1e=0; keys 1/0x2a=1; keys 1/0x2=1; keys 1/0x2=0; keys 1/0x2a=0; keys 1/0x1c=1; " +
				"keys 1/0x1c=0"},
		{"pressed somewhere", []input.Action{input.ButtonDown{Button: input.Left}, input.Move{X: 10.4, Y: 499.9}},
			"mouse 3/0x0=10 3/0x1=499 1/0x110=1"},
		{"clicked", []input.Action{input.ButtonUp{Button: input.Left}, input.ButtonDown{Button: input.Left},
			input.ButtonUp{Button: input.Left}}, "mouse 1/0x110=0; mouse 1/0x110=1; mouse 1/0x110=0"},
		{"wheel", []input.Action{input.Wheel{X: 1, Y: 2}}, "mouse 2/0x8=-2 2/0xb=-240 2/0x6=1 2/0xc=120"},
		{"two fingers", []input.Action{input.TouchDown{Finger: 1, X: 5, Y: 6}, input.TouchDown{Finger: 0, X: 7, Y: 8}},
			"touch 3/0x2f=1 3/0x39=1 3/0x35=5 3/0x36=6 3/0x2f=0 3/0x39=2 3/0x35=7 3/0x36=8 1/0x14a=1 3/0x0=7 3/0x1=8"},
		{"the first is lifted", []input.Action{input.TouchUp{Finger: 0}}, "touch 3/0x2f=0 3/0x39=-1 3/0x0=5 3/0x1=6"},
		{"the first comes back", []input.Action{input.TouchDown{Finger: 0, X: 1, Y: 1}},
			"touch 3/0x2f=0 3/0x39=3 3/0x35=1 3/0x36=1 3/0x0=5 3/0x1=6"},
		{"dragged", []input.Action{input.TouchMove{Finger: 1, X: 9, Y: 9}, input.KeyDown{Key: "F5"}},
			"keys 1/0x3f=1; touch 3/0x2f=1 3/0x35=9 3/0x36=9 3/0x0=9 3/0x1=9"},
		{"all lifted", []input.Action{input.TouchUp{Finger: 0}, input.TouchUp{Finger: 1}},
			"touch 3/0x2f=0 3/0x39=-1 3/0x2f=1 3/0x39=-1 1/0x14a=0"},
		{"outside", []input.Action{input.Move{X: 1000, Y: 1}}, "error outside the screen of 1000x500"},
		{"no such letter", []input.Action{input.Text{Text: "日"}}, `error "日" (U+65E5) is not on the keyboard's layout`},
		{"a dead key", []input.Action{input.KeyDown{Key: "DeadAcute"}},
			"error the keyboard's layout has no key DeadAcute"},
		{"a finger that is not there", []input.Action{input.TouchMove{Finger: 2}}, "error finger 2 is not down"},
		{"nothing", nil, "error no action"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			steps, err := d.state.Plan(d.layout, d.screen, tc.actions...)
			if want, wrong := strings.CutPrefix(tc.want, "error "); wrong {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := said(d, steps); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
	if lift := fmt.Sprint(d.state.Lift()); lift != "[key up F5]" {
		t.Errorf("in the end, %s is to be lifted", lift)
	}
}

// said has the driver take steps, and returns what it tells its devices.
func said(d *driver, steps []hand.Step) string {
	var all []string
	for _, s := range steps {
		for _, r := range d.reports(s.Actions) {
			line := r.to.name
			for _, e := range r.events {
				line += " " + e.String()
			}
			all = append(all, line)
		}
		d.state = s.After
	}
	return strings.Join(all, "; ")
}

// TestRelative: a mouse that tells ways begins in the corner.
func TestRelative(t *testing.T) {
	d := &driver{mouse: &device{name: "mouse"}, screen: hand.Screen{Width: 1000, Height: 500}, layout: input.US(),
		relative: true}
	for _, tc := range []struct {
		x, y float64
		want string
	}{
		{10, 20, "mouse 2/0x0=-1000 2/0x1=-500; mouse 2/0x0=10 2/0x1=20"},
		{4, 20, "mouse 2/0x0=-6"},
		{999.6, 0, "mouse 2/0x0=995 2/0x1=-20"},
	} {
		steps, err := d.state.Plan(d.layout, d.screen, input.Move{X: tc.x, Y: tc.y})
		if err != nil {
			t.Fatal(err)
		}
		if got := said(d, steps); got != tc.want {
			t.Errorf("to %g,%g: %s, want %s", tc.x, tc.y, got, tc.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct{ path, query, want, err string }{
		{"", "", "1920x1080 false", ""},
		{"/dev/uinput", "size=640x480&pointer=relative&layout=us", "640x480 true", ""},
		{"/dev/input", "", "", "/dev/uinput or nothing"},
		{"", "size=640", "", "not a size like"},
		{"", "size=0x480", "", "from 1 to 32768"},
		{"", "size=640x480x3", "", "not a size like"},
		{"", "pointer=both", "", "absolute or relative"},
		{"", "layout=de", "", "only us"},
		{"", "colour=1", "", `unknown parameter "colour"`},
		{"", "size=1x1&size=2x2", "", "2 times"},
	} {
		q, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		o, err := parse(tc.path, q)
		got := fmt.Sprintf("%dx%d %t", o.Width, o.Height, o.Relative)
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) || tc.err == "" &&
			(err != nil || got != tc.want) {
			t.Errorf("%s?%s: %s, %v; want %s%s", tc.path, tc.query, got, err, tc.want, tc.err)
		}
	}
}

// TestAdvice: an error about a missing part has advice.
func TestAdvice(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{{unix.ENOENT, "modprobe uinput"}, {unix.EACCES, "rule of udev"}} {
		err := advise(tc.err)
		if !errors.Is(err, tc.err) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v", tc.err, err)
		}
	}
	if _, err := os.Stat(node); err != nil {
		if _, err := Open(t.Context(), "", nil); err == nil || !strings.Contains(err.Error(), node) {
			t.Errorf("without %s: %v", node, err)
		}
	}
}
