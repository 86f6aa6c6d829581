package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// poolTest is the A/A test of a test between the devices of a schedule's pool. Each of its rounds
// is a job of one run of the control on each device.
type poolTest struct {
	Devices []string   `json:"devices"`
	Of      string     `json:"of"`               // control and state of the devices that it is about
	At      int64      `json:"at_wall_ns"`       // it began, or was decided
	Closed  int64      `json:"closed_wall_ns"`   // since when the pool takes no points; 0: it does
	Rounds  [][]string `json:"rounds,omitempty"` // jobs by device of the rounds that ended
	Tasks   []task     `json:"tasks,omitempty"`  // of the round that runs
	State   string     `json:"state,omitempty"`  // "": it runs
	Text    string     `json:"text,omitempty"`   // why it is not open
}

// States of a pool that was tested.
const (
	poolOpen   = "open"   // no two devices differ
	poolApart  = "apart"  // two differ, or it is not decided
	poolFailed = "failed" // it is tested again later
)

const (
	poolAgain    = 24 * time.Hour // until a test that failed is repeated
	poolPatience = time.Hour      // until a pool without two devices is apart
	poolEmpty    = 3              // rounds without values of a device that end a test
)

// poolLooks are the numbers of rounds after which a test is judged.
func poolLooks() stats.Looks { return stats.Looks{12, 24, 48} }

// errPool is the reason of tasks that cannot be made yet.
var errPool = errors.New("its pool is being tested")

// place returns the device in the keys of a task's series.
func (t *task) place() string {
	if t.Origin.Pool != "" {
		return trend.PoolDevice(t.Origin.Pool)
	}
	return t.Device
}

// devices returns those that a schedule with needs has chosen, and those of its pools.
func (p *progress) devices() []string {
	all := slices.Collect(maps.Values(p.Chosen))
	for _, r := range p.Pools {
		all = append(all, r.Devices...)
	}
	return all
}

// testPools goes on with the tests of a schedule's pool. It reports if builds wait for one. Tests
// that no device fits are skipped.
func (e *Engine) testPools(ctx context.Context, name string, s config.Schedule, p *progress) (wait bool, err error) {
	tests := e.matching(s.Tests)
	if err := e.prunePools(s, p, tests); err != nil || s.Pool == "" {
		return false, err
	}
	e.skipped[name] = nil
	for _, test := range tests {
		wrong := e.testPool(ctx, name, s, p, test)
		err = errors.Join(err, wrong)
		r := p.Pools[test]
		wait = wait || wrong == nil && r != nil && r.State == ""
	}
	return wait, err
}

// prunePools forgets the pools of tests that a schedule does not have any more. A hub does not know
// all tests before its rigs have polled, so the patterns decide there.
func (e *Engine) prunePools(s config.Schedule, p *progress, tests []string) error {
	before := len(p.Pools)
	maps.DeleteFunc(p.Pools, func(test string, r *poolTest) bool {
		matches := func(pattern string) bool { is, _ := path.Match(pattern, test); return is }
		if s.Pool != "" && (slices.Contains(tests, test) || e.Fitting != nil && slices.ContainsFunc(s.Tests, matches)) {
			return false
		}
		e.stopRound(r)
		return true
	})
	if len(p.Pools) == before {
		return nil
	}
	return e.save()
}

// testPool begins a test if the present one is about other devices, or they may measure otherwise
// now. Then it goes on.
func (e *Engine) testPool(ctx context.Context, name string, s config.Schedule, p *progress, test string) error {
	r, now := p.Pools[test], e.Now().UnixNano()
	there, all, err := e.poolDevices(name, s, test)
	if err != nil {
		wrong := err
		if !unavailable(err) { // other tests may have devices
			e.skipped[name], err = cmp.Or(e.skipped[name], wrong), nil
		}
		switch {
		case r != nil && r.State == "": // its round has a deadline
			return errors.Join(err, e.runPool(ctx, name, s, p, test))
		case err == nil && r != nil && r.State == poolOpen && !e.current(s, r):
			return e.decidePool(r, poolFailed, sentence("%v", wrong))
		}
		return err
	}
	outside := func(of []string) func(string) bool {
		return func(d string) bool { return !slices.Contains(of, d) }
	}
	if r != nil && e.current(s, r) && !slices.ContainsFunc(there, outside(r.Devices)) &&
		!slices.ContainsFunc(r.Devices, outside(all)) &&
		(r.State != poolFailed || now-r.At < int64(poolAgain)) {
		return e.runPool(ctx, name, s, p, test)
	}
	fresh := &poolTest{Devices: there, Of: e.poolState(s, there), At: now, Closed: now}
	if len(there) < 2 {
		fresh.Text = fmt.Sprintf("%d of %s can measure now; a test needs two", len(there),
			wording.Plural(len(all), "device"))
	}
	if r != nil {
		if r.Closed != 0 {
			fresh.Closed = r.Closed
		}
		e.stopRound(r)
	}
	if p.Pools == nil {
		p.Pools = map[string]*poolTest{}
	}
	p.Pools[test] = fresh
	e.Log.Info("the devices of a pool are compared", "schedule", name, "pool", s.Pool, "test", test, "devices", there)
	if err := e.save(); err != nil {
		return err
	}
	return e.runPool(ctx, name, s, p, test)
}

// poolDevices returns the devices of a test's pool in order: those that can measure now, and all.
func (e *Engine) poolDevices(name string, s config.Schedule, test string) (there, all []string, err error) {
	there, all = slices.Clone(s.Devices), s.Devices
	if len(s.Needs) > 0 {
		var variants []api.Variant
		for _, text := range append(slices.Clone(s.Browsers), s.Control) {
			variants = append(variants, api.Variant{Name: fmt.Sprint("v", len(variants)), Browser: text})
		}
		var away []string
		there, away, err = e.Fitting("schedule "+name, s.Needs, api.StartParams{Test: test, Variants: variants,
			Origin: []byte("{}")})
		if err != nil {
			return nil, nil, err
		}
		there, all = slices.Clone(there), slices.Concat(there, away)
	}
	slices.Sort(there)
	return slices.DeleteFunc(there, func(d string) bool { return !e.present(d) }), all, nil
}

// present reports if a device can measure now.
func (e *Engine) present(device string) bool {
	d := e.states[device]
	return e.Devices == nil || d.Present && !d.Quarantined
}

// poolState returns what a test's outcome depends on.
func (e *Engine) poolState(s config.Schedule, devices []string) string {
	events := make([]int64, len(devices))
	for i, d := range devices {
		if w := e.state.Devices[d]; w != nil {
			events[i] = w.Event
		}
	}
	return fmt.Sprint(s.Control, devices, events)
}

// current reports if the devices of a test measure as when it began.
func (e *Engine) current(s config.Schedule, r *poolTest) bool {
	return r.Of == e.poolState(s, r.Devices)
}

// runPool submits the jobs of a round, and judges the rounds at a look.
func (e *Engine) runPool(ctx context.Context, name string, s config.Schedule, p *progress, test string) error {
	r := p.Pools[test]
	if r.State != "" {
		return nil
	}
	if len(r.Devices) < 2 { // others may come back, as after a restart of a hub
		if e.Now().UnixNano()-r.At < int64(poolPatience) {
			return nil
		}
		return e.decidePool(r, poolApart, r.Text)
	}
	if r.Tasks == nil {
		ready, err := e.judgePool(ctx, name, s, test, r)
		if err != nil || !ready || r.State != "" {
			return err
		}
		if err := e.round(ctx, name, s, test, r); err != nil {
			return err
		}
	}
	ended, jobs := 0, make([]string, len(r.Tasks))
	for i := range r.Tasks {
		t := &r.Tasks[i]
		state, j, err := e.pollJob(ctx, t, e.save)
		at := slices.Index(r.Devices, t.Device)
		jobs[at] = t.ID
		late := state == open && e.Now().UnixNano() > t.Due
		switch {
		case err != nil:
			return err
		case late || state == lost:
			if late {
				j.Reason = "its job waited for too long"
			}
			return e.decidePool(r, poolFailed, sentence("%s has no runs: %s", t.Device, j.Reason))
		case state == partly && t.renew(&j):
			return e.save()
		case state != open:
			ended++
		}
	}
	if ended < len(r.Tasks) {
		return nil
	}
	r.Rounds, r.Tasks = append(r.Rounds, jobs), nil
	if err := e.save(); err != nil {
		return err
	}
	return e.runPool(ctx, name, s, p, test)
}

// round makes the tasks of the next round. They are submitted in the random order of their IDs.
func (e *Engine) round(ctx context.Context, name string, s config.Schedule, test string, r *poolTest) error {
	v, role, err := e.variant(ctx, trend.Control, trend.Control, s.Control)
	if err != nil {
		return fmt.Errorf("browser %s: %w", s.Control, err)
	}
	o := trend.Origin{Schedule: name, Feed: role.Feed, Seq: role.Seq, Build: role.Build, Kind: trend.KindCheck,
		Roles: map[string]trend.Role{v.Name: role}}
	due := e.Now().Add(time.Duration(s.Deadline)).UnixNano()
	for _, device := range r.Devices {
		t := task{Test: test, Device: device, Class: api.ClassCheck, Repeat: 1, Variants: []api.Variant{v}, Origin: o,
			Salt: fmt.Sprintf("round %d of %d", len(r.Rounds), r.At), Due: due}
		t.name()
		r.Tasks = append(r.Tasks, t)
	}
	slices.SortFunc(r.Tasks, func(a, b task) int { return strings.Compare(a.ID, b.ID) })
	return e.save()
}

// variant returns the variant of a browser with its role. A build of a feed gets its number.
func (e *Engine) variant(ctx context.Context, called, role, text string) (v api.Variant, r trend.Role, err error) {
	browser, err := api.ParseBrowser(text)
	if err != nil {
		return v, r, err
	}
	r = trend.Role{Role: role, Product: browser.Kind, Feed: browser.Feed}
	if browser.Feed != "" {
		build, err := e.Feeds.Resolve(ctx, browser.Feed, browser.Build)
		if err != nil {
			return v, r, err
		}
		browser.Build, r.Build, r.Seq = build.Name, build.Name, build.Seq
	}
	return api.Variant{Name: called, Browser: browser.String()}, r, nil
}

// stopRound cancels the jobs of the round that runs.
func (e *Engine) stopRound(r *poolTest) {
	for i := range r.Tasks {
		e.drop(r.Tasks[i].ID)
	}
}

// decidePool ends a test.
func (e *Engine) decidePool(r *poolTest, state, text string) error {
	e.stopRound(r)
	r.State, r.Text, r.At, r.Rounds, r.Tasks = state, text, e.Now().UnixNano(), nil, nil
	if state == poolOpen {
		r.Closed = 0
	}
	return e.save()
}

// judgePool ends a test that failed. At a look it opens the pool if no two devices differ. It keeps
// them apart if two do, or after the last look. If the control moved on all devices, the pool's
// series begin anew. It reports if the rounds could be read.
func (e *Engine) judgePool(ctx context.Context, name string, s config.Schedule, test string, r *poolTest) (
	ready bool, err error) {
	looks, rounds := poolLooks(), len(r.Rounds)
	last := rounds >= looks[len(looks)-1]
	look, from := last || slices.Contains(looks, rounds), 0
	if !look {
		from = max(0, rounds-poolEmpty)
	}
	sets, err := e.readPool(ctx, r, from)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case unavailable(err): // a later step reads it
		e.reason[name] = sentence("the A/A test of %s waits: %v", test, err)
		return false, nil
	case err != nil:
		e.Log.Warn("the test of a pool failed", "schedule", name, "pool", s.Pool, "test", test, "error", err)
		return true, e.decidePool(r, poolFailed, sentence("%v", err))
	case !look:
		return true, nil
	}
	same, apart, text := comparePool(r.Devices, sets)
	switch {
	case apart || !same && last:
		e.Log.Warn("a pool stays apart", "schedule", name, "pool", s.Pool, "test", test, "reason", text)
		return true, e.decidePool(r, poolApart, text)
	case !same:
		return true, nil
	}
	_, role, err := e.variant(ctx, trend.Control, trend.Control, s.Control)
	if err != nil {
		return true, err
	}
	t := &task{Test: test, Device: trend.PoolDevice(s.Pool)}
	known, err := e.controls(ctx, name, t, role.Build)
	var moved []shiftOf
	for i := range sets {
		moved = agreeing(moved, moves(known, sets[i]), i)
	}
	if err == nil && len(moved) > 0 {
		err = e.split(ctx, name, t, e.eventOf(r), moved, r.Rounds[len(r.Rounds)-1][0])
	}
	if err != nil {
		return true, err
	}
	e.Log.Info("a pool is open", "schedule", name, "pool", s.Pool, "test", test, "devices", r.Devices)
	return true, e.decidePool(r, poolOpen, "")
}

// readPool returns the values of the rounds from one on, by device. A job that failed may have
// none, but not those of successive rounds.
func (e *Engine) readPool(ctx context.Context, r *poolTest, from int) (sets [][]trend.Measured, err error) {
	sets = make([][]trend.Measured, len(r.Devices))
	for i, device := range r.Devices {
		empty := 0
		for block, jobs := range r.Rounds[from:] {
			_, measured, err := e.Read(ctx, jobs[i])
			if empty++; err == nil && len(measured) > 0 {
				empty = 0
			}
			for _, m := range measured {
				addRound(&sets[i], m, block)
			}
			if empty == 0 {
				continue
			}
			j, _ := e.Queue.Job(jobs[i])
			if err != nil && (unavailable(err) || j.State != "failed") {
				return nil, fmt.Errorf("%s: %w", device, err)
			}
			if empty == poolEmpty {
				return nil, fmt.Errorf("%s has no values in %d rounds: %s", device, empty,
					cmp.Or(j.Reason, "its runs measure none"))
			}
		}
	}
	return sets, nil
}

// eventOf returns the newest event of a pool's devices, at the time when it closed.
func (e *Engine) eventOf(r *poolTest) *watched {
	w := &watched{Event: r.Closed, Why: "while the pool had other devices"}
	newest := int64(0)
	for _, d := range r.Devices {
		if o := e.state.Devices[d]; o != nil && o.Event > newest {
			newest, w.Why = o.Event, o.Why
		}
	}
	return w
}

// poolDevice returns the device of a test's open pool that has the fewest tasks, and the pool; "":
// the series are apart. Devices with equally many take turns by the number of the build.
func (e *Engine) poolDevice(s config.Schedule, p *progress, test string, seq int64, more []task) (device, pool string,
	err error) {
	r := p.Pools[test]
	switch {
	case s.Pool == "" || r == nil || r.State != "" && r.State != poolOpen:
		return "", "", nil
	case r.State == "" || !e.current(s, r):
		return "", "", errPool
	}
	load := map[string]int{}
	for _, t := range more {
		load[t.Device]++
	}
	for _, o := range e.state.Schedules {
		for _, t := range o.Tasks {
			load[t.Device]++
		}
	}
	first := int(seq % int64(len(r.Devices)))
	order := slices.Concat(r.Devices[first:], r.Devices[:first])
	device = slices.MinFunc(order, func(a, b string) int {
		if is := e.present(a); is != e.present(b) {
			return map[bool]int{true: -1, false: 1}[is]
		}
		return load[a] - load[b]
	})
	return device, s.Pool, nil
}

// pooled reports if the points of a pool's task wait for a test, or why they are gaps. Points of a
// job that ended before the pool closed are added.
func (e *Engine) pooled(name string, p *progress, t *task) (wait bool, why string) {
	s, r := e.Schedules[name], p.Pools[t.Test]
	j, _ := e.Queue.Job(t.ID)
	switch {
	case r == nil || t.Origin.Pool != s.Pool:
		return false, "pool " + t.Origin.Pool + " is not there any more"
	case r.Closed != 0 && j.EndedWallNS != 0 && j.EndedWallNS <= r.Closed:
		return false, ""
	case r.State == "" || r.State == poolOpen && !e.current(s, r):
		return true, ""
	case r.State == poolOpen && slices.Contains(r.Devices, t.Device):
		return false, ""
	}
	return false, sentence("pool %s: %s", s.Pool, cmp.Or(r.Text, t.Device+" is not in it any more"))
}

// devicesOf returns the devices whose points a series can have.
func (e *Engine) devicesOf(s *api.Series) []string {
	p := e.state.Schedules[s.Schedule]
	switch {
	case !strings.HasPrefix(s.Device, trend.PoolDevice("")) || p == nil:
		return []string{s.Device}
	case p.Pools[s.Test] == nil: // the test or the pool was removed from the schedule
		return e.Schedules[s.Schedule].Devices
	}
	return p.Pools[s.Test].Devices
}

// deviceOf returns the device for fresh runs of a series. Of a pool it is one that is there, if
// possible one without another confirmation.
func (e *Engine) deviceOf(s *api.Series) string {
	all := e.devicesOf(s)
	rank := func(d string) (n int) {
		if !e.present(d) {
			n += 2
		}
		if e.confirms(d) {
			n++
		}
		return n
	}
	if len(all) == 0 { // none was there at the last test
		return s.Device
	}
	return slices.MinFunc(all, func(a, b string) int { return rank(a) - rank(b) })
}

// confirms reports if a device has a confirmation.
func (e *Engine) confirms(device string) bool {
	return slices.ContainsFunc(e.state.Confirms, func(c *confirmation) bool { return c.Tasks[0].Device == device })
}

// poolText says whether a schedule's devices share series, and why not; "": it has no pool.
func poolText(s config.Schedule, p *progress) string {
	if s.Pool == "" {
		return ""
	}
	var why []string
	tested := 0
	for _, test := range slices.Sorted(maps.Keys(p.Pools)) {
		switch r := p.Pools[test]; {
		case r.State == poolOpen:
			tested++
		case r.Text != "":
			why = append(why, test+": "+r.Text)
		default:
			why = append(why, fmt.Sprintf("%s: %s of the A/A test ended", test, wording.Plural(len(r.Rounds), "round")))
		}
	}
	switch {
	case len(why) > 0:
		return "pool " + s.Pool + ": " + strings.Join(why, "; ")
	case tested == 0:
		return "pool " + s.Pool + " is not tested yet"
	}
	return "pool " + s.Pool + " is open"
}

// PoolTexts returns the states of the pools of schedules, by schedule. They are from the file of an
// engine, which may run.
func PoolTexts(schedules map[string]config.Schedule, file string) (all map[string]string, err error) {
	read := state{}
	all = map[string]string{}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &read)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	for name, s := range schedules {
		p := read.Schedules[name]
		if p == nil {
			p = &progress{}
		}
		if text := poolText(s, p); text != "" {
			all[name] = text
		}
	}
	return all, err
}
