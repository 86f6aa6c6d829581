package evdev

import "testing"

func TestEventsAreReadAsWritten(t *testing.T) {
	var b []byte
	all := []Event{{Type: Key, Code: 30, Value: 1}, {Type: Abs, Code: AbsMTTrackingID, Value: -1},
		{Type: Rel, Code: RelWheelHiRes, Value: -120}, {}}
	for _, e := range all {
		b = Append(b, e)
	}
	if len(b) != len(all)*Size {
		t.Fatalf("%d events are %d bytes", len(all), len(b))
	}
	for i, want := range all {
		if got := parse(b[i*Size:]); got != want || !got.Is(want.Type, want.Code, want.Value) {
			t.Errorf("event %d is %v, was %v", i, got, want)
		}
	}
}
