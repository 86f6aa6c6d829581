package daemon

import (
	"errors"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
)

// SetNetwork changes the line that the run of a job at work is on, for a client.
func (d *Daemon) SetNetwork(client string, may func(owner string) bool, p api.NetworkParams) (api.Line, error) {
	l, err := session.ParseLink(suite.LinkText(p.Network), d.options.Known)
	if err != nil {
		return api.Line{}, api.Errorf(api.InvalidParams, "%v", err)
	}
	d.mu.Lock()
	remote, err := d.remote(p.Job, may)
	d.mu.Unlock() // a change may have to wait for another one
	if err != nil {
		return api.Line{}, err
	}
	now, err := remote.ChangeLink(l, client)
	switch {
	case errors.Is(err, session.ErrNoRun):
		return api.Line{}, d.betweenRuns(p.Job)
	case errors.Is(err, session.ErrTooManyChanges):
		return api.Line{}, api.Errorf(api.TooMany, "%v", err)
	case err != nil:
		return api.Line{}, api.Errorf(api.Failed, "%v", err)
	}
	return lineAs(p.Job, now), nil
}

// remote is what changes the runs of a job, or why nothing does. The mutex is held.
func (d *Daemon) remote(id string, may func(owner string) bool) (*session.Remote, error) {
	j := d.find(id)
	switch {
	case j == nil:
		return nil, api.Errorf(api.NotFound, "unknown job %.80q", id)
	case !may(j.Owner):
		return nil, api.Errorf(api.Forbidden, "job %s is of %s: only its owner and admins may change its network", id,
			j.Owner)
	case j.Kind != kindRun:
		return nil, api.Errorf(api.Conflict, "job %s runs no test, and has no network", id)
	case j.EndedWallNS != 0:
		return nil, api.Errorf(api.Conflict, "job %s has ended already", id)
	case j.State == queued:
		return nil, api.Errorf(api.Conflict,
			"job %s has not begun: its network can be changed while one of its runs is at work", id)
	case j.remote == nil:
		return nil, noRun(j)
	case !j.networked:
		return nil, api.Errorf(api.Conflict,
			"test %s of job %s has no network that could be changed: it would ask for one, as by network: cable",
			j.Test, id)
	}
	return j.remote, nil
}

// betweenRuns is why a job has no run whose line could be changed.
func (d *Daemon) betweenRuns(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if j := d.find(id); j != nil && j.EndedWallNS == 0 {
		return noRun(j)
	}
	return api.Errorf(api.Conflict, "job %s has ended already", id)
}

func noRun(j *job) error {
	at := "waiting for its devices"
	if j.Phase != nil {
		at = j.Phase.Name
	}
	return api.Errorf(api.Conflict,
		"job %s does not record right now (%q): its network can be changed while it records", j.ID, at)
}

// lineAs is a link as clients see it.
func lineAs(job string, now session.LinkChange) api.Line {
	c := now.Conditions
	return api.Line{
		Job: job, Conditions: now.Text, RTTNS: int64(c.RTT()), Down: int64(c.Down.Rate), Up: int64(c.Up.Rate),
		Loss: (c.Down.Loss + c.Up.Loss) / 2,
		AtNS: int64(now.At.Mid()), UncertaintyNS: int64(now.At.Width() - now.At.Width()/2),
	}
}
