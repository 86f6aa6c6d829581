package remote

import (
	"errors"
	"testing"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/deploy/api"
)

// TestFailure: the error of a job that did not finish comes before the verdict of its runs.
//
// Fault: A job of `run --rig` is cancelled, or its rig ends
func TestFailure(t *testing.T) {
	broke, worse := errors.New("1 of 3 runs failed: the cable is loose"), compare.Regressed.Err("it is slower")
	for _, tc := range []struct {
		name string
		job  api.Job
		told error
		made int
		want string
	}{
		{"well", api.Job{State: "ok", EndedWallNS: 1}, nil, 2, ""},
		{"nothing made", api.Job{State: "ok", EndedWallNS: 1}, nil, 0, "the job made no run"},
		{"worse", api.Job{State: "ok", EndedWallNS: 1}, worse, 2, "it is slower"},
		{"at work", api.Job{State: "running"}, nil, 2, ""}, // whoever leaves it has said why
		{"a run failed", api.Job{State: "failed", Reason: "1 of 3 runs failed: the cable is loose", Done: 3,
			EndedWallNS: 1}, broke, 2, broke.Error()},
		{"another reason", api.Job{State: "failed", Reason: "put into the store: no space", Done: 3, EndedWallNS: 1},
			nil, 2, "the job ended as failed after 3 runs: put into the store: no space"},
		{"no verdict of half a job", api.Job{State: "cancelled", Reason: "it was cancelled", Done: 3, EndedWallNS: 1},
			worse, 2, "the job ended as cancelled after 3 runs: it was cancelled"},
		{"none of a failed one", api.Job{State: "failed", Reason: "no space", Done: 3, EndedWallNS: 1}, worse, 2,
			"the job ended as failed after 3 runs: no space"},
		{"over a restart", api.Job{State: "interrupted", Reason: "the daemon was stopped", EndedWallNS: 1}, nil, 2,
			"the job ended as interrupted after 2 runs: the daemon was stopped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			if err := (&Job{Job: tc.job, ran: 2}).Failure(tc.told, tc.made); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
