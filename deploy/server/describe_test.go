package server

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the part of API.md that follows from the types")

const (
	specification = "API.md"
	referenceHead = "<!-- What follows is made from package api: " +
		"go test ./deploy/server -run TestReference -update -->\n\n"
)

// TestReference holds what API.md says of methods, fields and codes against the types.
func TestReference(t *testing.T) {
	text, err := os.ReadFile(specification)
	if err != nil {
		t.Fatal(err)
	}
	written, reference, found := bytes.Cut(text, []byte(referenceHead))
	if !found {
		t.Fatalf("%s has no line %q", specification, referenceHead)
	}
	if *update {
		text := append(append(bytes.Clone(written), referenceHead...), apiReference()...)
		if err := os.WriteFile(specification, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(reference) != apiReference() {
		t.Errorf("%s differs from the types: go test -run TestReference -update writes it anew", specification)
	}
}
