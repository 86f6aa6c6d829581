package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// world is a feed, a queue and a store of trends in memory. Jobs run when work is called.
type world struct {
	t      testing.TB
	now    time.Time
	random *rand.Rand
	file   string
	o      Options

	builds  []api.Build
	absent  error // of the feed
	jobs    map[string]*api.Job
	refuses error // of Submit
	// refuseScripts is of Submit of jobs with measuring code.
	refuseScripts error
	broken        error // of Points
	released      []string
	refused       int // calls of Submit with new jobs
	asked         int // calls of Alerts
	params        map[string]api.StartParams
	order         []string // of submitted jobs
	measured      map[string][]trend.Measured
	end           func(j *api.Job) // what becomes of a job; nil: it is ok
	single        bool             // one job at a time
	short         int              // runs of each role but the first that jobs which fail do not have
	level         func(role, build string, seq int64) float64
	device        func(name string) float64 // factor of its runs; nil: 1
	noise         func() float64            // of a run's logarithm; nil: 1 %
	values        int                       // of a test; 0: 1
	dead          map[string]bool           // builds whose runs fail, which ends their sets
	spoilt        map[string]bool           // builds whose runs are all rejected
	better        string

	series  []api.Series
	points  map[int64][]trend.Point
	changes []api.SeriesShift
	alerts  []api.Alert
	gaps    map[string]string // reason by test, device and build
	splits  []trend.Split
	before  map[string]int // number of splits before a set
	behind  time.Duration  // of the rig's clock

	calls, crash int  // the world ends at this call; 0: never
	kill         bool // writes are calls
}

// errCrash is thrown where a program ends in the middle.
var errCrash = errors.New("crash")

// tick is called by all that changes the world.
func (w *world) tick() {
	if w.calls++; w.calls == w.crash {
		panic(errCrash)
	}
}

func newWorld(t testing.TB, seed uint64, change func(*Options)) *world {
	w := &world{t: t, now: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC), random: rand.New(rand.NewPCG(seed, 1)),
		file: filepath.Join(t.TempDir(), "schedule.json"), jobs: map[string]*api.Job{},
		params: map[string]api.StartParams{}, measured: map[string][]trend.Measured{},
		points: map[int64][]trend.Point{}, before: map[string]int{},
		gaps: map[string]string{}, better: "lower",
		level: func(string, string, int64) float64 { return 100 }}
	w.o = Options{File: w.file, Queue: w, Feeds: feedOf{w}, Trends: w, Now: func() time.Time { return w.now },
		Read: func(_ context.Context, set string) (trend.Origin, []trend.Measured, error) {
			var o trend.Origin
			err := json.Unmarshal(w.params[set].Origin, &o)
			return o, complete(&o, w.measured[set]), err
		},
		Tests: func() []string { return []string{"load", "scroll-a", "scroll-b"} },
		Alarm: config.Alarm{FalseAlarms: 1, Per: config.Duration(7 * 24 * time.Hour), Confirmations: 200},
		Schedules: map[string]config.Schedule{"nightly": {On: "feed.f", Tests: []string{"load"},
			Devices:  []string{"local"},
			Browsers: []string{"firefox@f"}, Control: "firefox@f:b1000", Runs: 5, Class: api.ClassWatch,
			Coalesce: "newest",
			Deadline: config.Duration(20 * time.Hour)}}}
	if change != nil {
		change(&w.o)
	}
	return w
}

// engine starts an engine, as a restart does.
func (w *world) engine() *Engine {
	w.t.Helper()
	e, err := New(w.o)
	if err != nil {
		w.t.Fatal(err)
	}
	e.write = func(path string, content []byte, mode os.FileMode) error {
		if w.kill {
			w.tick()
		}
		// Thousands of writes need not be on the disk. Close waits for it where a file gets shorter.
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		return os.WriteFile(path, content, mode)
	}
	return e
}

// build adds a build to the feed.
func (w *world) build(seq int64) {
	w.builds = append(w.builds, api.Build{Feed: "f", Seq: seq, Name: fmt.Sprint("b", 1000+seq), State: usable})
}

// work ends all waiting jobs, each in ten minutes; with single, only the first one.
func (w *world) work() (ended int) {
	for _, id := range w.order {
		j := w.jobs[id]
		if j.State != "queued" {
			continue
		}
		ended++
		j.StartedWallNS = w.now.UnixNano()
		w.now = w.now.Add(10 * time.Minute)
		j.EndedWallNS, j.State = w.now.UnixNano(), "ok"
		if w.end != nil {
			w.end(j)
		}
		if j.State == "ok" || w.short > 0 {
			w.run(id)
		}
		if w.single {
			break
		}
	}
	return ended
}

// run draws the values of a job's runs.
func (w *world) run(id string) {
	p := w.params[id]
	var o trend.Origin
	if err := json.Unmarshal(p.Origin, &o); err != nil {
		w.t.Fatal(err)
	}
	// the whole set is a little slow or fast, and so is each block
	set := 0.02 * w.random.NormFloat64()
	blocks := make([]float64, p.Repeat)
	for i := range blocks {
		blocks[i] = 0.01 * w.random.NormFloat64()
	}
	var all []trend.Measured
	place, factor := p.Devices[0], 1.0
	if o.Pool != "" {
		place = trend.PoolDevice(o.Pool)
	}
	if w.device != nil {
		factor = w.device(p.Devices[0])
	}
	for _, v := range p.Variants {
		if w.dead[o.Roles[v.Name].Build] {
			j := w.jobs[id]
			j.State, j.Reason = "failed", "1 run failed: crashed"
			j.Runs = []api.Made{{Variant: v.Name, State: "failed"}}
			blocks = blocks[:1]
		}
	}
	for n := range max(w.values, 1) * len(p.Variants) {
		at := n % len(p.Variants)
		v := p.Variants[at]
		r := o.Roles[v.Name]
		if w.spoilt[r.Build] {
			j := w.jobs[id]
			j.State, j.Fault, j.Reason = "failed", "lab", "captured too badly"
			j.Runs = append(j.Runs, api.Made{Variant: v.Name, State: "rejected"})
			continue
		}
		if len(w.jobs[id].Runs) > 0 && len(w.spoilt) == 0 && (w.dead[r.Build] || w.random.IntN(2) == 0) {
			continue // the set ended before
		}
		m := trend.Measured{Threshold: 0.03, Key: trend.SeriesKey{Schedule: o.Schedule, Test: p.Test, Measure: "load",
			Value: "complete", Unit: "ms", Better: w.better, Version: 1, Device: place, Product: r.Product,
			Feed: r.Feed,
			Role: r.Role}, Point: trend.Point{Seq: o.Seq, Build: r.Build, Set: id,
			WallNS: w.now.Add(-w.behind).UnixNano()}}
		if n >= len(p.Variants) {
			m.Key.Value += fmt.Sprint(n / len(p.Variants))
		}
		for i, block := range blocks {
			if w.jobs[id].State == "failed" && at > 0 && i >= len(blocks)-w.short {
				break
			}
			noise := 0.01 * w.random.NormFloat64()
			if w.noise != nil {
				noise = w.noise()
			}
			value := factor * w.level(r.Role, r.Build, r.Seq) * math.Exp(set+block+noise)
			m.Point.Values = append(m.Point.Values, trend.Value{Run: fmt.Sprint(id, v.Name, i), Block: i, Value: value})
		}
		all = append(all, m)
	}
	w.measured[id] = all
}

// complete leaves out incomplete blocks, as trend.Read does.
func complete(o *trend.Origin, measured []trend.Measured) (all []trend.Measured) {
	has := map[int]int{}
	for _, m := range measured {
		for _, v := range m.Point.Values {
			has[v.Block]++
		}
	}
	for _, m := range measured {
		m.Point.Values = slices.DeleteFunc(slices.Clone(m.Point.Values),
			func(v trend.Value) bool { return o.Kind != trend.KindBisect && has[v.Block] < len(o.Roles) })
		if len(m.Point.Values) > 0 {
			all = append(all, m)
		}
	}
	return all
}

// settle has an engine go on until nothing is left to do.
func (w *world) settle(e *Engine) {
	for range 100 {
		w.now = w.now.Add(time.Minute)
		e.step(w.t.Context())
		if w.work() == 0 {
			return
		}
	}
	w.t.Fatal("it does not come to an end")
}

// days has a day's build come after the other.
func (w *world) days(e *Engine, from, to int64) {
	for seq := from; seq <= to; seq++ {
		w.build(seq)
		w.settle(e)
		w.now = w.now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
}

// Submit implements Queue.
func (w *world) Submit(_ context.Context, id, owner string, p api.StartParams) (api.Job, error) {
	w.tick()
	if j := w.jobs[id]; j != nil {
		return *j, nil
	}
	if p.Script != nil && w.refuseScripts != nil {
		return api.Job{}, w.refuseScripts
	}
	if w.refused++; w.refuses != nil {
		return api.Job{}, w.refuses
	}
	w.order = append(w.order, id)
	w.jobs[id], w.params[id] = &api.Job{ID: id, State: "queued", Owner: owner, QueuedWallNS: w.now.UnixNano()}, p
	return *w.jobs[id], nil
}

func (w *world) Job(id string) (api.Job, bool) {
	if j := w.jobs[id]; j != nil {
		return *j, true
	}
	return api.Job{}, false
}

func (w *world) Cancel(id string) error {
	w.tick()
	w.jobs[id].State = "cancelled"
	return nil
}

func (w *world) Release(keep string) { w.released = append(w.released, keep) }

// feedOf is the world's feed.
type feedOf struct{ *world }

func (w feedOf) Builds(context.Context, string) ([]api.Build, error) { return w.builds, w.absent }

func (w feedOf) Resolve(_ context.Context, feed, name string) (api.Build, error) {
	if name == "b1000" {
		return api.Build{Feed: feed, Name: name, State: usable}, nil
	}
	for _, b := range slices.Backward(w.builds) {
		if name == "" || b.Name == name {
			return b, w.absent
		}
	}
	return api.Build{}, api.Errorf(api.NotFound, "unknown build %s", name)
}

func (w *world) AddBuilds(context.Context, []api.Build) error { return nil }

func (w *world) AddGap(_ context.Context, g trend.Gap) error {
	w.tick()
	w.gaps[g.Test+"/"+g.Device+"/"+g.Build] = g.Reason
	return nil
}

func (w *world) Add(_ context.Context, set string, all []trend.Measured) error {
	w.tick()
	if _, is := w.before[set]; !is {
		w.before[set] = len(w.splits)
	}
	for i := range all {
		for _, s := range w.splits[:w.before[set]] {
			if all[i].Key.Test == s.Test && all[i].Key.Device == s.Device {
				all[i].Key.Generation++
			}
		}
	}
	for _, m := range all {
		i := slices.IndexFunc(w.series, func(s api.Series) bool { return keyOf(&s) == m.Key })
		if i < 0 {
			k := m.Key
			w.series = append(w.series, api.Series{ID: int64(len(w.series) + 1), Schedule: k.Schedule, Test: k.Test,
				Measure: k.Measure, Value: k.Value, Unit: k.Unit, Better: k.Better, Version: k.Version,
				Device:  k.Device,
				Product: k.Product, Feed: k.Feed, Role: k.Role, Generation: k.Generation})
			i = len(w.series) - 1
		}
		id := w.series[i].ID
		w.series[i].LastSeq = m.Point.Seq
		points := slices.DeleteFunc(w.points[id], func(p trend.Point) bool { return p.Set == set })
		w.points[id] = append(points, m.Point)
		slices.SortFunc(w.points[id], func(a, b trend.Point) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	return nil
}

func (w *world) Split(_ context.Context, s trend.Split) error {
	w.tick()
	if !slices.Contains(w.splits, s) {
		w.splits = append(w.splits, s)
	}
	return nil
}

func (w *world) Series(_ context.Context, p api.SeriesListParams) (api.SeriesList, error) {
	var out api.SeriesList
	for _, s := range w.series {
		if (p.Test == "" || s.Test == p.Test) && (p.Device == "" || s.Device == p.Device) {
			out.Series = append(out.Series, s)
		}
	}
	return out, nil
}

func (w *world) Get(_ context.Context, p api.SeriesParams) (api.SeriesData, error) {
	return api.SeriesData{Series: w.series[p.Series-1]}, nil
}

func (w *world) Points(_ context.Context, series, from, to int64, limit int) (all []trend.Point, err error) {
	for _, p := range w.points[series] {
		if p.Seq >= from && (to == 0 || p.Seq <= to) {
			all = append(all, p)
		}
	}
	return all[max(0, len(all)-limit):], w.broken
}

func (w *world) PutChange(_ context.Context, x *api.SeriesShift) error {
	w.tick()
	if x.ID == 0 {
		w.changes = append(w.changes, api.SeriesShift{})
		x.ID = int64(len(w.changes))
	}
	w.changes[x.ID-1] = *x
	return nil
}

func (w *world) Change(_ context.Context, id int64) (api.SeriesShift, error) {
	return w.changes[id-1], nil
}

func (w *world) Changes(_ context.Context, p api.ChangeListParams) (all []api.SeriesShift, err error) {
	for _, x := range slices.Backward(w.changes) {
		if (p.Series == 0 || p.Series == x.Series) && (p.State == "" || p.State == x.State) {
			all = append(all, x)
		}
	}
	return all, nil
}

func (w *world) PutAlert(_ context.Context, a *api.Alert) error {
	w.tick()
	if a.ID == 0 {
		w.alerts = append(w.alerts, api.Alert{})
		a.ID = int64(len(w.alerts))
	}
	w.alerts[a.ID-1] = *a
	return nil
}

func (w *world) Alerts(context.Context, api.AlertListParams) ([]api.Alert, error) {
	w.asked++
	return slices.Clone(w.alerts), nil
}
