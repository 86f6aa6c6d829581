package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// hubFlags are about runs on a fleet.
type hubFlags struct {
	Hub     string   `placeholder:"URL" help:"Run on any fitting device of this hub's fleet."`
	Needs   []string `placeholder:"KEY=VALUE" sep:"none" help:"With --hub: label of the device; repeatable."`
	Replace bool     `help:"With --hub: after a fault of the lab, another device may do it."`
	Job     string   `placeholder:"ID" help:"With --hub: own ID, such as s-build-7. Repeated calls make one job."`
	Class   string   `placeholder:"CLASS" help:"With --hub: now, check, watch or fill (default: now)."`
}

// Times of following a job.
const (
	hubEvery    = time.Second
	hubPatience = rigPatience
)

// onHub runs on a fleet, shows the progress and the verdict.
func (c runCmd) onHub(e *env) error {
	if c.Output != "" {
		return usagef("-o cannot be used with --hub: recordings stay on the rig")
	}
	params, err := c.startParams()
	if err != nil {
		if usage := (usageError{}); errors.As(err, &usage) {
			return usagef("%s", strings.ReplaceAll(err.Error(), "--rig", "--hub"))
		}
		return err
	}
	params.Class = c.Class
	hub, err := c.open(c.Hub)
	if err != nil {
		return err
	}
	defer hub.Close()
	named := &remoteRun{env: e, cmd: c, client: hub}
	if err := named.addressedAll(&params); err != nil {
		return fmt.Errorf("run: %w", orInterrupted(askedWrongly(err)))
	}
	h := &hubRun{env: e, cmd: c, client: hub, shown: phases{env: e}}
	p := api.JobParams{Job: c.Job, Needs: c.Needs, Replace: c.Replace, StartParams: params}
	if err := hub.Call(e.ctx, "job.start", p, &h.job); err != nil {
		return fmt.Errorf("run: %w", orInterrupted(askedWrongly(err)))
	}
	h.params, h.params.Job = p, h.job.Job
	fmt.Fprintf(e.err, "job %s\n", h.job.Job)
	err = h.follow()
	h.shown.end()
	if e.ctx.Err() != nil {
		fmt.Fprintf(e.err, "job %s goes on; see it at %s\ncancel it with eideticker fleet cancel %s --hub %s\n",
			h.job.Job,
			h.address("#/fleet"), h.job.Job, c.Hub)
	}
	if err != nil {
		return fmt.Errorf("run: %w", orInterrupted(err))
	}
	return h.outcome()
}

// hubRun is a job of a fleet that is followed.
type hubRun struct {
	*env
	cmd    runCmd
	client *client.Client
	params api.JobParams // of the job, with its ID
	job    api.FleetJob
	shown  phases
}

func (h *hubRun) address(path string) string { return strings.TrimSuffix(h.cmd.Hub, "/") + "/" + path }

// follow shows the progress until the job has ended. The hub may be away for a while. A hub that
// was restored from a copy may not know the job: it is submitted again.
func (h *hubRun) follow() error {
	heard := time.Now()
	for h.job.EndedWallNS == 0 {
		h.shown.show(fleetJobText(&h.job), 0, 0)
		select {
		case <-time.After(hubEvery):
		case <-h.ctx.Done():
			return h.ctx.Err()
		}
		var job api.FleetJob
		err := h.client.Call(h.ctx, "fleet.job", api.JobID{Job: h.job.Job}, &job)
		told := (*api.Error)(nil)
		if errors.As(err, &told) && told.Code == api.NotFound {
			fmt.Fprintf(h.err, "the hub does not know job %s; it is submitted again\n", h.job.Job)
			err = h.client.Call(h.ctx, "job.start", h.params, &job)
		}
		switch {
		case err == nil:
			h.job, heard = job, time.Now()
		case errors.As(err, &told) && told.Code != api.Unavailable || time.Since(heard) > hubPatience:
			return err
		}
	}
	return nil
}

// outcome prints the result and returns the error of the job.
func (h *hubRun) outcome() error {
	j := &h.job
	if h.cmd.JSON {
		if err := printJSON(h.out, j); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(h.out, fleetJobText(j))
		for _, a := range j.Attempts {
			if a.Set == "" || a.Superseded {
				continue
			}
			fmt.Fprintln(h.out, h.address("#/fleet/"+a.Set))
			if j.State != "ok" || h.judges() {
				continue
			}
			if err := h.printCosts(a.Set); err != nil { // the job's result does not depend on it
				fmt.Fprintf(h.err, "the cost of a profile is unknown: %v\n", err)
			}
			if !h.cmd.WhyChanged {
				continue
			}
			if err := h.printCauses(a.Set); err != nil { // as above
				fmt.Fprintf(h.err, "the change is not explained: %v\n", err)
			}
		}
	}
	if j.State != "ok" {
		return fmt.Errorf("the job ended as %s%s", j.State, prefixed(": ", j.Reason))
	}
	if !h.judges() {
		return h.verdict()
	}
	i := slices.IndexFunc(j.Attempts, func(a api.FleetAttempt) bool { return a.Attempt == j.Winner })
	if i < 0 {
		return errors.New("the job has no runs")
	}
	return gravest(h.judge(j.Attempts[i].Set), h.verdict())
}

// verdict returns the error for the exit code that a comparison with a baseline needs.
func (h *hubRun) verdict() error {
	j := &h.job
	switch {
	case !h.cmd.FailOnRegression || h.cmd.Baseline == "":
		return nil
	case strings.Contains(j.Verdict, "regressed"):
		return verdictError{code: exitRegression, what: "the job regressed"}
	case j.Verdict == "" || strings.Contains(j.Verdict, "inconclusive"):
		return verdictError{code: exitInconclusive, what: "the job has no clear verdict"}
	}
	return nil
}

// printCosts prints what the profiles of a set cost: its profiled runs against the plain ones.
func (h *hubRun) printCosts(set string) error {
	body, err := h.client.FleetFile(h.ctx, set, session.SetFile)
	if err != nil {
		return err
	}
	pairs, err := compare.PlainPairs(body)
	if err = errors.Join(err, body.Close()); err != nil {
		return fmt.Errorf("read %s: %w", session.SetFile, err)
	}
	for _, pair := range pairs {
		c, err := h.compare(set, pair[0], pair[1])
		if err != nil {
			return err
		}
		text := c.Answer
		if !c.Cost {
			text = compare.UnknownCost(pair[1])
		}
		fmt.Fprintln(h.out, terminal.Clean(text))
	}
	return nil
}

// printCauses compares the variants of a set with the first one, and prints the functions that
// explain changes.
func (h *hubRun) printCauses(set string) error {
	body, err := h.client.FleetFile(h.ctx, set, session.SetFile)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxResults))
	var plan struct {
		Variants []string `json:"variants"`
	}
	if err = errors.Join(err, body.Close()); err == nil {
		err = json.Unmarshal(raw, &plan)
	}
	for i := 1; err == nil && i < len(plan.Variants); i++ {
		var c compared
		if c, err = h.compare(set, plan.Variants[0], plan.Variants[i]); err == nil {
			fmt.Fprintln(h.out, terminal.Clean(strings.TrimSpace(c.Answer+" "+c.Cause)))
		}
	}
	return err
}

// compared is a part of a comparison's JSON.
type compared struct {
	Answer string `json:"answer"`
	Cause  string `json:"cause"`
	Cost   bool   `json:"cost"`
}

// compare has the hub compare two variants of a set.
func (h *hubRun) compare(set, base, with string) (c compared, err error) {
	var got api.Compared
	p := api.CompareParams{Base: set + "~" + base, With: set + "~" + with, Primary: strings.Join(h.cmd.Primary, ",")}
	if err = h.client.Call(h.ctx, "compare", p, &got); err == nil {
		err = json.Unmarshal(got.Comparison, &c)
	}
	return c, err
}
