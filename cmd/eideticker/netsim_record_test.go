package main

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/replay"
)

// TestRecordedOfSitesNotTrusted: who records a site with a bad certificate is told what would
// record it all the same, and nobody else is.
func TestRecordedOfSitesNotTrusted(t *testing.T) {
	for refused, want := range []bool{false, true} {
		var out strings.Builder
		got := replay.Recorded{Exchanges: 2, Failed: 1, Refused: refused,
			Notes: []string{"https://a.test: it is not there"}}
		if err := (netsimRecordCmd{Output: "a.zip"}).print(&out, &got, nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "--insecure also records") != want ||
			!strings.Contains(out.String(), "it is not there") {
			t.Errorf("%d refused: %s", refused, &out)
		}
	}
}
