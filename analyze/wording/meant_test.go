package wording

import "testing"

func TestNearest(t *testing.T) {
	there := []string{"click", "clock", "tap", "timeout", "tearing"}
	for word, want := range map[string]string{
		"clikc": "click", "clck": "click", "tpa": "tap", "time": "timeout", "TEARING": "tearing", "xyzzy": "", "": "",
		"t": "", "tearingtearingtearing": "",
	} {
		if got := Nearest(word, there); got != want {
			t.Errorf("%q is near to %q, want %q", word, got, want)
		}
	}
}
