//go:build linux

package hosttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
)

// Keys presses every key that has a name, one after the other, and holds what the host has against
// it.
func Keys(t *testing.T, d input.Driver, host *Device) {
	t.Helper()
	all := input.Keys()
	if len(all) < 104 {
		t.Fatalf("there are %d keys: a US keyboard has 104", len(all))
	}
	for _, k := range all {
		c, _ := k.Codes()
		Do(t, d, input.KeyDown{Key: k})
		host.Next()
		host.Did(evdev.Key, c.Evdev, 1)
		if len(host.Keys) != 1 {
			t.Errorf("with %s pressed, the host has %v", k, host.Keys)
		}
		Do(t, d, input.KeyUp{Key: k})
		host.Next()
		host.Did(evdev.Key, c.Evdev, 0)
	}
	if len(host.Keys) != 0 {
		t.Errorf("in the end %v are pressed", host.Keys)
	}
}

// Text types all that a US keyboard has, and reads it back from what the host was told.
func Text(t *testing.T, d input.Driver, host *Device) {
	t.Helper()
	var text strings.Builder
	layout := input.US()
	for r := ' '; r < 127; r++ {
		text.WriteRune(r)
	}
	text.WriteString("\tHello, ll!\n")
	shift, _ := input.Key("ShiftLeft").Codes()
	var got strings.Builder
	const some = 3 // characters: the kernel keeps 64 events for one who reads later
	for chunk := range slices.Chunk([]rune(text.String()), some) {
		Do(t, d, input.Text{Text: string(chunk)})
		for n := 0; n < len(chunk) || len(host.Keys) > 0; {
			host.Next()
			for _, e := range host.Report {
				if e.Type == evdev.Key && e.Value == 1 && e.Code != shift.Evdev {
					got.WriteRune(character(layout, e.Code, host.Keys[shift.Evdev]))
					n++
				}
			}
		}
	}
	if got.String() != text.String() {
		t.Errorf("typed %q, want %q", got.String(), text.String())
	}
}

// character returns what a key types.
func character(l input.Layout, code uint16, shift bool) rune {
	for r, p := range l {
		if c, _ := p.Key.Codes(); c.Evdev == code && p.Shift == shift {
			return r
		}
	}
	return '\ufffd'
}
