package x11

import (
	"testing"

	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/controller/input"
)

// TestListener: the window that is asked is the one that the keys go to, or the one around it.
func TestListener(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	inner, err := xproto.NewWindowId(c.Conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := xproto.CreateWindowChecked(c.Conn, 0, inner, c.window, 10, 10, 20, 20, 0, xproto.WindowClassInputOnly, 0,
		0, nil).Check(); err != nil {
		t.Fatal(err)
	}
	if err := xproto.MapWindowChecked(c.Conn, inner).Check(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		focus xproto.Window
		at    float64
		want  xproto.Window
	}{
		{"focus", c.window, 0, c.window},
		{"focus within", inner, 0, c.window},
		{"under the pointer", xproto.InputFocusPointerRoot, 100, c.window},
		{"under the pointer, within", xproto.InputFocusPointerRoot, 15, c.window},
		{"nobody", xproto.InputFocusNone, 15, 0},
		{"the root window", d.root, 15, 0},
	} {
		if err := xproto.SetInputFocusChecked(c.Conn, xproto.InputFocusNone, tc.focus, 0).Check(); err != nil {
			t.Fatal(err)
		}
		do(t, d, input.Move{X: tc.at, Y: tc.at})
		if got, err := d.listener(); err != nil || got != tc.want {
			t.Errorf("%s: window %#x, %v, want %#x", tc.name, got, err, tc.want)
		}
	}
}

// TestWindowHangs: a window that should answer and does not holds input up for a while, not for
// good.
func TestWindowHangs(t *testing.T) {
	display := startDisplay(t).Name()
	before := mapping(t, display)
	d, c := openDriver(t, display), startClient(t, display, true, false)
	do(t, d, input.Text{Text: "日"})
	c.answers.Store(false)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if typed(c.all()) != "日" || mapping(t, display) != before {
		t.Error("it did not end as it should")
	}
}

// TestWindowCloses: the window that was typed into goes, and nobody is left to ask.
func TestWindowCloses(t *testing.T) {
	display := startDisplay(t).Name()
	before := mapping(t, display)
	d, c := openDriver(t, display), startClient(t, display, true, false)
	do(t, d, input.Text{Text: "日"})
	c.close()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if mapping(t, display) != before {
		t.Error("the mapping is not what it was")
	}
}

// TestWindowHearsFirst: a borrowed key is pressed after the window has confirmed the change. Its
// toolkit may get the change on another connection.
func TestWindowHearsFirst(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	c.tellsPings.Store(true)
	for _, text := range []string{"日", "本"} {
		do(t, d, input.Text{Text: text})
		all := c.all()
		if len(all) != 3 || all[0].kind != "ping" || typed(all[1:]) != text {
			t.Errorf("%s: %s", text, story(all))
		}
	}
	do(t, d, input.Text{Text: "日a"})
	if all := c.all(); len(all) == 0 || all[0].kind == "ping" || typed(all) != "日a" {
		t.Errorf("what it knows: %s", story(all))
	}
}
