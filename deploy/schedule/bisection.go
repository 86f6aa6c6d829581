package schedule

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/schedule/bisect"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// Bounds of bisections.
const (
	bisectsDir   = "bisects" // beside schedule.json
	maxBisects   = 20        // that are searching
	keptBisects  = 200       // that ended
	minBudget    = 24        // runs of the first step
	usualBudget  = 600
	falseReports = 0.01 // chance of a wrong build
)

// bisection is the content of a file in bisects.
type bisection struct {
	Version int `json:"version"`
	api.BisectParams
	ID      string `json:"bisect"`
	Owner   string `json:"owner"`
	Alert   int64  `json:"alert,omitempty"`
	Started int64  `json:"started_wall_ns"`
	Ended   int64  `json:"ended_wall_ns,omitempty"`
	Stopped string `json:"stopped,omitempty"` // why it ended before its search
	Cancel  bool   `json:"cancelled,omitempty"`

	Sign     float64         `json:"sign,omitempty"` // 1: bad builds have higher values; 0: as the value says
	Key      trend.SeriesKey `json:"key"`            // of the values, without a schedule
	Relative bool            `json:"relative,omitempty"`
	All      []api.Build     `json:"builds"` // from good to bad, also those that cannot run
	Search   *bisect.Search  `json:"search"` // among those that can; of logarithms if relative
	Steps    []bisectionStep `json:"steps"`  // all but the last are over
}

// bisectionStep is a step of the search, and its job.
type bisectionStep struct {
	bisect.Step
	Task   task     `json:"task"`
	Broken []string `json:"broken,omitempty"`
	Over   bool     `json:"over,omitempty"`
}

// newBisection begins a search among the builds of a feed. Its ID follows from salt.
func (e *Engine) newBisection(p api.BisectParams, owner, salt string, all []api.Build) (*bisection, error) {
	at := func(name string) int { return slices.IndexFunc(all, func(b api.Build) bool { return b.Name == name }) }
	good, bad := at(p.Good), at(p.Bad)
	switch {
	case good < 0 || bad < 0:
		return nil, api.Errorf(api.NotFound, "builds %.80q and %.80q: must be in feed %s", p.Good, p.Bad, p.Feed)
	case good >= bad:
		return nil, api.Errorf(api.InvalidParams, "good build %s must be older than bad build %s", p.Good, p.Bad)
	case p.Budget < minBudget || p.Budget > bisect.MaxBudget:
		return nil, api.Errorf(api.InvalidParams, "budget is %d runs: must be %d to %d", p.Budget, minBudget,
			bisect.MaxBudget)
	case e.searching() >= maxBisects:
		return nil, api.Errorf(api.TooMany, "%d bisections are searching already", maxBisects)
	}
	var names []string
	for _, b := range all[good : bad+1] {
		if b.State == usable {
			names = append(names, b.Name)
		} else if b.Name == p.Good || b.Name == p.Bad {
			return nil, api.Errorf(api.Conflict, "build %s is %s: %s", b.Name, b.State, b.Reason)
		}
	}
	search, err := bisect.New(bisect.Options{Builds: names, Budget: p.Budget, Delta: falseReports})
	if err != nil {
		return nil, api.Errorf(api.InvalidParams, "%v", err)
	}
	now := e.Now()
	sum := sha256.Sum256([]byte(salt))
	return &bisection{Version: stateVersion, BisectParams: p, Owner: owner, Started: now.UnixNano(),
		ID:  fmt.Sprintf("bisect-%s-%s", now.UTC().Format("20060102"), hex.EncodeToString(sum[:4])),
		All: slices.Clone(all[good : bad+1]), Search: search}, nil
}

// searching returns the number of bisections that have not ended.
func (e *Engine) searching() (n int) {
	for _, b := range e.bisections {
		if b.Ended == 0 {
			n++
		}
	}
	return n
}

// file returns the path of a bisection's file.
func (e *Engine) file(id string) string {
	return filepath.Join(filepath.Dir(e.File), bisectsDir, id+".json")
}

// keep writes a bisection, and reports it.
func (e *Engine) keep(b *bisection) error {
	raw, err := json.Marshal(b)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(e.file(b.ID)), 0o750)
	}
	if err == nil {
		err = e.write(e.file(b.ID), raw, 0o640)
	}
	if err == nil && e.Bisected != nil {
		e.Bisected(b.ID)
	}
	return err
}

// loadBisections reads all bisections, and removes the oldest ones. Files that cannot be read are
// left.
func (e *Engine) loadBisections() {
	paths, _ := filepath.Glob(e.file("*")) // the pattern is valid
	for _, path := range paths {
		b := &bisection{Search: &bisect.Search{}}
		if err := readJSON(path, b); err != nil || e.file(b.ID) != path || b.Version != stateVersion {
			e.Log.Error("a bisection cannot be read", "file", filepath.Base(path), "error", err)
			continue
		}
		if b.Stopped != "" {
			b.Search.Stop(b.Stopped)
		}
		e.bisections = append(e.bisections, b)
	}
	slices.SortFunc(e.bisections, func(a, b *bisection) int { return cmp.Compare(a.Started, b.Started) })
	for n := len(e.bisections) - e.searching() - keptBisects; n > 0; n-- {
		i := slices.IndexFunc(e.bisections, func(b *bisection) bool { return b.Ended != 0 })
		if err := os.Remove(e.file(e.bisections[i].ID)); err != nil {
			e.Log.Warn("an old bisection cannot be removed", "error", err)
		}
		e.bisections = slices.Delete(e.bisections, i, i+1)
	}
}

// releaseTime is how long each step releases the device of a bisection that has ended. A queue that
// reads its jobs anew keeps the device again, for some minutes from the job's end.
const releaseTime = 30 * time.Minute

// bisectAll has all bisections go on.
func (e *Engine) bisectAll(ctx context.Context) (err error) {
	for _, b := range e.bisections {
		if b.Ended == 0 {
			err = errors.Join(err, e.advanceBisection(ctx, b))
		}
		if now := e.Now().UnixNano(); b.Ended != 0 && now-b.Ended < int64(releaseTime) {
			e.Queue.Release(b.ID)
		}
	}
	return err
}

// advanceBisection takes results of a bisection until it waits for a job, or has ended.
func (e *Engine) advanceBisection(ctx context.Context, b *bisection) error {
	for {
		step, is := b.Search.Next()
		if !is {
			b.Ended = e.Now().UnixNano()
			e.raised = false // an explanation may wait for it
			e.Log.Info("a bisection has ended", "bisect", b.ID, "state", b.Search.Outcome().State)
			return e.keep(b)
		}
		if n := len(b.Steps); n == 0 || b.Steps[n-1].Over {
			b.Steps = append(b.Steps, b.next(step))
		}
		s := &b.Steps[len(b.Steps)-1]
		state, j, err := e.pollJob(ctx, &s.Task, func() error { return e.keep(b) })
		if err != nil || state == open {
			return err
		}
		results, spoilt, again, err := e.results(ctx, b, s, state, &j)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case unavailable(err):
			return nil // a later step reads it
		case again:
			s.Task.Attempt++
			s.Task.name()
		case spoilt && s.Task.renew(&j):
			err = nil
		case err == nil:
			err = b.Search.Add(results)
			s.Broken, s.Over = results.Broken, true
		}
		if err != nil {
			b.stop(err.Error(), false)
		}
		if err := e.keep(b); err != nil {
			return err
		}
	}
}

// stop ends a search without a decision.
func (b *bisection) stop(why string, cancelled bool) {
	b.Stopped, b.Cancel = sentence("%s.", strings.ToUpper(why[:1])+strings.TrimSuffix(why[1:], ".")), cancelled
	b.Search.Stop(b.Stopped)
}

// next returns a step with its task.
func (b *bisection) next(step bisect.Step) bisectionStep {
	var sides []side
	for i, name := range step.Builds {
		build := b.build(name)
		sides = append(sides, side{[]string{trend.Before, trend.After, trend.Middle}[i], name, build.Seq})
	}
	bad := b.build(b.Bad)
	t := freshTask(trend.Origin{Schedule: b.ID, Feed: b.Feed, Seq: bad.Seq, Build: bad.Name, Kind: trend.KindBisect,
		Value: b.Value}, b.Browser, sides)
	t.Test, t.Device, t.Repeat, t.Salt = b.Test, b.Device, step.Blocks, fmt.Sprint("step ", len(b.Steps)+1)
	t.MaxLost = b.MaxLost
	t.name()
	return bisectionStep{Step: step, Task: t}
}

func (b *bisection) build(name string) api.Build {
	return b.All[slices.IndexFunc(b.All, func(b api.Build) bool { return b.Name == name })]
}

// results reads the runs of a step. A build with failed runs only is broken. The step is done again
// if that build is one of its ends. A step is spoilt if all runs of a build were rejected. Such a
// build between good and bad is broken too, as is one whose runs have no value.
func (e *Engine) results(ctx context.Context, b *bisection, s *bisectionStep, state jobOutcome, j *api.Job) (
	r bisect.Results, spoilt, again bool, err error) {
	var measured []trend.Measured
	if state != lost {
		if _, measured, err = e.Read(ctx, s.Task.ID); err != nil && (state == done ||
			unavailable(err)) {
			return r, false, false, fmt.Errorf("the runs of job %s cannot be read: %w", s.Task.ID, err)
		}
	}
	if len(b.Steps) == 1 && len(measured) > 0 {
		if err := b.choose(measured); err != nil {
			return r, false, false, err
		}
	}
	values, _ := valuesOf(measured, b.Key)
	blocks := map[int]map[string]float64{}
	for i, v := range s.Task.Variants {
		name := s.Builds[i]
		for n, value := range values[s.Task.Origin.Roles[v.Name].Role] {
			if b.Relative {
				value = math.Log(value)
			}
			if !(math.Abs(value) <= math.MaxFloat32) {
				continue // as a failed run
			}
			if blocks[n] == nil {
				blocks[n] = map[string]float64{}
			}
			blocks[n][name] = value
		}
	}
	for _, n := range slices.Sorted(maps.Keys(blocks)) {
		r.Blocks = append(r.Blocks, blocks[n])
	}
	r.Blocks = r.Blocks[:min(len(r.Blocks), s.Blocks)]
	var wrong error
	for i, v := range s.Task.Variants {
		name := s.Builds[i]
		if slices.ContainsFunc(r.Blocks, func(block map[string]float64) bool { _, is := block[name]; return is }) {
			continue
		}
		found, err := e.Feeds.Resolve(ctx, b.Feed, name)
		gone := err == nil && found.State != usable
		made := func(state string) bool {
			return slices.ContainsFunc(j.Runs, func(m api.Made) bool { return m.Variant == v.Name && m.State == state })
		}
		switch {
		case gone || made("failed"):
			r.Broken = append(r.Broken, name)
			again = again || !gone && i < 2
		case !made(string(session.Rejected)) && slices.ContainsFunc(j.Runs,
			func(m api.Made) bool { return m.State == "failed" }): // which ended the set
		case name != b.Good && name != b.Bad && (made(string(session.Rejected)) || state == done):
			spoilt, r.Broken = true, append(r.Broken, name)
		default:
			spoilt, wrong = true, fmt.Errorf("no run of build %s counts: %s", name, cmp.Or(j.Reason, "no values"))
		}
	}
	again = again && s.Task.Attempt+1 < maxAttempts
	if len(r.Blocks) == 0 && (spoilt || len(r.Broken) == 0) {
		return r, spoilt, again, fmt.Errorf("job %s has no values: %s", s.Task.ID, cmp.Or(j.Reason, j.State))
	}
	return r, spoilt, again, wrong
}

// choose sets the value, and begins the search anew with its threshold and direction.
func (b *bisection) choose(measured []trend.Measured) error {
	var names []string
	at := slices.IndexFunc(measured, func(m trend.Measured) bool {
		name := m.Key.Measure + "." + m.Key.Value
		if names = append(names, name); b.Key.Measure != "" {
			return shared(m.Key) == shared(b.Key)
		}
		return b.Value == name || b.Value == "" && slices.ContainsFunc(m.Point.Values,
			func(v trend.Value) bool { return v.Value != m.Point.Values[0].Value })
	})
	if at < 0 {
		slices.Sort(names)
		return fmt.Errorf("the test has no value %s; it has %s", cmp.Or(b.Value, b.Key.Measure, "that varies"),
			wording.Few(slices.Compact(names)))
	}
	b.Key, b.Value, b.Relative = shared(measured[at].Key), names[at], true
	values, threshold := valuesOf(measured, b.Key)
	var good, bad []float64
	for role, blocks := range values {
		for _, v := range blocks {
			b.Relative = b.Relative && v > 0
			if role == trend.Before {
				good = append(good, v)
			} else {
				bad = append(bad, v)
			}
		}
	}
	o := bisect.Options{Builds: b.Search.Builds(), Budget: b.Budget, Delta: falseReports,
		Threshold: math.Log1p(threshold)}
	if !b.Relative {
		o.Threshold = threshold * math.Abs(median(good))
	}
	sign := cmp.Or(b.Sign, map[string]float64{"higher": -1, "lower": 1}[b.Key.Better])
	if sign == 0 { // the values that are tested give the direction
		o.Delta, sign = o.Delta/2, math.Copysign(1, median(bad)-median(good))
	}
	o.BadIsLow = sign < 0
	if len(good) > 0 && len(bad) > 0 {
		b.Sign = sign
	}
	search, err := bisect.New(o)
	if err == nil {
		b.Search = search
	}
	return err
}
