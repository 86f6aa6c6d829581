package x11

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/input"
)

// chords returns what presses keys one after another, as the steps of a test do: "DeadAcute e".
func chords(t testing.TB, names string) (all []input.Action) {
	t.Helper()
	for name := range strings.FieldsSeq(names) {
		keys, err := input.ParseChord(name)
		if err != nil {
			t.Fatal(err)
		}
		down, up := input.Chord(keys)
		all = append(append(all, down...), up...)
	}
	return all
}

// TestComposingKeys: a dead key is pressed where the layout has it, with what it takes, and Compose
// where it was put; one that the layout has not is lent a keycode.
//
// Fault: The keyboard lacks a character or key
func TestComposingKeys(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	for _, tc := range []struct {
		layout, keys, story string
		sym                 uint32
	}{
		{"de", "DeadAcute", "press 21 release 21", 0xfe51},
		{"de", "DeadGrave", "press 50 press 21 release 21 release 50", 0xfe50},
		{"de", "dead_circumflex", "press 49 release 49", 0xfe52},
		{"de", "Equal", "press 21 release 21", 0xfe51}, // by its place
		{"fr", "DeadDiaeresis", "press 50 press 34 release 34 release 50", 0xfe57},
		{"us -variant intl", "DeadAcute", "press 48 release 48", 0xfe51},
		{"us -variant intl", "DeadMacron", "press 50 press 108 press 12 release 12 release 108 release 50", 0xfe54},
		{"us -option -option compose:ralt", "Compose", "press 108 release 108", 0xff20},
		{"us -option -option compose:ralt", "AltRight", "press 108 release 108", 0xff20},
		{"us -option -option compose:menu", "multi_key", "press 135 release 135", 0xff20},
		{"us -option", "DeadAcute", "", 0xfe51},
		{"us -option", "Compose", "", 0xff20},
	} {
		name := tc.layout + ": " + tc.keys
		setLayout(t, display, strings.Fields(tc.layout)...)
		lends := tc.story == ""
		do(t, d, chords(t, tc.keys)...)
		all := c.all()
		if lends && len(d.lent) == 0 || !lends && (len(d.lent) > 0 || story(all) != tc.story) {
			t.Errorf("%s: %s, %d keycodes lent; want %s", name, story(all), len(d.lent), tc.story)
		}
		if got, want := typed(all), fmt.Sprintf("<%#x>", tc.sym); got != want {
			t.Errorf("%s: means %s, want %s", name, got, want)
		}
		if lends {
			if err := d.takeBack(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestBrowsersCompose: dead keys and Compose, pressed as keys, give the text that the browser's own
// input method makes of them. Text that is typed during or right after composing is unchanged. The
// user who starts the browser may have another input method.
//
// Fault: An input method is active on the display
func TestBrowsersCompose(t *testing.T) {
	for _, name := range []string{"chromium", "firefox"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GTK_IM_MODULE", "xim")
			t.Setenv("XMODIFIERS", "@im=gone")
			e := edit(t, name)
			for _, layout := range []string{"us", "us -variant intl", "de", "us -option compose:ralt"} {
				setLayout(t, e.display, strings.Fields(layout)...)
				for _, tc := range []struct{ keys, want string }{
					{"DeadAcute e", "é"},
					{"DeadDiaeresis U", "Ü"},
					{"dead_circumflex o dead_grave a", "ôà"},
					{"DeadTilde n DeadAcute Space", "ñ'"},
					{"Compose ' e Compose o c x", "é©x"},
					{"DeadAcute Backspace e", "e"},
				} {
					if got, keys := e.typed(chords(t, tc.keys)...); got != tc.want {
						t.Errorf("%s: %s typed %q, want %q; the page has seen %s", layout, tc.keys, got, tc.want, keys)
					}
				}
				for _, text := range []string{ascii, "'e\"u^o`a~n ´e ¨u", sample} {
					if got, _ := e.typed(input.Text{Text: text}); got != text {
						t.Errorf("%s: typed %q\nwant  %q", layout, got, text)
					}
				}
			}
			setLayout(t, e.display, "us", "-option") // the one it had
			e.end()
		})
	}
}
