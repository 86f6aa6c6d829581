package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

func TestParseChord(t *testing.T) {
	for _, tc := range []struct{ in, want, err string }{
		{"Control+F", "ControlLeft f", ""},
		{"ctrl+shift+T", "ControlLeft ShiftLeft t", ""},
		{"F", "F", ""},
		{"ß", "ß", ""},
		{"+", "+", ""},
		{"Control++", "ControlLeft +", ""},
		{"Control+Plus", "ControlLeft +", ""},
		{"PgDn", "PageDown", ""},
		{" ", "Space", ""},
		{"F12", "F12", ""},
		{"keyq", "KeyQ", ""},
		{"dead_acute", "DeadAcute", ""},
		{"Shift+deadgrave", "ShiftLeft DeadGrave", ""},
		{"Multi_key", "Compose", ""},
		{"dead_acut", "", "did you mean DeadAcute?"},
		{"", "", "is 0 keys"},
		{"Control+", "", "called Plus"},
		{"Contrl", "", "unknown key"},
		{"Arrow", "", "did you mean ArrowDown?"},
		{"a+b+c+d+e+f+g", "", "from 1 to 6"},
		{"\x00", "", "unknown key"},
	} {
		keys, err := ParseChord(tc.in)
		got := strings.Trim(fmt.Sprint(keys), "[]")
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) || tc.err == "" &&
			(err != nil || got != tc.want) {
			t.Errorf("%q: %s, %v; want %s %s", tc.in, got, err, tc.want, tc.err)
		}
	}
}

func FuzzParseChord(f *testing.F) {
	for _, s := range []string{"Control+F", "+", "++", "a+", "ctrl + x", "日", "dead_acute", "Multi_key"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		keys, err := ParseChord(s)
		if err != nil {
			return
		}
		var names []string
		for _, k := range keys {
			if err := k.Validate(); err != nil {
				t.Fatalf("%q gives a key that is none: %v", s, err)
			}
			if k == "+" {
				k = "Plus"
			}
			names = append(names, string(k))
		}
		again, err := ParseChord(strings.Join(names, "+"))
		if err != nil || !slices.Equal(keys, again) {
			t.Fatalf("%q is %v, which is read as %v, %v", s, keys, again, err)
		}
	})
}

// TestKeysAreOfTheirOwn: no two keys have one number in one system, where they are two there.
func TestKeysAreOfTheirOwn(t *testing.T) {
	seen := map[string]Key{}
	for k, c := range named {
		for _, id := range []string{fmt.Sprint("hid ", c.HID), fmt.Sprint("evdev ", c.Evdev),
			fmt.Sprint("keysym ", c.Keysym)} {
			if other, twice := seen[id]; twice {
				t.Errorf("%s and %s are both %s", k, other, id)
			}
			seen[id] = k
		}
		if c.HID == 0 || c.Evdev == 0 || c.Keysym == 0 || c.VK == 0 {
			t.Errorf("%s has no number somewhere: %+v", k, c)
		}
	}
	if len(named) != 105 {
		t.Errorf("there are %d keys", len(named))
	}
	for k, sym := range composing {
		if other, twice := seen[fmt.Sprint("keysym ", sym)]; twice {
			t.Errorf("%s and %s are both keysym %#x", k, other, sym)
		}
		seen[fmt.Sprint("keysym ", sym)] = k
		if _, place := US().Find(k); place || k.Validate() != nil {
			t.Errorf("%s: on a US keyboard %v, valid %v", k, place, k.Validate())
		}
	}
}

// TestUSTypesASCII: every character of ASCII that is printed has one place, and no two have the
// same.
func TestUSTypesASCII(t *testing.T) {
	places := map[Place]rune{}
	l := US()
	for c := ' '; c < 0x7f; c++ {
		p, ok := l.Find(keyOf(c))
		if !ok {
			t.Errorf("%q is nowhere", c)
		}
		if other, taken := places[p]; taken {
			t.Errorf("%q and %q are both at %v", c, other, p)
		}
		places[p] = c
		if codes, _ := p.Key.Codes(); !p.Shift && codes.Keysym != uint32(c) {
			t.Errorf("%q is at %s, whose keysym is %#x", c, p.Key, codes.Keysym)
		}
	}
	if _, missing := l.Type("aß"); missing != 'ß' {
		t.Errorf("ß was typed: %q", missing)
	}
	presses, _ := l.Type("A")
	if got := fmt.Sprint(presses); got != "[[key down ShiftLeft] [key down KeyA] [key up KeyA] [key up ShiftLeft]]" {
		t.Error(got)
	}
}

func keyOf(c rune) Key {
	k, err := ParseKey(string(c))
	if err != nil {
		panic(err)
	}
	return k
}

func TestCheck(t *testing.T) {
	for _, bad := range [][]Action{
		nil, {Move{-1, 0}}, {TouchDown{Finger: 10}}, {TouchDown{X: 1e9}}, {Wheel{Y: 1001}}, {ButtonUp{9}},
		{KeyDown{"Nokey"}}, {Text{"\xff"}},
		{Move{1, 1}, Text{strings.Repeat("a", MaxText+1)}},
	} {
		if Check(bad) == nil {
			t.Errorf("%v passes", bad)
		}
	}
	if err := Check([]Action{KeyDown{"a"}, Move{3, 4}, TouchUp{9}}); err != nil {
		t.Error(err)
	}
}

func TestHeld(t *testing.T) {
	var h Held
	h.Note(KeyDown{"ShiftLeft"}, KeyDown{"a"}, TouchDown{Finger: 3}, ButtonDown{Left}, KeyUp{"a"}, KeyDown{"b"},
		KeyDown{"b"})
	lift := h.Lift()
	if got := fmt.Sprint(lift); got != "[finger 3 up button up left key up b key up ShiftLeft]" {
		t.Error(got)
	}
	if h.Note(lift...); len(h.Lift()) != 0 {
		t.Error("something is held still")
	}
}

// tired is a driver that fails at its third report.
type tired struct {
	at       []timeline.Time
	released bool
}

func (d *tired) Do(ctx context.Context, at timeline.Time, _ ...Action) (timeline.Interval, error) {
	if d.at = append(d.at, at); len(d.at) == 3 {
		return timeline.Interval{}, ErrGone
	}
	return timeline.At(at), ctx.Err()
}
func (d *tired) Release(ctx context.Context) error { d.released = true; return ctx.Err() }
func (d *tired) Info() Info                        { return Info{Driver: "tired"} }
func (d *tired) Close() error                      { return nil }

func TestPlayLiftsWhenItFails(t *testing.T) {
	d := &tired{}
	all := []Timed{{0, nil}, {time.Second, nil}, {3 * time.Second, nil}, {4 * time.Second, nil}}
	told := 0
	err := Play(t.Context(), d, 1000, all, func(Timed, timeline.Interval) { told++ })
	if !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "after 3s") || !d.released || told != 2 {
		t.Errorf("%v, released %v, told %d", err, d.released, told)
	}
	if want := []timeline.Time{1000, 1000 + 1e9, 1000 + 3e9}; !slices.Equal(d.at, want) {
		t.Errorf("asked for %v", d.at)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d = &tired{}
	if err := Play(ctx, d, 0, all, nil); !errors.Is(err, context.Canceled) || !d.released {
		t.Errorf("after the end of its context: %v, released %v", err, d.released)
	}
}

func TestEvent(t *testing.T) {
	e := Event(Info{Driver: "x11", Realism: System}, timeline.Interval{Earliest: 10, Latest: 15}, Move{3, 4},
		ButtonDown{Left})
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	if want := `{"driver":"x11","realism":"system","did":"move to 3,4, button down left","x":3,"y":4}`; string(
		e.Data) != want {
		t.Errorf("%s", e.Data)
	}
	if e.At.Add(-e.Uncertainty) > 10 || e.At.Add(e.Uncertainty) < 15 {
		t.Errorf("%v ± %v does not hold the interval", e.At, e.Uncertainty)
	}
	if e := Event(Info{}, timeline.At(0), Text{strings.Repeat("日", 5000)}); e.Validate() != nil || len(e.Data) > 2000 {
		t.Errorf("a long text makes %d bytes", len(e.Data))
	}
}
