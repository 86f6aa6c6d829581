package main

import (
	"testing"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/netsim/site"
)

// TestMarkCodeIsRead holds what pages draw on their markers against what is looked for there.
func TestMarkCodeIsRead(t *testing.T) {
	for _, nonce := range []string{"", "abc", "0123456789"} {
		id, clock := site.MarkCode(nonce)
		for marker, low := range map[strip.Marker]uint16{strip.Green: site.MarkGreen, strip.Red: site.MarkRed} {
			if got, want := strip.MarkerCode(nonce, 7, marker),
				(strip.Code{ID: id, Clock: clock, Free: 7<<8 | low}); got != want {
				t.Errorf("nonce %q: %+v is looked for, %+v is drawn", nonce, got, want)
			}
		}
	}
}
