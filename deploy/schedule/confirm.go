package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

const (
	maxAlpha    = 0.01 // of a confirmation, however few there are
	costRuns    = 96   // of a confirmation of equal builds
	maxJobs     = 8    // of a confirmation
	maxChanges  = 1000 // that are looked at
	minLab      = 4    // tests of a device of which half must change at once
	sparedShare = 0.1  // of the devices' time that confirmations may take
	usualRun    = time.Minute
)

// Budget returns the account of false alarms of the last period.
func (e *Engine) Budget() api.Budget {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.budget()
}

// budget also forgets entries before the last period. The levels of the confirmations that begin
// in a period add up to false_alarms at most.
func (e *Engine) budget() api.Budget {
	per := time.Duration(e.Alarm.Per)
	from := e.Now().Add(-per).UnixNano()
	e.state.Spent = slices.DeleteFunc(e.state.Spent, func(s spent) bool { return s.At <= from })
	e.state.Work = slices.DeleteFunc(e.state.Work, func(w work) bool { return w.At <= from })
	b := api.Budget{FalseAlarms: e.Alarm.FalseAlarms, PeriodNS: int64(per), Confirmations: e.Alarm.Confirmations,
		Used: len(e.state.Spent)}
	if b.Confirmations == 0 {
		b.Confirmations = e.affordable(per)
	}
	b.Alpha = min(b.FalseAlarms/float64(b.Confirmations), maxAlpha)
	b.Text = sentence("%d of %d confirmations in %s have begun, each at level %.2g: "+
		"at most %.3g false alarms are expected.", b.Used, b.Confirmations, days(per), b.Alpha,
		b.Alpha*float64(b.Confirmations))
	return b
}

// days formats a period.
func days(d time.Duration) string {
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return wording.Plural(int(d/day), "day")
	}
	return d.String()
}

// affordable returns the confirmations of equal builds for which a share of the devices' time is
// enough. The time of a run is that of the last period.
func (e *Engine) affordable(per time.Duration) int {
	devices := map[string]bool{}
	for name, s := range e.Schedules {
		for _, d := range s.Devices {
			devices[d] = true
		}
		for _, d := range e.state.Schedules[name].devices() {
			devices[d] = true
		}
	}
	run := usualRun
	var ns int64
	runs := 0
	for _, w := range e.state.Work {
		ns, runs = ns+w.NS, runs+w.Runs
	}
	if runs > 0 {
		run = max(time.Second, time.Duration(ns/int64(runs)))
	}
	return max(1, int(sparedShare*float64(len(devices))*float64(per)/float64(costRuns*run)))
}

// confirmationsLeft returns how many confirmations may begin.
func (e *Engine) confirmationsLeft(b *api.Budget) int {
	total := 0.0
	for _, s := range e.state.Spent {
		total += s.Alpha
	}
	byLevel := int((b.FalseAlarms-total)/b.Alpha + 1e-9)
	return max(0, min(b.Confirmations-b.Used, byLevel))
}

// pick begins confirmations of the strongest candidates, one on each device at a time.
func (e *Engine) pick(ctx context.Context) error {
	all, err := e.Trends.Changes(ctx, api.ChangeListParams{State: candidate, Limit: maxChanges})
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b api.SeriesShift) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(math.Abs(b.Shift), math.Abs(a.Shift)))
	})
	for i := range all {
		if b := e.budget(); e.confirmationsLeft(&b) < 1 {
			break
		}
		_, wrong := e.begin(ctx, &all[i], all[i+1:], false)
		err = errors.Join(err, wrong) // others go on
	}
	return err
}

// errBudget is the reason of a candidate that waits.
var errBudget = errors.New("the budget of confirmations is used up")

// begin begins the confirmation of a candidate, with others of the same builds, test and device.
func (e *Engine) begin(ctx context.Context, x *api.SeriesShift, others []api.SeriesShift, asked bool) (bool, error) {
	if x.State != candidate && !asked {
		return false, nil
	}
	if e.confirming(x) {
		return false, refusal(asked, "Its fresh runs have begun already.")
	}
	data, err := e.Trends.Get(ctx, api.SeriesParams{Series: x.Series, Limit: 1})
	if err != nil {
		return false, err
	}
	s := &data.Series
	p := e.state.Schedules[s.Schedule]
	if _, is := e.Schedules[s.Schedule]; !is || p.Paused {
		return false, refusal(asked, "Schedule "+s.Schedule+" is paused or not configured.")
	}
	device := e.deviceOf(s)
	if !asked && (e.confirms(device) || x.Kind != drift && p.between(s, x)) {
		return false, nil
	}
	if !asked && x.Kind != drift && !slices.Contains(p.Filled, x.ID) {
		if wait, err := e.backfill(ctx, s, x); err != nil || wait {
			return false, err
		}
	}
	if s.Feed == "" {
		return false, e.explain(ctx, x, undecided, "The builds are not in a feed, so they cannot run again.")
	}
	b := e.budget()
	left := e.confirmationsLeft(&b)
	if left < 1 {
		return false, errBudget
	}
	points, err := e.Trends.Points(ctx, s.ID, x.FirstSeq, x.LastSeq, maxChanges)
	if err != nil {
		return false, err
	}
	if len(points) < 2 {
		return false, refusal(asked, "Its points are not there any more.")
	}
	before, after := points[0], points[len(points)-1]
	if !asked { // a person may know better
		is, err := e.wholeLab(ctx, s, x)
		if err == nil && is {
			err = e.explain(ctx, x, lab, "Half of the tests of the device changed at once.")
		}
		if err != nil || is {
			return false, err
		}
	}
	for _, build := range []string{before.Build, after.Build} {
		if found, err := e.Feeds.Resolve(ctx, s.Feed, build); err != nil || found.State != usable {
			if err != nil && later(err) {
				return false, refusal(asked, err.Error()) // the feed may return
			}
			return false, e.explain(ctx, x, undecided, sentence("Build %s cannot run again.", build))
		}
	}
	c := &confirmation{Alpha: b.Alpha, Changes: []int64{x.ID}}
	for i := range others {
		if o := &others[i]; len(c.Changes) < left && o.FirstSeq == x.FirstSeq && o.LastSeq == x.LastSeq {
			also, err := e.Trends.Get(ctx, api.SeriesParams{Series: o.Series, Limit: 1})
			if err != nil {
				return false, err
			}
			if k := also.Series; k.Schedule == s.Schedule && k.Test == s.Test && k.Device == s.Device &&
				k.Feed == s.Feed && k.Product == s.Product {
				c.Changes = append(c.Changes, o.ID)
			}
		}
	}
	t := freshTask(trend.Origin{Schedule: s.Schedule, Feed: s.Feed, Seq: after.Seq, Build: after.Build,
		Kind: trend.KindConfirm, Change: x.ID}, s.Product,
		[]side{{trend.Before, before.Build, before.Seq}, {trend.After, after.Build, after.Seq}})
	t.Test, t.Device, t.Repeat = s.Test, device, stats.DefaultConfirmation(1, 0).Looks[0]
	t.Salt = fmt.Sprintf("look 1 from %d", e.Now().UnixNano())
	t.name()
	c.Tasks = []task{t}
	e.state.Confirms = append(e.state.Confirms, c)
	for _, id := range c.Changes {
		e.state.Spent = append(e.state.Spent, spent{e.Now().UnixNano(), c.Alpha, id})
	}
	e.Log.Info("a change is being confirmed", "change", x.ID, "job", t.ID)
	return true, e.save()
}

// side is a build that runs afresh.
type side struct {
	role, build string
	seq         int64
}

// freshTask returns a task of fresh runs of builds of a feed. Variants are named by their roles.
func freshTask(o trend.Origin, product string, sides []side) task {
	t := task{Class: api.ClassCheck, Origin: o}
	t.Origin.Roles = map[string]trend.Role{}
	for _, s := range sides {
		t.Origin.Roles[s.role] = trend.Role{Role: s.role, Product: product, Feed: o.Feed, Build: s.build, Seq: s.seq}
		t.Variants = append(t.Variants, api.Variant{Name: s.role,
			Browser: api.Browser{Kind: product, Feed: o.Feed, Build: s.build}.String()})
	}
	return t
}

// valuesOf returns the values of the runs by role and block, and the threshold of their measure.
func valuesOf(measured []trend.Measured, key trend.SeriesKey) (map[string]map[int]float64, float64) {
	threshold, blocks := 0.0, map[string]map[int]float64{}
	for _, m := range measured {
		if shared(m.Key) != shared(key) {
			continue
		}
		if threshold = cmp.Or(m.Threshold, stats.UsualThreshold); blocks[m.Key.Role] == nil {
			blocks[m.Key.Role] = map[int]float64{}
		}
		for _, v := range m.Point.Values {
			blocks[m.Key.Role][v.Block] = v.Value
		}
	}
	return blocks, threshold
}

// confirming reports if a change has fresh runs.
func (e *Engine) confirming(x *api.SeriesShift) bool {
	return slices.ContainsFunc(e.state.Confirms, func(c *confirmation) bool { return slices.Contains(c.Changes, x.ID) })
}

// between reports if builds in a candidate's range wait for their runs. They may narrow the range.
func (p *progress) between(s *api.Series, x *api.SeriesShift) bool {
	return slices.ContainsFunc(p.Tasks, func(t task) bool {
		return t.Test == s.Test && t.place() == s.Device && x.FirstSeq < t.Origin.Seq && t.Origin.Seq < x.LastSeq
	})
}

// maxFill bounds the builds between two that are queued for a candidate. Only a bisection is fit
// for more.
const maxFill = 10

// backfill queues the builds between those of a candidate, once. It reports if there are any.
func (e *Engine) backfill(ctx context.Context, s *api.Series, x *api.SeriesShift) (bool, error) {
	conf, p, f := e.Schedules[s.Schedule], e.state.Schedules[s.Schedule], e.feeds[s.Feed]
	if f == nil || conf.Backfill == "none" {
		return false, nil
	}
	var fill []task
	for i := range f.builds {
		b := &f.builds[i]
		if b.Seq <= x.FirstSeq || b.Seq >= x.LastSeq || b.State != usable {
			continue
		}
		tasks, err := e.tasks(ctx, s.Schedule, conf, b, b.Seq, "fill")
		if errors.Is(err, errPool) {
			return true, nil // it waits for the test
		}
		if err != nil {
			return false, err
		}
		for _, t := range tasks {
			if t.Test == s.Test && t.place() == s.Device {
				t.Class = api.ClassFill
				fill = append(fill, t)
			}
		}
	}
	p.Filled = append(p.Filled[max(0, len(p.Filled)-maxChanges):], x.ID)
	if len(fill) == 0 || len(fill) > maxFill || len(p.Tasks)+len(fill) > maxTasks {
		return false, nil
	}
	p.Tasks = append(p.Tasks, fill...)
	e.Log.Info("builds between are queued", "change", x.ID, "builds", len(fill))
	err := e.save()
	for i := range fill {
		if err == nil {
			_, _ = e.submit(ctx, &fill[i]) // the next step tries again
		}
	}
	return true, err
}

// refusal returns an error only to people, who wait for an answer.
func refusal(asked bool, why string) error {
	if asked {
		return api.Errorf(api.Conflict, "the change cannot be confirmed now: %s", why)
	}
	return nil
}

// explain changes a candidate's state and reason.
func (e *Engine) explain(ctx context.Context, x *api.SeriesShift, state, why string) error {
	x.State, x.Reason = state, why
	e.raised = e.raised && state != confirmed
	return e.put(ctx, x)
}

// put stores a change. A change that a person dismissed stays so.
func (e *Engine) put(ctx context.Context, x *api.SeriesShift) error {
	err := e.Trends.PutChange(ctx, x)
	if told := (*api.Error)(nil); errors.As(err, &told) && told.Code == api.Conflict {
		return nil
	}
	return err
}

// wholeLab reports if half of a device's tests changed with a series that has no control. A control
// that did not change is the better evidence.
func (e *Engine) wholeLab(ctx context.Context, s *api.Series, x *api.SeriesShift) (bool, error) {
	list, err := e.Trends.Series(ctx, api.SeriesListParams{Schedule: s.Schedule, Device: s.Device, Limit: 1000})
	if err != nil {
		return false, err
	}
	tests, of := map[string]bool{}, map[int64]string{}
	for _, o := range list.Series {
		if o.Role == trend.Control && o.Test == s.Test {
			return false, nil
		}
		if o.Role == trend.Subject {
			tests[o.Test], of[o.ID] = true, o.Test
		}
	}
	changes, err := e.Trends.Changes(ctx, api.ChangeListParams{Limit: maxChanges})
	moved := map[string]bool{}
	for _, o := range changes {
		if test, is := of[o.Series]; is && o.Kind == x.Kind && overlap(&o, x.FirstSeq, x.LastSeq) {
			moved[test] = true
		}
	}
	return len(tests) >= minLab && 2*len(moved) >= len(tests), err
}

// overlap reports if a change and a range have builds in common.
func overlap(x *api.SeriesShift, first, last int64) bool {
	return x.FirstSeq < last && first < x.LastSeq
}

// advance looks at the jobs of all confirmations, and judges those that ended.
func (e *Engine) advance(ctx context.Context) (err error) {
	kept := e.state.Confirms[:0:0]
	for _, c := range e.state.Confirms {
		over, wrong := e.judge(ctx, c)
		err = errors.Join(err, wrong)
		if !over {
			kept = append(kept, c)
		}
	}
	if over := len(kept) < len(e.state.Confirms); over {
		e.state.Confirms = kept
		err = errors.Join(err, e.save())
	}
	return err
}

// judge reports if all changes of a confirmation are decided.
func (e *Engine) judge(ctx context.Context, c *confirmation) (over bool, err error) {
	changes := map[int64]*api.SeriesShift{}
	for _, id := range c.Changes {
		x, err := e.Trends.Change(ctx, id)
		if err != nil {
			return false, err
		}
		changes[id] = &x
		if x.State == candidate || x.State == lab || x.State == undecided || x.State == refuted {
			if x.State, x.Reason = confirming, ""; len(c.Tasks) == 1 {
				err = e.put(ctx, &x)
			}
			if err != nil {
				return false, err
			}
		}
	}
	last := &c.Tasks[len(c.Tasks)-1]
	if !slices.ContainsFunc(c.Changes, func(id int64) bool { return changes[id].State == confirming }) {
		_ = e.Queue.Cancel(last.ID) // all were dismissed; it may have ended
		return true, nil
	}
	state, j, err := e.pollJob(ctx, last, e.save)
	switch {
	case err != nil || state == open:
		return false, err
	case state == lost:
		return true, e.decideAll(ctx, c, changes, "The runs of job "+last.ID+" failed: "+j.Reason)
	}
	var sets [][]trend.Measured
	for i := range c.Tasks {
		_, measured, err := e.Read(ctx, c.Tasks[i].ID)
		if unavailable(err) {
			return false, nil // a later step reads it
		}
		if i == len(c.Tasks)-1 && state == partly && len(measured) == 0 {
			if last.renew(&j) {
				return false, e.save()
			}
			return true, e.decideAll(ctx, c, changes, "The runs of job "+last.ID+" failed: "+j.Reason)
		}
		if err != nil {
			return true, e.decideAll(ctx, c, changes, "The fresh runs cannot be read: "+err.Error())
		}
		sets = append(sets, measured)
	}
	e.noteWork(&j, last)
	more, open := 0, []int64{}
	for _, id := range c.Changes {
		x := changes[id]
		if x.State != confirming {
			continue // it was dismissed, or is decided
		}
		need, err := e.decide(ctx, c, x, sets, setOf(last.ID, sets[len(sets)-1]))
		if err != nil {
			return false, err
		}
		if more = max(more, need); need > 0 {
			open = append(open, id)
		}
	}
	if more == 0 {
		return true, nil
	}
	if c.Changes = open; len(c.Tasks) >= maxJobs {
		return true, e.decideAll(ctx, c, changes, "Too many of the fresh runs did not count.")
	}
	next := *last
	next.Repeat, next.Attempt, next.Salt = more, 0, fmt.Sprintf("look %d after %s", len(c.Tasks)+1, c.Tasks[0].ID)
	next.name()
	c.Tasks = append(c.Tasks, next)
	return false, e.save()
}

// decideAll leaves the changes of a confirmation undecided.
func (e *Engine) decideAll(ctx context.Context, c *confirmation, changes map[int64]*api.SeriesShift, why string) (
	err error) {
	for _, id := range c.Changes {
		if x := changes[id]; x.State == confirming {
			err = errors.Join(err, e.explain(ctx, x, undecided, sentence("%s", why)))
		}
	}
	return err
}

// decide judges a change by fresh sets. It returns the number of blocks that are missing.
func (e *Engine) decide(ctx context.Context, c *confirmation, x *api.SeriesShift, sets [][]trend.Measured,
	set string) (need int, err error) {
	data, err := e.Trends.Get(ctx, api.SeriesParams{Series: x.Series, Limit: 1})
	if err != nil {
		return 0, err
	}
	key := shared(keyOf(&data.Series))
	sign := math.Copysign(1, x.Shift)
	var differences, level []float64
	threshold := 0.0
	for _, measured := range sets {
		blocks, limit := valuesOf(measured, key)
		threshold = cmp.Or(limit, threshold)
		for _, n := range slices.Sorted(maps.Keys(blocks[trend.Before])) {
			before := blocks[trend.Before][n]
			after, is := blocks[trend.After][n]
			switch {
			case !is:
				continue
			case x.Relative: // of values that are not positive it is not finite, and dropped
				before, after = math.Log(before), math.Log(after)
			}
			level = append(level, before)
			differences = append(differences, sign*(after-before))
		}
	}
	limit := math.Log1p(threshold)
	if !x.Relative {
		limit = threshold * math.Abs(median(level))
	}
	r := stats.DefaultConfirmation(c.Alpha, limit).Judge(differences)
	if r.State == stats.More {
		return r.Blocks - len(differences), nil
	}
	x.Set, x.P = set, r.P
	x.Shift, x.Low, x.High = sign*r.Shift.Estimate, sign*r.Shift.Low, sign*r.Shift.High
	if x.Low > x.High {
		x.Low, x.High = x.High, x.Low
	}
	if x.Relative {
		x.Shift, x.Low, x.High = math.Expm1(x.Shift), math.Expm1(x.Low), math.Expm1(x.High)
	}
	for _, v := range []*float64{&x.Shift, &x.Low, &x.High} {
		if math.IsNaN(*v) || math.IsInf(*v, 0) { // no block had values
			*v = 0
		}
	}
	if limit == 0 {
		return 0, e.explain(ctx, x, undecided, noLevel)
	}
	switch r.State {
	case stats.Confirmed:
		x.Direction = direction(data.Series.Better, x.Shift)
		x.Explaining = e.explains(data.Series.Schedule, x)
		err = e.explain(ctx, x, confirmed, sentence("%d fresh blocks show it at level %.2g (p = %.2g).", r.Blocks,
			c.Alpha, r.P))
	case stats.Refuted:
		err = e.explain(ctx, x, refuted, sentence("%d fresh blocks show no shift as large as the threshold.", r.Blocks))
	default:
		err = e.explain(ctx, x, undecided, sentence("%d fresh blocks neither show nor exclude it (p = %.2g).",
			r.Blocks, r.P))
	}
	return 0, err
}
