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

// remoteRun is a run on a rig somewhere else.
type remoteRun struct {
	*env
	cmd    runCmd
	client *client.Client
	job    api.Job
	told   int // runs that events have told of
	phase  *progress
	named  string // what phase is of
}

// onRig has a rig make the runs, shows how it gets on, and ends as runs here do.
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
	return errors.Join(r.show(), orInterrupted(followed))
}

// startParams makes what a rig is asked for of the command line.
func (c runCmd) startParams() (api.StartParams, error) {
	p := api.StartParams{
		Devices: c.Device, Browsers: c.Browser, WarmUp: c.WarmUp, Retries: c.Retries, UntilFail: c.UntilFail,
		Seed:    c.Seed,
		NoVideo: c.NoVideo, Label: c.Label, Branch: c.Branch, Revision: c.Revision, Reservation: c.Reservation,
		Baseline: c.Baseline,
	}
	switch {
	case c.Devices != "" || len(c.Suite) > 0:
		return p, usagef("--devices and --suite cannot be used with --rig, which has its own")
	case c.Network != "":
		return p, usagef("--network cannot be used with --rig; set network in a test file")
	case c.Output != "":
		return p, usagef("-o cannot be used with --rig, which stores the runs; use eideticker pull")
	case c.FailOnRegression && c.Baseline == "" && len(c.Device)*max(1, len(c.Browser)) != 2 && len(c.Browser) != 2:
		return p, usagef("--fail-on-regression needs two browsers, two devices, or a --baseline of the rig")
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
			p.CooldownNS = 1 // to a rig none is the test's own
		}
	}
	if isTestFile(c.Test) {
		t, err := readTest(c.Test)
		if err == nil {
			err = c.checkPrimary(t)
		}
		if err == nil {
			p.Upload, err = uploadOf(c.Test, t)
		}
		return p, err
	}
	if err := c.checkPrimary(nil); err != nil {
		return p, err
	}
	switch {
	case strings.Contains(c.Test, "://"):
		p.URL = c.Test
	default:
		p.Test = c.Test
	}
	return p, nil
}

// uploadOf takes a test file along, with the recordings of a hand that it names.
func uploadOf(file string, t *suite.Test) (*api.Upload, error) {
	if t.Network.Replay != "" {
		return nil, usagef("%s: the archive %s is not sent to the rig; put both into the rig's suite, then run %s", file, t.Network.Replay, t.Name)
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

// recordedIn returns the files that steps play.
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

// start queues the job. What is no test there may be a host to load.
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

// askedWrongly makes of what a rig says of a mistake in what it is asked for a mistake in the
// command line.
func askedWrongly(err error) error {
	var told *api.Error
	if errors.As(err, &told) && (told.Code == api.InvalidParams || told.Code == api.NotFound) {
		return usageError{err}
	}
	return err
}

// rigPatience is for how long a rig may be out of reach while it works.
const rigPatience = 5 * time.Minute

var errJobEnded = errors.New("the job has ended")

// follow shows what happens until the job has ended.
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

// happened takes an event.
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

// waitsFor says that a job does not get on, and why; "" where it does.
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

// begin shows another phase, if it is another one.
func (r *remoteRun) begin(what string, total int) {
	if r.phase != nil && what == r.named {
		return
	}
	if r.phase != nil {
		r.phase.end()
	}
	r.phase, r.named = r.env.phase(clean(what), total), what
}

// cancel ends the job of somebody who does not want it any more.
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
