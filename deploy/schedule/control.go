package schedule

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// DeviceState is what changes of a device besides its jobs.
type DeviceState struct {
	Present     bool // it answers
	Quarantined bool
	Program     string // version that measures on it
}

// watched is the latest state of a device that schedules use.
type watched struct {
	Seen        int64  `json:"seen_wall_ns"`
	Program     string `json:"program"`
	Quarantined bool   `json:"quarantined,omitempty"`
	// Event is the latest time after which the device may measure otherwise; 0: there was none.
	Event int64  `json:"event_wall_ns,omitempty"`
	Why   string `json:"why,omitempty"` // "after it was away"
}

// check is the repetition of the control for a test on a device.
type check struct {
	Event int64  `json:"event_wall_ns"`
	Tasks []task `json:"tasks,omitempty"` // looks; nil: it is over
}

const (
	absence     = 24 * time.Hour
	seenEvery   = time.Hour // between two notes of devices that are there
	checkPoints = 30        // of the control before the event
	minPoints   = 8         // without them the control is not repeated
	checkLooks  = 2         // that must agree that it moved
	checkErrors = 0.01      // chance that a look finds a move of values that are as before
)

// watch notes absences, quarantines and upgrades of the schedules' devices. It keeps new ones.
// A device is watched from its first schedule with a control on.
func (e *Engine) watch() error {
	if e.Devices == nil {
		return nil
	}
	used := map[string]bool{}
	for name, s := range e.Schedules {
		for _, d := range s.Devices {
			used[d] = used[d] || s.Control != ""
		}
		for _, d := range e.state.Schedules[name].devices() {
			used[d] = used[d] || s.Control != ""
		}
	}
	e.states = e.Devices()
	now, keep := e.Now(), false
	for name, d := range e.states {
		w := e.state.Devices[name]
		if !d.Present || w == nil && !used[name] {
			continue
		}
		if w == nil {
			w = &watched{Seen: now.UnixNano(), Program: d.Program}
			e.state.Devices[name], keep = w, true
		}
		keep = w.next(d, now, e.began) || keep
	}
	if keep || len(e.state.Devices) > 0 && now.Sub(e.saved).Abs() >= seenEvery {
		return e.save()
	}
	return nil
}

// next takes the state of a device that is there. It reports if the new state must be kept. A
// device in quarantine makes no points, so its events come when it is released. An event was after
// the last look, of this start of the program.
func (w *watched) next(d DeviceState, now, began time.Time) (keep bool) {
	seen := w.Seen
	w.Seen = now.UnixNano()
	if d.Quarantined {
		keep, w.Quarantined = !w.Quarantined, true
		return keep
	}
	away := time.Duration(now.UnixNano() - seen)
	switch {
	case w.Quarantined:
		w.Why = "after its quarantine"
	case away >= absence:
		w.Why = "after " + wording.Plural(int(away/time.Hour), "hour") + " away"
	case d.Program != w.Program && d.Program != "":
		w.Why = fmt.Sprintf("after the change from %.60s to %.60s", cmp.Or(w.Program, "another version"), d.Program)
	default:
		return false
	}
	seen = max(seen, min(began.UnixNano(), now.UnixNano()))
	w.Event, w.Program, w.Quarantined = max(seen, w.Event+1), d.Program, false
	return true
}

// repeatControl reports if a task waits for its control. The control runs alone after an event of
// the device. If it moved, the test's series on the device begin anew. Without earlier points of
// the control nothing is compared. A job that ended before the event does not wait.
func (e *Engine) repeatControl(ctx context.Context, name string, p *progress, t *task) (wait bool, err error) {
	w := e.state.Devices[t.Device]
	own, _ := e.Queue.Job(t.ID)
	if w == nil || w.Event == 0 || t.Origin.Kind != trend.KindPoint ||
		own.EndedWallNS != 0 && own.EndedWallNS <= w.Event {
		return false, nil
	}
	key := t.Device + " " + t.Test
	c := p.Checks[key]
	if c != nil && c.Event == w.Event && c.Tasks == nil {
		return false, nil
	}
	over := func() (bool, error) {
		p.Checks[key].Tasks = nil
		return false, e.save()
	}
	again := func() (bool, error) {
		if err := e.save(); err != nil {
			return true, err
		}
		return e.repeatControl(ctx, name, p, t)
	}
	due := e.Now().Add(time.Duration(e.Schedules[name].Deadline)).UnixNano()
	if c == nil || c.Event != w.Event {
		if c != nil && len(c.Tasks) > 0 {
			e.drop(c.Tasks[len(c.Tasks)-1].ID)
		}
		first, is := t.control(w.Event, due)
		known, err := e.controls(ctx, name, t, first.Origin.Build)
		if err != nil {
			return true, err
		}
		if p.Checks == nil {
			p.Checks = map[string]*check{}
		}
		c = &check{Event: w.Event, Tasks: []task{first}}
		if p.Checks[key] = c; !is || len(known) == 0 {
			return over()
		}
		e.Log.Info("a device repeats the control", "schedule", name, "test", t.Test, "device", t.Device,
			"reason", w.Why, "job", first.ID)
		if err := e.save(); err != nil {
			return true, err
		}
	}
	last := &c.Tasks[len(c.Tasks)-1]
	state, j, err := e.pollJob(ctx, last, e.save)
	if err != nil {
		return true, err
	}
	_, queued := e.Queue.Job(last.ID)
	late := e.Now().UnixNano() > last.Due
	switch {
	case state == lost && !queued && !late: // it is refused
		e.reason[name] = sentence("%s cannot repeat the control of %s: %s", t.Device, t.Test, j.Reason)
		return true, nil
	case state == open && late && (!queued || e.drop(last.ID)):
		*last, _ = last.control(c.Event+int64(len(c.Tasks)-1), due)
		return again()
	case state == open:
		e.reason[name] = sentence("%s repeats the control of %s %s.", t.Device, t.Test, w.Why)
		return true, nil
	}
	var moved []shiftOf
	for i := range c.Tasks {
		var measured []trend.Measured
		if state != lost {
			_, measured, err = e.Read(ctx, c.Tasks[i].ID)
		}
		if unavailable(err) {
			return true, nil // a later step reads it
		}
		if len(measured) == 0 && last.Attempt+1 < maxAttempts {
			last.Attempt, last.Due = last.Attempt+1, due
			last.name()
			return again()
		}
		if err != nil || len(measured) == 0 {
			e.Log.Warn("the control could not be repeated; series continue", "schedule", name, "test", t.Test,
				"device", t.Device, "reason", j.Reason, "error", err)
			return over()
		}
		known, err := e.controls(ctx, name, t, c.Tasks[i].Origin.Build)
		if err != nil {
			return true, err
		}
		moved = agreeing(moved, moves(known, measured), i)
	}
	switch {
	case len(moved) == 0:
		e.Log.Info("the control did not move; series continue", "schedule", name, "test", t.Test, "device", t.Device)
		return over()
	case len(c.Tasks) < checkLooks:
		next, _ := last.control(w.Event+int64(len(c.Tasks)), due)
		c.Tasks = append(c.Tasks, next)
		return again()
	}
	if err := e.split(ctx, name, t, w, moved, last.ID); err != nil {
		return true, err
	}
	return over()
}

// drop cancels a job that waits or works. It reports if there was one.
func (e *Engine) drop(id string) bool {
	j, is := e.Queue.Job(id)
	return is && j.EndedWallNS == 0 && e.Queue.Cancel(id) == nil
}

// control returns a task of the control of a task alone; false: it has none.
func (t *task) control(salt, due int64) (c task, is bool) {
	for _, v := range t.Variants {
		if r := t.Origin.Roles[v.Name]; r.Role == trend.Control {
			o := trend.Origin{Schedule: t.Origin.Schedule, Feed: r.Feed, Seq: r.Seq, Build: r.Build,
				Kind: trend.KindCheck, Roles: map[string]trend.Role{v.Name: r}}
			c = task{Test: t.Test, Device: t.Device, Class: api.ClassCheck, Repeat: t.Repeat,
				Variants: []api.Variant{v}, Salt: fmt.Sprintf("control of %d by %d", salt, due), Origin: o, Due: due}
			c.name()
			return c, true
		}
	}
	return c, false
}

// past is a series of the control and the medians of its newest points.
type past struct {
	series api.Series
	values []float64
}

// controls returns the newest series of a test's control on a device that have enough points of a
// build. Points wait while the control is repeated, so all are earlier ones.
func (e *Engine) controls(ctx context.Context, name string, t *task, build string) (all []past, err error) {
	list, err := e.Trends.Series(ctx, api.SeriesListParams{Schedule: name, Test: t.Test, Device: t.Device,
		Role: trend.Control, Limit: 1000})
	newest := 0
	for _, s := range list.Series {
		newest = max(newest, s.Generation)
	}
	for _, s := range list.Series {
		if err != nil || s.Role != trend.Control || s.Generation < newest {
			continue
		}
		var points []trend.Point
		points, err = e.Trends.Points(ctx, s.ID, 0, 0, checkPoints)
		one := past{series: s}
		for i := range points {
			if p := &points[i]; p.Build == build {
				one.values = append(one.values, p.Median().Estimate)
			}
		}
		if len(one.values) >= minPoints {
			all = append(all, one)
		}
	}
	return all, err
}

// shiftOf is the shift of a series of the control, relative where values are positive.
type shiftOf struct {
	series   api.Series
	by       float64
	relative bool
}

// moves returns the series that moved. The median of their fresh runs differs from that of the
// earlier points by the threshold. One more of these would not be expected there. The interval of
// the fresh median is outside of their range: values of few steps may have equal earlier points.
// Several series divide the chance of an error (Bonferroni).
func moves(known []past, fresh []trend.Measured) (all []shiftOf) {
	for _, m := range fresh {
		i := slices.IndexFunc(known, func(p past) bool {
			k := keyOf(&p.series)
			return shared(k) == shared(m.Key) && k.Product == m.Key.Product && k.Feed == m.Key.Feed
		})
		if i < 0 {
			continue
		}
		before, interval := known[i].values, m.Point.Median()
		now, usual := interval.Estimate, median(before)
		one := shiftOf{known[i].series, now - usual, usual > 0 && now > 0}
		far := math.Abs(one.by) >= cmp.Or(m.Threshold, stats.UsualThreshold)*math.Abs(usual)
		apart := interval.Low > slices.Max(before) || interval.High < slices.Min(before)
		if far && apart && stats.Unexpected(before, now, checkErrors/float64(len(known))) {
			if one.relative {
				one.by /= usual
			}
			all = append(all, one)
		}
	}
	return all
}

// agreeing returns the moves of a look that an earlier look had too, in the same direction.
func agreeing(before, now []shiftOf, look int) []shiftOf {
	return slices.DeleteFunc(now, func(n shiftOf) bool {
		return look > 0 && !slices.ContainsFunc(before, func(b shiftOf) bool {
			return b.series.ID == n.series.ID && (b.by > 0) == (n.by > 0)
		})
	})
}

// split begins new series of a test on a device, and notes the moves as changes of the lab.
func (e *Engine) split(ctx context.Context, name string, t *task, w *watched, moved []shiftOf, job string) error {
	why := sentence("The control moved %s: new series begin. Job %s has its runs.", w.Why, job)
	for _, m := range moved {
		x := api.SeriesShift{Series: m.series.ID, FirstSeq: m.series.LastSeq, LastSeq: m.series.LastSeq, State: lab,
			Reason: why, Shift: m.by, Low: m.by, High: m.by, Relative: m.relative, Direction: "changed",
			FoundNS: e.Now().UnixNano()}
		known, err := e.Trends.Changes(ctx, api.ChangeListParams{Series: x.Series, Limit: maxChanges})
		if err == nil && !slices.ContainsFunc(known, func(k api.SeriesShift) bool { return k.Reason == why }) {
			err = e.Trends.PutChange(ctx, &x)
		}
		if err != nil {
			return err
		}
	}
	e.Log.Warn("the control moved; new series begin", "schedule", name, "test", t.Test, "device", t.Device,
		"reason", w.Why)
	return e.Trends.Split(ctx, trend.Split{Schedule: name, Test: t.Test, Device: t.Device, WallNS: w.Event,
		Reason: why})
}
