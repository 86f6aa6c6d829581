package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// judges reports if conditions of the command line need the results of the runs. A baseline is
// compared on the rig.
func (h *hubRun) judges() bool {
	return len(h.cmd.FailIf) > 0 || h.cmd.Markdown != "" || h.cmd.FailOnRegression && h.cmd.Baseline == ""
}

// judge prints the results of a set like those of local runs. It returns the error for the exit
// code. With --json they are on standard error.
func (h *hubRun) judge(set string) (err error) {
	dir, err := os.MkdirTemp("", "eideticker-run-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e := *h.env
	if h.cmd.JSON {
		e.out = e.err
	}
	r := &remoteRun{env: &e, cmd: h.cmd, client: h.client}
	if r.job, err = h.made(h.ctx, set); err != nil {
		return fmt.Errorf("get the runs of %s: %w", set, err)
	}
	t := &testRun{env: &e, cmd: h.cmd, at: h.address("#/fleet/")}
	t.cmd.JSON = false
	if h.cmd.Baseline != "" { // the job's verdict has it
		t.cmd.FailOnRegression = false
	}
	if err := r.fetch(h.ctx, t, dir); err != nil {
		return err
	}
	return t.tell()
}

// made returns the job of a set, with its runs.
func (h *hubRun) made(ctx context.Context, set string) (api.Job, error) {
	j := api.Job{ID: set, Test: h.job.Test, Total: 1, Runs: []api.Made{{Run: set}}}
	body, err := h.client.FleetFile(ctx, set, session.SetFile)
	if status := (*client.StatusError)(nil); errors.As(err, &status) && status.Status == 404 {
		return j, nil // one run alone
	}
	if err != nil {
		return j, err
	}
	var plan struct {
		Seed uint64 `json:"seed"`
		api.StartView
		Runs []struct {
			Dir string `json:"dir"`
			api.Made
		} `json:"runs"`
	}
	err = json.NewDecoder(io.LimitReader(body, maxResults)).Decode(&plan)
	if err = errors.Join(err, body.Close()); err != nil {
		return j, err
	}
	j.Seed, j.Total, j.Runs, j.Params = plan.Seed, 0, nil, &plan.StartView
	j.Params.UntilFail = h.cmd.UntilFail
	for _, r := range plan.Runs {
		r.Made.Run = set + "~" + strings.ReplaceAll(r.Dir, "/", "~")
		j.Runs = append(j.Runs, r.Made)
	}
	return j, nil
}
