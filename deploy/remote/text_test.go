package remote

import (
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestWaitText: a job that waits has its place and its reason.
func TestWaitText(t *testing.T) {
	for want, j := range map[string]api.Job{
		"":                               {State: "running"},
		"waiting, number 1 in the queue": {State: "queued", Position: 1},
		"waiting, number 2 in the queue; device local is reserved": {State: "queued", Position: 2,
			Reason: "device local is reserved"},
		"waiting; device local is in use by pid 7": {State: "running",
			Reason: "device local is in use by pid 7"},
	} {
		if got := waitText(&j); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := waitText(&api.Job{State: "failed", Reason: "the cable is loose", EndedWallNS: 1}); got != "" {
		t.Errorf("a job that has ended is %q", got)
	}
}

// TestJobThatYields: the text of a job has the reason of a set that yields.
func TestJobThatYields(t *testing.T) {
	j := api.Job{State: "running", Reason: "waits: yields to s-2"}
	if got := JobText(&j); got != "running: waits: yields to s-2" {
		t.Error(got)
	}
}

// TestBisectionText: the progress of a bisection names the build that is likely the first bad one.
func TestBisectionText(t *testing.T) {
	b := api.Bisect{Runs: 60, Left: 4, Reason: "It goes on.", BisectParams: api.BisectParams{Budget: 600},
		Builds: []api.BisectBuild{{Build: "b-6", Chance: 0.1}, {Build: "b-7", Chance: 0.6}}}
	want := "60 of 600 runs, 4 builds left, b-7 is the first bad one with 60 %. It goes on."
	if got := BisectionText(&b); got != want {
		t.Error(got)
	}
}
