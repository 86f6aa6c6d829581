package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// TestFitting: results of a long outage fit into messages, one by one if need be.
func TestFitting(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ bytes, runs, want int }{{10, 100_000, wire.MaxResults}, {20_000, 0, 3},
		{200_000, 0, 1}} {
		e := wire.Ended{Attempt: "s-x.1", Set: "s-x.1", Reason: strings.Repeat("x", tc.bytes),
			Runs: make([]wire.LightRun, tc.runs)}
		var all []wire.Ended
		for range 2 * wire.MaxResults {
			all = append(all, e)
		}
		got := fitting(all)
		raw, err := json.Marshal(got)
		if err != nil || len(got) != tc.want || len(raw) > wire.MaxMessage/2 {
			t.Errorf("%+v: %d results of %d bytes, %v", tc, len(got), len(raw), err)
		}
	}
	if got := fitting(nil); got == nil || len(got) > 0 {
		t.Error(got)
	}
}

// TestProgressOfYield: the hub shows that a set yields.
func TestProgressOfYield(t *testing.T) {
	t.Parallel()
	j := api.Job{State: "running", Reason: "waits: yields to s-2.1", Done: 1, Total: 3}
	if got := progress(&j); got != j.Reason {
		t.Error(got)
	}
}
