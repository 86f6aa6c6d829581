package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// every is the time between two questions about a job or a bisection.
const every = time.Second

// FleetJob is a job of a fleet.
type FleetJob struct {
	api.FleetJob
	hub    *client.Client
	params api.JobParams // with the job's ID
}

// Submit gives a job to the hub of a fleet.
func Submit(ctx context.Context, hub *client.Client, p api.JobParams) (*FleetJob, error) {
	j := &FleetJob{hub: hub, params: p}
	err := resolveAll(ctx, hub, &j.params.StartParams)
	if err == nil {
		err = hub.Call(ctx, "job.start", j.params, &j.FleetJob)
	}
	j.params.Job = j.Job
	return j, err
}

// Follow reports the state until the job has ended. The hub may be away for a while. A hub that was
// restored from a copy may not know the job: it is submitted again, and note is called.
func (j *FleetJob) Follow(ctx context.Context, state func(text string), note func(text string)) error {
	heard := time.Now()
	for j.EndedWallNS == 0 {
		state(FleetJobText(&j.FleetJob))
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return ctx.Err()
		}
		var job api.FleetJob
		err := j.hub.Call(ctx, "fleet.job", api.JobID{Job: j.Job}, &job)
		if hasCode(err, api.NotFound) {
			note(fmt.Sprintf("the hub does not know job %s; it is submitted again", j.Job))
			err = j.hub.Call(ctx, "job.start", j.params, &job)
		}
		var refused *api.Error
		switch {
		case err == nil:
			j.FleetJob, heard = job, time.Now()
		case errors.As(err, &refused) && refused.Code != api.Unavailable || time.Since(heard) > patience:
			return err
		}
	}
	return nil
}

// Failure returns the error of a job that did not finish.
func (j *FleetJob) Failure() error {
	if j.State == "ok" {
		return nil
	}
	return fmt.Errorf("the job ended as %s%s", j.State, wording.Prefixed(": ", j.Reason))
}

// WinnerSet returns the set of the attempt that counts.
func (j *FleetJob) WinnerSet() (string, error) {
	for _, a := range j.Attempts {
		if a.Attempt == j.Winner {
			return a.Set, nil
		}
	}
	return "", errors.New("the job has no runs")
}

// Judged returns the error of a comparison with a baseline, which the rig made.
func (j *FleetJob) Judged() error {
	switch {
	case strings.Contains(j.Verdict, "regressed"):
		return compare.Regressed.Err("the job regressed")
	case j.Verdict == "" || strings.Contains(j.Verdict, "inconclusive"):
		return compare.Inconclusive.Err("the job has no clear verdict")
	}
	return nil
}

// Runs returns the job of a set with its runs, whose results can be fetched.
func (j *FleetJob) Runs(ctx context.Context, set string) (*Job, error) {
	one := &Job{rig: j.hub, Job: api.Job{ID: set, Test: j.Test, Total: 1, Runs: []api.Made{{Run: set}}}}
	raw, err := readFile(ctx, j.hub, set, session.SetFile)
	if isMissing(err) {
		return one, nil // one run alone
	}
	var plan struct {
		Seed uint64 `json:"seed"`
		api.StartView
		Runs []struct {
			Dir string `json:"dir"`
			api.Made
		} `json:"runs"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &plan)
	}
	if err != nil {
		return nil, err
	}
	one.Seed, one.Total, one.Job.Runs, one.Params = plan.Seed, 0, nil, &plan.StartView
	one.Params.UntilFail = j.params.UntilFail
	for _, r := range plan.Runs {
		r.Run = set + "~" + strings.ReplaceAll(r.Dir, "/", "~")
		one.Job.Runs = append(one.Job.Runs, r.Made)
	}
	return one, nil
}

// Costs returns a sentence about each profile of a set: its profiled runs against the plain ones.
func (j *FleetJob) Costs(ctx context.Context, set string, primary []string) (costs []string, err error) {
	raw, err := readFile(ctx, j.hub, set, session.SetFile)
	if err != nil {
		return nil, err
	}
	pairs, err := compare.PlainPairs(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", session.SetFile, err)
	}
	for _, pair := range pairs {
		c, err := j.compare(ctx, set, pair[0], pair[1], primary)
		if err != nil {
			return costs, err
		}
		if !c.Cost {
			c.Answer = compare.UnknownCost(pair[1])
		}
		costs = append(costs, c.Answer)
	}
	return costs, nil
}

// Causes compares the variants of a set with the first one. It returns a sentence for each, with
// the functions that explain the change.
func (j *FleetJob) Causes(ctx context.Context, set string, primary []string) (causes []string, err error) {
	raw, err := readFile(ctx, j.hub, set, session.SetFile)
	var plan struct {
		Variants []string `json:"variants"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &plan)
	}
	for i := 1; err == nil && i < len(plan.Variants); i++ {
		var c compared
		if c, err = j.compare(ctx, set, plan.Variants[0], plan.Variants[i], primary); err == nil {
			causes = append(causes, strings.TrimSpace(c.Answer+" "+c.Cause))
		}
	}
	return causes, err
}

// compared is a part of a comparison's JSON.
type compared struct {
	Answer string `json:"answer"`
	Cause  string `json:"cause"`
	Cost   bool   `json:"cost"`
}

// compare has the hub compare two variants of a set.
func (j *FleetJob) compare(ctx context.Context, set, base, with string, primary []string) (c compared, err error) {
	var got api.Compared
	p := api.CompareParams{Base: set + "~" + base, With: set + "~" + with, Primary: strings.Join(primary, ",")}
	if err = j.hub.Call(ctx, "compare", p, &got); err == nil {
		err = json.Unmarshal(got.Comparison, &c)
	}
	return c, err
}
