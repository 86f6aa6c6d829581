package schedule

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/schedule/bisect"
)

// Bounds of a bisection for clients.
const (
	maxShown    = 1000 // builds
	maxShownRun = 200  // values of a build
	maxShownTo  = 100  // builds that may have brought a change
	minChance   = 0.001
)

// StartBisect begins a bisection. An error of its first job is returned.
func (e *Engine) StartBisect(ctx context.Context, owner string, p api.BisectParams) (out api.Bisect, err error) {
	all, err := e.Feeds.Builds(ctx, p.Feed) // may take long
	if err != nil && len(all) == 0 {
		return out, clientError(err)
	}
	if p.Good == "" {
		return out, api.Errorf(api.InvalidParams, "good must be a build of feed %.80q", p.Feed)
	}
	for _, name := range []*string{&p.Good, &p.Bad} {
		if *name == api.LatestBuild {
			*name = ""
		}
		b, err := e.Feeds.Resolve(ctx, p.Feed, *name)
		if err != nil {
			return out, clientError(err)
		}
		*name = b.Name
	}
	if p.MaxLost != nil && !(*p.MaxLost >= 0 && *p.MaxLost <= 1) {
		return out, api.Errorf(api.InvalidParams, "max_lost must be from 0 to 1, not %g", *p.MaxLost)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p.Device, p.Budget = cmp.Or(p.Device, "local"), cmp.Or(p.Budget, usualBudget)
	if p.Browser = cmp.Or(p.Browser, e.browserOf(p.Feed)); p.Browser == "" {
		return out, api.Errorf(api.InvalidParams, "unknown browser for builds of feed %s: give browser", p.Feed)
	}
	b, err := e.newBisection(p, owner, fmt.Sprint(p, e.Now().UnixNano()), all)
	if err != nil {
		return out, err
	}
	if err := e.submitFirst(ctx, b); err != nil {
		return out, err
	}
	return b.show(true), nil
}

// submitFirst submits the first job of a bisection, and keeps it.
func (e *Engine) submitFirst(ctx context.Context, b *bisection) error {
	step, _ := b.Search.Next()
	b.Steps = []bisectionStep{b.next(step)}
	if _, err := e.submit(ctx, &b.Steps[0].Task); err != nil && !later(err) {
		return clientError(err)
	}
	if err := e.keep(b); err != nil {
		_ = e.Queue.Cancel(b.Steps[0].Task.ID) // its runs are harmless
		return api.Errorf(api.Unavailable, "%v", err)
	}
	e.bisections = append(e.bisections, b)
	e.Log.Info("a bisection has begun", "bisect", b.ID, "good", b.Good, "bad", b.Bad, "builds", len(b.All)-1)
	return nil
}

// browserOf returns the usual browser of a feed; "": unknown.
func (e *Engine) browserOf(feed string) string {
	for _, name := range e.names() {
		for _, text := range e.Schedules[name].Browsers {
			if b, err := api.ParseBrowser(text); err == nil && b.Feed == feed {
				return b.Kind
			}
		}
	}
	if e.Browser == nil {
		return ""
	}
	return e.Browser(feed)
}

// Bisects lists all bisections, newest first.
func (e *Engine) Bisects() api.Bisects {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := api.Bisects{Bisects: []api.Bisect{}}
	for _, b := range slices.Backward(e.bisections) {
		out.Bisects = append(out.Bisects, b.show(false))
	}
	return out
}

// Bisect returns one bisection.
func (e *Engine) Bisect(id string) (api.Bisect, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.bisection(id)
	if err != nil {
		return api.Bisect{}, err
	}
	out := b.show(true)
	if j, is := e.Queue.Job(out.Job); is && b.Ended == 0 {
		out.Reason += progressOf(&j)
	}
	return out, nil
}

// progressOf returns the progress of a step's job as a further sentence, or why it waits.
func progressOf(j *api.Job) string {
	switch {
	case j.EndedWallNS != 0:
		return ""
	case j.Reason != "":
		return sentence(" Its job: %s.", j.Reason)
	case j.Phase != nil && j.Phase.Run != "":
		rejected := 0
		for _, m := range j.Runs {
			if m.State == string(session.Rejected) {
				rejected++
			}
		}
		if rejected > 0 { // they are among Done, and repeated
			return sentence(" Run %d of %d, %d rejected.", min(j.Done-rejected+1, j.Total), j.Total, rejected)
		}
		return sentence(" Run %s.", j.Phase.Run)
	}
	return ""
}

func (e *Engine) bisection(id string) (*bisection, error) {
	i := slices.IndexFunc(e.bisections, func(b *bisection) bool { return b.ID == id })
	if i < 0 {
		return nil, api.Errorf(api.NotFound, "unknown bisection %.80q", id)
	}
	return e.bisections[i], nil
}

// CancelBisect ends a bisection and its job.
func (e *Engine) CancelBisect(id, by string) (out api.Bisect, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.bisection(id)
	if err != nil {
		return out, err
	}
	if b.Ended != 0 {
		return out, api.Errorf(api.Conflict, "bisection %s has ended", id)
	}
	if n := len(b.Steps); n > 0 && !b.Steps[n-1].Over {
		_ = e.Queue.Cancel(b.Steps[n-1].Task.ID) // it may have ended
	}
	b.stop("cancelled by "+by, true)
	b.Ended, e.raised = e.Now().UnixNano(), false // an explanation may wait for it
	if err := e.keep(b); err != nil {
		return out, api.Errorf(api.Unavailable, "%v", err)
	}
	return b.show(true), nil
}

// show returns a bisection for clients.
func (b *bisection) show(whole bool) api.Bisect {
	o := b.Search.Outcome()
	out := api.Bisect{ID: b.ID, BisectParams: b.BisectParams, State: o.State, Reason: o.Reason, Owner: b.Owner,
		Alert: b.Alert, StartedNS: b.Started, EndedNS: b.Ended, Runs: o.Runs, Unit: b.Key.Unit, Relative: b.Relative,
		Shift: b.shift(o.Shift), Detectable: b.natural(o.Detectable), Found: []api.BisectFound{}}
	if b.Cancel {
		out.State = "cancelled"
	}
	if n := len(b.Steps); b.Ended == 0 && n > 0 {
		out.Job, out.Reason = b.Steps[n-1].Task.ID, b.Steps[n-1].Reason
	}
	if o.State == bisect.NotReproduced && o.Detectable > 0 {
		out.Reason = sentence("These runs would have confirmed a shift of %s.",
			b.shift(stats.Interval{Estimate: o.Detectable}).Text)
	}
	if o.State == bisect.Searching && o.Shift == (stats.Interval{}) {
		out.Shift.Text = "" // unknown yet
	}
	for _, f := range o.Found {
		found := api.BisectFound{Good: f.Good, Bad: f.Bad, Builds: []api.Build{}, Shift: b.shift(f.Shift),
			Share: f.Share, P: f.P}
		from, to := b.build(f.Good).Seq, b.build(f.Bad).Seq
		for _, build := range b.All {
			if from < build.Seq && build.Seq <= to && len(found.Builds) < maxShownTo {
				found.Builds = append(found.Builds, build)
			}
		}
		out.Found = append(out.Found, found)
	}
	chances := b.Search.Chances()
	for _, c := range chances {
		if c >= minChance {
			out.Left++
		}
	}
	out.Text = b.text(&out)
	if !whole {
		return out
	}
	broken := map[string]bool{}
	for _, s := range b.Steps {
		out.Steps = append(out.Steps, api.BisectStep{Job: s.Task.ID, Builds: s.Builds, Blocks: s.Blocks,
			Reason: s.Reason, Broken: s.Broken, Over: s.Over})
		for _, name := range s.Broken {
			broken[name] = true
		}
	}
	values := b.Search.Values()
	for i, name := range b.Search.Builds() {
		v := values[name]
		if len(v) == 0 && chances[i] < minChance && !broken[name] || len(out.Builds) == maxShown {
			continue
		}
		v = v[:min(len(v), maxShownRun)]
		for k := range v {
			if b.Relative {
				v[k] = math.Exp(v[k])
			}
		}
		out.Builds = append(out.Builds, api.BisectBuild{Seq: b.build(name).Seq, Build: name, Chance: chances[i],
			Values: v, Broken: broken[name]})
	}
	return out
}

// natural returns a shift of the search on the scale of the values.
func (b *bisection) natural(shift float64) float64 {
	if shift *= cmp.Or(b.Sign, 1); b.Relative {
		return math.Expm1(shift)
	}
	return shift
}

func (b *bisection) shift(i stats.Interval) api.BisectShift {
	s := api.BisectShift{Estimate: b.natural(i.Estimate), Low: b.natural(i.Low), High: b.natural(i.High)}
	if s.Low > s.High {
		s.Low, s.High = s.High, s.Low
	}
	unit := b.Key.Unit
	if b.Relative {
		unit = "fraction"
	}
	m := wording.Measured{Value: s.Estimate, Low: s.Low, High: s.High, Unit: unit, Bounded: i.Exists}
	if s.Text = m.Text(); s.Estimate > 0 {
		s.Text = "+" + s.Text
	}
	if m.Bounded {
		s.Text += " (95 %: " + m.Bounds() + ")"
	}
	return s
}

// text returns the state of a bisection in a sentence.
func (b *bisection) text(out *api.Bisect) string {
	of := fmt.Sprintf("%s of %s", cmp.Or(b.Value, "the first value"), b.Test)
	switch out.State {
	case bisect.FirstBad:
		f := out.Found[0]
		since := "since build " + f.Bad
		if n := len(f.Builds); n > 1 {
			since = fmt.Sprintf("after build %s, by build %s", f.Good, f.Bad)
		}
		return sentence("%s changed by %s %s.", of, f.Shift.Text, since)
	case bisect.Several:
		var names []string
		for _, f := range out.Found {
			names = append(names, f.Bad)
		}
		return sentence("%s changed at builds %s.", of, wording.Few(names))
	case bisect.NotReproduced:
		return sentence("%s does not change from build %s to %s as asked: %s.", of, b.Good, b.Bad, out.Shift.Text)
	case bisect.Searching:
		return sentence("%d of %d runs; the first bad one is among %s.", out.Runs, b.Budget,
			wording.Plural(out.Left, "build"))
	}
	return sentence("%s: %s", out.State, cmp.Or(out.Reason, "no build was found."))
}
