package x11

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/controller/input"
)

// announce says on the root window that there are input methods, as servers of XIM do.
func announce(t testing.TB, c *client, format byte, names ...string) {
	t.Helper()
	intern := func(name string) xproto.Atom {
		a, err := xproto.InternAtom(c.Conn, false, uint16(len(name)), name).Reply()
		if err != nil {
			t.Fatal(err)
		}
		return a.Atom
	}
	var b []byte
	n := 0
	for _, name := range names {
		if atom, none := strings.CutPrefix(name, "#"); none { // a number that is no atom
			b = append(b, 0xff, 0xff, 0xff, atom[0])
		} else {
			b = le.AppendUint32(b, uint32(intern(name)))
		}
		n = len(b) / int(format/8)
	}
	if err := xproto.ChangePropertyChecked(c.Conn, xproto.PropModeReplace, c.root, intern("XIM_SERVERS"),
		xproto.AtomAtom, format, uint32(n), b).Check(); err != nil {
		t.Fatal(err)
	}
}

// serve makes the client's window the server of an input method, or its end.
func serve(t testing.TB, c *client, name string, owner xproto.Window) {
	t.Helper()
	a, err := xproto.InternAtom(c.Conn, false, uint16(len(name)), name).Reply()
	if err != nil {
		t.Fatal(err)
	}
	if err := xproto.SetSelectionOwnerChecked(c.Conn, owner, a.Atom, xproto.TimeCurrentTime).Check(); err != nil {
		t.Fatal(err)
	}
}

// TestInputMethodAtWork: where one is at work each character waits until the window has read the
// one before, text of several steps too, and the result says so; what is left of one that has ended
// slows nothing down.
func TestInputMethodAtWork(t *testing.T) {
	display := startDisplay(t).Name()
	before := mapping(t, display)
	d, c := openDriver(t, display), startClient(t, display, true, false)
	c.tellsPings.Store(true)
	const a, shiftB = "press 38 release 38", "press 50 press 56 release 56 release 50"
	text := func(s string) input.Action { return input.Text{Text: s} }
	key := []input.Action{input.KeyDown{Key: "Enter"}, input.KeyUp{Key: "Enter"}}
	const enter, digested = "press 36 release 36", " ping 0 asked 0 "
	for _, tc := range []struct {
		name    string
		prepare func()
		method  string // that the result tells of
		actions [][]input.Action
		want    string
	}{
		{"none", func() {}, "", [][]input.Action{{text("aB")}, key}, a + " " + shiftB + " " + enter},
		{"one that has ended", func() { announce(t, c, 32, "@server=gone") }, "", [][]input.Action{{text("aB")}},
			a + " " + shiftB},
		{"no such atoms", func() { announce(t, c, 32, "#1", "#2", "EIDETICKER_INPUT") }, "",
			[][]input.Action{{text("aa")}}, a + " " + a},
		{"another format", func() { announce(t, c, 8, "@server=test") }, "", [][]input.Action{{text("aa")}},
			a + " " + a},
		{"one that came", func() { announce(t, c, 32, "#1", "@server=test"); serve(t, c, "@server=test", c.window) },
			"test",
			[][]input.Action{{text("aB")}, key}, a + digested + shiftB + digested + enter},
		{"text and a key of one step", func() {}, "test", [][]input.Action{append([]input.Action{text("a")}, key...)},
			digested[1:] + a + digested + enter},
		{"a move waits for nothing", func() {}, "test", [][]input.Action{{input.Move{X: 3, Y: 4}}}, "3,4"},
		{"a click does", func() {}, "test", [][]input.Action{{input.ButtonDown{Button: input.Left}},
			{input.ButtonUp{Button: input.Left}}}, digested[1:] + "button 1 unbutton 1"},
		{"the wheel does not", func() {}, "test", [][]input.Action{key, {input.Wheel{Y: 1}}, {input.Wheel{Y: 1}}},
			enter + " button 5 unbutton 5 button 5 unbutton 5"},
		{"it goes", func() { serve(t, c, "@server=test", xproto.WindowNone) }, "", [][]input.Action{{text("aB")}},
			"ping 0 " + a + " " + shiftB},
	} {
		tc.prepare()
		for _, actions := range tc.actions {
			do(t, d, actions...)
		}
		if got := story(c.all()); got != tc.want {
			t.Errorf("%s: the window has seen %s, want %s", tc.name, got, tc.want)
		}
		if note := d.Info().Note; strings.Contains(note, "at work on this display, "+tc.method) != (tc.method != "") {
			t.Errorf("%s: the result says %q", tc.name, note)
		}
	}
	serve(t, c, "@server=test", c.window)
	const some = "aÉ日ß 😀" // among it what keycodes are lent to
	do(t, d, text(some))
	if got := typed(c.all()); got != some {
		t.Errorf("typed %q, want %q", got, some)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if mapping(t, display) != before {
		t.Error("the mapping is not what it was")
	}
}

// TestInputMethodHangs: a window and a method that do not answer are waited for once, the window a
// moment at each character after that; and each is asked as before when it answers again.
func TestInputMethodHangs(t *testing.T) {
	if pause(-1) != pace || pause(100*time.Millisecond) != pace+200*time.Millisecond ||
		pause(time.Hour) != pace+answer {
		t.Error("what a window has besides is not what it took, twice, and bounded")
	}
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	announce(t, c, 32, "@server=test")
	serve(t, c, "@server=test", c.window)
	c.answers.Store(false)
	do(t, d, input.Text{Text: "abc"})
	if got := typed(c.all()); got != "abc" || d.hung != c.window || len(d.silent) != 1 || d.waits != 3 ||
		d.lost != 2*answer+grace {
		t.Errorf("typed %q, hung %#x, silent %v, waited %d times, for %v in vain", got, d.hung, d.silent, d.waits,
			d.lost)
	}
	do(t, d, input.Text{Text: strings.Repeat("x", 20)})
	if got := typed(c.all()); len(got) != 20 || d.waits != 23 || d.lost != 2*answer+21*grace {
		t.Errorf("typed %q, waited %d times, for %v in vain", got, d.waits, d.lost)
	}
	c.answers.Store(true)
	was := d.silent[0]
	for range 100 { // it may need more than a moment, on a busy machine
		if do(t, d, input.Text{Text: "ab"}); d.hung == 0 {
			break
		}
	}
	if d.hung != 0 || !slices.Contains(d.silent, was) {
		t.Errorf("the window answers: hung %#x, silent %v", d.hung, d.silent)
	}
	lost := d.lost
	c.answers.Store(false)
	answered := xproto.SelectionNotifyEvent{Requestor: d.window, Selection: was.server, Target: d.atoms.transport}
	if err := xproto.SendEventChecked(c.Conn, false, d.window, 0, string(answered.Bytes())).Check(); err != nil {
		t.Fatal(err)
	}
	do(t, d, input.Move{X: 1, Y: 1})
	if len(d.silent) != 0 {
		t.Errorf("the method has answered late: silent %v", d.silent)
	}
	do(t, d, input.Text{Text: "a"})
	if len(d.silent) != 1 || d.lost != lost+2*answer {
		t.Errorf("both are silent again: silent %v, waited for %v in vain", d.silent, d.lost-lost)
	}
	c.answers.Store(true)
	again := startClient(t, display, true, false)
	serve(t, again, "@server=test", again.window)
	do(t, d, input.Text{Text: "a"})
	if len(d.silent) != 0 || d.lost != lost+2*answer {
		t.Errorf("the method was started again: hung %#x, silent %v, waited for %v in vain", d.hung, d.silent,
			d.lost-lost)
	}
}
