//go:build !rigvm

package hid

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// The descriptors, item by item, in the words of HID 1.11, 6.2.2, and the HID Usage Tables.
const (
	bootText = `
		05 01  Usage Page (Generic Desktop)
		09 06  Usage (Keyboard)
		a1 01  Collection (Application)
		05 07  Usage Page (Keyboard/Keypad)
		19 e0  Usage Minimum (Keyboard LeftControl)
		29 e7  Usage Maximum (Keyboard Right GUI)
		15 00  Logical Minimum (0)
		25 01  Logical Maximum (1)
		75 01  Report Size (1)
		95 08  Report Count (8)
		81 02  Input (Data, Variable)
		05 08  Usage Page (LEDs)
		19 01  Usage Minimum (Num Lock)
		29 05  Usage Maximum (Kana)
		75 01  Report Size (1)
		95 05  Report Count (5)
		91 02  Output (Data, Variable)
		75 03  Report Size (3)
		95 01  Report Count (1)
		91 01  Output (Constant)
		05 07  Usage Page (Keyboard/Keypad)
		75 08  Report Size (8)
		95 01  Report Count (1)
		81 01  Input (Constant)
		19 00  Usage Minimum (No event)
		29 65  Usage Maximum (Keyboard Application)
		15 00  Logical Minimum (0)
		25 65  Logical Maximum (101)
		75 08  Report Size (8)
		95 06  Report Count (6)
		81 00  Input (Data, Array)
		c0     End Collection`
	fullText = `
		05 01  Usage Page (Generic Desktop)
		09 06  Usage (Keyboard)
		a1 01  Collection (Application)
		05 07  Usage Page (Keyboard/Keypad)
		19 e0  Usage Minimum (Keyboard LeftControl)
		29 e7  Usage Maximum (Keyboard Right GUI)
		15 00  Logical Minimum (0)
		25 01  Logical Maximum (1)
		75 01  Report Size (1)
		95 08  Report Count (8)
		81 02  Input (Data, Variable)
		05 08  Usage Page (LEDs)
		19 01  Usage Minimum (Num Lock)
		29 05  Usage Maximum (Kana)
		75 01  Report Size (1)
		95 05  Report Count (5)
		91 02  Output (Data, Variable)
		75 03  Report Size (3)
		95 01  Report Count (1)
		91 01  Output (Constant)
		05 07  Usage Page (Keyboard/Keypad)
		19 00  Usage Minimum (No event)
		29 65  Usage Maximum (Keyboard Application)
		75 01  Report Size (1)
		95 66  Report Count (102)
		81 02  Input (Data, Variable)
		75 02  Report Size (2)
		95 01  Report Count (1)
		81 01  Input (Constant)
		c0     End Collection`
	mouseText = `
		05 01  Usage Page (Generic Desktop)
		09 02  Usage (Mouse)
		a1 01  Collection (Application)
		09 01  Usage (Pointer)
		a1 00  Collection (Physical)
		05 09  Usage Page (Button)
		19 01  Usage Minimum (Button 1)
		29 05  Usage Maximum (Button 5)
		15 00  Logical Minimum (0)
		25 01  Logical Maximum (1)
		75 01  Report Size (1)
		95 05  Report Count (5)
		81 02  Input (Data, Variable)
		75 03  Report Size (3)
		95 01  Report Count (1)
		81 01  Input (Constant)
		05 01  Usage Page (Generic Desktop)
		09 30  Usage (X)
		09 31  Usage (Y)
		%s
		09 38  Usage (Wheel)
		15 81  Logical Minimum (-127)
		25 7f  Logical Maximum (127)
		75 08  Report Size (8)
		95 01  Report Count (1)
		81 06  Input (Data, Variable, Relative)
		05 0c  Usage Page (Consumer)
		0a 38 02  Usage (AC Pan)
		75 08  Report Size (8)
		95 01  Report Count (1)
		81 06  Input (Data, Variable, Relative)
		c0     End Collection
		c0     End Collection`
	placesText = `
		15 00  Logical Minimum (0)
		26 ff 7f  Logical Maximum (32767)
		75 10  Report Size (16)
		95 02  Report Count (2)
		81 42  Input (Data, Variable, Null State)`
	waysText = `
		16 01 80  Logical Minimum (-32767)
		26 ff 7f  Logical Maximum (32767)
		75 10  Report Size (16)
		95 02  Report Count (2)
		81 06  Input (Data, Variable, Relative)`
	fingerText = `
		05 0d  Usage Page (Digitizers)
		09 22  Usage (Finger)
		a1 02  Collection (Logical)
		09 42  Usage (Tip Switch)
		15 00  Logical Minimum (0)
		25 01  Logical Maximum (1)
		75 01  Report Size (1)
		95 01  Report Count (1)
		81 02  Input (Data, Variable)
		75 07  Report Size (7)
		95 01  Report Count (1)
		81 01  Input (Constant)
		09 51  Usage (Contact Identifier)
		15 00  Logical Minimum (0)
		25 09  Logical Maximum (9)
		75 08  Report Size (8)
		95 01  Report Count (1)
		81 02  Input (Data, Variable)
		05 01  Usage Page (Generic Desktop)
		55 0e  Unit Exponent (-2)
		65 11  Unit (SI linear: centimetres)
		15 00  Logical Minimum (0)
		26 ff 7f  Logical Maximum (32767)
		09 30  Usage (X)
		35 00  Physical Minimum (0)
		46 a8 02  Physical Maximum (680)
		75 10  Report Size (16)
		95 01  Report Count (1)
		81 02  Input (Data, Variable)
		09 31  Usage (Y)
		35 00  Physical Minimum (0)
		46 dc 05  Physical Maximum (1500)
		75 10  Report Size (16)
		95 01  Report Count (1)
		81 02  Input (Data, Variable)
		45 00  Physical Maximum (0)
		55 00  Unit Exponent (0)
		65 00  Unit (none)
		c0     End Collection`
	touchText = `
		05 0d  Usage Page (Digitizers)
		09 04  Usage (Touch Screen)
		a1 01  Collection (Application)
		85 01  Report ID (1)
		%s
		05 0d  Usage Page (Digitizers)
		35 00  Physical Minimum (0)
		45 00  Physical Maximum (0)
		09 56  Usage (Scan Time)
		15 00  Logical Minimum (0)
		27 ff ff 00 00  Logical Maximum (65535)
		55 0c  Unit Exponent (-4)
		66 01 10  Unit (SI linear: seconds)
		75 10  Report Size (16)
		95 01  Report Count (1)
		81 02  Input (Data, Variable)
		55 00  Unit Exponent (0)
		65 00  Unit (none)
		09 54  Usage (Contact Count)
		15 00  Logical Minimum (0)
		25 0a  Logical Maximum (10)
		75 08  Report Size (8)
		95 01  Report Count (1)
		81 02  Input (Data, Variable)
		85 02  Report ID (2)
		09 55  Usage (Contact Count Maximum)
		75 08  Report Size (8)
		95 01  Report Count (1)
		b1 02  Feature (Data, Variable)
		c0     End Collection`
)

func TestDescriptors(t *testing.T) {
	for _, tc := range []struct {
		name string
		got  []byte
		want string
		kind kind
	}{
		{"boot keyboard", boot.descriptor(), bootText, bootKeyboard},
		{"full keyboard", full.descriptor(), fullText, fullKeyboard},
		{"absolute mouse", pointingAbsolute.descriptor(), fmt.Sprintf(mouseText, placesText), absoluteMouse},
		{"relative mouse", pointingRelative.descriptor(), fmt.Sprintf(mouseText, waysText), relativeMouse},
		{"touch screen", touchDescriptor(68, 150), fmt.Sprintf(touchText, strings.Repeat(fingerText, contacts)),
			touchScreen},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if want := written(t, tc.want); !bytes.Equal(tc.got, want) {
				t.Errorf("% x\nwant % x", tc.got, want)
			}
			if k := recognise(tc.got); k != tc.kind {
				t.Errorf("it is recognised as %q", k)
			}
			if k := recognise(tc.got[:len(tc.got)-1]); k != "" {
				t.Errorf("without its end it is a %s", k)
			}
		})
	}
}

// written reads the bytes of a text: two spaces end them on each line.
func written(t *testing.T, text string) (all []byte) {
	t.Helper()
	for line := range strings.Lines(text) {
		digits, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, b...)
	}
	return all
}

// TestSizes: what the reports have is what the descriptors say that they have.
func TestSizes(t *testing.T) {
	o := defaults()
	for _, keyboard := range []rollover{boot, full} {
		for _, mouse := range []pointing{pointingAbsolute, pointingRelative} {
			o.Keyboard, o.Mouse = keyboard, mouse
			if err := o.validate(); err != nil {
				t.Fatal(err)
			}
			for _, f := range o.functions() {
				fields, err := parseFields(f.descriptor)
				if err != nil {
					t.Fatalf("%s: %v", f.kind, err)
				}
				bits := 0
				for _, g := range fields {
					if g.Kind == itemInput {
						bits = max(bits, g.Bit+g.Bits)
					}
				}
				size := (bits + 7) / 8
				if fields[0].Report != 0 {
					size++
				}
				if size != f.size || size > 64 {
					t.Errorf("%s: reports of %d bytes, descriptor of %d; no more than 64 at full speed", f.kind, f.size,
						size)
				}
			}
		}
	}
}

func TestParseFieldsRefuses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"05", "within the item"},
		{"27 ff", "within the item"},
		{"fe 00 00", "long item"},
		{"c0", "not begun"},
		{"a1 01", "1 collections open"},
		{"85 00", "report number 0"},
		{"75 01\n95 01\n81 02", "has no usage"},
		{"75 21\n95 01\n09 01\n81 02", "too many"},
		{"75 20\n97 ff ff ff ff\n09 01\n81 02", "too many"},
		{"1b 00 00 00 00\n2b ff ff ff ff", "more than 4096 usages"},
	} {
		if _, err := parseFields(written(t, tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %s", tc.text, err, tc.want)
		}
	}
	if _, err := parseFields(make([]byte, maxDescriptor+1)); err == nil {
		t.Error("it reads without bounds")
	}
}

func FuzzParseFields(f *testing.F) {
	for _, k := range kinds() {
		f.Add(k.descriptor())
	}
	f.Add([]byte{0x1b, 0, 0, 0, 0, 0x2b, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		fields, err := parseFields(b)
		if err != nil {
			return
		}
		for _, field := range fields {
			if field.Bit < 0 || field.Bits > 32 || field.Bit+field.Bits > maxBits || field.Flags&constant != 0 {
				t.Fatalf("field %+v", field)
			}
			field.value(b)
		}
	})
}
