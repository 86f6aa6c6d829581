package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	phase  *progress
	named  string // the name of phase
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
	r := &remoteRun{env: e, cmd: c, client: asked}
	var status api.Status
	if err := asked.Call(e.ctx, "rig.status", api.Empty{}, &status); err != nil {
		return fmt.Errorf("run: %w", orInterrupted(err))
	}
	if c.Baseline != "" || len(c.Browser) > 1 || len(c.Device) > 1 {
		fmt.Fprintf(e.err, "a verdict needs %d runs of each set\n", c.neededRuns(1))
	}
	if err := r.start(params); err != nil {
		return err
	}
	fmt.Fprintf(e.err, "job %s, seed %d\n", r.job.ID, r.job.Seed)
	followed := r.follow(status.Seq)
	if r.phase != nil {
		r.phase.end()
	}
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
	}
	switch {
	case len(c.Tests) != 1 || len(c.Variant) > 0 || c.UntilSure:
		return p, usagef("--rig takes one test, without --variant and --until-sure")
	case c.Devices != "" || len(c.Suite) > 0:
		return p, usagef("--devices and --suite cannot be used with --rig, which has its own")
	case c.WaitForQuiet != nil:
		return p, usagef("--wait-for-quiet cannot be used with --rig")
	case c.FilmstripStep != 0:
		return p, usagef("--filmstrip-step cannot be used with --rig")
	case c.Vitals:
		return p, usagef("--vitals cannot be used with --rig; set vitals in a test of the rig's suite")
	case c.Fresh:
		return p, usagef("--fresh cannot be used with --rig")
	case c.Network != "":
		return p, usagef("--network cannot be used with --rig; set network in a test file")
	case c.Markdown != "" && len(c.Browser) < 2 && len(c.Device) < 2:
		return p, usagef("--markdown with --rig needs two browsers or two devices")
	case c.Output != "" && exists(c.Output):
		return p, fmt.Errorf("%s exists: choose another folder with -o", c.Output)
	case c.FailOnRegression && c.Baseline == "" && len(c.Device)*max(1, len(c.Browser)) != 2 && len(c.Browser) != 2:
		return p, usagef("--fail-on-regression needs two browsers, two devices, or a --baseline of the rig")
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
	test := c.Tests[0]
	if c.given() {
		p.Upload, err = c.uploadGestures(test)
		return p, err
	}
	if isTestFile(test) {
		t, err := readTest(test)
		if err == nil {
			err = c.checkPrimary(t)
		}
		if err == nil {
			p.Upload, err = uploadOf(test, t)
		}
		return p, err
	}
	if err := c.checkPrimary(&suite.Test{}); err != nil {
		return p, err
	}
	switch {
	case strings.Contains(test, "://"):
		p.URL = test
	default:
		p.Test = test
	}
	return p, nil
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

// start queues the job. An unknown test with a point in its name is loaded as an address.
func (r *remoteRun) start(p api.StartParams) error {
	err := r.client.Call(r.ctx, "run.start", p, &r.job)
	var told *api.Error
	if errors.As(err, &told) && told.Code == api.NotFound && strings.Contains(p.Test, ".") {
		if address, e := session.Address(p.Test); e == nil && !strings.HasPrefix(address, "file:") {
			p.Test, p.URL = "", address
			err = r.client.Call(r.ctx, "run.start", p, &r.job)
		}
	}
	if err != nil {
		return fmt.Errorf("run: %w", orInterrupted(askedWrongly(err)))
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
			r.begin(what, 0)
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
		r.begin(what, ev.Phase.Total)
		r.phase.set(ev.Phase.Done)
	case ev.Run != nil:
		r.told++
		if r.job.Total != 1 && !r.cmd.JSON {
			fmt.Fprintf(r.err, "%s %s: %s\n", ev.Run.Variant, ev.Run.Run,
				clean(strings.TrimSuffix(ev.Run.State+": "+ev.Run.Reason, ": ")))
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

// begin shows a phase, if it is a new one.
func (r *remoteRun) begin(what string, total int) {
	if r.phase != nil && what == r.named {
		return
	}
	if r.phase != nil {
		r.phase.end()
	}
	r.phase, r.named = r.env.phase(clean(what), total), what
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
