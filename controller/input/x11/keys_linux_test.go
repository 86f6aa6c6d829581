package x11

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/controller/input"
)

// TestEveryKey: each key of a US keyboard arrives as itself: the keycode that Linux has for its
// place, and the keysym that it is known by.
func TestEveryKey(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	if len(places) != 105 {
		t.Errorf("%d keys have a place", len(places))
	}
	for k := range places {
		codes, ok := k.Codes()
		if !ok {
			t.Fatalf("%s is not a key", k)
		}
		do(t, d, input.KeyDown{Key: k})
		do(t, d, input.KeyUp{Key: k})
		all := c.all()
		if want := fmt.Sprintf("press %d release %d", codes.Evdev+8, codes.Evdev+8); story(all) != want {
			t.Errorf("%s: %s, want %s", k, story(all), want)
			continue
		}
		sym := all[0].sym
		if numpad := strings.HasPrefix(string(k), "Numpad"); numpad &&
			slices.Contains(c.row(all[0].detail), xproto.Keysym(codes.Keysym)) {
			continue // what it means is a matter of NumLock
		}
		if sym != codes.Keysym {
			t.Errorf("%s means %#x, want %#x", k, sym, codes.Keysym)
		}
		if strings.HasSuffix(string(k), "Lock") { // take it off again
			do(t, d, input.KeyDown{Key: k}, input.KeyUp{Key: k})
			c.all()
		}
	}
}

// layouts are rows of a keyboard as its makers print them: for each keycode what it means plainly,
// with Shift, and with AltGr.
var layouts = map[string]map[byte]string{
	"German": {49: "^°", 10: "1!", 11: "2\"²", 12: "3§³", 13: "4$", 14: "5%", 15: "6&", 16: "7/{", 17: "8([", 18: "9)]",
		19: "0=}", 20: "ß?\\", 21: "´`",
		24: "qQ@", 26: "eE€", 29: "zZ←", 34: "üÜ", 35: "+*~", 47: "öÖ", 48: "äÄ", 51: "#'’", 52: "yY»", 58: "mMµ",
		59: ",;", 60: ".:", 61: "-_", 94: "<>|"},
	"French": {49: "²", 10: "&1", 11: "é2~", 12: "\"3#", 13: "'4{", 14: "(5[", 15: "-6|", 16: "è7`", 17: "_8\\",
		18: "ç9^", 19: "à0@", 20: ")°]", 21: "=+}",
		24: "aA", 25: "zZ", 26: "eE€", 34: "¸¨", 35: "$£¤", 38: "qQ", 47: "mM", 48: "ù%", 51: "*µ", 52: "wW", 58: ",?",
		59: ";.", 60: ":/", 61: "!§", 94: "<>"},
}

// load has the server know a layout as xmodmap does, with AltGr for a switch to the second group.
func load(t testing.TB, c *client, layout map[byte]string) {
	t.Helper()
	change := func(code byte, syms ...xproto.Keysym) {
		t.Helper()
		if err := xproto.ChangeKeyboardMappingChecked(c.Conn, 1, xproto.Keycode(code), byte(len(syms)),
			syms).Check(); err != nil {
			t.Fatal(err)
		}
	}
	known := oldSyms()
	for code, keys := range layout {
		row := make([]xproto.Keysym, 4)
		for i, r := range []rune(keys) {
			sym := symOf(r)
			if s := known[r]; s != 0 {
				sym = s
			}
			row[i] = xproto.Keysym(sym)
		}
		row[3] = row[2]
		change(code, row...)
	}
	change(108, symModeSwitch, symModeSwitch)
}

// TestLayouts: each character of a layout is pressed on the key that has it: the right place, and
// none is lent a keycode.
func TestLayouts(t *testing.T) {
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			display := startDisplay(t).Name()
			d, c := openDriver(t, display), startClient(t, display, true, false)
			load(t, c, layout) // behind the driver's back
			for code, keys := range layout {
				for i, r := range []rune(keys) {
					do(t, d, input.Text{Text: string(r)})
					all := c.all()
					want := fmt.Sprintf("press %d release %d", code, code)
					switch i {
					case 1:
						want = fmt.Sprintf("press 50 %s release 50", want)
					case 2:
						want = fmt.Sprintf("press 108 %s release 108", want)
					}
					if typed(all) != string(r) || story(all) != want {
						t.Errorf("%q arrives as %q: %s, want %s", r, typed(all), story(all), want)
					}
				}
			}
			if len(d.lent) != 0 {
				t.Errorf("keycodes were lent: %v", d.lent)
			}
			if name == "French" {
				do(t, d, input.KeyDown{Key: "KeyQ"}, input.KeyUp{Key: "KeyQ"})
				if got := typed(c.all()); got != "a" {
					t.Errorf("KeyQ types %q", got)
				}
			}
		})
	}
}

// setLayout loads one of the layouts that are installed.
func setLayout(t testing.TB, display string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("setxkbmap"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	cmd := exec.Command("setxkbmap", append([]string{"-display", display}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("setxkbmap: %v\n%s", err, out)
	}
}

// TestInstalledLayouts: layouts with levels, groups and types of XKB's own, one after another under
// the same driver.
func TestInstalledLayouts(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	for _, tc := range []struct {
		layout []string
		text   string
		lent   string // what no key types, or only a dead one
	}{
		{[]string{"de"}, "Zyklop: Straße @ €5 {[]}\\ ~|µ²³ äöüÄÖÜ <>", "^`"},
		{[]string{"fr"}, "Où ça? à 5€ @#{[|\\]} <>", "ñ"},
		{[]string{"gr"}, "αβγδ ΩΣς;:", "a"},
		{[]string{"ru"}, "Привет, мир! ёЁ №", "z"},
		{[]string{"us", "-variant", "dvorak"}, "Dvorak'; <>?", "é"},
		{[]string{"us", "-variant", "intl"}, "us ñ€ß¿", "日"},
		{[]string{"ch", "-variant", "fr"}, "éàè§°", "日"},
		{[]string{"us"}, ascii, "ß"},
	} {
		name := strings.Join(tc.layout, " ")
		setLayout(t, display, tc.layout...)
		do(t, d, input.Text{Text: tc.text})
		if got := typed(c.all()); got != tc.text {
			t.Errorf("%s: typed %q, want %q", name, got, tc.text)
		}
		if len(d.lent) != 0 {
			t.Errorf("%s: lent %q", name, runeOf(d.lent[0].sym))
		}
		do(t, d, input.Text{Text: tc.lent})
		if got := typed(c.all()); got != tc.lent {
			t.Errorf("%s: typed %q, want %q", name, got, tc.lent)
		}
		if len(d.lent) != len([]rune(tc.lent)) {
			t.Errorf("%s: %d keycodes are lent for %q", name, len(d.lent), tc.lent)
		}
	}
}

// TestHeldAndLocked: locks do not change text. Held keys apply to keys.
func TestHeldAndLocked(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	down := func(k input.Key) input.Action { return input.KeyDown{Key: k} }
	up := func(k input.Key) input.Action { return input.KeyUp{Key: k} }
	for _, tc := range []struct {
		name    string
		actions []input.Action
		want    string
	}{
		{"capital", []input.Action{down("A"), up("A")}, "press 50 press 38 release 38 release 50"},
		{"two capitals", []input.Action{down("A"), down("B"), up("A"), up("B")},
			"press 50 press 38 press 56 release 38 release 56 release 50"},
		{"Shift is down", []input.Action{down("ShiftLeft"), down("A"), up("A"), up("ShiftLeft")},
			"press 50 press 38 release 38 release 50"},
		{"Shift goes first", []input.Action{down("ShiftRight"), down("a"), up("ShiftRight"), up("a")},
			"press 62 press 38 release 62 release 38"},
		{"two names of a key", []input.Action{down("a"), down("KeyA"), up("a"), up("KeyA")}, "press 38 release 38"},
		{"nothing is down", []input.Action{up("a")}, ""},
		{"chord", []input.Action{down("ControlLeft"), down("f"), up("f"), up("ControlLeft")},
			"press 37 press 41 release 41 release 37"},
	} {
		do(t, d, tc.actions...)
		if got := story(c.all()); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		if len(d.presses) != 0 {
			t.Errorf("%s: %v are held", tc.name, d.presses)
		}
	}
	do(t, d, down("CapsLock"), up("CapsLock"))
	do(t, d, input.Text{Text: "aB1!ß"}, down("NumLock"), up("NumLock"), input.Text{Text: "cD2@"})
	if got := typed(slices.DeleteFunc(c.all(), func(e seen) bool { return e.sym > 0xff00 })); got != "aB1!ßcD2@" {
		t.Errorf("with CapsLock: typed %q", got)
	}
	do(t, d, down("ControlLeft"))
	do(t, d, down("f"), up("f")) // not with Shift, though a capital is what would be typed
	if all := c.all(); story(all) != "press 37 press 41 release 41" || all[1].state&xproto.ModMaskControl == 0 {
		t.Errorf("Control+F with CapsLock is %s", story(all))
	}
	do(t, d, up("ControlLeft"), down("CapsLock"), up("CapsLock"))
	do(t, d, down("ShiftLeft"), input.Text{Text: "aB1"}, up("ShiftLeft"))
	if got := typed(c.all()[1:]); !strings.HasSuffix(got, "aB1") {
		t.Errorf("with Shift: typed %q", got)
	}
}

// TestManyCharacters: more different ones than there are keycodes to spare.
//
// Fault: The keyboard lacks a character or key
func TestManyCharacters(t *testing.T) {
	var many strings.Builder
	for i := range 300 {
		many.WriteRune(rune(0x4e00 + i*7%291))
	}
	for _, answers := range []bool{true, false} {
		t.Run(fmt.Sprintf("answers=%v", answers), func(t *testing.T) {
			if !answers && testing.Short() {
				t.Skip("each key has a fixed time, which the race detector may exceed")
			}
			display := startDisplay(t).Name()
			before := mapping(t, display)
			d, c := openDriver(t, display), startClient(t, display, answers, false)
			if room := d.room(nil); room < 8 || room > 200 {
				t.Fatalf("%d keycodes are to spare", room)
			}
			do(t, d, input.KeyDown{Key: "þ"}) // one that stays
			do(t, d, input.Text{Text: many.String()}, input.KeyUp{Key: "þ"})
			if got := typed(c.all()); got != "þ"+many.String() {
				t.Errorf("typed %q", got)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if mapping(t, display) != before {
				t.Error("the mapping is not what it was")
			}
		})
	}
}

// TestSecondGroup: a keyboard with two layouts types with the active one, and reaches the other one
// by holding Mode_switch.
func TestSecondGroup(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	setLayout(t, display, "us,ru")
	for group, tc := range []struct{ usual, other string }{{"Hello, World!", "Привет"}, {"Привет, мир!", "Hello"}} {
		x := d.xkb
		// LatchLockState, of the group alone
		x.NewRequest([]byte{x.opcode, 5, 4, 0, coreKeyboard & 0xff, coreKeyboard >> 8, 0, 0, 1, byte(group), 0, 0, 0,
			0, 0, 0}, x.NewCookie(false, false))
		if err := x.sync(); err != nil {
			t.Fatal(err)
		}
		do(t, d, input.Text{Text: tc.usual})
		if got := c.all(); typed(got) != tc.usual || strings.Contains(story(got), "press 203") {
			t.Errorf("group %d: typed %q: %s", group, typed(got), story(got))
		}
		do(t, d, input.Text{Text: tc.other})
		if got := c.all(); typed(got) != tc.other || !strings.Contains(story(got), "press 203") { // <MDSW>
			t.Errorf("group %d: typed %q: %s", group, typed(got), story(got))
		}
		if len(d.lent) != 0 {
			t.Errorf("group %d: lent %v", group, d.lent)
		}
	}
}
