package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

const (
	requestTime = 20 * time.Second
	// maxHold is the time for which a light folder waits while the rig measures. After it, the rig
	// begins no attempt until the folder is sent.
	maxHold   = 10 * time.Minute
	maxReason = 500 // bytes
	// testsEvery is the time between two looks at the rig's tests. A look reads their files.
	testsEvery = time.Minute
	maxLabel   = 128 // bytes of a label's value
)

// unwanted is the reason for the end of an attempt that the hub does not know. A hub that was
// adopted may assign it again. Nobody has cancelled its job.
const unwanted = "the hub no longer wants it"

// errQuiet is the reason for a transfer that waits.
var errQuiet = errors.New("the rig measures; files are sent afterwards")

// poll reports the rig's state and carries out the answer. It reports if it wants the next one at
// once.
func (a *Agent) poll(ctx context.Context, bus Bus, to *transfer) (again bool) {
	taken := false
	defer func() {
		if !taken { // the hub takes no results
			a.rest(false)
		}
	}()
	p := a.report()
	raw, err := json.Marshal(p)
	if err == nil {
		raw, err = a.request(ctx, bus, "poll", raw)
	}
	var answer wire.Polled
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil {
		if _, why := bus.Connected(); why != nil {
			err = why
		}
		if ctx.Err() == nil {
			a.linked(false, err.Error())
		}
		return false
	}
	a.mu.Lock()
	seen := a.state.Epoch
	a.mu.Unlock()
	if answer.Epoch < seen {
		a.linked(true, fmt.Sprintf("the hub is an old copy: its epoch is %d, and %d was seen", answer.Epoch, seen))
		return false
	}
	if answer.Error != "" {
		a.linked(true, bounded(answer.Error))
		return false
	}
	reason := ""
	if answer.Drain {
		reason = "the hub drains the rig"
	}
	a.linked(true, reason)
	a.mu.Lock()
	a.next = max(time.Duration(answer.NextNS), a.o.Look)
	a.mu.Unlock()
	if answer.JWT != "" {
		if err := staging.WriteFile(filepath.Join(a.o.Dir, RightsFile), []byte(answer.JWT), 0o600); err != nil {
			a.o.Log.Error("the rig's renewed rights could not be kept", "error", err)
		}
	}
	if err := a.acknowledged(&answer); err != nil {
		a.o.Log.Error("the state of the fleet could not be kept", "error", err)
		return false
	}
	for _, id := range answer.Superseded {
		if wire.IsAttempt(id) && a.o.Superseded != nil {
			a.o.Superseded(id)
		}
	}
	// Folders go first. An attempt that begins would delay them.
	taken = true
	a.want(answer.Make)
	sent := a.sendLight(ctx, to, answer.Light)
	return a.follow(ctx, bus, &answer) || sent
}

// request asks the hub, for a limited time.
func (a *Agent) request(ctx context.Context, bus Bus, kind string, raw []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return bus.Request(ctx, kind, raw)
}

// report returns the rig's state for the hub.
func (a *Agent) report() wire.Poll {
	devices := a.o.Devices()
	a.mu.Lock()
	defer a.mu.Unlock()
	p := wire.Poll{Version: wire.Version, Program: a.o.Program, Boot: a.boot, Epoch: a.state.Epoch,
		ClockNS: a.o.Now().UnixNano(), Address: a.o.Address, Busy: measures(devices), Accept: a.o.Accept, Yields: true,
		Devices: []wire.Device{}, Running: []wire.Running{}, Ended: a.state.ended(), Signs: a.o.Signs,
		Fetches: a.o.Fetches}
	for _, b := range a.wanted {
		if m, is := a.made[b]; is {
			p.Made = append(p.Made, m)
		}
	}
	a.untold = false
	if now := a.o.Now(); a.o.Tests != nil &&
		(a.listed.IsZero() || !p.Busy && now.Sub(a.listed).Abs() >= testsEvery) {
		all, profiled := a.o.Tests()
		a.tests, a.profiled, a.listed = boundedTests(all), boundedTests(profiled), now
	}
	p.Tests, p.Profiled = a.tests, a.profiled
	a.kept = a.whyKept(devices)
	for i, d := range devices[:min(len(devices), wire.MaxDevices)] {
		out := wire.Device{Name: d.Name, State: d.State, Reason: a.kept[i], Labels: a.labels(&d)}
		if a.o.Feeds != nil {
			if all := a.o.Feeds(d.Name); len(all) <= wire.MaxFeeds {
				out.Feeds = append([]string{}, all...)
			}
		}
		p.Devices = append(p.Devices, out)
	}
	for _, t := range a.state.Attempts {
		if t.Ended == nil && len(p.Running) < wire.MaxRunning {
			r := wire.Running{Attempt: t.ID, State: t.State, Progress: t.Progress}
			if r.State == "" {
				r.State = "queued"
			}
			p.Running = append(p.Running, r)
		}
	}
	p.Results = len(p.Ended)
	p.Ended = fitting(p.Ended)
	return p
}

// boundedTests returns names as a poll can have them, or nil if they are too many.
func boundedTests(names []string) []string {
	size := 0
	for _, n := range names {
		size += len(n)
	}
	if len(names) > wire.MaxTests || size > wire.MaxTestBytes {
		return nil
	}
	return append([]string{}, names...)
}

// maxEnded bounds the results of a poll, so that it fits into a message.
const maxEnded = 64 << 10

// fitting returns the first results, as many as a poll has room for, and at least one.
func fitting(all []wire.Ended) []wire.Ended {
	out, size := []wire.Ended{}, 0
	for _, e := range all[:min(len(all), wire.MaxResults)] {
		e.Runs = nil // the hub needs the set only; an earlier program kept them
		raw, err := json.Marshal(e)
		if size += len(raw); len(out) > 0 && (err != nil || size > maxEnded) {
			break
		}
		out = append(out, e)
	}
	return out
}

// measures reports if a device is at work.
func measures(devices []api.Device) bool {
	return slices.ContainsFunc(devices, func(d api.Device) bool { return d.State == "running" })
}

// whyKept returns the reason why each device gets no job of the fleet, or "". The mutex is held.
func (a *Agent) whyKept(devices []api.Device) []string {
	all := make([]string, len(devices))
	for i, d := range devices {
		switch {
		case d.Quarantine != "":
			all[i] = "quarantined: " + bounded(d.Quarantine)
		case d.Reserved != nil:
			all[i] = strings.TrimSuffix("reserved for "+d.Reserved.Owner+": "+bounded(d.Reserved.Note), ": ")
		case d.InUseBy != "":
			all[i] = "in use by " + bounded(d.InUseBy)
		case d.Job != "" && a.state.find(d.Job) == nil:
			all[i] = "runs " + d.Job + " of its rig"
		}
	}
	return all
}

// acknowledged forgets results that the hub has stored.
func (a *Agent) acknowledged(answer *wire.Polled) error {
	a.mu.Lock()
	known := slices.DeleteFunc(slices.Clone(answer.Acknowledged), func(id string) bool {
		t := a.state.find(id)
		return t == nil || t.Ended == nil
	})
	changed := len(known) > 0 || answer.Epoch > a.state.Epoch
	a.mu.Unlock()
	if !changed {
		return nil
	}
	err := a.change(func(s *state) {
		s.Epoch = answer.Epoch
		for _, id := range known {
			s.forget(id)
		}
	})
	for _, id := range known {
		if err == nil {
			a.o.Point("acknowledged")
			a.removeLight(id)
		}
	}
	return err
}

// follow makes the rig's attempts those that the hub desires. changed: there is news for the hub.
func (a *Agent) follow(ctx context.Context, bus Bus, answer *wire.Polled) (changed bool) {
	a.dropInvalid(answer)
	desired := map[string]*wire.Assignment{}
	for i := range answer.Desired {
		desired[answer.Desired[i].Attempt] = &answer.Desired[i]
	}
	for _, t := range a.attempts() {
		if t.Ended != nil {
			continue
		}
		d := desired[t.ID]
		switch {
		case d == nil:
			changed = a.cancel(&t, unwanted) || changed
		case d.Cancel != "":
			changed = a.cancel(&t, bounded(d.Cancel)) || changed
		}
	}
	for i := range answer.Desired {
		d := &answer.Desired[i]
		if ctx.Err() != nil {
			return changed
		}
		changed = a.take(ctx, bus, d) || changed
	}
	for _, id := range answer.Resend[:min(len(answer.Resend), wire.MaxResults)] {
		a.mu.Lock()
		has := a.state.find(id) != nil || len(a.state.Attempts) >= wire.MaxRunning
		a.mu.Unlock()
		if !has && wire.IsAttempt(id) {
			changed = a.again(id) || changed
		}
	}
	return changed
}

// dropInvalid drops attempts with IDs that are not of a hub. They could name other files.
func (a *Agent) dropInvalid(answer *wire.Polled) {
	answer.Desired = slices.DeleteFunc(answer.Desired, func(d wire.Assignment) bool {
		if wire.IsAttempt(d.Attempt) {
			return false
		}
		if !a.odd {
			a.odd = true
			a.o.Log.Warn("the hub desires attempts with invalid IDs; they are ignored",
				"attempt", clip(d.Attempt, maxLabel))
		}
		return true
	})
}

// cancel ends an attempt of the rig.
func (a *Agent) cancel(t *attempt, reason string) (ended bool) {
	if t.Cancelled == "" {
		if err := a.change(func(s *state) { s.find(t.ID).Cancelled = reason }); err != nil {
			a.o.Log.Error("an attempt could not be cancelled", "attempt", t.ID, "error", err)
			return false
		}
	}
	if j, is := a.o.Queue.Job(t.ID); is && j.EndedWallNS == 0 {
		if err := a.o.Queue.Cancel(t.ID); err != nil {
			a.o.Log.Warn("an attempt could not be cancelled", "attempt", t.ID, "error", err)
		}
		return false // it is observed
	} else if !is && !t.Submitted {
		return a.end(t.ID, wire.Ended{State: cancelled(reason), Reason: reason})
	}
	return false
}

// cancelled returns the state of an attempt that was cancelled for a reason.
func cancelled(reason string) string {
	if reason == unwanted {
		return "interrupted"
	}
	return "cancelled"
}

// take accepts a desired attempt, once, and submits it.
func (a *Agent) take(ctx context.Context, bus Bus, d *wire.Assignment) (changed bool) {
	a.mu.Lock()
	var known attempt
	t := a.state.find(d.Attempt)
	if t != nil {
		known = *t
	}
	done, full := slices.ContainsFunc(a.state.Done, isAttempt(d.Attempt)), len(a.state.Attempts) >= wire.MaxRunning
	hold := !a.held.IsZero() && a.o.Now().Sub(a.held) > maxHold
	a.mu.Unlock()
	switch {
	case known.Ended != nil || known.Submitted || known.Cancelled != "":
		return false
	case t == nil && full:
		return false // it stays desired
	case t == nil && d.Cancel != "" && !done:
		return a.add(d.Attempt) == nil && a.end(d.Attempt, wire.Ended{State: "cancelled", Reason: bounded(d.Cancel)})
	case t == nil && done:
		return a.again(d.Attempt)
	case t == nil:
		if err := a.add(d.Attempt); err != nil {
			a.o.Log.Error("an attempt could not be accepted", "attempt", d.Attempt, "error", err)
			return false
		}
		a.o.Point("accepted")
		changed = true
	}
	if why := refusal(a.o.Accept, a.o.Unbuilt, d); why != "" {
		return a.end(d.Attempt, wire.Ended{State: "refused", Reason: why})
	}
	for _, m := range d.Builds[:min(len(d.Builds), 2*api.MaxVariants)] {
		if !slices.Contains(a.o.Fetches, m.Feed) {
			continue
		}
		if err := a.o.Learn(m); err != nil {
			return a.end(d.Attempt, wire.Ended{State: "refused", Reason: bounded(err.Error())})
		}
	}
	if hold {
		return changed
	}
	return a.submit(ctx, bus, d) || changed
}

// add keeps that an attempt was accepted.
func (a *Agent) add(id string) error {
	return a.change(func(s *state) { s.Attempts = append(s.Attempts, attempt{ID: id}) })
}

// again reports the result of an attempt that a hub has acknowledged, and lost. Runs of others are
// not told.
func (a *Agent) again(id string) bool {
	j, stored := a.o.Queue.Job(id)
	err := a.change(func(s *state) {
		t := attempt{ID: id, Submitted: true}
		switch i := slices.IndexFunc(s.Done, isAttempt(id)); {
		case i >= 0 && (!stored || s.Done[i].Reason == unwanted):
			e := s.Done[i]
			t.Ended = &e
		case i < 0 && (!stored || j.Owner != wire.Owner):
			t.Ended = &wire.Ended{Attempt: id, State: "interrupted", Reason: "the rig does not have it any more"}
		}
		s.Done = slices.DeleteFunc(s.Done, isAttempt(id))
		s.Attempts = append(s.Attempts, t)
	})
	if err != nil {
		a.o.Log.Error("the state of the fleet could not be kept", "error", err)
	}
	return err == nil
}

func isAttempt(id string) func(wire.Ended) bool {
	return func(e wire.Ended) bool { return e.Attempt == id }
}

// submit puts an accepted attempt into the rig's queue. The file states it before and after. In
// between, the queue itself knows the job.
func (a *Agent) submit(ctx context.Context, bus Bus, d *wire.Assignment) (changed bool) {
	p := d.Params
	p.Class, p.Origin = d.Class, d.Origin
	if d.Upload != "" {
		upload, err := a.upload(ctx, bus, d.Upload)
		if errors.Is(err, errUpload) {
			return a.end(d.Attempt, wire.Ended{State: "refused", Reason: bounded(err.Error())})
		} else if err != nil {
			a.note(d.Attempt, "queued", bounded(err.Error()))
			return false
		}
		p.Upload = upload
	}
	j, err := a.o.Queue.Submit(ctx, d.Attempt, wire.Owner, p)
	var told *api.Error
	switch {
	case err == nil:
	case errors.As(err, &told) && (told.Code == api.TooMany || told.Code == api.Busy) || ctx.Err() != nil:
		a.note(d.Attempt, "queued", bounded(err.Error())) // later
		return false
	case told != nil && (told.Code == api.InvalidParams || told.Code == api.NotFound):
		return a.end(d.Attempt, wire.Ended{State: "refused", Reason: bounded(err.Error())})
	default: // quarantine, a full disk
		return a.end(d.Attempt, wire.Ended{State: "failed", Fault: "lab", Reason: bounded(err.Error())})
	}
	a.o.Point("submitted")
	if err := a.change(func(s *state) {
		if t := s.find(d.Attempt); t != nil {
			t.Submitted, t.State = true, j.State
		}
	}); err != nil {
		a.o.Log.Error("the state of the fleet could not be kept", "error", err)
	}
	return true
}

// note keeps how an attempt is, for the next poll.
func (a *Agent) note(id, state, progress string) (changed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.state.find(id)
	if t == nil {
		return false
	}
	changed = t.State != state
	t.State, t.Progress = state, progress
	return changed
}

// observe looks at the devices and at the submitted attempts. It reports if one has another state.
func (a *Agent) observe(ctx context.Context) (changed bool) {
	devices := a.o.Devices()
	a.mu.Lock()
	changed = !slices.Equal(a.kept, a.whyKept(devices)) || a.rests && !measures(devices) || a.untold
	a.mu.Unlock()
	for _, t := range a.attempts() {
		if t.Ended != nil || ctx.Err() != nil {
			continue
		}
		j, is := a.o.Queue.Job(t.ID)
		switch {
		case !is && t.Submitted:
			changed = a.end(t.ID, wire.Ended{State: "interrupted", Reason: "the rig has lost the attempt"}) || changed
		case !is:
		case j.EndedWallNS != 0 || slices.Contains([]string{"ok", "failed", "cancelled", "interrupted"}, j.State):
			changed = a.ended(&t, &j) || changed
		default:
			changed = a.note(t.ID, j.State, progress(&j)) || changed
		}
	}
	return changed
}

// ended keeps the result of an attempt, with its light folder.
func (a *Agent) ended(t *attempt, j *api.Job) bool {
	e := wire.Ended{State: j.State, Fault: j.Fault, Reason: bounded(j.Reason), StartedNS: j.StartedWallNS,
		EndedNS: j.EndedWallNS}
	if e.State == "cancelled" && t.Cancelled != "" {
		e.State, e.Reason = cancelled(t.Cancelled), t.Cancelled
	}
	if e.State == "failed" && e.Fault == "" {
		e.Fault = "lab"
	}
	if err := a.pack(t.ID, &e); err != nil {
		a.o.Log.Error("a light folder could not be made", "attempt", t.ID, "error", err)
		e.Light = nil
		e.Reason = bounded(strings.TrimPrefix(e.Reason+"; its light folder could not be made: "+err.Error(), "; "))
	}
	a.o.Point("packed")
	return a.end(t.ID, e)
}

// end keeps the result of an attempt. The hub hears it until it is acknowledged.
func (a *Agent) end(id string, e wire.Ended) bool {
	e.Attempt = id
	if e.EndedNS == 0 {
		e.EndedNS = a.o.Now().UnixNano()
	}
	err := a.change(func(s *state) {
		if t := s.find(id); t != nil && t.Ended == nil {
			t.Ended = &e
		}
	})
	if err != nil {
		a.o.Log.Error("a result could not be kept", "attempt", id, "error", err)
		return false
	}
	a.o.Point("ended")
	a.o.Log.Info("an attempt of the fleet has ended", "attempt", id, "state", e.State, "reason", e.Reason)
	return true
}

// progress describes a job in words.
func progress(j *api.Job) string {
	switch {
	case j.State == "queued" || j.Reason != "": // a set may yield
		return bounded(j.Reason)
	case j.Phase != nil && j.Phase.Run != "":
		return bounded("run " + j.Phase.Run + ": " + j.Phase.Name)
	case j.Phase != nil:
		return bounded(j.Phase.Name)
	case j.Total > 0:
		return fmt.Sprintf("%d of %d runs", j.Done, j.Total)
	}
	return ""
}

func bounded(text string) string { return clip(text, maxReason) }

// clip cuts a text to a number of bytes of whole characters.
func clip(text string, n int) string {
	return strings.ToValidUTF8(text[:min(len(text), n)], "")
}
