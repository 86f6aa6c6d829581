package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/remote"
)

// TestExitCodes: each end of a command has one exit code. A failure is before a regression. That is
// before an undecided verdict. The failure of a job is before the verdict on its runs.
func TestExitCodes(t *testing.T) {
	regressed, undecided := compare.Regressed.Err("worse"), compare.Inconclusive.Err("open")
	failed := errors.New("run failed: no browser")
	// onRig is the end of a job of a rig: that of its runs, and of their comparison with a baseline.
	onRig := func(state string, ofRuns, baseline error) error {
		j := &remote.Job{Job: api.Job{State: state, EndedWallNS: 1, Total: 1}}
		return j.Failure(compare.Gravest(ofRuns, baseline), 1)
	}
	// onFleet is the end of a job of a fleet: of its runs here, and of the comparison on the rig.
	onFleet := func(verdict string, ofRuns error) error {
		j := &remote.FleetJob{FleetJob: api.FleetJob{State: "ok", Verdict: verdict}}
		return compare.Gravest(ofRuns, j.Judged())
	}
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"done":              {nil, exitOK},
		"failure":           {failed, exitFailure},
		"usage":             {fmt.Errorf("run: %w", usagef("no test")), exitUsage},
		"rejected request":  {asked(&api.Error{Code: api.InvalidParams}), exitUsage},
		"failed request":    {asked(&api.Error{Code: api.Internal}), exitFailure},
		"interrupted":       {errors.Join(regressed, orInterrupted(context.Canceled)), exitInterrupted},
		"program":           {childError{7}, 7},
		"passed":            {compare.Passed.Err(""), exitOK},
		"regressed":         {fmt.Errorf("demo: %w", regressed), exitRegression},
		"undecided":         {undecided, exitInconclusive},
		"both":              {compare.Gravest(undecided, regressed), exitRegression},
		"failure and worse": {compare.Gravest(regressed, failed), exitFailure},

		"rig passed":              {onRig("ok", nil, nil), exitOK},
		"rig regressed":           {onRig("ok", regressed, nil), exitRegression},
		"rig undecided":           {onRig("ok", undecided, nil), exitInconclusive},
		"rig worse than baseline": {onRig("ok", undecided, regressed), exitRegression},
		"rig unlike baseline":     {onRig("ok", nil, undecided), exitInconclusive},
		"rig, no comparison":      {onRig("ok", regressed, failed), exitFailure},
		"rig, failed run":         {onRig("failed", failed, nil), exitFailure},
		"rig, failed later":       {onRig("failed", regressed, nil), exitFailure},
		"rig cancelled":           {onRig("cancelled", regressed, regressed), exitFailure},

		"fleet passed":          {onFleet("unchanged", nil), exitOK},
		"fleet regressed":       {onFleet("a: regressed, b: unchanged", nil), exitRegression},
		"fleet undecided":       {onFleet("inconclusive", nil), exitInconclusive},
		"fleet without verdict": {onFleet("", nil), exitInconclusive},
		"fleet, budget broken":  {onFleet("inconclusive", regressed), exitRegression},
		"fleet, failed runs":    {onFleet("regressed", failed), exitFailure},
	} {
		if got := exitCode(io.Discard, tc.err); got != tc.want {
			t.Errorf("%s: %v has exit code %d, want %d", name, tc.err, got, tc.want)
		}
	}
}
