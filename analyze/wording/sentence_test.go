package wording

import (
	"errors"
	"testing"
)

func TestFailuresAreOneSentence(t *testing.T) {
	full := errors.New("write a: disk full")
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"one", full, "write a: disk full"},
		{"said twice", errors.Join(full, full), "write a: disk full"},
		{"more fully later", errors.Join(full, errors.New("write a: disk full (and cut off)")),
			"write a: disk full (and cut off)"},
		{"more fully before", errors.Join(errors.New("copy frame 7: write a: disk full"), full),
			"copy frame 7: write a: disk full"},
		{"two things", errors.Join(full, errors.New("close b: gone")), "write a: disk full; close b: gone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Sentence(tc.err); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
