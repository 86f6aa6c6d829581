package remote

import (
	"context"
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

// patience is the time for which a working rig or hub may be unreachable.
const patience = 5 * time.Minute

// Progress gets reports about a job that is followed.
type Progress interface {
	// Phase reports the finished steps of a phase, or the reason for which the job waits.
	Phase(name string, done, total int)
	// Ran reports a run that has ended.
	Ran(run api.Made)
}

// Job is a job of a rig.
type Job struct {
	api.Job
	rig *client.Client
	ran int // runs with an event
}

// Start queues a job.
func Start(ctx context.Context, rig *client.Client, p api.StartParams) (*Job, error) {
	j := &Job{rig: rig}
	if err := resolveAll(ctx, rig, &p); err != nil {
		return nil, err
	}
	return j, rig.Call(ctx, "run.start", p, &j.Job)
}

// resolveAll replaces unknown tests with a point in their names by the addresses of such hosts.
func resolveAll(ctx context.Context, rig *client.Client, p *api.StartParams) error {
	err := resolve(ctx, rig, &p.Test, &p.URL)
	for i := range p.Variants {
		err = errors.Join(err, resolve(ctx, rig, &p.Variants[i].Test, &p.Variants[i].URL))
	}
	return err
}

func resolve(ctx context.Context, rig *client.Client, test, url *string) error {
	if !strings.Contains(*test, ".") {
		return nil
	}
	err := rig.Call(ctx, "suite.get", api.TestName{Test: *test}, nil)
	if !hasCode(err, api.NotFound) {
		return err
	}
	if address, e := session.Address(*test); e == nil && !strings.HasPrefix(address, "file:") {
		*test, *url = "", address
	}
	return nil
}

// hasCode reports whether a rig returned one of the error codes.
func hasCode(err error, code api.Code) bool {
	var refused *api.Error
	return errors.As(err, &refused) && refused.Code == code
}

var errEnded = errors.New("the job has ended")

// Follow reports events after a number until the job has ended.
func (j *Job) Follow(ctx context.Context, from uint64, to Progress) error {
	missed := func() error { // the job may have ended meanwhile
		if err := j.Update(ctx); err != nil {
			return err
		}
		if j.EndedWallNS != 0 {
			return errEnded
		}
		return nil
	}
	err := j.rig.Events(ctx, &from, []string{"job", "phase", "run"}, patience, missed,
		func(e api.Event) error { return j.happened(e, to) })
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// Update gets the present state of the job.
func (j *Job) Update(ctx context.Context) error {
	return j.rig.Call(ctx, "job.get", api.JobID{Job: j.ID}, &j.Job)
}

// happened handles an event.
func (j *Job) happened(e api.Event, to Progress) error {
	switch {
	case e.Kind == "job" && e.Job != nil && e.Job.ID == j.ID:
		if why := waitText(e.Job); why != "" {
			to.Phase(why, 0, 0)
		}
		if e.Job.EndedWallNS != 0 {
			return errEnded
		}
	case e.JobID != j.ID:
	case e.Phase != nil:
		name := e.Phase.Name
		if e.Phase.Run != "" {
			name = "run " + e.Phase.Run + ": " + name
		}
		to.Phase(name, e.Phase.Done, e.Phase.Total)
	case e.Run != nil:
		j.ran++
		to.Ran(*e.Run)
	}
	return nil
}

// Cancel cancels the job. It returns false for a job that has ended by itself.
func (j *Job) Cancel(ctx context.Context) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	err := j.rig.Call(ctx, "run.cancel", api.JobID{Job: j.ID}, nil)
	if hasCode(err, api.Conflict) {
		return false, nil
	}
	return err == nil, err
}

// Failure returns the error of a job that did not finish, else that of its runs. fetched is the
// number of fetched runs.
func (j *Job) Failure(ofRuns error, fetched int) error {
	var verdict compare.VerdictError
	switch {
	case ofRuns == nil && j.State == "ok" && fetched == 0:
		return errors.New("the job made no run")
	case j.EndedWallNS == 0 || j.State == "ok":
		return ofRuns
	case ofRuns != nil && j.State == "failed" && !errors.As(ofRuns, &verdict):
		return ofRuns // the cause of the failure
	}
	text := fmt.Sprintf("the job ended as %s after %s", j.State, wording.Plural(max(j.Done, j.ran), "run"))
	if j.Reason != "" {
		text += ": " + j.Reason
	}
	return errors.New(text)
}
