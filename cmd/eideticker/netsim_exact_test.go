package main

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/link"
)

// TestJudgeRTT: a row is kept by all of its packets; by all but a few that the machine was late for it is kept but for those, and that is said; and what is late of itself is never let off.
func TestJudgeRTT(t *testing.T) {
	const packets, rtt, apart = 200, 100 * time.Millisecond, 10 * time.Millisecond
	var c link.Conditions
	c.SetRTT(rtt)
	for _, tc := range []struct {
		name        string
		late        int // packets, by 8 ms
		stalled     int // of them, those for which a CPU stood still
		lost        int // of the others
		all         time.Duration
		watched     bool
		verdict     string
		aside       int
		met         string // as it is printed
		p99OfOthers string
	}{
		{"quiet", 0, 0, 0, 0, true, exactKept, 0, "yes", "100.10 ms"},
		{"late of itself", 5, 0, 0, 0, true, exactNot, 0, "no", "108.10 ms"},
		{"late for the machine", 5, 5, 0, 0, true, exactButFor, 5, "but for 5 of 200 packets, during stalls", "100.10 ms"},
		{"as many as may be", 10, 10, 0, 0, true, exactButFor, 10, "but for 10 of 200 packets, during stalls", "100.10 ms"},
		{"one more", 11, 11, 0, 0, true, exactNotShown, 11, "not shown: the machine stalls too often", "100.10 ms"},
		{"both", 9, 5, 0, 0, true, exactNot, 5, "no", "108.10 ms"},
		{"both, and too many", 30, 20, 0, 0, true, exactNot, 20, "no", "108.10 ms"},
		{"nothing is left", 200, 200, 0, 0, true, exactNotShown, 200, "not shown: the machine stalls too often", "–"},
		{"nobody watched", 5, 5, 0, 0, false, exactNot, 0, "no", "–"},
		{"one, which a 99th percentile does not see", 1, 1, 0, 0, true, exactKept, 1, "yes", "100.10 ms"},
		{"one does not come back", 0, 0, 1, 0, true, exactKept, 0, "yes; lost 1 of 200 packets", "100.10 ms"},
		{"three do not", 0, 0, 3, 0, true, exactNot, 0, "no; lost 3 of 200 packets", "1100.00 ms"},
		{"three do not, and some are late for the machine", 5, 5, 3, 0, true, exactNot, 5, "no; lost 3 of 200 packets", "1100.00 ms"},
		{"nearly none does", 0, 0, 199, 0, true, exactNot, 0, "no; lost 199 of 200 packets", "1100.00 ms"},
		{"all of it too far", 5, 5, 0, 2 * time.Millisecond, true, exactNot, 5, "no", "102.10 ms"},
	} {
		var trips []link.RoundTrip
		var stalls link.Stalls
		for i := range packets - tc.lost {
			trip := link.RoundTrip{Sent: timeline.Time(0).Add(time.Second + time.Duration(i)*apart), Took: rtt + 100*time.Microsecond + tc.all}
			if i < tc.late {
				trip.Took += 8 * time.Millisecond
			}
			if i < tc.stalled {
				stalls = append(stalls, link.Stall{From: trip.Sent, To: trip.Sent.Add(8 * time.Millisecond)})
			}
			trips = append(trips, trip)
		}
		row := judgeRTT("packet", c, packets, trips, tc.watched, stalls)
		printed := row.printed()
		if aside := row.Stalls; tc.watched != (aside != nil) || aside != nil && aside.Aside != tc.aside || row.Verdict != tc.verdict || row.Met != (tc.verdict == exactKept) || row.Packets != packets {
			t.Errorf("%s: %+v, %+v", tc.name, row, aside)
		}
		if n := len(printed); printed[n-1] != tc.met || printed[n-2] != tc.p99OfOthers {
			t.Errorf("%s: %q is printed", tc.name, printed)
		}
	}
}

// TestExactDocumented: JSON.md has every name and verdict that a row of round trips may have.
func TestExactDocumented(t *testing.T) {
	doc, err := os.ReadFile("JSON.md")
	if err != nil {
		t.Fatal(err)
	}
	var line string
	for l := range strings.Lines(string(doc)) {
		if strings.HasPrefix(l, "| `netsim certify --exact`") {
			line = l
		}
	}
	var out bytes.Buffer
	if err := printJSON(&out, exactRTTJSON{Stalls: &exactStalls{}}); err != nil {
		t.Fatal(err)
	}
	var row map[string]any
	if err := json.Unmarshal(out.Bytes(), &row); err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for name := range row {
		names = append(names, name)
	}
	stalls := reflect.TypeFor[exactStalls]()
	for i := range stalls.NumField() {
		names = append(names, stalls.Field(i).Tag.Get("json"))
	}
	for _, name := range names {
		if !strings.Contains(line, "`"+name+"`") {
			t.Errorf("JSON.md does not have `%s`", name)
		}
	}
	for _, verdict := range []string{exactKept, exactButFor, exactNotShown, exactNot} {
		if !strings.Contains(line, verdict) {
			t.Errorf("JSON.md does not have the verdict %q", verdict)
		}
	}
}
