package hub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/sched"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// States of jobs and attempts, as in [api.FleetJob]. A lost attempt may still end.
const (
	queued      = "queued"
	assigned    = "assigned"
	running     = "running"
	succeeded   = "ok"
	failed      = "failed"
	cancelled   = "cancelled"
	interrupted = "interrupted"
	refused     = "refused"
	lost        = "lost"
)

// Bounds of a job.
const (
	maxRecord   = 8 << 10
	maxNew      = maxRecord - 3<<10 // bytes of a new job's record; attempts make it grow
	maxInline   = 3 << 10           // bytes of parameters in the record; others are blobs
	maxSpec     = 24 << 10          // bytes of parameters with origin, without upload
	maxAttempts = 8
	maxRetries  = 2 // after faults of the lab
	maxDevices  = 16
	maxReason   = 300
)

// record is a job as the bucket has it.
type record struct {
	Job        string          `json:"job"`
	Owner      string          `json:"owner"`
	Class      string          `json:"class"`
	Kind       string          `json:"kind"`
	Test       string          `json:"test"`
	Label      string          `json:"label,omitempty"`
	Feeds      []string        `json:"feeds,omitempty"`
	Tests      []string        `json:"tests,omitempty"`    // that the rig must have
	Browsers   []string        `json:"browsers,omitempty"` // that each device must have
	Needs      []string        `json:"needs,omitempty"`
	Devices    int             `json:"devices"`
	Not        []string        `json:"not,omitempty"`  // rigs
	Only       string          `json:"only,omitempty"` // RIG/DEVICE
	Keep       string          `json:"keep,omitempty"` // jobs that keep a device
	Replace    bool            `json:"replace,omitempty"`
	EstimateNS int64           `json:"estimate_ns"`
	Runs       int             `json:"runs"`
	Builds     []wire.Build    `json:"builds,omitempty"` // that rigs make, and may fetch
	Spec       json.RawMessage `json:"spec,omitempty"`
	SpecSum    string          `json:"spec_sha256,omitempty"` // of a blob, instead of Spec
	Upload     string          `json:"upload_sha256,omitempty"`
	QueuedNS   int64           `json:"queued_ns"`
	EndedNS    int64           `json:"ended_ns,omitempty"`
	State      string          `json:"state"`
	Reason     string          `json:"reason,omitempty"`
	Verdict    string          `json:"verdict,omitempty"`
	Cancel     string          `json:"cancel,omitempty"` // reason for which it shall end
	Faults     int             `json:"faults,omitempty"` // of the lab
	Winner     int             `json:"winner,omitempty"`
	Attempts   []attempt       `json:"attempts,omitempty"`
}

// attempt is one try on a rig. Times are those of the hub's clock.
type attempt struct {
	Rig     string   `json:"rig"`
	Devices []string `json:"devices,omitempty"`
	State   string   `json:"state"`
	Fault   string   `json:"fault,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Set     bool     `json:"set,omitempty"` // the rig has runs
	BeganNS int64    `json:"began_ns"`
	EndedNS int64    `json:"ended_ns,omitempty"`
}

// spec is what a rig needs to do a job.
type spec struct {
	Params api.StartParams `json:"params"`
	Origin json.RawMessage `json:"origin,omitempty"`
}

// job is a record with its state in memory.
type job struct {
	record
	revision uint64
	spec     *spec     // nil: not read yet
	size     int       // bytes of spec
	assigned time.Time // of the last attempt, by the hub's monotonic clock
	seen     time.Time // the rig's last mention of the last attempt, or the time of its assignment
	told     bool      // the rig may know of the last attempt
	progress string
	dark     string // why its light folder is not taken
	on       string // rig of the attempt that the memory has as live
	number   int    // of that attempt
	waits    bool   // the scheduler has it among those that wait
	given    bool   // the scheduler has it as running already
	counted  bool   // its end is
}

func (r *record) ended() bool { return r.EndedNS != 0 }

// live reports whether the last attempt is at work.
func (r *record) live() bool { return r.State == assigned || r.State == running }

// last returns the last attempt. There is one if the job is live.
func (r *record) last() *attempt { return &r.Attempts[len(r.Attempts)-1] }

// id returns the ID of the last attempt.
func (r *record) id() string { return wire.AttemptID(r.Job, len(r.Attempts)) }

// end ends the job. It does not change again.
func (r *record) end(now time.Time, state, reason string) {
	r.State, r.Reason, r.EndedNS = state, clip(reason, maxReason), now.UnixNano()
}

// clone returns a copy with its own attempts and rigs.
func (r *record) clone() record {
	c := *r
	c.Attempts, c.Not = slices.Clone(r.Attempts), slices.Clone(r.Not)
	return c
}

// encode returns the record in its bound. Older attempts lose their reasons and devices first.
func (r *record) encode() ([]byte, error) {
	for i := 0; ; i++ {
		raw, err := json.Marshal(r)
		if err != nil || len(raw) <= maxRecord {
			return raw, err
		}
		if i >= len(r.Attempts)-1 {
			return nil, fmt.Errorf("store job %s: %d bytes are more than %d", r.Job, len(raw), maxRecord)
		}
		r.Attempts[i].Reason, r.Attempts[i].Devices = "", nil
	}
}

func decodeRecord(raw []byte) (r record, err error) {
	if err = json.Unmarshal(raw, &r); err == nil && r.live() && len(r.Attempts) == 0 {
		err = fmt.Errorf("job %s is %s without an attempt", r.Job, r.State)
	}
	return r, err
}

// wanted is the job as the scheduler has it.
func (r *record) wanted() sched.Job {
	needs, _ := sched.ParseNeeds(r.Needs) // was checked
	return sched.Job{ID: r.Job, Owner: r.Owner, Class: r.Class, Kind: r.Kind, Feeds: r.Feeds, Needs: needs,
		Tests: r.Tests, Browsers: r.Browsers, Devices: r.Devices, Estimate: time.Duration(r.EstimateNS),
		Queued: time.Unix(0, r.QueuedNS), Not: r.Not, Only: r.Only, Keep: r.Keep}
}

// view returns the job for clients, without its place.
func (j *job) view() api.FleetJob {
	out := api.FleetJob{Job: j.Job, Owner: j.Owner, Class: j.Class, Test: j.Test, Label: j.Label,
		Needs: append([]string{}, j.Needs...), State: j.State, Reason: j.Reason, Attempts: []api.FleetAttempt{},
		Winner: j.Winner, Verdict: j.Verdict, QueuedWallNS: j.QueuedNS, EndedWallNS: j.EndedNS}
	if j.Cancel != "" && !j.ended() {
		out.Reason = "it is being cancelled: " + j.Cancel
	}
	for i, a := range j.Attempts {
		v := api.FleetAttempt{Attempt: i + 1, Rig: a.Rig, Devices: append([]string{}, a.Devices...), State: a.State,
			Superseded: j.Winner != 0 && j.Winner != i+1, Fault: a.Fault, Reason: a.Reason, StartedWallNS: a.BeganNS,
			EndedWallNS: a.EndedNS}
		if a.Set {
			v.Set = a.Rig + "/" + wire.AttemptID(j.Job, i+1)
		}
		if i == len(j.Attempts)-1 && j.live() {
			v.Progress = j.progress
		}
		out.Attempts = append(out.Attempts, v)
	}
	return out
}

// parseAttempt splits the ID of an attempt.
func parseAttempt(id string) (job string, n int, ok bool) {
	job, number, ok := strings.Cut(id, ".")
	n, err := strconv.Atoi(number)
	return job, n, ok && err == nil && n > 0 && strconv.Itoa(n) == number
}

// clip bounds a text from outside and replaces control characters.
func clip(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-3], "") + "…"
	}
	return text
}

// inOrder sorts jobs: those that run, those that wait by class and age, then the latest that ended.
func inOrder(a, b *job) int {
	group := func(j *job) int {
		switch {
		case j.ended():
			return 2
		case j.live():
			return 0
		}
		return 1
	}
	if c := cmp.Compare(group(a), group(b)); c != 0 {
		return c
	}
	if a.ended() {
		return cmp.Or(cmp.Compare(b.EndedNS, a.EndedNS), cmp.Compare(a.Job, b.Job))
	}
	c := 0
	if !a.live() {
		c = cmp.Compare(slices.Index(classes, a.Class), slices.Index(classes, b.Class))
	}
	return cmp.Or(c, cmp.Compare(a.QueuedNS, b.QueuedNS), cmp.Compare(a.Job, b.Job))
}

var classes = []string{api.ClassNow, api.ClassCheck, api.ClassWatch, api.ClassFill}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
