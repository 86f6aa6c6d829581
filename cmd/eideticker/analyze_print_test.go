package main

import (
	"strings"
	"testing"
)

func TestFramesOfNothing(t *testing.T) {
	if _, _, err := (frameRange{from: 3, to: 5, given: true}).in(0); err == nil ||
		!strings.Contains(err.Error(), "has no frames") || !strings.Contains(err.Error(), "quality") {
		t.Errorf("%v", err)
	}
}
