package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store"
	"github.com/eideticker/eideticker/pattern"
)

// maxOrigin bounds the origin of a job, which jobs.json holds.
const maxOrigin = 16 << 10

// submitted are the IDs of jobs that programs name. No job that the rig names has such an ID.
// Attempts of a fleet's jobs end with their number.
var submitted = pattern.New(`^s-[a-z0-9-]{1,100}(\.[1-9][0-9]{0,3})?$`)

// isAttempt reports if a submitted job is an attempt of a fleet's job.
func isAttempt(id string) bool { return strings.Contains(id, ".") && submitted.MatchString(id) }

// Queue is the daemon for programs that name their jobs.
type Queue struct{ daemon *Daemon }

// Queue returns the daemon's queue for programs that name their jobs.
func (d *Daemon) Queue() Queue { return Queue{d} }

// Submit queues a test under an ID that begins with "s-". Its runs are in a set. It returns an
// existing job of this ID: also an ended one, and one of which only the folder is left. Repeated
// calls are idempotent.
func (q Queue) Submit(ctx context.Context, id, owner string, p api.StartParams) (api.Job, error) {
	if !submitted.MatchString(id) {
		return api.Job{}, api.Errorf(api.InvalidParams,
			"job %.120q: must be s- and letters, digits or -, and .N of an attempt", id)
	}
	if n := len(p.Origin); n > maxOrigin || !json.Valid(p.Origin) && (n > 0 || !isAttempt(id)) {
		return api.Job{}, api.Errorf(api.InvalidParams, "job %s: origin of %d bytes must be JSON of at most %d", id, n,
			maxOrigin)
	}
	if j, is := q.Job(id); is {
		return j, nil
	}
	if p.Seed == 0 {
		p.Seed = session.NewSeed()
	}
	return q.daemon.start(ctx, id, owner, p)
}

// Job returns a job, or the data of its set in the store.
func (q Queue) Job(id string) (api.Job, bool) {
	if j, err := q.daemon.Job(id); err == nil {
		return j, true
	}
	if _, err := q.daemon.store.Path(id); err != nil {
		return api.Job{}, false
	}
	j := api.Job{ID: id, Kind: kindRun, State: failed, Reason: "its runs did not count", Devices: []string{},
		Browsers: []string{}, Runs: []api.Made{}}
	set, err := q.daemon.store.GetSet(context.Background(), id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		j.Reason = "it has no runs"
	case err != nil:
		j.Reason = err.Error()
	default:
		j.Test, j.Label, j.Devices, j.Browsers = set.Test, set.Label, set.Devices, set.Browsers
		j.StartedWallNS, j.EndedWallNS = set.Started.UnixNano(), set.Started.UnixNano()
		planned, err := q.planned(id)
		switch bad := set.States[session.Failed] + set.States[session.Rejected]; {
		case err != nil:
			j.Reason = err.Error()
		case set.Counting >= max(1, planned):
			j.State, j.Reason = succeeded, ""
		case bad == 0 && set.Counting > 0:
			j.State, j.Reason = interrupted, fmt.Sprintf("it has %d of %d runs", set.Counting, planned)
		}
	}
	return j, true
}

// planned returns the number of runs that a set needs.
func (q Queue) planned(id string) (int, error) {
	var set struct {
		Repeat   int      `json:"repeat"`
		Variants []string `json:"variants"`
	}
	dir, err := q.daemon.store.Path(id)
	if err != nil {
		return 0, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, session.SetFile))
	if err == nil {
		err = json.Unmarshal(raw, &set)
	}
	if err != nil {
		return 0, fmt.Errorf("read the plan of %s: %w", id, err)
	}
	return set.Repeat * len(set.Variants), nil
}

// Cancel takes a job out of the queue, or ends it.
func (q Queue) Cancel(id string) error {
	_, err := q.daemon.Cancel(id, func(string) bool { return true })
	return err
}

// Release does nothing: a rig alone keeps no device for a set.
func (Queue) Release(string) {}

// writeOrigin writes the origin of a job into its set's folder.
func writeOrigin(dir string, origin json.RawMessage) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return staging.WriteFile(filepath.Join(dir, session.OriginFile), append(origin, '\n'), 0o644)
}
