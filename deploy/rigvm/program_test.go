//go:build linux && !rigvm

package rigvm

import (
	"errors"
	"slices"
	"testing"
)

func TestLibraries(t *testing.T) {
	const text = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f41)\n" +
		"\t/lib64/ld-linux-x86-64.so.2 (0x00007f41)\n"
	got, err := parseLibraries(text)
	if want := []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
	if got, err := parseLibraries("\tlibmissing.so.1 => not found\n"); err == nil {
		t.Errorf("without one of them: %q", got)
	}
	if got, err := parseLibraries("\tstatically linked\n"); err != nil || len(got) != 0 {
		t.Errorf("of a static program: %q (%v)", got, err)
	}
	missing := (*missingError)(nil)
	if _, err := program(t.Context(), "nothing-is-called-so", "a-package"); !errors.As(err, &missing) {
		t.Errorf("a program that is not there: %v", err)
	}
}
