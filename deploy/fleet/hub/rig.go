package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/sched"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// Times of rigs.
const (
	lease     = 30 * time.Second // without a poll a rig is away
	pollEvery = 10 * time.Second
	cloneTime = 10 * time.Minute // silence after which a cloned rig no longer counts
	maxBacks  = 3                // returns of an older boot nonce within a lease
)

// member is a rig as the bucket has it.
type member struct {
	Rig      string        `json:"rig"`
	Key      string        `json:"key"`
	JoinedNS int64         `json:"joined_ns"`
	Drain    bool          `json:"drain,omitempty"`
	Why      string        `json:"why,omitempty"`       // it drains
	Suspend  string        `json:"suspended,omitempty"` // reason
	Program  string        `json:"program"`
	Address  string        `json:"address,omitempty"`
	Accept   wire.Accept   `json:"accept"`
	Devices  []wire.Device `json:"devices"`
	Signs    []string      `json:"signs,omitempty"`   // as wire.Poll has it
	Fetches  []string      `json:"fetches,omitempty"` // likewise
	SeenNS   int64         `json:"seen_ns"`
}

// rig is a member with its state in memory.
type rig struct {
	member
	revision   uint64
	known      bool // it is enrolled
	dirty      bool // the bucket has an older state
	live       map[string]*job
	polled     time.Time // zero: not since the hub's start
	boot       string
	boots      map[string]time.Time // last polls of boot nonces
	backs      []time.Time          // returns of older nonces
	busy       bool
	tests      []string // names of its tests; nil: not told
	profiled   []string // those with a profile
	yields     bool     // as wire.Poll has it
	reason     string   // why it wants no jobs
	clock      time.Duration
	unreported int
	reported   int             // results in the last poll
	shown      bool            // the scheduler has it as online
	resend     map[string]bool // attempts whose light folders the rig sends again
	superseded map[string]bool // attempts that the next answer to a poll names
	waiting    []*relay
	relaying   chan struct{} // places of files that are fetched
	woken      chan struct{} // closed when waiting has grown
}

// rig returns the state of a rig, also of one that is not enrolled.
func (h *Hub) rig(name string) *rig {
	r := h.rigs[name]
	if r == nil {
		r = &rig{member: member{Rig: name}, live: map[string]*job{}, boots: map[string]time.Time{},
			resend: map[string]bool{}, superseded: map[string]bool{}, woken: make(chan struct{}),
			relaying: make(chan struct{}, relaysOfRig)}
		h.rigs[name] = r
	}
	return r
}

func (r *rig) online(now time.Time) bool { return !r.polled.IsZero() && now.Sub(r.polled) < lease }

// uses reports if an attempt has one of the devices.
func (r *rig) uses(devices []string) bool {
	for _, j := range r.live {
		if slices.ContainsFunc(j.last().Devices, func(d string) bool { return slices.Contains(devices, d) }) {
			return true
		}
	}
	return false
}

// silence says since when a rig is away.
func (r *rig) silence(now time.Time) string {
	switch {
	case r.online(now):
		return r.Rig + " has no such attempt any more"
	case r.SeenNS == 0:
		return r.Rig + " is away"
	}
	return fmt.Sprintf("%s is away since %s", r.Rig, time.Unix(0, r.SeenNS).UTC().Format("2006-01-02 15:04"))
}

// show tells the scheduler of a rig.
func (h *Hub) show(r *rig) {
	if !r.known {
		return
	}
	now := h.o.Now()
	out := sched.Rig{ID: r.Rig, Online: r.online(now), Drain: r.Drain, Accept: r.Accept,
		Reason: cmp.Or(r.Suspend, r.Why, r.reason), Tests: r.tests, Yields: r.yields}
	for _, d := range r.Devices {
		labels := maps.Clone(d.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels["rig"], labels["device"] = r.Rig, d.Name
		r.labelBuilder(labels, d.Feeds)
		free := d.State == "free" || d.State == "keeping" && d.Reason == "" // it may be reserved, too
		out.Devices = append(out.Devices, sched.Device{Name: d.Name, Labels: labels, Feeds: d.Feeds,
			Free: free && !r.uses([]string{d.Name}), Reason: d.Reason})
	}
	r.shown = out.Online
	h.sched.SetRig(out)
}

// save writes a rig's state to the bucket.
func (h *Hub) save(ctx context.Context, r *rig) error {
	raw, err := json.Marshal(r.member)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, writeTime)
	defer stop()
	revision, err := h.o.Bus.Bucket(bus.Rigs).Put(ctx, r.Rig, raw, r.revision)
	if errors.Is(err, bus.ErrConflict) { // an earlier write may have happened
		if e, err := h.o.Bus.Bucket(bus.Rigs).Get(ctx, r.Rig); err == nil {
			r.revision = e.Revision
		}
	}
	if err == nil {
		r.revision, r.dirty = revision, false
	}
	return err
}

// member returns a rig that is enrolled.
func (h *Hub) member(name string) (*rig, error) {
	if err := h.ready(); err != nil {
		return nil, err
	}
	r := h.rigs[name]
	if r == nil || !r.known {
		return nil, api.Errorf(api.NotFound, "unknown rig %.40q", name)
	}
	return r, nil
}

// Invite returns the address by which a rig joins once within an hour.
func (h *Hub) Invite(name string) (api.FleetInvitation, error) {
	if !rigForm.MatchString(name) {
		return api.FleetInvitation{}, api.Errorf(api.InvalidParams, "rig %.40q: must be 1 to 32 letters, digits or -",
			name)
	}
	token, until, err := h.o.Authority.Invite(name, h.o.Now())
	if err != nil {
		return api.FleetInvitation{}, api.Errorf(api.Unavailable, "%v", err)
	}
	return api.FleetInvitation{Rig: name, URL: h.o.URL + "/#" + token, ExpiresWallNS: until.UnixNano()}, nil
}

// Join enrols a rig by its invitation. An enrolled rig of this name gets the new key.
func (h *Hub) Join(ctx context.Context, q wire.Join) (wire.Joined, error) {
	h.turn <- struct{}{} // no round stores the rig meanwhile
	defer func() { <-h.turn }()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.ready(); err != nil {
		return wire.Joined{}, err
	}
	name, jwt, err := h.o.Authority.Join(q.Token, q.Key, h.o.Now())
	if err != nil {
		return wire.Joined{}, err
	}
	delete(h.leaving, name)
	h.forgetEpochs(name)
	r := h.rig(name)
	r.known, r.Key, r.JoinedNS, r.Program, r.Suspend = true, q.Key, h.o.Now().UnixNano(), clip(q.Program, 200), ""
	clear(r.boots)
	r.backs = nil
	if err := h.save(ctx, r); err != nil {
		r.dirty = true // the next tick tries again
		h.o.Log.Warn("a rig that has joined could not be stored", "rig", name, "error", err)
	}
	_ = h.o.Bus.Disconnect(name) // a rig with the old key cannot connect again
	h.o.Log.Info("rig joined", "rig", name, "key", q.Key)
	h.changed(name, "")
	h.show(r)
	return wire.Joined{Rig: name, JWT: jwt, Path: natsPath, Epoch: h.epoch}, nil
}

// forgetEpochs drops the epochs that a rig has reported.
func (h *Hub) forgetEpochs(rig string) {
	for _, seen := range []*seenEpoch{&h.newer, &h.odd} {
		if seen.rig == rig {
			*seen = seenEpoch{}
		}
	}
}

// Drain lets a rig begin no more jobs, or go on.
func (h *Hub) Drain(ctx context.Context, p api.FleetDrain) (api.FleetRig, error) {
	if len(p.Reason) > maxReason {
		return api.FleetRig{}, api.Errorf(api.InvalidParams, "reason has %d bytes, at most 300 are taken",
			len(p.Reason))
	}
	out, err := h.drain(ctx, p)
	if err == nil {
		h.do(func() {}, nil) // jobs are assigned
	}
	return out, err
}

func (h *Hub) drain(ctx context.Context, p api.FleetDrain) (api.FleetRig, error) {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.member(p.Rig)
	if err != nil {
		return api.FleetRig{}, err
	}
	was := r.member
	r.Drain, r.Why = p.Drain, ""
	if p.Drain {
		r.Why = clip(p.Reason, maxReason)
	}
	if err := h.save(ctx, r); err != nil {
		r.member = was
		return api.FleetRig{}, unavailable(err)
	}
	h.show(r)
	h.changed(r.Rig, "")
	return h.viewRig(r), nil
}

// Remove revokes a rig's key and closes its connection. Its attempts are lost at once.
func (h *Hub) Remove(ctx context.Context, name string) error {
	return h.removeKey(ctx, name, "")
}

// removeKey does so if a rig has a key, or if the key is empty.
func (h *Hub) removeKey(ctx context.Context, name, key string) error {
	err := h.remove(ctx, name, key)
	if err == nil {
		h.do(func() {
			h.lose(h.o.Now())
			h.strand(name)
		}, nil)
	}
	return err
}

// strand ends the jobs that wait for a removed rig alone.
func (h *Hub) strand(rig string) {
	for _, id := range sortedKeys(h.jobs) {
		j := h.jobs[id]
		if j.State != queued || !strings.HasPrefix(j.Only, rig+"/") && !slices.Contains(j.Needs, "rig="+rig) {
			continue
		}
		if err := h.sched.Check(j.wanted()); err != nil {
			next := j.clone()
			next.end(h.o.Now(), failed, err.Error())
			if err := h.write(j, next, nil); err != nil {
				h.warn("a job of a removed rig could not be ended", err, "job", id)
			}
		}
	}
}

func (h *Hub) remove(ctx context.Context, name, key string) error {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.member(name)
	if err != nil {
		return err
	}
	if key != "" && r.Key != key {
		return api.Errorf(api.Conflict, "rig %s has joined again meanwhile", name)
	}
	if err := h.o.Authority.Revoke(name); err != nil {
		return api.Errorf(api.Unavailable, "%v", err)
	}
	_ = h.o.Bus.Disconnect(name) // its key is revoked
	if err := h.erase(ctx, r); err != nil {
		return unavailable(err) // it can be repeated
	}
	r.member = member{Rig: name} // a rig that joins under the name later is not drained
	h.forgetEpochs(name)
	r.known, r.dirty, r.polled, r.revision = false, false, time.Time{}, 0
	clear(r.boots)
	r.backs = nil
	h.sched.RemoveRig(name)
	long := h.o.Now().Add(-2*h.o.LostAfter - 48*time.Hour)
	for _, j := range r.live {
		j.seen, j.assigned = long, long
	}
	h.changed(name, "")
	return nil
}

// erase deletes a rig's entry, also if the caller is gone: its key is revoked already.
func (h *Hub) erase(ctx context.Context, r *rig) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer stop()
	b := h.o.Bus.Bucket(bus.Rigs)
	err := b.Delete(ctx, r.Rig, r.revision)
	if errors.Is(err, bus.ErrConflict) { // an earlier write may have happened
		var e bus.Entry
		if e, err = b.Get(ctx, r.Rig); err == nil {
			r.revision = e.Revision
			err = b.Delete(ctx, r.Rig, r.revision)
		}
	}
	if errors.Is(err, bus.ErrNotFound) {
		return nil
	}
	return err
}

// Rigs returns all rigs by name.
func (h *Hub) Rigs() (api.FleetRigs, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := api.FleetRigs{Rigs: []api.FleetRig{}}
	if err := h.ready(); err != nil {
		return out, err
	}
	for _, name := range sortedKeys(h.rigs) {
		if r := h.rigs[name]; r.known {
			out.Rigs = append(out.Rigs, h.viewRig(r))
		}
	}
	return out, nil
}

// Tests returns the names of the tests that rigs have told, sorted.
func (h *Hub) Tests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, r := range h.rigs {
		if r.known {
			all = append(all, r.tests...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Online reports if a rig has polled lately, and since the hub's start. Until then its devices are
// those of an earlier time.
func (h *Hub) Online(rig string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rigs[rig]
	return r != nil && r.known && r.online(h.o.Now())
}

// away reports if a rig is silent. A hub that has just begun waits a lease first.
func (h *Hub) away(r *rig, now time.Time) bool {
	return !r.online(now) && (!r.polled.IsZero() || now.Sub(h.began) >= lease)
}

func (h *Hub) viewRig(r *rig) api.FleetRig {
	now := h.o.Now()
	out := api.FleetRig{Rig: r.Rig, Key: r.Key, Program: r.Program, State: "ready", Reason: r.reason,
		SeenWallNS: r.SeenNS, ClockNS: int64(r.clock), JoinedWallNS: r.JoinedNS, Address: r.Address,
		Devices: []api.FleetDevice{}, Unreported: r.unreported}
	switch {
	case r.Suspend != "":
		out.State, out.Reason = "suspended", r.Suspend
	case h.away(r, now):
		out.State, out.Reason = "away", r.silence(now)
	case r.Drain && len(r.live) > 0:
		out.State, out.Reason = "draining", r.Why
	case r.Drain:
		out.State, out.Reason = "drained", r.Why
	case len(r.live) > 0 || r.busy:
		out.State = "busy"
	}
	of := map[string]string{}
	for id, j := range r.live {
		for _, d := range j.last().Devices {
			if of[d] == "" || j.Class != api.ClassFill { // a set of that class yields
				of[d] = id
			}
		}
	}
	for _, d := range r.Devices {
		v := api.FleetDevice{Device: d.Name, State: d.State, Reason: d.Reason, Job: of[d.Name],
			Labels: maps.Clone(d.Labels)}
		if v.Labels == nil {
			v.Labels = map[string]string{}
		}
		out.Devices = append(out.Devices, v)
	}
	return out
}
