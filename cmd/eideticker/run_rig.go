package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// remoteRun is a run on a rig.
type remoteRun struct {
	*env
	cmd    runCmd
	client *client.Client
	job    api.Job
	told   int // runs with an event
	shown  phases
}

// onRig runs on a rig, shows the progress and ends like a local run.
func (c runCmd) onRig(e *env) error {
	params, err := c.startParams()
	if err != nil {
		return err
	}
	asked, err := c.open(c.Rig)
	if err != nil {
		return err
	}
	r := &remoteRun{env: e, cmd: c, client: asked, shown: phases{env: e}}
	var status api.Status
	if err := asked.Call(e.ctx, "rig.status", api.Empty{}, &status); err != nil {
		return fmt.Errorf("run: %w", orInterrupted(err))
	}
	if c.Baseline != "" || c.sides() > 1 {
		fmt.Fprintf(e.err, "a verdict needs %d runs of each set\n", c.neededRuns(max(1, c.sides()-1)))
	}
	if err := r.start(params); err != nil {
		return err
	}
	fmt.Fprintf(e.err, "job %s, seed %d\n", r.job.ID, r.job.Seed)
	followed := r.follow(status.Seq)
	r.shown.end()
	if e.ctx.Err() != nil {
		followed = errors.Join(followed, r.cancel())
	}
	return errors.Join(r.show(), orInterrupted(followed), r.pull())
}

// pull gets the runs of a successful job, if asked to.
func (r *remoteRun) pull() error {
	if r.cmd.Output == "" || r.job.State != "ok" {
		return nil
	}
	e := *r.env
	e.out = e.err // --json prints one object
	return pullCmd{rigAccess: r.cmd.rigAccess, ID: r.job.ID, Rig: r.cmd.Rig, Output: r.cmd.Output}.Run(&e)
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
	name, changes, err := parseVariant(text)
	if err != nil {
		return v, err
	}
	for _, change := range changes {
		if change[0] == "test" {
			if len(c.Tests) > 0 && strings.Contains(change[1], "://") {
				return v, usagef("--variant %s: a rig cannot change the address of a test; write a file for each", name)
			}
			if v, err = c.remoteTest(change[1]); err != nil {
				return v, err
			}
		}
	}
	v.Name = name
	for _, change := range changes {
		switch value := change[1]; change[0] {
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
			v.Upload, err = uploadText(t)
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
			v.Upload, err = uploadOf(test, t)
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

// uploadOf returns a test file with its touch recordings.
func uploadOf(file string, t *suite.Test) (*api.Upload, error) {
	if t.Network.Replay != "" {
		return nil, usagef("%s: the archive %s is not sent to the rig; put both into the rig's suite and run %s", file,
			t.Network.Replay, t.Name)
	}
	name := filepath.Base(file)
	u := &api.Upload{Test: name, Files: map[string]string{name: string(t.Text)}}
	for _, other := range recordedIn(t.Steps) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), filepath.FromSlash(other)))
		if err != nil {
			return nil, err
		}
		u.Files[other] = string(text)
	}
	return u, nil
}

// recordedIn returns the touch recordings of steps.
func recordedIn(steps []suite.Step) (files []string) {
	for _, s := range steps {
		switch a := s.Action.(type) {
		case suite.Replay:
			for _, f := range a.Files {
				files = append(files, f.File)
			}
		case suite.Loop:
			files = append(files, recordedIn(a.Steps)...)
		case suite.Ping:
			files = append(files, recordedIn([]suite.Step{a.Do})...)
		}
	}
	return files
}

// start queues the job.
func (r *remoteRun) start(p api.StartParams) error {
	err := r.addressedAll(&p)
	if err == nil {
		err = r.client.Call(r.ctx, "run.start", p, &r.job)
	}
	if err != nil {
		return fmt.Errorf("run: %w", orInterrupted(askedWrongly(err)))
	}
	return nil
}

// addressedAll does so for all tests of a job.
func (r *remoteRun) addressedAll(p *api.StartParams) error {
	err := r.addressed(&p.Test, &p.URL)
	for i := range p.Variants {
		err = errors.Join(err, r.addressed(&p.Variants[i].Test, &p.Variants[i].URL))
	}
	return err
}

// addressed replaces an unknown test with a point in its name by the address of such a host.
func (r *remoteRun) addressed(test, url *string) error {
	if !strings.Contains(*test, ".") {
		return nil
	}
	err := r.client.Call(r.ctx, "suite.get", api.TestName{Test: *test}, nil)
	var told *api.Error
	if !errors.As(err, &told) || told.Code != api.NotFound {
		return err
	}
	if address, e := session.Address(*test); e == nil && !strings.HasPrefix(address, "file:") {
		*test, *url = "", address
	}
	return nil
}

// askedWrongly turns a rig's error about parameters into a usage error.
func askedWrongly(err error) error {
	var told *api.Error
	if errors.As(err, &told) && (told.Code == api.InvalidParams || told.Code == api.NotFound) {
		return usageError{err}
	}
	return err
}

// rigPatience is the time for which a working rig may be unreachable.
const rigPatience = 5 * time.Minute

var errJobEnded = errors.New("the job has ended")

// follow shows events until the job has ended.
func (r *remoteRun) follow(from uint64) error {
	missed := func() error { // the job may have ended meanwhile
		if err := r.client.Call(r.ctx, "job.get", api.JobID{Job: r.job.ID}, &r.job); err != nil {
			return err
		}
		if r.job.EndedWallNS != 0 {
			return errJobEnded
		}
		return nil
	}
	err := r.client.Events(r.ctx, &from, []string{"job", "phase", "run"}, rigPatience, missed, r.happened)
	if errors.Is(err, errJobEnded) {
		return nil
	}
	return err
}

// happened handles an event.
func (r *remoteRun) happened(ev api.Event) error {
	switch {
	case ev.Kind == "job" && ev.Job != nil && ev.Job.ID == r.job.ID:
		if what := waitsFor(ev.Job); what != "" {
			r.shown.show(what, 0, 0)
		}
		if ev.Job.EndedWallNS != 0 {
			return errJobEnded
		}
	case ev.JobID != r.job.ID:
	case ev.Phase != nil:
		what := ev.Phase.Name
		if ev.Phase.Run != "" {
			what = "run " + ev.Phase.Run + ": " + what
		}
		r.shown.show(what, ev.Phase.Done, ev.Phase.Total)
	case ev.Run != nil:
		r.told++
		if r.job.Total != 1 && !r.cmd.JSON {
			fmt.Fprintf(r.err, "%s %s: %s\n", ev.Run.Variant, ev.Run.Run,
				terminal.Clean(strings.TrimSuffix(ev.Run.State+": "+ev.Run.Reason, ": ")))
		}
	}
	return nil
}

// waitsFor returns why a job waits, or "".
func waitsFor(j *api.Job) string {
	text := "waiting"
	switch {
	case j.EndedWallNS != 0 || j.Position == 0 && j.Reason == "":
		return ""
	case j.Position > 0:
		text += fmt.Sprintf(", number %d in the queue", j.Position)
	}
	if j.Reason != "" {
		text += "; " + j.Reason
	}
	return text
}

// cancel cancels the job.
func (r *remoteRun) cancel() error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.ctx), 10*time.Second)
	defer stop()
	err := r.client.Call(ctx, "run.cancel", api.JobID{Job: r.job.ID}, nil)
	var told *api.Error
	if errors.As(err, &told) && told.Code == api.Conflict {
		return nil // it has ended by itself
	}
	if err == nil {
		fmt.Fprintf(r.err, "job %s is cancelled\n", r.job.ID)
	}
	return err
}
