package main

import (
	"strings"
	"testing"
)

// TestErrorsAreClean: a name on the command line may have escape sequences.
func TestErrorsAreClean(t *testing.T) {
	var out, errs strings.Builder
	run(t.Context(), []string{"info", "no\x1b[2Jfile"}, nil, &out, &errs)
	if !strings.Contains(errs.String(), "no?[2Jfile") {
		t.Errorf("the error is %q", errs.String())
	}
}
