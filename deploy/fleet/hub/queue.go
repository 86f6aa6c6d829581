package hub

import (
	"context"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// queueTime bounds the calls of programs that have no context.
const queueTime = 20 * time.Second

// Queue is the hub for programs that name their jobs, such as schedules.
type Queue struct{ hub *Hub }

// Queue returns the hub's queue for programs.
func (h *Hub) Queue() Queue { return Queue{h} }

// Submit queues a job under an ID, or returns the job of this ID. Its devices are RIG/DEVICE.
func (q Queue) Submit(ctx context.Context, id, owner string, p api.StartParams) (api.Job, error) {
	j, err := q.hub.Submit(ctx, owner, api.JobParams{Job: id, StartParams: p})
	return plain(j), err
}

// Job returns a job, also an ended one.
func (q Queue) Job(id string) (api.Job, bool) {
	ctx, stop := context.WithTimeout(context.Background(), queueTime)
	defer stop()
	j, err := q.hub.Job(ctx, id)
	return plain(j), err == nil
}

// Cancel ends a job.
func (q Queue) Cancel(id string) error {
	ctx, stop := context.WithTimeout(context.Background(), queueTime)
	defer stop()
	_, err := q.hub.Cancel(ctx, id, "its schedule no longer needs it",
		func(string) bool { return true })
	return err
}

// Folder returns the light folder of the attempt that counts.
func (q Queue) Folder(id string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), queueTime)
	defer stop()
	j, err := q.hub.Job(ctx, id)
	if err != nil {
		return "", err
	}
	n := j.Winner
	if n == 0 {
		n = len(j.Attempts)
	}
	if n == 0 {
		return "", api.Errorf(api.NotFound, "job %s has no attempt", id)
	}
	return q.hub.light.path(j.Attempts[n-1].Rig, wire.AttemptID(id, n))
}

// plain returns a job as a rig alone has it.
func plain(j api.FleetJob) api.Job {
	out := api.Job{ID: j.Job, Kind: "run", State: j.State, Reason: j.Reason, Owner: j.Owner, Test: j.Test,
		Label: j.Label, Position: j.Position, QueuedWallNS: j.QueuedWallNS, EndedWallNS: j.EndedWallNS,
		Devices: []string{}, Browsers: []string{}, Runs: []api.Made{}}
	if out.State == assigned {
		out.State = queued
	}
	if n := len(j.Attempts); n > 0 {
		a := j.Attempts[max(j.Winner, 1)-1]
		if j.Winner == 0 {
			a = j.Attempts[n-1]
		}
		out.StartedWallNS = a.StartedWallNS
		for _, d := range a.Devices {
			out.Devices = append(out.Devices, a.Rig+"/"+d)
		}
	}
	return out
}
