package terminal

import (
	"strings"
	"testing"
)

// TestWriter prints what a test of somebody else may be called.
//
// Bug: escape sequences in the name of a pushed run's test reached the terminal.
func TestWriter(t *testing.T) {
	for in, want := range map[string]string{
		"über 1 µs\t2\r\n":             "über 1 µs\t2\r\n",
		"\x1b]0;title\x07 \x1b[2Jgone": "?]0;title? ?[2Jgone",
		"a\u009b2Jb\x7f":               "a\xc2?2Jb?",
	} {
		for _, cut := range []int{0, 2, len(in) - 3} {
			var out strings.Builder
			w := &Writer{w: &out}
			for _, part := range []string{in[:cut], in[cut:]} {
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if out.String() != want {
				t.Errorf("%q is printed as %q, want %q", in, out.String(), want)
			}
		}
	}
}

// TestASCII: a character may be cut by writes.
func TestASCII(t *testing.T) {
	var out strings.Builder
	a := &asciiWriter{w: &out}
	for _, b := range []byte("1 – 2 µs × 3 €\xe2x\n") {
		if n, err := a.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := `1 - 2 us x 3 \u20ac\xe2x` + "\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
