package schedule

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// Bounds of a schedule.
const (
	maxTasks = 500 // that wait or work
	maxFirst = 50  // builds that are taken when a feed is seen first, or late ones at once
	maxGaps  = 100 // noted at once
	maxHad   = 200 // newest builds among which late ones are found
)

// usable is the state of a build that can be run.
const usable = "usable"

// plan makes tasks of new builds and of times that have come. State is kept before any job is
// submitted.
func (e *Engine) plan(ctx context.Context) error {
	e.checkNeeds()
	changed := false
	for _, name := range e.names() {
		s, p := e.Schedules[name], e.state.Schedules[name]
		if p.Paused {
			continue
		}
		var more bool
		e.reason[name] = ""
		wait, err := e.testPools(ctx, name, s, p)
		switch {
		case wait: // builds and times stay in their place
			e.reason[name] = cmp.Or(e.reason[name], cmp.Or(err, errPool).Error())
			continue
		case err != nil:
		case s.Cron != "":
			more, err = e.onTime(ctx, name, s, p)
		default:
			more, err = e.onBuilds(ctx, name, s, p)
		}
		changed = changed || more
		if err = cmp.Or(err, e.skipped[name], e.unfit[name]); err != nil {
			e.reason[name] = err.Error()
		}
	}
	if !changed {
		return nil
	}
	return e.save()
}

// onBuilds takes the new builds of a schedule's feed, the newest first.
func (e *Engine) onBuilds(ctx context.Context, name string, s config.Schedule, p *progress) (bool, error) {
	f := e.feeds[s.Feed()]
	if f.err != nil {
		return false, fmt.Errorf("feed %s cannot be read: %w", s.Feed(), f.err)
	}
	var fresh []api.Build
	gaps := map[string][]api.Build{}
	late := 0
	for _, b := range slices.Backward(f.builds) {
		switch {
		case p.Seen && b.Seq <= p.Seq && !p.late(b.Seq):
		case b.State != usable && p.Seen:
			why := "the build is " + b.State
			gaps[why] = append(gaps[why], b)
		case p.Seen && b.Seq < p.Seq && late == maxFirst:
			gaps["too many builds came late"] = append(gaps["too many builds came late"], b)
		case b.State == usable:
			fresh = append(fresh, b)
			if b.Seq < p.Seq {
				late++
			}
		}
	}
	if n := len(f.builds); p.Seen && n > 0 && f.builds[n-1].Seq < p.Seq {
		return false, fmt.Errorf("feed %s: its newest build is number %d, and number %d has run; restore its ledger",
			s.Feed(), f.builds[n-1].Seq, p.Seq)
	}
	if len(fresh) == 0 {
		return false, nil
	}
	take := len(fresh)
	if !p.Seen {
		take = min(take, maxFirst)
	}
	if s.Coalesce == "newest" {
		take = 1
		if p.Seen {
			gaps["a newer build came first"] = fresh[1:]
		}
		if fresh[0].Seq < p.Seq {
			take, gaps["a newer build came first"] = 0, fresh
		} else if err := e.overtake(ctx, name, p, fresh[0]); err != nil {
			return false, err
		}
	}
	for why, builds := range gaps {
		for _, b := range builds[:min(len(builds), maxGaps)] {
			if err := e.gap(ctx, name, "", "", b.Seq, b.Name, why); err != nil {
				return false, err
			}
		}
	}
	var tasks []task
	for _, b := range fresh[:take] {
		more, err := e.tasks(ctx, name, s, &b, b.Seq, "")
		if err != nil {
			return false, err
		}
		tasks = append(tasks, more...)
	}
	if len(p.Tasks)+len(tasks) > maxTasks && len(p.Tasks) > 0 {
		return false, fmt.Errorf("%d jobs wait already", len(p.Tasks))
	}
	p.Tasks, p.Seen, p.Seq = append(p.Tasks, tasks...), true, max(p.Seq, fresh[0].Seq)
	p.noteBuilds(f.builds)
	return true, nil
}

// noteBuilds notes the newest builds up to the schedule's own, but none from before the first look.
func (p *progress) noteBuilds(builds []api.Build) {
	from := int64(math.MinInt64)
	if len(p.Had) > 0 {
		from = p.Had[0]
	}
	p.Had = nil
	for _, b := range builds {
		if b.Seq >= from && b.Seq <= p.Seq {
			p.Had = append(p.Had, b.Seq)
		}
	}
	p.Had = p.Had[max(0, len(p.Had)-maxHad):]
}

// late reports if a build came to its feed after a newer one was taken.
func (p *progress) late(seq int64) bool {
	return len(p.Had) > 0 && seq > p.Had[0] && !slices.Contains(p.Had, seq)
}

// overtake cancels jobs of older builds that have not begun.
func (e *Engine) overtake(ctx context.Context, name string, p *progress, by api.Build) error {
	var left []task
	for _, t := range p.Tasks {
		j, is := e.Queue.Job(t.ID)
		if t.Salt != "" || is && j.State != "queued" {
			left = append(left, t)
			continue
		}
		if is {
			if err := e.Queue.Cancel(t.ID); err != nil { // it has begun
				left = append(left, t)
				continue
			}
		}
		if err := e.gapOf(ctx, name, &t, "build "+by.Name+" came first"); err != nil {
			return err
		}
	}
	p.Tasks = left
	return nil
}

// onTime takes the latest time that has come. Earlier ones that were missed become gaps.
func (e *Engine) onTime(ctx context.Context, name string, s config.Schedule, p *progress) (bool, error) {
	now := e.Now()
	if !p.Seen || p.Cron > now.UnixNano() { // it is new, or the clock was set back
		p.Seen, p.Cron = true, now.UnixNano()
		return true, nil
	}
	var missed []time.Time
	due, last := time.Time{}, time.Unix(0, p.Cron)
	for at := e.times[name].Next(last); !at.IsZero() && !at.After(now); at = e.times[name].Next(at) {
		if !due.IsZero() {
			missed = append(missed[max(0, len(missed)-maxGaps+1):], due)
		}
		due = at
	}
	if due.IsZero() {
		return false, nil
	}
	tasks, err := e.tasks(ctx, name, s, nil, due.Unix(), "")
	if err != nil {
		return false, err
	}
	inFeed := tasks[0].Origin.Feed != "" // its places are builds
	why := "the rig was off"
	if s.Pool != "" {
		why += ", or tested its pool"
	}
	for _, at := range missed {
		if inFeed {
			break
		}
		if err := e.gap(ctx, name, "", "", at.Unix(), timeName(at), why); err != nil {
			return false, err
		}
	}
	var more []task
	for _, t := range tasks {
		if !e.waits(p, &t) {
			more = append(more, t)
		} else if !inFeed {
			if err := e.gapOf(ctx, name, &t, "a job of an earlier time waits still"); err != nil {
				return false, err
			}
		}
	}
	p.Tasks, p.Cron = append(p.Tasks, more...), due.UnixNano()
	return true, nil
}

// waits reports if an earlier job of a task's test and device has not begun.
func (e *Engine) waits(p *progress, as *task) bool {
	return slices.ContainsFunc(p.Tasks, func(t task) bool {
		j, is := e.Queue.Job(t.ID)
		return t.Test == as.Test && t.place() == as.place() && (!is || j.State == "queued")
	})
}

// timeName names a time as a build is named.
func timeName(t time.Time) string { return t.UTC().Format("20060102-1504") }

// tasks returns a task for each test and device. Tests without a device are skipped if others have
// one. b is the subject's build; nil: the newest one of
// its feed, or the installed browser at the time at.
func (e *Engine) tasks(ctx context.Context, name string, s config.Schedule, b *api.Build, at int64, salt string) (
	[]task, error) {
	o := trend.Origin{Schedule: name, Seq: at, Build: timeName(time.Unix(at, 0)), Kind: trend.KindPoint,
		Roles: map[string]trend.Role{}}
	var variants []api.Variant
	newest := b == nil
	for i, text := range append(slices.Clone(s.Browsers), s.Control) {
		browser, err := api.ParseBrowser(text)
		if err != nil {
			return nil, err
		}
		role, called := trend.Rival, fmt.Sprintf("rival-%d", i)
		switch {
		case text == "":
			continue
		case i == 0:
			role, called = trend.Subject, trend.Subject
		case i == len(s.Browsers):
			role, called = trend.Control, trend.Control
		}
		r := trend.Role{Role: role, Product: browser.Kind, Feed: browser.Feed}
		if browser.Feed != "" {
			build := b
			if b == nil || i > 0 && (browser.Feed != o.Feed || browser.Build != "") {
				found, err := e.Feeds.Resolve(ctx, browser.Feed, browser.Build)
				if err != nil {
					return nil, fmt.Errorf("browser %s: %w", text, err)
				}
				build = &found
			}
			browser.Build, r.Build, r.Seq = build.Name, build.Name, build.Seq
			if i == 0 {
				b = build // a rival of the feed has it too
				o.Feed, o.Seq, o.Build = browser.Feed, build.Seq, build.Name
			}
		}
		o.Roles[called] = r
		variants = append(variants, api.Variant{Name: called, Browser: browser.String()})
	}
	planned := salt == ""
	if newest && planned {
		salt = fmt.Sprint(at) // the same build at another time has more runs
	}
	var all, gaps []task
	e.skipped[name] = nil
	for _, test := range e.matching(s.Tests) {
		device, pool, err := e.poolDevice(s, e.state.Schedules[name], test, o.Seq, all)
		if err != nil {
			return nil, err
		}
		devices := []string{device}
		if o.Pool = pool; pool == "" {
			devices, err = e.devices(name, s, test, variants)
		}
		if err != nil { // others may have a device
			e.skipped[name] = cmp.Or(e.skipped[name], err)
			if was := e.state.Schedules[name].Chosen[test]; was != "" && planned {
				gaps = append(gaps, task{Test: test, Device: was, Origin: o})
			}
			continue
		}
		for _, device := range devices {
			t := task{Test: test, Device: device, Class: s.Class, Repeat: s.Runs, Variants: variants, Origin: o,
				Salt: salt, Due: e.Now().Add(time.Duration(s.Deadline)).UnixNano()}
			t.name()
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil, cmp.Or(e.skipped[name], fmt.Errorf("no test is named %s", strings.Join(s.Tests, " or ")))
	}
	for i := range gaps {
		if err := e.gapOf(ctx, name, &gaps[i], "no device fits the test"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// devices returns the devices of a schedule's test. With needs it is the fitting one that began the
// series. Without that, it is the one with the fewest series.
func (e *Engine) devices(name string, s config.Schedule, test string, variants []api.Variant) ([]string, error) {
	if len(s.Needs) == 0 {
		return s.Devices, nil
	}
	there, away, err := e.Fitting("schedule "+name, s.Needs, api.StartParams{Test: test, Variants: variants,
		Origin: []byte("{}")}) // its jobs have no plain runs
	if err != nil {
		return nil, err
	}
	p := e.state.Schedules[name]
	if was := p.Chosen[test]; slices.Contains(there, was) || slices.Contains(away, was) {
		return []string{was}, nil
	}
	if len(there) == 0 {
		there = away
	}
	series := map[string]int{}
	for _, o := range e.state.Schedules {
		for _, device := range o.Chosen {
			series[device]++
		}
	}
	device := slices.MinFunc(there, func(a, b string) int { return series[a] - series[b] })
	e.Log.Info("a schedule begins series on a device", "schedule", name, "test", test, "device", device,
		"before", p.Chosen[test])
	if p.Chosen == nil {
		p.Chosen = map[string]string{}
	}
	p.Chosen[test] = device
	return []string{device}, nil
}

// matching returns the tests of patterns.
func (e *Engine) matching(patterns []string) (all []string) {
	var known []string
	if e.Tests != nil {
		known = e.Tests()
	}
	for _, pattern := range patterns {
		if !strings.ContainsAny(pattern, `*?[\`) {
			known = append(known, pattern)
		}
		for _, test := range known {
			if is, _ := path.Match(pattern, test); is && !slices.Contains(all, test) {
				all = append(all, test)
			}
		}
	}
	return all
}

// name sets the ID of a task, which follows from its content.
func (t *task) name() {
	raw, _ := json.Marshal([]any{t.Origin, t.Test, t.Device, t.Salt, t.Attempt}) // strings and numbers
	sum := sha256.Sum256(raw)
	t.ID = fmt.Sprintf("s-%06d-%s", t.Origin.Seq, hex.EncodeToString(sum[:8]))
}

// submit queues a task's job, or returns the existing one.
func (e *Engine) submit(ctx context.Context, t *task) (api.Job, error) {
	origin, err := json.Marshal(t.Origin)
	if err != nil {
		return api.Job{}, err
	}
	owner, keep := "schedule "+t.Origin.Schedule, ""
	if t.Origin.Kind == trend.KindBisect {
		owner, keep = t.Origin.Schedule, t.Origin.Schedule
	}
	var script []string
	if t.Origin.Kind == trend.KindExplain {
		script = []string{"calls"}
	}
	return e.Queue.Submit(ctx, t.ID, owner, api.StartParams{Test: t.Test, Script: script,
		Devices: []string{t.Device}, Variants: t.Variants, Repeat: t.Repeat, Class: t.Class, Label: t.Origin.Schedule,
		Revision: t.Origin.Build, Origin: origin, MaxLost: t.MaxLost,
		Keep: keep, NoVideo: keep != "" || script != nil, Videos: 1})
}

// later reports if a job can be submitted at another time.
func later(err error) bool {
	var told *api.Error
	return !errors.As(err, &told) || told.Code == api.TooMany || told.Code == api.Unavailable || told.Code == api.Busy
}

func (e *Engine) gapOf(ctx context.Context, name string, t *task, why string) error {
	e.state.Schedules[name].Gap = fmt.Sprintf("%s, %s: %.280s", t.Test, cmp.Or(t.Origin.Build, "installed"), why)
	return e.gap(ctx, name, t.Test, t.place(), t.Origin.Seq, t.Origin.Build, why)
}

func (e *Engine) gap(ctx context.Context, name, test, device string, seq int64, build, why string) error {
	e.Log.Info("a build has no point", "schedule", name, "build", build, "test", cmp.Or(test, "all"), "reason", why)
	return e.Trends.AddGap(ctx, trend.Gap{Schedule: name, Test: test, Device: device,
		SeriesGap: api.SeriesGap{Seq: seq, Build: build, Reason: fmt.Sprintf("%.280s", why)}})
}
