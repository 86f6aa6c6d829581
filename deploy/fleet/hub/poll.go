package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// maxMember bounds the stored state of a rig.
const maxMember = 48 << 10

// maxPath bounds the paths of a result's runs.
const maxPath = 400

// maxDesired bounds the parameters in an answer.
const maxDesired = 400 << 10

// handle answers a request of a rig.
func (h *Hub) handle(ctx context.Context, rig, kind string, request []byte) []byte {
	var answer any
	switch kind {
	case "poll":
		answer = h.poll(ctx, rig, request)
	case "event":
		answer = h.event(rig, request)
	case "ask":
		answer = h.ask(ctx, rig, request)
	case "leave":
		h.mu.Lock()
		if r := h.rigs[rig]; r != nil {
			h.leaving[rig] = r.Key // removed after the answer
		}
		h.mu.Unlock()
		answer = wire.Polled{}
	case "relay":
		answer = h.nextTickets(ctx, rig, request)
	default:
		answer = wire.Polled{Error: fmt.Sprintf("the hub has no request %.20q", kind)}
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		h.o.Log.Error("an answer to a rig cannot be encoded", "rig", rig, "error", err)
	}
	return raw
}

// poll takes a rig's state and returns the desired one.
func (h *Hub) poll(ctx context.Context, name string, request []byte) wire.Polled {
	var p wire.Poll
	err := json.Unmarshal(request, &p)
	if err == nil {
		err = check(&p)
	}
	var out wire.Polled
	var lights []*wire.Ended
	h.do(func() { out, lights = h.takePoll(ctx, name, &p, err) }, func() {
		h.figures.polls++
		if out.Error == "" {
			h.answerPoll(ctx, name, &p, &out, lights)
		}
	})
	return out
}

// takePoll keeps the state and the results of a rig. It returns the results whose light folders are
// needed.
func (h *Hub) takePoll(ctx context.Context, name string, p *wire.Poll, err error) (out wire.Polled,
	lights []*wire.Ended) {
	now := h.o.Now()
	out = wire.Polled{Epoch: h.epoch, NextNS: int64(pollEvery), ClockNS: now.UnixNano()}
	r := h.rigs[name]
	switch {
	case h.ready() != nil:
		out.Error = h.ready().Error()
	case err != nil:
		out.Error = clip("the poll cannot be read: "+err.Error(), maxReason)
	case r == nil || !r.known:
		out.Error = "the hub does not know " + name + "; invite it again"
	case p.Version < wire.Oldest:
		out.Error = fmt.Sprintf("the rig's program is too old for the hub: it speaks version %d, needs %d", p.Version,
			wire.Oldest)
	case p.Epoch > h.epoch:
		seen := &h.newer
		if p.Epoch > max(h.epoch, uint64(max(now.Unix(), 0)))+maxAhead {
			seen = &h.odd
		}
		*seen = seenEpoch{name, p.Epoch}
		out.Error = fmt.Sprintf("the hub is an old copy: its epoch is %d, and %d was seen", h.epoch, p.Epoch)
	default:
		if !h.op.again { // a clone may have polled meanwhile
			h.meet(r, p.Boot, now)
		}
		out.Error = r.Suspend
	}
	if out.Error != "" {
		return out, nil
	}
	h.take(r, p, now)
	for i := range p.Ended {
		e := &p.Ended[i]
		switch h.settle(ctx, name, e) {
		case stored:
			out.Acknowledged = append(out.Acknowledged, e.Attempt)
		case wanted:
			lights = append(lights, e)
		}
	}
	for i := range p.Running {
		h.mention(name, &p.Running[i])
	}
	for i := range p.Made {
		h.takeMade(r, &p.Made[i])
	}
	h.show(r)
	return out, lights
}

// answerPoll adds the desired state to an answer.
func (h *Hub) answerPoll(ctx context.Context, name string, p *wire.Poll, out *wire.Polled, lights []*wire.Ended) {
	r, now, err := h.rigs[name], h.o.Now(), error(nil)
	if r == nil || !r.known {
		out.Error = "the hub does not know " + name + "; invite it again"
		return
	}
	out.Light = h.lightTickets(name, lights, now) // the rig sends nothing while it measures
	out.Drain = r.Drain
	out.Make = h.wantedOf(name)
	again := sortedKeys(r.resend)
	out.Resend = again[:min(len(again), lightsOfRig)]
	if out.Desired, err = h.desired(ctx, r, p); err != nil {
		*out = wire.Polled{Epoch: out.Epoch, NextNS: out.NextNS, ClockNS: out.ClockNS, Error: clip(err.Error(), 300)}
		return
	}
	old := sortedKeys(r.superseded)
	for _, id := range old[:min(len(old), wire.MaxResults)] {
		out.Superseded = append(out.Superseded, id)
		delete(r.superseded, id) // a lost answer costs little
	}
	if jwt, due, err := h.o.Authority.Renew(name, r.Key, now); err == nil && due {
		out.JWT = jwt
	} else if err != nil {
		h.o.Log.Warn("a rig's rights could not be renewed", "rig", name, "error", err)
	}
}

// desired returns the attempts of a rig. Those that it does not have yet wait if there are too many
// for one message. The rig cancels attempts that are missing here. So one that it has is never
// left out. One that may still wait for its parameters makes an error of the whole answer.
func (h *Hub) desired(ctx context.Context, r *rig, p *wire.Poll) ([]wire.Assignment, error) {
	has := map[string]string{} // states
	for _, m := range p.Running {
		has[m.Attempt] = m.State
	}
	for _, e := range p.Ended {
		has[e.Attempt] = e.State
	}
	late := func(id string) int {
		if has[r.live[id].id()] != "" {
			return 0
		}
		return 1
	}
	ids := sortedKeys(r.live)
	slices.SortStableFunc(ids, func(a, b string) int { return late(a) - late(b) })
	out, size := []wire.Assignment{}, 0
	var broken error
	for _, id := range ids {
		j := r.live[id]
		state, known := has[j.id()]
		err := broken // the storage is asked once
		if err == nil || j.spec != nil {
			err = h.details(ctx, j)
		}
		if err != nil {
			h.o.Log.Warn("the parameters of an attempt cannot be sent", "job", id, "error", err)
			lost := errors.Is(err, bus.ErrNotFound)
			if !lost {
				broken = err
			}
			if known && state == queued && !lost {
				return nil, err
			} else if !known {
				continue
			}
		}
		lines, whole := h.linesFor(r, j)
		if state == running {
			lines = nil // the rig has them
		}
		if !whole && !known && j.Cancel == "" {
			j.seen = h.o.Now() // the builder has to report a build again
			continue
		}
		a := wire.Assignment{Attempt: j.id(), Owner: j.Owner, Class: j.Class, Cancel: j.Cancel, Upload: j.Upload,
			Builds: lines}
		if err == nil {
			if size += j.size + len(lines)*wire.MaxLine; size > maxDesired && !known {
				j.seen = h.o.Now() // it waits here, it is not lost
				continue
			}
			a.Params, a.Origin = j.spec.Params, j.spec.Origin
		}
		j.told = true
		a.Params.Devices, a.Params.Class = j.last().Devices, j.Class
		out = append(out, a)
	}
	return out, nil
}

// meet notes the boot nonce of a poll. Two starts of one rig that poll in turns are a cloned disk.
func (h *Hub) meet(r *rig, boot string, now time.Time) {
	_, before := r.boots[boot]
	if before && boot != r.boot {
		r.backs = append(slices.DeleteFunc(r.backs, func(t time.Time) bool { return now.Sub(t) >= lease }), now)
	}
	if len(r.boots) >= 16 && !before { // it starts again and again
		clear(r.boots)
	}
	r.boot, r.boots[boot] = boot, now
	if r.Suspend != "" || len(r.backs) < maxBacks {
		return
	}
	r.Suspend = "two machines poll as " + r.Rig + ", its disk may be cloned; remove or invite it again"
	r.dirty = true
	h.o.Log.Warn("rig suspended", "rig", r.Rig, "reason", r.Suspend)
	h.show(r)
	h.changed(r.Rig, "")
}

// unite ends the suspension of a rig after all but one of its starts have been silent for long.
func (h *Hub) unite(r *rig, now time.Time) {
	for boot, at := range r.boots {
		if now.Sub(at) >= cloneTime {
			delete(r.boots, boot)
		}
	}
	if r.Suspend == "" || len(r.boots) > 1 || now.Sub(h.began) < cloneTime {
		return
	}
	r.Suspend, r.backs, r.dirty = "", nil, true
	h.o.Log.Info("rig no longer suspended", "rig", r.Rig)
	h.show(r)
	h.changed(r.Rig, "")
}

// take keeps the state of a poll.
func (h *Hub) take(r *rig, p *wire.Poll, now time.Time) {
	if !r.online(now) || r.busy != p.Busy || r.reason != p.Reason ||
		!slices.EqualFunc(r.Devices, p.Devices, sameDevice) {
		h.changed(r.Rig, "")
	}
	r.dirty = r.dirty || r.Program != p.Program || !slices.Equal(r.Signs, p.Signs) ||
		!slices.Equal(r.Fetches, p.Fetches) || !slices.EqualFunc(r.Devices, p.Devices, sameLabels)
	r.polled, r.SeenNS = now, now.UnixNano()
	r.Program, r.Address, r.Accept, r.Devices = p.Program, p.Address, p.Accept, p.Devices
	r.busy, r.reason, r.tests, r.profiled = p.Busy, p.Reason, p.Tests, p.Profiled
	r.yields, r.Signs, r.Fetches = p.Yields, p.Signs, p.Fetches
	r.unreported, r.reported = p.Results, len(p.Ended)
	if p.ClockNS != 0 {
		r.clock = time.Duration(p.ClockNS - now.UnixNano())
	}
}

func sameDevice(a, b wire.Device) bool {
	return a.State == b.State && a.Reason == b.Reason && sameLabels(a, b)
}

func sameLabels(a, b wire.Device) bool {
	if a.Name != b.Name || len(a.Labels) != len(b.Labels) || !slices.Equal(a.Feeds, b.Feeds) {
		return false
	}
	for k, v := range a.Labels {
		if b.Labels[k] != v {
			return false
		}
	}
	return true
}

// check bounds the content of a poll. Texts are cut, and the rest must be valid.
func check(p *wire.Poll) error {
	if len(p.Devices) > wire.MaxDevices || len(p.Running) > wire.MaxRunning || len(p.Ended) > wire.MaxResults {
		return errors.New("the poll has too many devices, attempts or results")
	}
	p.Program, p.Boot, p.Reason = clip(p.Program, 200), clip(p.Boot, 64), clip(p.Reason, maxReason)
	if u, err := url.Parse(p.Address); err != nil || len(p.Address) > 300 || u.Scheme != "https" && u.Scheme != "http" {
		p.Address = ""
	}
	p.Results = min(max(p.Results, 0), 1_000_000)
	if len(p.Tests) > wire.MaxTests {
		p.Tests = nil
	}
	p.Profiled = p.Profiled[:min(len(p.Profiled), len(p.Tests))]
	for i, name := range p.Tests {
		p.Tests[i] = clip(name, api.MaxName)
	}
	seen := map[string]bool{}
	for i := range p.Devices {
		d := &p.Devices[i]
		if !labelForm.MatchString(d.Name) || seen[d.Name] || len(d.Labels) > wire.MaxLabels {
			return fmt.Errorf("device %.80q: has an invalid name or too many labels", d.Name)
		}
		seen[d.Name] = true
		long := func(feed string) bool { return len(feed) > api.MaxName }
		if len(d.Feeds) > wire.MaxFeeds || slices.ContainsFunc(d.Feeds, long) {
			d.Feeds = nil // any may run there
		}
		d.State, d.Reason = clip(d.State, 32), clip(d.Reason, maxReason)
		for k, v := range d.Labels {
			if !labelForm.MatchString(k) || len(v) > 128 || clip(v, 128) != v {
				return fmt.Errorf("device %s: label %.80q is invalid", d.Name, k)
			}
		}
	}
	if len(p.Made) > wire.MaxMade {
		return errors.New("the poll has too many builds")
	}
	for _, list := range [][]string{p.Accept.Owners, p.Accept.Kinds, p.Accept.Feeds, p.Signs, p.Fetches} {
		if len(list) > 64 || slices.ContainsFunc(list, func(s string) bool { return len(s) > 256 }) {
			return errors.New("the rig's own limits are too long")
		}
	}
	if raw, err := json.Marshal(member{Devices: p.Devices, Accept: p.Accept, Signs: p.Signs,
		Fetches: p.Fetches}); err != nil || len(raw) > maxMember {
		return errors.New("the rig's devices have too many labels")
	}
	for i := range p.Ended {
		if e := &p.Ended[i]; len(e.Runs) > maxRuns || len(e.Set) > maxPath ||
			slices.ContainsFunc(e.Runs,
				func(m wire.LightRun) bool { return len(m.Run) > maxPath || len(m.State) > 64 }) {
			return fmt.Errorf("result %.120q has too many runs or too long paths", e.Attempt)
		}
	}
	states := []string{succeeded, failed, interrupted, cancelled, refused}
	p.Ended = slices.DeleteFunc(p.Ended, func(e wire.Ended) bool { return !slices.Contains(states, e.State) })
	return nil
}

// event shows progress at once.
func (h *Hub) event(name string, request []byte) wire.Event {
	var e wire.Event
	if json.Unmarshal(request, &e) != nil || len(e.Running) > wire.MaxRunning {
		return wire.Event{}
	}
	h.do(func() {
		if r := h.rigs[name]; r != nil && r.known && r.Suspend == "" && h.ready() == nil {
			for i := range e.Running {
				h.mention(name, &e.Running[i])
			}
		}
	}, nil)
	return wire.Event{}
}

// ask returns the upload of a job that the rig works at, or the ticket of a build.
func (h *Hub) ask(ctx context.Context, name string, request []byte) (out wire.Asked) {
	var q wire.Ask
	if err := json.Unmarshal(request, &q); err != nil {
		return wire.Asked{Error: "the request cannot be read"}
	}
	if q.Build != "" {
		return h.askBuild(name, q.Build)
	}
	h.mu.Lock()
	own := false
	if r := h.rigs[name]; r != nil && r.known {
		for _, j := range r.live {
			own = own || j.Upload == q.Upload
		}
	}
	h.mu.Unlock()
	if !own || q.Upload == "" {
		return wire.Asked{Error: "no job of " + name + " has this upload"}
	}
	raw, err := h.o.Bus.Blobs().Get(ctx, q.Upload)
	switch {
	case errors.Is(err, bus.ErrNotFound):
		return wire.Asked{Error: "the upload is lost"}
	case err != nil:
		return wire.Asked{Error: "the upload cannot be read: " + strings.TrimSpace(clip(err.Error(), 200))}
	}
	return wire.Asked{Upload: raw}
}
