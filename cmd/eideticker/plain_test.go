package main

import (
	"strings"
	"testing"
)

// TestPlainWriter prints what a test of somebody else may be called.
//
// Bug: escape sequences in the name of a pushed run's test reached the terminal.
func TestPlainWriter(t *testing.T) {
	for in, want := range map[string]string{
		"über 1 µs\t2\r\n":             "über 1 µs\t2\r\n",
		"\x1b]0;title\x07 \x1b[2Jgone": "?]0;title? ?[2Jgone",
		"a\u009b2Jb\x7f":               "a\xc2?2Jb?",
	} {
		for _, cut := range []int{0, 2, len(in) - 3} {
			var out strings.Builder
			w := &plainWriter{w: &out}
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
	var out, errs strings.Builder
	run(t.Context(), []string{"info", "no\x1b[2Jfile"}, nil, &out, &errs)
	if !strings.Contains(errs.String(), "no?[2Jfile") {
		t.Errorf("the error is %q", errs.String())
	}
}
