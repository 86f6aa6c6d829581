package main

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestPrintBisect: a bisection is printed with its builds, and its progress in a line.
func TestPrintBisect(t *testing.T) {
	var out strings.Builder
	c := rigCall{env: &env{out: &out}}
	b := api.Bisect{ID: "bisect-1", State: "first bad", Text: "fps changed.", EndedNS: 1, Runs: 60,
		BisectParams: api.BisectParams{Budget: 600}, Reason: "The budget is spent.",
		Found: []api.BisectFound{{Good: "b-5", Bad: "b-7", P: 0.001, Shift: api.BisectShift{Text: "+30 %"},
			Builds: []api.Build{
				{Name: "b-6", State: "broken"},
				{Name: "b-7", State: "usable", Subject: "Round\x1b[2J prices", Revision: "abc", Parent: "def",
					URL: "http://x"}}}}}
	if err := c.printBisect(b); err != nil {
		t.Fatal(err)
	}
	if want := "bisect-1: first bad\nfps changed.\nThe budget is spent.\n\n" +
		"+30 %, last good: b-5, first bad: b-7, p = 0.001\n  b-6 (broken)\n" +
		"  b-7: Round?[2J prices  revision abc, parent def\n    http://x\n\n60 of 600 runs\n"; out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	if err := c.printBisect(api.Bisect{ID: "bisect-2", State: "cancelled", Text: "cancelled: Cancelled by eva.",
		Reason: "Cancelled by eva.", EndedNS: 1}); err != nil || !strings.HasPrefix(out.String(),
		"bisect-2: cancelled\nCancelled by eva.\n\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	start := bisectStartCmd{Budget: 60}
	if p := start.params(); p.Budget != 60 || p.MaxLost != nil {
		t.Errorf("%+v", p)
	}
	if start.MaxLost = (fraction{0, true}); start.params().MaxLost == nil {
		t.Error("--max-lost 0% is left out")
	}
	for text, want := range map[string]runCount{"600runs": 600, "600 runs": 600, "24": 24, "many": 0} {
		var r runCount
		if err := r.UnmarshalText([]byte(text)); r != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d, %v", text, r, err)
		}
	}
}
