package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/session"
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

// Fitting returns the devices that fit needs and a job, as RIG/DEVICE: those that are there, and
// others.
func (q Queue) Fitting(owner string, needs []string, p api.StartParams) (there, away []string, err error) {
	return q.hub.fitting(owner, api.JobParams{Needs: needs, StartParams: p})
}

// Job returns a job, also an ended one. While the hub cannot tell, the job is queued.
func (q Queue) Job(id string) (api.Job, bool) {
	ctx, stop := context.WithTimeout(context.Background(), queueTime)
	defer stop()
	j, err := q.hub.Job(ctx, id)
	if told := (*api.Error)(nil); errors.As(err, &told) && told.Code == api.NotFound {
		return api.Job{}, false
	} else if err != nil {
		return api.Job{ID: id, Kind: "run", State: queued, Reason: clip(err.Error(), maxReason), Devices: []string{},
			Browsers: []string{}, Runs: []api.Made{}}, true
	}
	out := plain(j)
	if out.EndedWallNS != 0 {
		out.Runs = q.runs(j)
	}
	return out, true
}

// maxSet bounds the bytes of a light folder's set.json.
const maxSet = 16 << 20

// runs returns the runs of an ended job's light folder. Without a folder it has none.
func (q Queue) runs(j api.FleetJob) []api.Made {
	all := []api.Made{}
	dir, err := q.folder(j)
	if err != nil {
		return all
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return all
	}
	defer root.Close() // was only read
	f, err := root.Open(session.SetFile)
	if err != nil {
		return all // one run alone, whose state is the job's
	}
	defer f.Close() // was only read
	var set struct {
		Runs []struct {
			Dir string `json:"dir"`
			api.Made
		} `json:"runs"`
	}
	if json.NewDecoder(io.LimitReader(f, maxSet)).Decode(&set) != nil {
		return all // trends state why
	}
	at := filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)
	for _, r := range set.Runs {
		r.Made.Run = at + "~" + strings.ReplaceAll(r.Dir, "/", "~")
		all = append(all, r.Made)
	}
	return all
}

// Cancel ends a job.
func (q Queue) Cancel(id string) error {
	ctx, stop := context.WithTimeout(context.Background(), queueTime)
	defer stop()
	_, err := q.hub.Cancel(ctx, id, "its schedule no longer needs it",
		func(string) bool { return true })
	return err
}

// Release frees the device that the jobs of a set keep.
func (q Queue) Release(set string) {
	q.hub.do(func() { q.hub.sched.Release(set) }, nil)
}

// Folder returns the light folder of the attempt that counts.
func (q Queue) Folder(id string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), queueTime)
	defer stop()
	j, err := q.hub.Job(ctx, id)
	if told := (*api.Error)(nil); err != nil && !errors.As(err, &told) {
		err = api.Errorf(api.Unavailable, "the hub cannot read job %s: %v", id, err)
	}
	if err != nil {
		return "", err
	}
	return q.folder(j)
}

func (q Queue) folder(j api.FleetJob) (string, error) {
	n := j.Winner
	if n == 0 {
		n = len(j.Attempts)
	}
	if n == 0 {
		return "", api.Errorf(api.NotFound, "job %s has no attempt", j.Job)
	}
	return q.hub.light.path(j.Attempts[n-1].Rig, wire.AttemptID(j.Job, n))
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
		if rest, is := strings.CutPrefix(a.Progress, "run "); is && a.State == running {
			run, name, _ := strings.Cut(rest, ": ")
			out.Phase = &api.Phase{Run: run, Name: name}
		} else if a.State == assigned { // it waits in its rig's own queue
			out.Reason = cmp.Or(out.Reason, a.Progress)
		}
	}
	return out
}
