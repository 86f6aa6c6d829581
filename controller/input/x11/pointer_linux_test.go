package x11

import (
	"errors"
	"strings"
	"testing"

	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/controller/input"
)

func TestPointer(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	for _, tc := range []struct {
		name    string
		actions []input.Action
		want    string
	}{
		{"move", []input.Action{input.Move{X: 10, Y: 20.9}, input.Move{X: 319.5, Y: 199}, input.Move{}},
			"10,20 319,199 0,0"},
		{"drag", []input.Action{input.Move{X: 5, Y: 5}, input.ButtonDown{Button: input.Left}, input.Move{X: 50, Y: 60},
			input.ButtonUp{Button: input.Left}},
			"5,5 button 1 50,60 unbutton 1"},
		{"buttons", []input.Action{input.ButtonDown{Button: input.Right}, input.ButtonDown{Button: input.Middle},
			input.ButtonDown{Button: input.Back},
			input.ButtonDown{Button: input.Forward}, input.ButtonUp{Button: input.Forward},
			input.ButtonUp{Button: input.Back},
			input.ButtonUp{Button: input.Middle}, input.ButtonUp{Button: input.Right}},
			"button 3 button 2 button 8 button 9 unbutton 9 unbutton 8 unbutton 2 unbutton 3"},
		{"wheel", []input.Action{input.Wheel{Y: 2}, input.Wheel{Y: -1}, input.Wheel{X: 1}, input.Wheel{X: -1}},
			"button 5 unbutton 5 button 5 unbutton 5 button 4 unbutton 4 button 7 unbutton 7 button 6 unbutton 6"},
		{"with a key", []input.Action{input.KeyDown{Key: "ControlLeft"}, input.Wheel{Y: -1},
			input.KeyUp{Key: "ControlLeft"}},
			"press 37 button 4 unbutton 4 release 37"},
	} {
		do(t, d, tc.actions...)
		if got := story(c.all()); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	do(t, d, input.Wheel{Y: input.MaxWheel, X: -input.MaxWheel})
	if n := len(c.all()); n != 4*input.MaxWheel {
		t.Errorf("a long turn of the wheel is %d events", n)
	}
}

// TestLeftHanded: the left button is the one that windows take for it.
func TestLeftHanded(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	m, err := xproto.GetPointerMapping(c.Conn).Reply()
	if err != nil {
		t.Fatal(err)
	}
	m.Map[0], m.Map[2], m.Map[1] = 3, 1, 0
	if r, err := xproto.SetPointerMapping(c.Conn, byte(len(m.Map)), m.Map).Reply(); err != nil || r.Status != 0 {
		t.Fatal(r, err)
	}
	do(t, d, input.ButtonDown{Button: input.Left}, input.ButtonUp{Button: input.Left})
	if got := story(c.all()); got != "button 1 unbutton 1" {
		t.Error(got)
	}
	if _, err := d.Do(t.Context(), 0, input.ButtonDown{Button: input.Middle}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a button that there is not: %v", err)
	}
}

// TestNothingIsDone: where one action cannot be done, none is.
func TestNothingIsDone(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	for _, tc := range []struct {
		action      input.Action
		unsupported bool
		want        string
	}{
		{input.TouchDown{X: 1, Y: 1}, true, "uinput"},
		{input.TouchUp{}, true, "fingers"},
		{input.Text{Text: "a\x07"}, true, "U+0007"},
		{input.Text{Text: "\xff"}, false, "UTF-8"},
		{input.Move{X: 320, Y: 0}, false, "320x200"},
		{input.Move{X: 0, Y: 200}, false, "320x200"},
		{input.KeyDown{Key: "Nokey"}, false, "Nokey"},
	} {
		_, err := d.Do(t.Context(), 0, input.KeyDown{Key: "a"}, input.Text{Text: "日"}, input.Move{X: 3, Y: 3},
			tc.action)
		if err == nil || !strings.Contains(err.Error(), tc.want) ||
			errors.Is(err, errors.ErrUnsupported) != tc.unsupported {
			t.Errorf("%v: %v", tc.action, err)
		}
	}
	if all := c.all(); len(all) != 0 || len(d.presses) != 0 {
		t.Errorf("done: %s, held %v", story(all), d.presses)
	}
}

// TestScreenChangesItsSize: places are those of the screen as it is now.
func TestScreenChangesItsSize(t *testing.T) {
	display := startDisplay(t).Name()
	d := openDriver(t, display)
	c, err := connect(display)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	// By hand: the library's package for RandR changes what connections that are open read events
	// by.
	ext, err := xproto.QueryExtension(c.Conn, 5, "RANDR").Reply()
	if err != nil || !ext.Present {
		t.Fatal(ext, err)
	}
	request := func(minor byte, words ...uint32) []byte {
		b := []byte{ext.MajorOpcode, minor, byte(len(words) + 1), 0}
		for _, w := range words {
			b = le.AppendUint32(b, w)
		}
		return b
	}
	res, err := c.raw(request(8, uint32(c.root))) // GetScreenResources
	if err != nil {
		t.Fatal(err)
	}
	for i := range int(le.Uint16(res[16:])) { // the screen must fit: SetCrtcConfig, of nothing
		if _, err := c.raw(request(21, le.Uint32(res[32+4*i:]), 0, le.Uint32(res[12:]), 0, 0, 1)); err != nil {
			t.Fatal(err)
		}
	}
	c.NewRequest(request(7, uint32(c.root), 200|100<<16, 50, 25), c.NewCookie(false, false)) // SetScreenSize
	if err := c.sync(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Do(t.Context(), 0, input.Move{X: 250, Y: 50}); err == nil ||
		!strings.Contains(err.Error(), "200x100") {
		t.Errorf("a place outside: %v", err)
	}
	do(t, d, input.Move{X: 199, Y: 99})
}
