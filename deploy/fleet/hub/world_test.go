package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// office is an authority for tests.
type office struct{ tokens map[string]string }

func (o *office) Invite(rig string, now time.Time) (string, time.Time, error) {
	o.tokens["secret-"+rig] = rig
	return "secret-" + rig, now.Add(time.Hour), nil
}

func (o *office) Join(token, key string, _ time.Time) (string, string, error) {
	rig := o.tokens[token]
	if delete(o.tokens, token); rig == "" {
		return "", "", errors.New("join: the invitation is unknown or used")
	}
	return rig, "jwt of " + key, nil
}

func (o *office) Renew(string, string, time.Time) (string, bool, error) { return "", false, nil }
func (o *office) Revoke(string) error                                   { return nil }

// world is a hub with rigs and a clock.
type world struct {
	testing.TB
	memory *bus.Memory
	hub    *Hub
	now    time.Time
	o      Options
	rigs   map[string]*simRig
	random *rand.Rand
	began  map[string]int // of attempts, by ID

	adopted bool // the hub may have lost what it acknowledged
}

func newWorld(t testing.TB, rigs ...string) *world {
	w := &world{TB: t, memory: bus.NewMemory(), now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC),
		rigs: map[string]*simRig{}, random: rand.New(rand.NewPCG(1, 2)), began: map[string]int{}}
	w.o = Options{Dir: t.TempDir(), Bus: w.memory.Hub(), Authority: &office{map[string]string{}},
		Now: func() time.Time { return w.now }, URL: "https://hub:8430"}
	w.restart()
	for _, name := range rigs {
		w.join(name)
	}
	return w
}

// restart opens a hub on the storage.
func (w *world) restart() {
	w.Helper()
	h, err := New(w.Context(), w.o)
	if err != nil {
		w.Fatal(err)
	}
	w.hub = h
}

func (w *world) join(name string, devices ...string) *simRig {
	w.Helper()
	if len(devices) == 0 {
		devices = []string{"phone"}
	}
	w.enrol(name)
	r := &simRig{w: w, name: name, boot: name + "-boot", devices: devices, has: map[string]*simAttempt{},
		done: map[string]bool{}, kept: map[string]*simAttempt{}}
	w.rigs[name] = r
	r.poll()
	return r
}

func (w *world) enrol(name string) {
	w.Helper()
	v, err := w.hub.Invite(name)
	if err == nil {
		_, err = w.hub.Join(w.Context(), wire.Join{Version: 1, Key: "KEY", Token: v.URL[len("https://hub:8430/#"):]})
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) submit(id string, p api.JobParams) api.FleetJob {
	w.Helper()
	p.Job = id
	if p.Test == "" && p.Upload == nil {
		p.Test = "scroll"
	}
	j, err := w.hub.Submit(w.Context(), "ann", p)
	if err != nil {
		w.Fatal(err)
	}
	return j
}

func (w *world) job(id string) api.FleetJob {
	w.Helper()
	j, err := w.hub.Job(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return j
}

// state is a job's state and those of its attempts in a line.
func (w *world) state(id string) string {
	w.Helper()
	j := w.job(id)
	out := j.State
	for _, a := range j.Attempts {
		out += fmt.Sprintf(" %s:%s", a.Rig, a.State)
	}
	return out
}

func (w *world) expect(id, state string) {
	w.Helper()
	if got := w.state(id); got != state {
		w.Fatalf("%s is %q (%s), want %q", id, got, w.job(id).Reason, state)
	}
}

// pass lets time pass in steps, in which all rigs poll that are named.
func (w *world) pass(d time.Duration, rigs ...string) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(min(10*time.Second, end.Sub(w.now)))
		for _, name := range rigs {
			w.rigs[name].poll()
		}
		w.hub.tick(w.Context())
	}
}

// simRig is a rig. It does an attempt at once, and ends it by end.
type simRig struct {
	w       *world
	name    string
	boot    string
	devices []string
	has     map[string]*simAttempt
	done    map[string]bool // acknowledged
	kept    map[string]*simAttempt
	tests   []string

	state    string // of its attempts; "": running
	idle     string // state of devices without an attempt; "": free
	reason   string // for which they take no job
	progress string
	profiled []string
	yields   bool   // a set of class fill does to other jobs
	browsers string // label
	feeds    []string
	builder  string // label
	signs    []string
	fetches  []string
	made     []wire.Made
	answer   wire.Polled
	last     []byte
}

type simAttempt struct {
	wire.Assignment
	ended *wire.Ended
	until time.Time // its rig ends it then, in TestCell
}

func (r *simRig) report() []byte {
	p := wire.Poll{Version: wire.Version, Boot: r.boot, Program: "eideticker 1", Tests: r.tests, Profiled: r.profiled,
		Yields: r.yields, Signs: r.signs, Fetches: r.fetches, Made: r.made}
	used := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(r.has)) {
		if a := r.has[id]; a.ended != nil {
			p.Ended = append(p.Ended, *a.ended)
		} else {
			p.Running = append(p.Running, wire.Running{Attempt: id, State: cmp.Or(r.state, running),
				Progress: cmp.Or(r.progress, "run 1")})
			for _, d := range a.Params.Devices {
				used[d] = true
			}
		}
	}
	p.Results = len(p.Ended)
	p.Ended = p.Ended[:min(len(p.Ended), wire.MaxResults)]
	for _, d := range r.devices {
		state := map[bool]string{true: "running", false: cmp.Or(r.idle, "free")}[used[d]]
		p.Devices = append(p.Devices, wire.Device{Name: d, State: state, Reason: r.reason,
			Labels: map[string]string{"os": "android", "browser": r.browsers, "builder": r.builder}, Feeds: r.feeds})
	}
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return raw
}

// poll sends the rig's state and follows the answer.
func (r *simRig) poll() *simRig {
	r.last = r.report()
	r.follow(r.w.hub.handle(context.Background(), r.name, "poll", r.last))
	return r
}

func (r *simRig) follow(raw []byte) {
	r.answer = wire.Polled{}
	if err := json.Unmarshal(raw, &r.answer); err != nil {
		r.w.Fatalf("%v: %s", err, raw)
	}
	if r.answer.Error != "" {
		return
	}
	for _, id := range r.answer.Acknowledged {
		if a := r.has[id]; a != nil && a.ended != nil {
			delete(r.has, id)
			r.done[id], r.kept[id] = true, a
		}
	}
	desired := map[string]string{}
	for _, d := range r.answer.Desired {
		desired[d.Attempt] = "running"
		if d.Cancel != "" {
			desired[d.Attempt] = "cancelled"
		}
	}
	for id, a := range r.has {
		if state := cmp.Or(desired[id], "interrupted"); a.ended == nil && state != "running" {
			r.end(id, wire.Ended{State: state})
		}
	}
	for _, id := range r.answer.Resend {
		r.has[id] = r.kept[id]
	}
	for _, d := range r.answer.Desired {
		if r.w.adopted && r.has[d.Attempt] == nil && r.kept[d.Attempt] != nil {
			r.has[d.Attempt] = r.kept[d.Attempt] // as agents do
		}
		if r.has[d.Attempt] != nil || r.done[d.Attempt] {
			continue
		}
		a := &simAttempt{Assignment: d}
		r.has[d.Attempt] = a
		if d.Cancel != "" {
			r.end(d.Attempt, wire.Ended{State: "cancelled"})
			continue
		}
		for id, other := range r.has { // cancelled ones have ended
			yields := r.yields && other.Class == api.ClassFill
			if other != a && other.ended == nil && !yields && slices.ContainsFunc(other.Params.Devices,
				func(n string) bool { return slices.Contains(d.Params.Devices, n) }) {
				r.w.Fatalf("%s and %s are both at work on %v of %s", id, d.Attempt, d.Params.Devices, r.name)
			}
		}
		id := d.Attempt
		if r.w.adopted { // the number may be that of an attempt on another rig for the lost hub
			id += " on " + r.name
		}
		if r.w.began[id]++; r.w.began[id] > 1 {
			r.w.Fatalf("attempt %s has begun twice", d.Attempt)
		}
	}
}

// end ends an attempt on the rig.
func (r *simRig) end(id string, e wire.Ended) *simRig {
	r.w.Helper()
	if r.has[id] == nil {
		r.w.Fatalf("%s has no attempt %s, only %v", r.name, id, slices.Collect(maps.Keys(r.has)))
	}
	e.Attempt, e.StartedNS, e.EndedNS = id, r.w.now.Add(-time.Minute).UnixNano(), r.w.now.UnixNano()
	if e.State == "ok" {
		e.Set = id
	}
	r.has[id].ended = &e
	return r
}
