package schedule

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// maxCause bounds the sentence of a cause in bytes. Names of functions in it come from the page.
const maxCause = 400

// Variants of the runs that explain a change. The store keeps them apart from plain runs.
const (
	CauseBefore = "why-before"
	CauseAfter  = "why-after"
)

// explanation is the task of runs with measuring code that explain confirmed changes.
type explanation struct {
	Changes []int64 `json:"changes"` // of the same builds, test and device
	Task    task    `json:"task"`
}

// explains reports if the confirmed change of a schedule gets a cause.
func (e *Engine) explains(schedule string, x *api.SeriesShift) bool {
	conf, is := e.Schedules[schedule]
	return is && e.Cause != nil && x.Kind != drift && (conf.Explain == nil || *conf.Explain)
}

// beginCauses begins the explanations of confirmed changes that are in an alert and have none. An
// explanation that is not saved has not begun.
func (e *Engine) beginCauses(ctx context.Context, all []api.SeriesShift, alerts []api.Alert) (err error) {
	begun, was := 0, make([]*explanation, len(e.state.Causes))
	for i, c := range e.state.Causes {
		was[i] = &explanation{slices.Clone(c.Changes), c.Task}
	}
	defer func() {
		if err != nil {
			e.state.Causes = was
		}
	}()
	for _, x := range slices.Backward(all) { // oldest first
		if !x.Explaining || slices.ContainsFunc(e.state.Causes, func(c *explanation) bool {
			return slices.Contains(c.Changes, x.ID)
		}) {
			continue
		}
		data, err := e.Trends.Get(ctx, api.SeriesParams{Series: x.Series, Limit: 1})
		if err != nil {
			return err
		}
		s := &data.Series
		if !e.explains(s.Schedule, &x) {
			if err := e.setCause(ctx, &x, ""); err != nil {
				return err
			}
			continue
		}
		if e.state.Schedules[s.Schedule].Paused {
			continue // it begins when the schedule goes on
		}
		sides, wait, err := e.causeSides(ctx, s, &x, alerts)
		if err == nil && sides == nil && !wait {
			err = e.setCause(ctx, &x, "Its points are not there any more.")
		}
		if err != nil {
			return err
		}
		if sides != nil {
			e.addCause(s, x.ID, sides)
			begun++
		}
	}
	if begun == 0 {
		return nil
	}
	return e.save() // before a job is submitted
}

// addCause adds a change to the explanation of its builds, test and device, or begins one.
func (e *Engine) addCause(s *api.Series, change int64, sides []side) {
	t := freshTask(trend.Origin{Schedule: s.Schedule, Feed: s.Feed, Seq: sides[1].seq, Build: sides[1].build,
		Kind: trend.KindExplain, Change: change}, s.Product, sides)
	for i, name := range []string{CauseBefore, CauseAfter} {
		v := &t.Variants[i]
		t.Origin.Roles[name] = t.Origin.Roles[v.Name]
		delete(t.Origin.Roles, v.Name)
		v.Name = name
	}
	t.Test, t.Device, t.Repeat = s.Test, e.deviceOf(s), compare.Blocks(1)
	t.name()
	for _, c := range e.state.Causes {
		if c.Task.Test == t.Test && c.Task.Device == t.Device && slices.Equal(c.Task.Variants, t.Variants) {
			c.Changes = append(c.Changes, change)
			return
		}
	}
	e.state.Causes = append(e.state.Causes, &explanation{Changes: []int64{change}, Task: t})
	e.Log.Info("a change is being explained", "change", change, "job", t.ID)
}

// causeSides returns the builds that explain a change: those that a bisection of its alert has
// found, or those beside it. It waits for a bisection that searches. Nil: they are unknown.
func (e *Engine) causeSides(ctx context.Context, s *api.Series, x *api.SeriesShift, alerts []api.Alert) (
	_ []side, wait bool, err error) {
	alert := slices.IndexFunc(alerts, func(a api.Alert) bool {
		return slices.ContainsFunc(a.Changes, func(o api.SeriesShift) bool { return o.ID == x.ID })
	})
	for _, b := range e.bisections {
		if alert < 0 || b.Alert != alerts[alert].ID || b.Test != s.Test || len(b.All) == 0 ||
			!slices.Contains(e.devicesOf(s), b.Device) ||
			b.All[0].Seq < x.FirstSeq || b.All[len(b.All)-1].Seq > x.LastSeq {
			continue // it is about another change of the alert
		}
		if b.Ended == 0 {
			return nil, true, nil
		}
		if found := b.Search.Outcome().Found; len(found) == 1 {
			good, bad := b.build(found[0].Good), b.build(found[0].Bad)
			return []side{{trend.Before, good.Name, good.Seq}, {trend.After, bad.Name, bad.Seq}}, false, nil
		}
	}
	points, err := e.Trends.Points(ctx, s.ID, x.FirstSeq, x.LastSeq, maxChanges)
	if err != nil || len(points) < 2 {
		return nil, false, err
	}
	before, after := points[0], points[len(points)-1]
	return []side{{trend.Before, before.Build, before.Seq}, {trend.After, after.Build, after.Seq}}, false, nil
}

// advanceCauses looks at the jobs of all explanations.
func (e *Engine) advanceCauses(ctx context.Context) (err error) {
	kept := e.state.Causes[:0:0]
	for _, c := range e.state.Causes {
		over, wrong := e.settleCause(ctx, c)
		if err = errors.Join(err, wrong); !over {
			kept = append(kept, c)
		}
	}
	if len(kept) < len(e.state.Causes) {
		e.state.Causes = kept
		err = errors.Join(err, e.save())
	}
	return err
}

// settleCause reports if the changes of an explanation have their causes, or need none.
func (e *Engine) settleCause(ctx context.Context, c *explanation) (over bool, err error) {
	var left []api.SeriesShift
	for _, id := range c.Changes {
		x, err := e.Trends.Change(ctx, id)
		if err != nil {
			return false, err
		}
		if x.Explaining && x.State == confirmed {
			left = append(left, x)
		}
	}
	if len(left) == 0 {
		_ = e.Queue.Cancel(c.Task.ID) // it may have ended
		return true, nil
	}
	state, j, err := e.pollJob(ctx, &c.Task, e.save)
	if err != nil || state == open {
		return false, err
	}
	if state == partly && c.Task.renew(&j) {
		return false, e.save()
	}
	for i := range left {
		x := &left[i]
		why := ""
		switch {
		case state == lost && j.ID == "": // it was refused
			why = "Runs with measuring code cannot begin: " + j.Reason
		case state != done:
			why = "Its runs with measuring code failed: " + j.Reason
		default:
			of, err := e.sizeOf(ctx, x)
			if err != nil {
				return false, err
			}
			why, err = e.Cause(ctx, c.Task.ID, of)
			if unavailable(err) || ctx.Err() != nil {
				return false, nil // a later step reads it
			}
			if err != nil {
				why = "Its runs with measuring code cannot be read: " + err.Error()
			}
		}
		if err := e.setCause(ctx, x, why); err != nil {
			return false, err
		}
	}
	return true, nil
}

// sizeOf returns a change in the unit of its value.
func (e *Engine) sizeOf(ctx context.Context, x *api.SeriesShift) (of compare.Change, err error) {
	data, err := e.Trends.Get(ctx, api.SeriesParams{Series: x.Series, Limit: 1})
	if err != nil {
		return of, err
	}
	of = compare.Change{Unit: data.Series.Unit, Size: math.Abs(x.Shift),
		Verdict: map[string]stats.Verdict{"worse": stats.Regressed, "better": stats.Improved}[x.Direction]}
	if x.Relative {
		points, err := e.Trends.Points(ctx, x.Series, x.FirstSeq, x.FirstSeq, 1)
		if err != nil {
			return of, err
		}
		if len(points) == 0 {
			of.Size = 0
		} else {
			of.Size *= math.Abs(points[0].Median().Estimate)
		}
	}
	return of, nil
}

// setCause ends the explanation of a change.
func (e *Engine) setCause(ctx context.Context, x *api.SeriesShift, why string) error {
	x.Explaining, x.Cause = false, plainText(why)
	if err := e.put(ctx, x); err != nil {
		return err
	}
	if x.Cause != "" {
		e.Log.Info("a change is explained", "change", x.ID, "cause", x.Cause)
	}
	return nil
}

// plainText bounds a text from outside, and replaces what cannot be seen.
func plainText(text string) string {
	text = strings.Map(func(c rune) rune {
		if !unicode.IsGraphic(c) || unicode.Is(unicode.Bidi_Control, c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
	const cut = "…"
	if len(text) > maxCause {
		text = strings.ToValidUTF8(text[:maxCause-len(cut)], "") + cut // a part of a letter is left out
	}
	return text
}
