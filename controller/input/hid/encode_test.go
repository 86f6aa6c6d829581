//go:build !rigvm

package hid

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
)

// equipped returns an encoder with functions, for a screen of 1000 by 500.
func equipped(kinds ...kind) encoder {
	e := encoder{screen: hand.Screen{Width: 1000, Height: 500}}
	for _, k := range kinds {
		e.equip(k)
	}
	return e
}

// TestReports: actions that follow one another, and the bytes that a host gets.
func TestReports(t *testing.T) {
	many := make([]input.Action, 0, 7)
	for _, k := range "abcdefg" {
		many = append(many, input.KeyDown{Key: input.Key(k)})
	}
	type step struct {
		actions []input.Action
		want    string // reports by part; or an error
	}
	for _, tc := range []struct {
		name  string
		kinds []kind
		steps []step
	}{
		{"boot keyboard", []kind{bootKeyboard}, []step{
			{[]input.Action{input.KeyDown{Key: "ControlLeft"}, input.KeyDown{Key: "f"}}, "k 0100090000000000"},
			{[]input.Action{input.KeyDown{Key: "Delete"}}, "k 0100094c00000000"},
			{[]input.Action{input.KeyUp{Key: "f"}}, "k 01004c0000000000"},
			{[]input.Action{input.KeyUp{Key: "Delete"}, input.KeyUp{Key: "ControlLeft"}}, "k 0000000000000000"},
			{[]input.Action{input.Text{Text: "aA"}},
				"k 0000040000000000; k 0000000000000000; k 0200000000000000; k 0200040000000000; k 0200000000000000; " +
					"k 0000000000000000"},
			{many, "error holds 6 keys"},
			{[]input.Action{input.Move{X: 1, Y: 1}}, "error no mouse"},
			{[]input.Action{input.Text{Text: "ß"}}, `error "ß" (U+00DF)`},
			{many[:6], "k 0000040506070809"},
		}},
		{"full keyboard", []kind{fullKeyboard}, []step{
			{many, "k 00f0070000000000000000000000"},
			{[]input.Action{input.KeyDown{Key: "ContextMenu"}, input.KeyDown{Key: "MetaRight"}},
				"k 80f0070000000000000000000020"},
		}},
		{"absolute mouse", []kind{absoluteMouse}, []step{
			{[]input.Action{input.ButtonDown{Button: input.Right}}, "m 02ffffffff0000"},
			{[]input.Action{input.Move{X: 0, Y: 499}, input.ButtonDown{Button: input.Left}}, "m 031000df7f0000"},
			{[]input.Action{input.Wheel{X: 1, Y: 2}}, "m 031000df7ffe01"},
			{[]input.Action{input.Wheel{Y: -300}}, "m 031000df7f7f00; m 031000df7f7f00; m 031000df7f2e00"},
			{[]input.Action{input.ButtonUp{Button: input.Left}, input.ButtonUp{Button: input.Right}},
				"m 001000df7f0000"},
		}},
		{"relative mouse", []kind{relativeMouse}, []step{
			{[]input.Action{input.Move{X: 3, Y: 4}, input.ButtonDown{Button: input.Left}},
				"m 0018fc0cfe0000; m 01030004000000"},
			{[]input.Action{input.Move{X: 2, Y: 4}}, "m 01ffff00000000"},
			{[]input.Action{input.Wheel{Y: 1}}, "m 0100000000ff00"},
		}},
		{"touch screen", []kind{touchScreen}, []step{
			{[]input.Action{input.TouchDown{Finger: 3, X: 0, Y: 0}}, "t 01" + "010310002000" +
				strings.Repeat("00", 54) + "0000" + "01"},
			{[]input.Action{input.TouchDown{Finger: 0, X: 999, Y: 499}, input.TouchUp{Finger: 3}},
				"t 01" + "0100ef7fdf7f" + "000310002000" + strings.Repeat("00", 48) + "0000" + "02"},
			{[]input.Action{input.TouchMove{Finger: 0, X: 500, Y: 250}}, "t 01" + "010010402040" +
				strings.Repeat("00", 54) + "0000" + "01"},
			{[]input.Action{input.TouchUp{Finger: 3}}, "error finger 3 is not down"},
			{[]input.Action{input.TouchDown{Finger: 0}}, "error down already"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, state := equipped(tc.kinds...), hand.State{}
			for i, s := range tc.steps {
				next := e
				reports, after, err := next.plan(state, input.US(), s.actions)
				if want, wrong := strings.CutPrefix(s.want, "error "); wrong {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("step %d: %v, want %s", i, err, want)
					}
					continue
				}
				if err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				var all []string
				for _, r := range reports {
					all = append(all, "kmt"[r.to:r.to+1]+" "+hex.EncodeToString(r.report))
				}
				if got := strings.Join(all, "; "); got != s.want {
					t.Errorf("step %d: %s\nwant %s", i, got, s.want)
				}
				e, state = next, after
			}
		})
	}
}

// TestPlace: a host finds the pixel again, whether it cuts or rounds, on screens of all sizes.
func TestPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		size := 1 + rng.IntN(hand.MaxScreen)
		pixel := rng.IntN(size)
		v := int(place(float64(pixel), size))
		if cut := v * size / (maxPlace + 1); cut != pixel {
			t.Fatalf("pixel %d of %d is %d, which a host that cuts takes for %d", pixel, size, v, cut)
		}
		// This one puts the ends of the range on the middles of the first and the last pixel.
		if round := int(float64(v)/maxPlace*float64(size-1) + 0.5); size <= 8192 && round != pixel {
			t.Fatalf("pixel %d of %d is %d, which a host that rounds takes for %d", pixel, size, v, round)
		}
	}
}

// host is what a host makes of reports, by the descriptors alone.
type host struct {
	t      *testing.T
	fields [parts][]field
	keys   map[uint32]bool // usages that are pressed
	button map[uint32]bool
	x, y   int // of the pointer
	turned input.Wheel
	finger map[int32][2]int32
}

func newHost(t *testing.T, kinds ...kind) *host {
	h := &host{t: t, keys: map[uint32]bool{}, button: map[uint32]bool{}, finger: map[int32][2]int32{}, x: -1, y: -1}
	for _, k := range kinds {
		fields, err := parseFields(k.descriptor())
		if err != nil {
			t.Fatal(err)
		}
		h.fields[k.part()] = fields
	}
	return h
}

// take reads one report.
func (h *host) take(o outgoing) {
	if o.to == theKeyboard {
		clear(h.keys)
	}
	values := map[uint32][]int32{}
	for _, f := range h.fields[o.to] {
		if f.Kind != itemInput {
			continue
		}
		v, ok := f.value(o.report)
		if !ok {
			h.t.Fatalf("a report of %d bytes has no %x", len(o.report), f.Usage)
		}
		if f.Flags&nullable == 0 && (v < f.Least || v > f.Greatest) {
			h.t.Fatalf("%x is %d, beyond %d to %d", f.Usage, v, f.Least, f.Greatest)
		}
		switch page := f.Usage >> 16; {
		case page == pageKeyboard && f.Flags&variable == 0:
			if v != 0 {
				h.keys[f.Usage+uint32(v)] = true
			}
		case page == pageKeyboard:
			if v != 0 {
				h.keys[f.Usage] = true
			}
		case page == pageButton:
			h.button[f.Usage&0xffff] = v != 0
		default:
			values[f.Usage] = append(values[f.Usage], v)
		}
	}
	h.apply(o.to, values)
}

func (h *host) apply(p part, values map[uint32][]int32) {
	x, y := values[pageDesktop<<16|usageX], values[pageDesktop<<16|usageY]
	switch p {
	case theMouse:
		if h.fields[p][5].Flags&relative != 0 {
			h.x, h.y = min(max(h.x+int(x[0]), 0), 999), min(max(h.y+int(y[0]), 0), 499)
		} else if x[0] <= maxPlace {
			h.x, h.y = int(x[0])*1000/(maxPlace+1), int(y[0])*500/(maxPlace+1)
		}
		h.turned.Y -= int(values[pageDesktop<<16|usageWheel][0])
		h.turned.X += int(values[pageConsumer<<16|usageACPan][0])
	case theTouchScreen:
		count := int(values[pageDigitizer<<16|usageContactCount][0])
		seen := map[int32][2]int32{}
		for i := range count {
			id := values[pageDigitizer<<16|usageContactID][i]
			if _, twice := seen[id]; twice {
				h.t.Fatalf("finger %d is told twice", id)
			}
			seen[id] = [2]int32{x[i] * 1000 / (maxPlace + 1), y[i] * 500 / (maxPlace + 1)}
			if values[pageDigitizer<<16|usageTipSwitch][i] == 0 {
				if _, down := h.finger[id]; !down {
					h.t.Fatalf("finger %d is lifted that was not down", id)
				}
				delete(h.finger, id)
			} else {
				h.finger[id] = seen[id]
			}
		}
		for id := range h.finger {
			if _, told := seen[id]; !told {
				h.t.Fatalf("finger %d is down and not told", id)
			}
		}
	}
}

// model is what a hand does, remembered plainly.
type model struct {
	keys   map[uint32]bool
	button map[uint32]bool
	x, y   int
	turned input.Wheel
	finger map[int32][2]int32
}

func (m *model) do(a input.Action) {
	switch a := a.(type) {
	case input.KeyDown:
		c, _ := a.Key.Codes()
		m.keys[pageKeyboard<<16|uint32(c.HID)] = true
	case input.KeyUp:
		c, _ := a.Key.Codes()
		delete(m.keys, pageKeyboard<<16|uint32(c.HID))
	case input.ButtonDown:
		m.button[uint32(a.Button)] = true
	case input.ButtonUp:
		m.button[uint32(a.Button)] = false
	case input.Move:
		m.x, m.y = int(a.X), int(a.Y)
	case input.Wheel:
		m.turned.X, m.turned.Y = m.turned.X+a.X, m.turned.Y+a.Y
	case input.TouchDown:
		m.finger[int32(a.Finger)] = [2]int32{int32(a.X), int32(a.Y)}
	case input.TouchMove:
		m.finger[int32(a.Finger)] = [2]int32{int32(a.X), int32(a.Y)}
	case input.TouchUp:
		delete(m.finger, int32(a.Finger))
	}
}

// FuzzActions: for any actions in any groups, a host that reads the reports by the descriptors ends
// in the right state.
func FuzzActions(f *testing.F) {
	f.Add([]byte("keys and buttons, wheels and fingers"), false)
	f.Add([]byte{0, 4, 0, 4, 1, 4, 7, 3, 200, 8, 3, 100, 9, 3, 2, 255, 6, 1, 2, 255, 3, 9, 5, 1}, true)
	f.Add([]byte{7, 0, 1, 7, 1, 2, 7, 2, 3, 255, 8, 0, 4, 8, 1, 5, 8, 2, 6, 255, 9, 0, 0, 9, 1, 0, 9, 2, 0}, false)
	all := input.Keys()
	f.Fuzz(func(t *testing.T, b []byte, second bool) {
		if len(b) > 1024 {
			return
		}
		equipment := []kind{bootKeyboard, absoluteMouse, touchScreen}
		if second {
			equipment = []kind{fullKeyboard, relativeMouse, touchScreen}
		}
		e, state := equipped(equipment...), hand.State{}
		h := newHost(t, equipment...)
		m := model{keys: map[uint32]bool{}, button: map[uint32]bool{}, finger: map[int32][2]int32{}, x: -1, y: -1}
		for group := range slices.Values(groups(b, all)) {
			next := e
			reports, after, err := next.plan(state, input.US(), group)
			if err != nil {
				if errors.Is(err, errors.ErrUnsupported) || strings.Contains(err.Error(), "is not down") ||
					strings.Contains(err.Error(), "is down already") {
					continue // nothing was done
				}
				t.Fatal(err)
			}
			for _, r := range reports {
				h.take(r)
			}
			for _, a := range group {
				m.do(a)
			}
			e, state = next, after
			h.hold(m)
		}
		// And all of it is lifted.
		lift := state.Lift()
		if len(lift) > 0 {
			reports, _, err := e.plan(state, input.US(), lift)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range reports {
				h.take(r)
			}
		}
		pressed := false
		for _, down := range h.button {
			pressed = pressed || down
		}
		if len(h.keys) > 0 || len(h.finger) > 0 || pressed {
			t.Fatalf("after all was lifted: keys %v, buttons %v, fingers %v", h.keys, h.button, h.finger)
		}
	})
}

// hold compares the host's state with the actions.
func (h *host) hold(m model) {
	h.t.Helper()
	if len(h.keys) != len(m.keys) {
		h.t.Fatalf("keys %v, pressed are %v", h.keys, m.keys)
	}
	for k := range m.keys {
		if !h.keys[k] {
			h.t.Fatalf("key %x is not pressed", k)
		}
	}
	for b, down := range m.button {
		if h.button[b] != down {
			h.t.Fatalf("button %d: %t", b, h.button[b])
		}
	}
	if h.turned != m.turned {
		h.t.Fatalf("turned by %v, was %v", h.turned, m.turned)
	}
	if m.x >= 0 && (h.x != m.x || h.y != m.y) {
		h.t.Fatalf("pointer at %d,%d, moved to %d,%d", h.x, h.y, m.x, m.y)
	}
	if len(h.finger) != len(m.finger) {
		h.t.Fatalf("fingers %v, down are %v", h.finger, m.finger)
	}
	for f, at := range m.finger {
		if h.finger[f] != at {
			h.t.Fatalf("finger %d is at %v, not %v", f, h.finger[f], at)
		}
	}
}

// groups makes actions of bytes: three each, and 255 ends a group.
func groups(b []byte, all []input.Key) (out [][]input.Action) {
	var group []input.Action
	for len(b) > 0 {
		if b[0] == 255 {
			b = b[1:]
			if len(group) > 0 {
				out = append(out, group)
			}
			group = nil
			continue
		}
		if len(b) < 3 {
			break
		}
		which, how := int(b[1]), int(b[2])
		x, y := float64(how*3%1000), float64(how*which%500)
		finger := which % input.MaxFingers
		group = append(group, []input.Action{
			input.KeyDown{Key: all[which%len(all)]}, input.KeyUp{Key: all[which%len(all)]},
			input.ButtonDown{Button: input.Button(1 + which%5)}, input.ButtonUp{Button: input.Button(1 + which%5)},
			input.Move{X: x, Y: y}, input.Wheel{X: which - 127, Y: (how - 127) * 3},
			input.TouchDown{Finger: finger, X: x, Y: y}, input.TouchMove{Finger: finger, X: x, Y: y},
			input.TouchUp{Finger: finger},
		}[int(b[0])%9])
		b = b[3:]
	}
	if len(group) > 0 {
		out = append(out, group)
	}
	return out
}

// value returns a field's value in a report, which begins with its number if it has one. A report
// that is too short is not one of the field's.
func (f field) value(report []byte) (value int32, ok bool) {
	if f.Report != 0 {
		if len(report) == 0 || report[0] != f.Report {
			return 0, false
		}
		report = report[1:]
	}
	if f.Bit+f.Bits > len(report)*8 {
		return 0, false
	}
	var v uint32
	for i := range f.Bits {
		bit := f.Bit + i
		v |= uint32(report[bit/8]>>(bit%8)&1) << i
	}
	if f.Least < 0 && f.Bits > 0 && f.Bits < 32 {
		shift := 32 - f.Bits
		return int32(v<<shift) >> shift, true
	}
	return int32(v), true
}
