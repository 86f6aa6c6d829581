package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// maxAttempts bounds the jobs of a task that were interrupted.
const maxAttempts = 3

// jobOutcome is the state of a task's job for the engine.
type jobOutcome int

const (
	open   jobOutcome = iota // it waits, works, or cannot be submitted now
	done                     // its set can be read
	partly                   // it failed, and some of its runs may count
	lost                     // there will be no runs
)

// pollJob submits a task's job, if that was not done, and returns what became of it.
// save keeps the task's name.
func (e *Engine) pollJob(ctx context.Context, t *task, save func() error) (jobOutcome, api.Job, error) {
	j, is := e.Queue.Job(t.ID)
	if !is {
		var err error
		if e.full[t.Origin.Schedule] {
			return open, j, nil
		}
		if j, err = e.submit(ctx, t); err != nil {
			if told := (*api.Error)(nil); errors.As(err, &told) && told.Code == api.TooMany {
				e.full[t.Origin.Schedule] = true
			}
			if later(err) {
				e.reason[t.Origin.Schedule] = err.Error()
				return open, j, nil
			}
			return lost, api.Job{Reason: err.Error()}, nil
		}
		if p := e.state.Schedules[t.Origin.Schedule]; p != nil {
			p.Last, p.Job = e.Now().UnixNano(), t.ID
		}
	}
	switch j.State {
	case "ok":
		return done, j, nil
	case "interrupted":
		if t.Attempt+1 >= maxAttempts {
			return lost, j, nil
		}
		t.Attempt++
		t.name()
		if err := save(); err != nil { // the daemon may forget that the job was interrupted
			return open, j, err
		}
		return e.pollJob(ctx, t, save)
	case "failed":
		return partly, j, nil
	case "cancelled":
		return lost, j, nil
	}
	return open, j, nil
}

// renew names a job of a task anew whose runs the lab spoilt, such as by lost frames. A fleet does
// so itself.
func (t *task) renew(j *api.Job) bool {
	if j.Fault != string(session.LabFault) || t.Attempt+1 >= maxAttempts {
		return false
	}
	t.Attempt++
	t.name()
	return true
}

// collect makes points of jobs that ended, and gaps of those that failed or are too late.
func (e *Engine) collect(ctx context.Context) (err error) {
	for _, name := range e.names() {
		p := e.state.Schedules[name]
		kept := p.Tasks[:0:0]
		for i := range p.Tasks {
			over, wrong := e.settle(ctx, name, p, &p.Tasks[i])
			err = errors.Join(err, wrong)
			if !over {
				kept = append(kept, p.Tasks[i])
			}
		}
		if len(kept) == len(p.Tasks) {
			p.Tasks = kept
			continue
		}
		p.Tasks = kept
		err = errors.Join(err, e.save())
	}
	return err
}

// settle reports if a task's result is kept.
func (e *Engine) settle(ctx context.Context, name string, p *progress, t *task) (over bool, err error) {
	late := t.Due != 0 && e.Now().UnixNano() > t.Due
	_, is := e.Queue.Job(t.ID)
	if late && !is {
		return true, e.gapOf(ctx, name, t, "the deadline passed before the job was queued")
	}
	var wait bool
	if t.Origin.Pool != "" { // its test has the control
		var why string
		if wait, why = e.pooled(name, p, t); why != "" {
			e.drop(t.ID)
			return true, e.gapOf(ctx, name, t, why)
		}
	} else if wait, err = e.repeatControl(ctx, name, p, t); err != nil {
		return false, err
	}
	if wait && !is {
		return false, nil
	}
	state, j, err := e.pollJob(ctx, t, e.save)
	if err != nil || wait && (state == done || state == partly) {
		return false, err // its points wait for the control
	}
	switch {
	case state == done || state == partly:
		origin, measured, err := e.Read(ctx, t.ID)
		if unavailable(err) {
			return false, nil // a later step reads it
		}
		if state == partly {
			if len(measured) == 0 && t.renew(&j) {
				return false, e.save()
			}
			if len(measured) == 0 {
				return true, e.gapOf(ctx, name, t, "job "+t.ID+" has no complete block: "+j.Reason)
			}
			e.Log.Warn("runs of a job failed; its complete blocks count", "job", t.ID, "reason", j.Reason)
		} else if err != nil {
			return true, e.gapOf(ctx, name, t, err.Error())
		}
		if err := e.Trends.Add(ctx, setOf(t.ID, measured), measured); err != nil {
			if late {
				return true, e.gapOf(ctx, name, t, err.Error())
			}
			return false, err
		}
		if err := e.detect(ctx, origin, t, measured); err != nil {
			if ctx.Err() != nil {
				return false, err
			}
			e.Log.Error("a new point could not be searched for changes", "job", t.ID, "error", err)
		}
		p.Points++
		p.Gap = ""
		e.noteWork(&j, t)
		return true, nil
	case state == lost:
		return true, e.gapOf(ctx, name, t, "job "+t.ID+" has no runs: "+j.Reason)
	case late && state == open:
		if e.Queue.Cancel(t.ID) != nil {
			return false, nil // it has just ended
		}
		return true, e.gapOf(ctx, name, t, "the deadline passed before the job ended")
	}
	return false, nil
}

// unavailable reports if the queue cannot tell now what became of a job.
func unavailable(err error) bool {
	var told *api.Error
	return errors.As(err, &told) && told.Code == api.Unavailable
}

// setOf returns the address of a job's set: in a fleet RIG/JOB.N.
func setOf(job string, measured []trend.Measured) string {
	if len(measured) == 0 || measured[0].Point.Set == "" {
		return job
	}
	return measured[0].Point.Set
}

// noteWork notes the time of a job, which bounds the confirmations of the next period.
func (e *Engine) noteWork(j *api.Job, t *task) {
	ns, runs := j.EndedWallNS-j.StartedWallNS, t.Repeat*len(t.Variants)
	if ns <= 0 || ns > int64(7*24*time.Hour) {
		return
	}
	e.state.Work = append(e.state.Work, work{j.EndedWallNS, ns, runs})
}

// sentence bounds a text for people.
func sentence(format string, args ...any) string {
	return fmt.Sprintf("%.280s", fmt.Sprintf(format, args...))
}
