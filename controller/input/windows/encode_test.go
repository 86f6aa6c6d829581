package windows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unsafe"

	"github.com/eideticker/eideticker/controller/input"
)

// The offsets are those of Microsoft's compiler for 64 bits.
func TestStructuresLieAsTheSystemHasThem(t *testing.T) {
	var c contact
	for _, tc := range []struct {
		name      string
		got, want uintptr
	}{
		{"size of INPUT", unsafe.Sizeof(inputRecord{}), 40}, {"its union", unsafe.Offsetof(inputRecord{}.Data), 8},
		{"size of POINTER_TOUCH_INFO", unsafe.Sizeof(c), 144}, {"pointerFlags", unsafe.Offsetof(c.Flags), 12},
		{"ptPixelLocation", unsafe.Offsetof(c.Pixel), 32},
		{"dwTime", unsafe.Offsetof(c.Time), 64}, {"PerformanceCount", unsafe.Offsetof(c.PerformanceCnt), 80},
		{"ButtonChangeType", unsafe.Offsetof(c.ButtonChange), 88},
		{"touchFlags", unsafe.Offsetof(c.TouchFlags), 96}, {"rcContact", unsafe.Offsetof(c.Area), 104},
		{"pressure", unsafe.Offsetof(c.Pressure), 140},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, tc.got, tc.want)
		}
	}
}

// say writes inputs out as the system reads them.
func say(calls []call) string {
	var all []string
	for _, c := range calls {
		var one []string
		for _, i := range c.Inputs {
			u16 := func(at int) uint16 { return binary.LittleEndian.Uint16(i.Data[at:]) }
			u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(i.Data[at:]) }
			if i.Kind == kindKeyboard {
				one = append(one, fmt.Sprintf("key %x %x %x", u16(0), u16(2), u32(4)))
			} else {
				one = append(one, fmt.Sprintf("mouse %d %d %d %x", u32(0), u32(4), int32(u32(8)), u32(12)))
			}
		}
		for _, f := range c.Contacts {
			one = append(one, fmt.Sprintf("finger %d %d %d %x", f.ID, f.Pixel.X, f.Pixel.Y, f.Flags))
		}
		all = append(all, strings.Join(one, ", "))
	}
	return strings.Join(all, "; ")
}

func TestEncode(t *testing.T) {
	for _, tc := range []struct {
		name    string
		actions []input.Action
		want    string
	}{
		{"letter", []input.Action{input.KeyDown{Key: "a"}, input.KeyUp{Key: "a"}}, "key 0 1e 8; key 0 1e a"},
		{"capital", []input.Action{input.KeyDown{Key: "A"}}, "key 0 2a 8; key 0 1e 8"},
		{"arrow", []input.Action{input.KeyDown{Key: "ArrowUp"}}, "key 0 48 9"},
		{"pause", []input.Action{input.KeyDown{Key: "Pause"}}, "key 13 45 0"},
		{"num lock", []input.Action{input.KeyDown{Key: "NumLock"}}, "key 90 45 1"},
		{"text", []input.Action{input.Text{Text: "ß\n"}}, "key 0 df 4, key 0 df 6, key 0 1c 8, key 0 1c a"},
		{"text of two units", []input.Action{input.Text{Text: "😀"}},
			"key 0 d83d 4, key 0 de00 4, key 0 d83d 6, key 0 de00 6"},
		{"no text", []input.Action{input.Text{}}, ""},
		{"text among others", []input.Action{input.KeyDown{Key: "ShiftLeft"}, input.Text{Text: "x"},
			input.KeyUp{Key: "ShiftLeft"}}, "key 0 2a 8; key 0 78 4, key 0 78 6; key 0 2a a"},
		{"corner", []input.Action{input.Move{X: 0, Y: 0}}, "mouse 32 65 0 8001"},
		{"click", []input.Action{input.Move{X: 500, Y: 250}, input.ButtonDown{Button: input.Left}},
			"mouse 32800 32833 0 8001, mouse 0 0 0 2"},
		{"forward", []input.Action{input.ButtonDown{Button: input.Forward}, input.ButtonUp{Button: input.Forward}},
			"mouse 0 0 2 80; mouse 0 0 2 100"},
		{"wheel", []input.Action{input.Wheel{X: -1, Y: 3}}, "mouse 0 0 -360 800, mouse 0 0 -120 1000"},
		{"far", []input.Action{input.Wheel{Y: 450}}, "mouse 0 0 -24000 800, mouse 0 0 -24000 800, mouse 0 0 -6000 800"},
		{"fingers", []input.Action{input.TouchDown{Finger: 2, X: 7, Y: 8}, input.TouchDown{Finger: 9, X: 999, Y: 499}},
			"finger 2 7 8 10006, finger 9 999 499 10006"},
		{"a finger of two", []input.Action{input.TouchDown{Finger: 0, X: 1, Y: 1},
			input.TouchDown{Finger: 1, X: 5, Y: 5}, input.TouchMove{Finger: 1, X: 6, Y: 5}, input.TouchUp{Finger: 0},
			input.TouchUp{Finger: 1}},
			"finger 0 1 1 10006, finger 1 5 5 10006; finger 0 1 1 40000, finger 1 6 5 20006; finger 1 6 5 40000"},
	} {
		e := encoder{Width: 1000, Height: 500}
		if calls, err := e.encode(tc.actions...); err != nil || say(calls) != tc.want {
			t.Errorf("%s: %s, %v; want %s", tc.name, say(calls), err, tc.want)
		}
	}
}

func TestNothingIsHalfEncoded(t *testing.T) {
	e := encoder{Width: 1000, Height: 500}
	for _, actions := range [][]input.Action{
		{input.TouchDown{Finger: 1, X: 1, Y: 1}, input.Move{X: 1000, Y: 0}},
		{input.KeyDown{Key: "a"}, input.Text{Text: "x"}, input.KeyDown{Key: "日"}},
		{input.TouchMove{Finger: 3, X: 1, Y: 1}},
	} {
		if calls, err := e.encode(actions...); err == nil || calls != nil {
			t.Errorf("%v: %v, %v", actions, calls, err)
		}
		if up := e.lift(); len(up) > 0 || e.touching() {
			t.Errorf("after %v: %v is held", actions, up)
		}
	}
	if _, err := e.encode(input.KeyDown{Key: "日"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

func TestStillFingersAreRepeated(t *testing.T) {
	e := encoder{Width: 1000, Height: 500}
	if _, err := e.encode(input.TouchDown{Finger: 4, X: 10, Y: 20}, input.KeyDown{Key: "Enter"}); err != nil {
		t.Fatal(err)
	}
	if got := say([]call{{Contacts: e.still()}}); !e.touching() || got != "finger 4 10 20 20006" {
		t.Errorf("%s", got)
	}
	up := e.lift()
	if _, err := e.encode(up...); err != nil || len(up) != 2 || e.touching() || len(e.still()) > 0 ||
		len(e.lift()) > 0 {
		t.Errorf("after %v, %v: %v", up, err, e.lift())
	}
}

// Every named key has a code, and no two the same.
func TestEveryKeyHasItsScanCode(t *testing.T) {
	seen := map[scanCode]input.Key{}
	for _, k := range input.Keys() {
		s, ok := scan(k)
		if !ok || s.code == 0 || s.code > 0x7f {
			t.Errorf("%s has %+v", k, s)
		}
		if other, ok := seen[s]; ok {
			t.Errorf("%s and %s have %+v", k, other, s)
		}
		seen[s] = k
		if c, _ := k.Codes(); s.vk != 0 && s.vk != c.VK {
			t.Errorf("%s: %x, want %x", k, s.vk, c.VK)
		}
	}
}

// Whether the system counts in parts of 65536 or of 65535, and rounds or cuts, it finds the pixel.
func TestPlacesAreFoundAgain(t *testing.T) {
	for _, size := range []int{1, 640, 1080, 1366, 1920, 3840, 7680} {
		for p := range size {
			n := float64(normal(int32(p), size))
			if n < 0 || n > 65535 {
				t.Fatalf("pixel %d of %d is %g", p, size, n)
			}
			for how, got := range map[string]float64{
				"of 65536, cut":                       math.Floor(n * float64(size) / 65536),
				"of 65535, cut":                       math.Floor(n * float64(size) / 65535),
				"of 65535 to the last pixel, rounded": math.Round(n * float64(size-1) / 65535),
			} {
				if int(got) != p {
					t.Fatalf("pixel %d of %d is %g, and %s %g", p, size, n, how, got)
				}
			}
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"a\tb\n", "日本語", "😀\x00", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := encoder{Width: 10, Height: 10}
		calls, err := e.encode(input.Text{Text: s})
		if err != nil {
			return
		}
		var down, up []uint16
		for _, c := range calls {
			for _, i := range c.Inputs {
				unit := binary.LittleEndian.Uint16(i.Data[2:])
				if flags := binary.LittleEndian.Uint32(i.Data[4:]); flags&keyScanCode != 0 {
					unit = map[uint16]uint16{0x1c: '\n', 0x0f: '\t'}[unit]
				}
				if binary.LittleEndian.Uint32(i.Data[4:])&keyRelease != 0 {
					up = append(up, unit)
				} else {
					down = append(down, unit)
				}
			}
		}
		if want := utf16.Encode([]rune(s)); !slices.Equal(down, want) || !slices.Equal(up, want) {
			t.Fatalf("%q types %x, %x; want %x", s, down, up, want)
		}
	})
}
