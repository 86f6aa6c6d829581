package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/session/subject"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/controller/verdict"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/remote"
)

// hubFlags are about runs on a fleet.
type hubFlags struct {
	Hub     string   `placeholder:"URL" help:"Run on any fitting device of this hub's fleet."`
	Needs   []string `placeholder:"KEY=VALUE" sep:"none" help:"With --hub: label of the device; repeatable."`
	Replace bool     `help:"With --hub: after a fault of the lab, another device may do it."`
	Job     string   `placeholder:"ID" help:"With --hub: own ID, such as s-build-7. Repeated calls make one job."`
	Class   string   `placeholder:"CLASS" help:"With --hub: now, check, watch or fill (default: now)."`
}

// asked returns the error of a request. An error about parameters is a usage error.
func asked(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("run: %w", orInterrupted(askedWrongly(err)))
}

// askedWrongly turns a rig's error about parameters into a usage error.
func askedWrongly(err error) error {
	var told *api.Error
	if errors.As(err, &told) && (told.Code == api.InvalidParams || told.Code == api.NotFound) {
		return usageError{err}
	}
	return err
}

// jobProgress shows a job that is followed.
type jobProgress struct {
	phases
	quiet bool // about single runs
}

func (p *jobProgress) Phase(name string, done, total int) { p.show(name, done, total) }

func (p *jobProgress) Ran(run api.Made) {
	if !p.quiet {
		fmt.Fprintf(p.err, "%s %s: %s\n", run.Variant, run.Run,
			terminal.Clean(strings.TrimSuffix(run.State+": "+run.Reason, ": ")))
	}
}

// onRig runs on a rig, shows the progress and ends like a local run.
func (c runCmd) onRig(e *env) error {
	params, err := c.startParams()
	if err != nil {
		return err
	}
	rig, err := c.open(c.Rig)
	if err != nil {
		return err
	}
	var status api.Status
	if err := rig.Call(e.ctx, "rig.status", api.Empty{}, &status); err != nil {
		return fmt.Errorf("run: %w", orInterrupted(err))
	}
	if c.Baseline != "" || c.sides() > 1 {
		fmt.Fprintf(e.err, "a verdict needs %d runs of each set\n", verdict.Needed(max(1, c.sides()-1), c.JudgeAll))
	}
	j, err := remote.Start(e.ctx, rig, params)
	if err != nil {
		return asked(err)
	}
	fmt.Fprintf(e.err, "job %s, seed %d\n", j.ID, j.Seed)
	shown := &jobProgress{phases{env: e}, j.Total == 1 || c.JSON}
	followed := j.Follow(e.ctx, status.Seq, shown)
	shown.end()
	if e.ctx.Err() != nil {
		cancelled, err := j.Cancel(context.WithoutCancel(e.ctx))
		if cancelled {
			fmt.Fprintf(e.err, "job %s is cancelled\n", j.ID)
		}
		followed = errors.Join(followed, err)
	}
	return errors.Join(c.showJob(e, j), orInterrupted(followed), c.pullJob(e, j))
}

// pullJob gets the runs of a successful job, if asked to.
func (c runCmd) pullJob(e *env, j *remote.Job) error {
	if c.Output == "" || j.State != "ok" {
		return nil
	}
	own := *e
	own.out = e.err // --json prints one object
	return pullCmd{rigAccess: c.rigAccess, ID: j.ID, Rig: c.Rig, Output: c.Output}.Run(&own)
}

// showJob prints the results of a rig like those of local runs. The baseline decides, if it is
// given.
func (c runCmd) showJob(e *env, j *remote.Job) error {
	ctx := context.WithoutCancel(e.ctx)
	if err := j.Update(ctx); err != nil && e.ctx.Err() == nil {
		return err
	}
	against := func(t *testRun) error { return c.against(e, j, t) }
	made, err := c.judgeJob(ctx, e, j, strings.TrimSuffix(c.Rig, "/")+"/#/runs/", against)
	return j.Failure(err, made)
}

// judgeJob fetches and prints the results of a job. It returns their number, and the error for the
// exit code.
func (c runCmd) judgeJob(ctx context.Context, e *env, j *remote.Job, at string, then func(*testRun) error) (
	made int, err error) {
	dir, err := os.MkdirTemp("", "eideticker-run-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	got, err := j.Fetch(ctx, dir)
	if err != nil {
		return 0, err
	}
	if c.WhyChanged {
		failed, err := j.FetchFurther(ctx, dir)
		for _, why := range failed {
			fmt.Fprintf(e.err, "a further run failed: %s\n", terminal.Clean(why))
		}
		if err != nil { // the plain runs decide
			fmt.Fprintf(e.err, "the change is not explained: %v\n", err)
		}
	}
	t := &testRun{env: e, cmd: c, at: at, options: got.Options, set: got.Set}
	if c.Baseline != "" {
		t.cmd.FailOnRegression = false
	}
	var verdict compare.VerdictError
	if err = t.tell(); err == nil || errors.As(err, &verdict) {
		err = compare.Gravest(err, then(t))
	}
	return len(got.Set.Made), err
}

// against compares the runs of each variant with the baseline on the rig, and prints the outcomes.
func (c runCmd) against(e *env, j *remote.Job, t *testRun) error {
	if c.Baseline == "" || j.State != "ok" {
		return nil
	}
	out := e.out
	if c.JSON { // it has one object
		out = e.err
	}
	p := api.CompareParams{Threshold: c.Threshold.value, Primary: strings.Join(c.Primary, ","), JudgeAll: c.JudgeAll,
		JudgeUnlike: c.JudgeUnlike}
	var found error
	for i, v := range t.options.Variants {
		runs := t.set.Of(i)
		if len(runs) == 0 || t.options.HasPlain(i) {
			continue
		}
		got, err := j.Against(context.WithoutCancel(e.ctx), c.Baseline, runs[0].Dir, p)
		if err != nil {
			return fmt.Errorf("compare the runs of %s with %s: %w", v.Name(), c.Baseline, err)
		}
		if _, err := fmt.Fprintf(out, "%s against %s: %s\n", terminal.Clean(v.Name()), terminal.Clean(c.Baseline),
			terminal.Clean(cmp.Or(got.Sentence, got.Outcome))); err != nil {
			return err
		}
		found = compare.Gravest(found, compare.Outcome(got.Outcome).Err(got.Sentence))
	}
	if !c.FailOnRegression {
		return nil
	}
	return found
}

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
	j, err := remote.Submit(e.ctx, hub, api.JobParams{Job: c.Job, Needs: c.Needs, Replace: c.Replace,
		StartParams: params})
	if err != nil {
		return asked(err)
	}
	fmt.Fprintf(e.err, "job %s\n", j.Job)
	shown := phases{env: e}
	err = j.Follow(e.ctx, func(state string) { shown.show(state, 0, 0) },
		func(note string) { fmt.Fprintln(e.err, note) })
	shown.end()
	if e.ctx.Err() != nil {
		fmt.Fprintf(e.err, "job %s goes on; see it at %s\ncancel it with eideticker fleet cancel %s --hub %s\n",
			j.Job, c.onPage(""), j.Job, c.Hub)
	}
	if err != nil {
		return fmt.Errorf("run: %w", orInterrupted(err))
	}
	return c.showFleetJob(e, j)
}

// onPage returns the address of a set on the hub's page of its fleet.
func (c runCmd) onPage(set string) string {
	return strings.TrimSuffix(strings.TrimSuffix(c.Hub, "/")+"/#/fleet/"+set, "/")
}

// showFleetJob prints the result and returns the error of the job.
func (c runCmd) showFleetJob(e *env, j *remote.FleetJob) error {
	// Conditions of the command line need the results of the runs. A baseline is compared on the rig.
	judges := len(c.FailIf) > 0 || c.Markdown != "" || c.FailOnRegression && c.Baseline == ""
	if c.JSON {
		if err := printJSON(e.out, j.FleetJob); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(e.out, remote.FleetJobText(&j.FleetJob))
		for _, a := range j.Attempts {
			if a.Set == "" || a.Superseded {
				continue
			}
			fmt.Fprintln(e.out, c.onPage(a.Set))
			if j.State == "ok" && !judges {
				c.printFindings(e, j, a.Set)
			}
		}
	}
	if err := j.Failure(); err != nil {
		return err
	}
	var verdict error
	if c.FailOnRegression && c.Baseline != "" {
		verdict = j.Judged()
	}
	if !judges {
		return verdict
	}
	set, err := j.WinnerSet()
	if err != nil {
		return err
	}
	runs, err := j.Runs(e.ctx, set)
	if err != nil {
		return fmt.Errorf("get the runs of %s: %w", set, err)
	}
	own := *e
	if c.JSON { // it has one object
		own.out, c.JSON = e.err, false
	}
	_, err = c.judgeJob(e.ctx, &own, runs, c.onPage("")+"/", func(*testRun) error { return nil })
	return compare.Gravest(err, verdict)
}

// printFindings prints the costs of profiles and the causes of changes of a set. The job's result
// does not depend on them.
func (c runCmd) printFindings(e *env, j *remote.FleetJob, set string) {
	costs, err := j.Costs(e.ctx, set, c.Primary)
	if err != nil {
		err = fmt.Errorf("the cost of a profile is unknown: %w", err)
	}
	texts := costs
	if c.WhyChanged {
		causes, failed := j.Causes(e.ctx, set, c.Primary)
		texts = append(texts, causes...)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("the change is not explained: %w", failed))
		}
	}
	for _, text := range texts {
		fmt.Fprintln(e.out, terminal.Clean(text))
	}
	if err != nil {
		fmt.Fprintln(e.err, err)
	}
}

// startParams returns the parameters of run.start.
func (c runCmd) startParams() (p api.StartParams, err error) {
	p = api.StartParams{
		Devices: c.Device, Browsers: c.Browser, WarmUp: c.WarmUp, Retries: c.Retries, UntilFail: c.UntilFail,
		Seed:    c.Seed,
		NoVideo: c.NoVideo, Label: c.Label, Branch: c.Branch, Revision: c.Revision, Reservation: c.Reservation,
		Baseline: c.Baseline, JudgeUnlike: c.JudgeUnlike,
		FilmstripStepNS: int64(c.FilmstripStep), Vitals: c.Vitals, Fresh: c.Fresh, Script: c.Script,
		Profile: c.Profile.text, TraceLimit: int64(c.TraceLimit), Strict: c.Strict,
		ProfiledOnly: c.ProfiledOnly, WhyChanged: c.WhyChanged,
	}
	switch {
	case len(c.Site) > 0:
		return p, usagef("--site is of this machine; a rig has builds of feeds: use --browser KIND@FEED:BUILD")
	case len(c.Tests) == 0 && len(c.Variant) == 0:
		return p, usagef("no test: name a test, a test file or an address")
	case c.UntilSure:
		return p, usagef("--until-sure cannot be used with --rig; use --repeat, or run on this machine")
	case c.Devices != "" || len(c.Suite) > 0:
		return p, usagef("--devices and --suite cannot be used with --rig, which has its own")
	case c.WaitForQuiet != nil:
		return p, usagef("--wait-for-quiet cannot be used with --rig")
	case c.ObserverEffect != nil:
		return p, usagef("--observer-effect cannot be used with --rig")
	case c.Adapt != "" || c.Share != "" || c.Break:
		return p, usagef("--adapt, --share and --break cannot be used with --rig; set script in a test file")
	case c.End != "":
		return p, usagef("--end cannot be used with --rig; set end in a test file")
	case c.Why:
		return p, usagef("--why cannot be used with --rig; use --profile samples,js,sockets and --script calls,errors")
	case c.WhyChanged && (c.Threshold.given || len(c.Primary) > 0 || c.JudgeAll):
		return p, usagef("--why-changed with --rig decides by the test; omit --threshold, --primary and --judge-all")
	case len(c.AB) > 0:
		return p, usagef("--ab cannot be used with --rig")
	case c.Markdown != "" && c.sides() < 2:
		return p, usagef("--markdown with --rig needs two tests, variants, browsers or devices")
	case c.Output != "" && exists(c.Output):
		return p, fmt.Errorf("%s exists: choose another folder with -o", c.Output)
	case c.FailOnRegression && c.Baseline == "" && c.sides() < 2:
		return p, usagef("--fail-on-regression needs two tests, variants, browsers or devices, or a --baseline")
	}
	if _, err := c.failIf(); err != nil {
		return p, err
	}
	asked := c.numbers()
	if err := asked.Check(); err != nil {
		return p, outOfRange(err)
	}
	p.MaxLost = asked.MaxLost
	if c.Repeat != nil {
		p.Repeat = *c.Repeat
	}
	if c.Cooldown != nil {
		if p.CooldownNS = int64(*c.Cooldown); p.CooldownNS == 0 {
			p.CooldownNS = 1 // 0 selects the test's own
		}
	}
	return p, c.askFor(&p)
}

// sides is the number of sides that are compared.
func (c runCmd) sides() int {
	return max(1, len(c.Tests), len(c.Variant)) * max(1, len(c.Browser)) * max(1, len(c.Device))
}

// askFor adds the tests and variants.
func (c runCmd) askFor(p *api.StartParams) error {
	var tests []api.Variant
	for _, name := range c.Tests {
		v, err := c.remoteTest(name)
		if err != nil {
			return err
		}
		tests = append(tests, v)
	}
	switch {
	case len(c.Variant) == 1:
		return usagef("--variant is given once; a comparison needs two")
	case len(c.Variant) > 0 && len(tests) > 1:
		return usagef("--variant changes one test, and %d are given", len(tests))
	case len(tests) > 1:
		p.Variants, p.Network = tests, c.Network
		return nil
	case len(tests) == 1:
		t := tests[0]
		p.Test, p.URL, p.Upload, p.Gestures = t.Test, t.URL, t.Upload, t.Gestures
	}
	p.Network = c.Network
	for _, text := range c.Variant {
		v, err := c.remoteVariant(text)
		if err != nil {
			return err
		}
		p.Variants = append(p.Variants, v)
	}
	return nil
}

// remoteVariant returns a --variant for a rig.
func (c runCmd) remoteVariant(text string) (v api.Variant, err error) {
	name, changes, err := subject.Parse(text)
	if err != nil {
		return v, usagef("--variant %w", err)
	}
	for _, change := range changes {
		if change.Key == "test" {
			if len(c.Tests) > 0 && strings.Contains(change.Value, "://") {
				return v, usagef("--variant %s: a rig cannot change the address of a test; write a file for each", name)
			}
			if v, err = c.remoteTest(change.Value); err != nil {
				return v, err
			}
		}
	}
	v.Name = name
	for _, change := range changes {
		switch value := change.Value; change.Key {
		case "archive":
			return v, usagef("--variant %s: an archive is not sent to a rig; put its test into the rig's suite", name)
		case "site":
			return v, usagef("--variant %s: a folder is not sent to a rig; use browser:KIND@FEED:BUILD", name)
		case "network":
			v.Network = value
		case "device":
			v.Device = value
		case "browser":
			v.Browser = value
		}
	}
	return v, nil
}

// remoteTest returns the test of a name for a rig: a file, an address or a name.
func (c runCmd) remoteTest(test string) (v api.Variant, err error) {
	if c.given() {
		t, err := c.onAddress(test)
		if err == nil {
			err = c.checkPrimary(t)
		}
		if err != nil {
			return v, err
		}
		if c.URL != "" {
			v.Upload, err = remote.UploadMade(t)
			return v, err
		}
		v.URL, v.Gestures = t.URL, &api.Gestures{Hover: c.Hover, Click: c.Click, Scroll: c.Scroll}
		if c.Type != nil {
			v.Gestures.Text = *c.Type
		}
		return v, nil
	}
	if isTestFile(test) {
		t, err := readTest(test)
		if err == nil {
			err = c.checkPrimary(t)
		}
		if err == nil {
			v.Upload, err = upload(test, t)
		}
		return v, err
	}
	if err := c.checkPrimary(&suite.Test{Vitals: true}); err != nil { // the rig knows whether it has them
		return v, err
	}
	if strings.Contains(test, "://") {
		v.URL = test
	} else {
		v.Test = test
	}
	return v, nil
}

// upload returns a test file with its touch recordings.
func upload(file string, t *suite.Test) (*api.Upload, error) {
	if t.Network.Replay != "" {
		return nil, usagef("%s: the archive %s is not sent to the rig; put both into the rig's suite and run %s", file,
			t.Network.Replay, t.Name)
	}
	return remote.Upload(file, t)
}
