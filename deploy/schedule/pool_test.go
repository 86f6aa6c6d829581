package schedule

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// pooling returns a world with a pool of devices, which are there.
func pooling(t testing.TB, seed uint64, names ...string) (*world, map[string]DeviceState) {
	states := map[string]DeviceState{}
	for _, d := range names {
		states[d] = DeviceState{Present: true, Program: "1"}
	}
	w := newWorld(t, seed, func(o *Options) {
		s := o.Schedules["nightly"]
		s.Devices, s.Pool = names, "phones"
		o.Schedules["nightly"] = s
		o.Devices = func() map[string]DeviceState { return states }
	})
	return w, states
}

// ran returns the points of each device and role of a schedule.
func (w *world) ran() map[string]int {
	all := map[string]int{}
	for _, s := range w.series {
		if s.Role == trend.Subject {
			all[fmt.Sprint(s.Device, " ", s.Generation)] += len(w.points[s.ID])
		}
	}
	return all
}

// used returns the jobs of points by device.
func (w *world) used(from int) map[string]int {
	all := map[string]int{}
	for _, id := range w.order[from:] {
		if p := w.params[id]; strings.Contains(string(p.Origin), `"kind":"point"`) {
			all[p.Devices[0]]++
		}
	}
	return all
}

// TestPool: equal devices share one series after their A/A test. They take turns. A change in it is
// confirmed and bisected on one of them.
func TestPool(t *testing.T) {
	w, _ := pooling(t, 1, "a", "b", "c")
	w.o.Alarm.Bisect = 600
	w.level = slower(45, 0.2)
	e := w.engine()
	w.days(e, 1, 40)
	if got := w.ran(); !maps.Equal(got, map[string]int{"pool phones 0": 40}) {
		t.Fatalf("points %v: %s", got, e.List().Schedules[0].Pool)
	}
	if used := w.used(0); used["a"] < 10 || used["b"] < 10 || used["c"] < 10 {
		t.Errorf("jobs %v", used)
	}
	if got := e.List().Schedules[0].Pool; got != "pool phones is open" {
		t.Error(got)
	}
	e.state.Confirms = []*confirmation{{Tasks: []task{{Device: "a"}}}}
	if got := e.deviceOf(&w.series[0]); got != "b" {
		t.Errorf("a second confirmation is on %s", got)
	}
	e.state.Confirms = nil
	s := w.o.Schedules["nightly"]
	s.Backfill = "none"
	w.o.Schedules["nightly"] = s
	e = w.engine()
	for seq := int64(41); seq <= 47; seq++ {
		w.build(seq)
	}
	w.settle(e)
	w.days(e, 48, 52)
	if len(w.alerts) != 1 || !strings.Contains(w.alerts[0].Changes[0].Reason, "fresh blocks show it") ||
		strings.Contains(w.alerts[0].Command, "pool") {
		t.Fatalf("%+v, %+v", w.alerts, w.changes)
	}
	on := map[string]map[string]bool{}
	for _, p := range w.params {
		for _, kind := range []string{"confirm", "bisect"} {
			if strings.Contains(string(p.Origin), `"kind":"`+kind+`"`) {
				if on[kind] == nil {
					on[kind] = map[string]bool{}
				}
				on[kind][p.Devices[0]] = true
			}
		}
	}
	if len(on["confirm"]) != 1 || len(on["bisect"]) != 1 {
		t.Errorf("devices of fresh runs: %v", on)
	}
	if b := e.Bisects().Bisects; len(b) != 1 || b[0].State != "first bad" || b[0].Found[0].Bad != "b1045" {
		t.Errorf("%+v", b)
	}
}

// TestPoolApart: a device that is slower keeps the series apart, and the list says by how much. It
// is tested again after a state of a device changed.
//
// Fault: A device of a pool is slower than the others
func TestPoolApart(t *testing.T) {
	w, states := pooling(t, 2, "a", "b")
	w.device = func(name string) float64 { return map[string]float64{"a": 1, "b": 1.1}[name] }
	e := w.engine()
	w.days(e, 1, 5)
	text := e.List().Schedules[0].Pool
	if !strings.HasPrefix(text, "pool phones: load: b beside a: load.complete is slower by ") ||
		!maps.Equal(w.ran(), map[string]int{"a 0": 5, "b 0": 5}) {
		t.Fatalf("%s, points %v", text, w.ran())
	}
	if texts, err := PoolTexts(w.o.Schedules, w.file); err != nil || texts["nightly"] != text {
		t.Errorf("the file says %q: %v", texts, err)
	}
	w.device = nil // its battery was replaced
	states["b"] = DeviceState{Present: true, Quarantined: true, Program: "1"}
	e.step(t.Context())
	states["b"] = DeviceState{Present: true, Program: "1"}
	w.days(e, 6, 8)
	if want := map[string]int{"a 0": 5, "b 0": 5, "pool phones 0": 3}; !maps.Equal(w.ran(), want) {
		t.Errorf("points %v: %s", w.ran(), e.List().Schedules[0].Pool)
	}
}

// TestPoolAgain: after an event of a device no build is queued before the pool was tested again. A
// job that was queued before is a point of the pool only if it is open then.
//
// Fault: A device of a pool measures differently after a quarantine, an absence or an upgrade
func TestPoolAgain(t *testing.T) {
	for _, one := range []struct {
		name   string
		factor map[string]float64
		all    bool // devices have the upgrade
		queued string
		want   map[string]int
		text   string
	}{
		{"same", nil, false, "", map[string]int{"pool phones 0": 13}, "pool phones is open"},
		{"one is slower", map[string]float64{"b": 1.1}, false, "", map[string]int{"pool phones 0": 10, "a 0": 3,
			"b 0": 3}, "b beside a"},
		{"all are slower", map[string]float64{"a": 1.3, "b": 1.3}, true, "", map[string]int{"pool phones 0": 10,
			"pool phones 1": 3}, "pool phones is open"},
		{"queued, same", nil, false, "waits", map[string]int{"pool phones 0": 13}, "pool phones is open"},
		{"queued, slower", map[string]float64{"b": 1.1}, false, "waits", map[string]int{"pool phones 0": 10, "a 0": 2,
			"b 0": 2}, "b beside a"},
		{"ended between, slower", map[string]float64{"b": 1.1}, false, "between", map[string]int{"pool phones 0": 10,
			"a 0": 2, "b 0": 2}, "b beside a"},
		{"ended, slower", map[string]float64{"b": 1.1}, false, "ended", map[string]int{"pool phones 0": 11, "a 0": 2,
			"b 0": 2}, "b beside a"},
	} {
		t.Run(one.name, func(t *testing.T) {
			w, states := pooling(t, 3, "a", "b")
			e := w.engine()
			w.days(e, 1, 10)
			first := int64(11)
			if one.queued != "" {
				w.build(first)
				w.now = w.now.Add(time.Minute)
				first++
				e.step(t.Context())
			}
			if one.queued == "ended" {
				w.work()
			}
			for d := range states {
				if one.all || d == "b" {
					states[d] = DeviceState{Present: true, Program: "2"}
				}
			}
			w.device = func(name string) float64 {
				if f := one.factor[name]; f != 0 {
					return f
				}
				return 1
			}
			if one.queued == "between" { // the job ends before another event
				w.now = w.now.Add(time.Minute)
				e.step(t.Context())
				w.single = true
				w.work()
				w.single = false
				states["b"] = DeviceState{Present: true, Program: "3"}
			}
			before := len(w.order)
			w.now = w.now.Add(time.Minute)
			w.days(e, first, 13)
			if used := w.used(before); len(w.order) < before+24+len(used) || len(used) != 2 {
				t.Errorf("jobs %v", used)
			}
			for _, id := range w.order[before : before+24] { // a test has 12 rounds at least
				if !strings.Contains(string(w.params[id].Origin), `"kind":"check"`) {
					t.Fatalf("it is queued before the test: %s", w.params[id].Origin)
				}
			}
			text := e.List().Schedules[0].Pool
			if got := w.ran(); !maps.Equal(got, one.want) || !strings.Contains(text, one.text) {
				t.Errorf("points %v: %s", got, text)
			}
			late := slices.Contains([]string{"waits", "between"}, one.queued)
			if gap := w.gaps["load/pool phones/b1011"]; (gap != "") != (late && one.factor != nil) {
				t.Errorf("gaps %v", w.gaps)
			}
			for _, x := range w.changes {
				if x.State == lab && (!one.all || !strings.Contains(x.Reason, "after the change from 1 to 2")) {
					t.Errorf("%+v", x)
				}
			}
		})
	}
}

// TestPoolFails: a device that makes no runs ends the test, which is repeated a day later. Builds
// have points of each device meanwhile. A device that is away is left out of a test of others, and
// tested when it returns.
//
// Fault: A device of a pool makes no runs
func TestPoolFails(t *testing.T) {
	w, states := pooling(t, 4, "a", "b", "c")
	states["c"] = DeviceState{}
	w.end = func(j *api.Job) {
		if w.params[j.ID].Devices[0] == "b" && w.params[j.ID].Repeat == 1 {
			j.State, j.Reason = "cancelled", "by ada"
		}
	}
	e := w.engine()
	w.build(1)
	w.settle(e)
	text := e.List().Schedules[0].Pool
	if text != "pool phones: load: b has no runs: by ada" || w.ran()["a 0"] != 1 || w.ran()["pool phones 0"] != 0 {
		t.Errorf("%s, points %v", text, w.ran())
	}
	w.end = nil
	for range 24 { // the devices are not away
		w.now = w.now.Add(time.Hour)
		w.settle(e)
	}
	w.days(e, 2, 2)
	if w.ran()["pool phones 0"] != 1 {
		t.Errorf("points %v: %s", w.ran(), e.List().Schedules[0].Pool)
	}
	states["c"] = DeviceState{Present: true, Program: "1"}
	w.days(e, 3, 3)
	if r := e.state.Schedules["nightly"].Pools["load"]; !slices.Equal(r.Devices, []string{"a", "b", "c"}) ||
		r.State != poolOpen {
		t.Errorf("%+v", r)
	}
	states["a"], states["b"] = DeviceState{}, DeviceState{} // away, and the test is still about them
	before := len(w.order)
	w.days(e, 4, 6)
	if used := w.used(before); !maps.Equal(used, map[string]int{"c": 3}) || w.ran()["pool phones 0"] != 5 {
		t.Errorf("jobs %v, points %v", used, w.ran())
	}
	states["c"] = DeviceState{Present: true, Program: "2"} // an event of the last one
	w.build(7)
	for _, used := range []int{0, 3} { // at first it waits for the others
		before = len(w.order)
		w.settle(e)
		text := e.List().Schedules[0].Pool
		if got := w.used(before); text != "pool phones: load: 1 of 3 devices can measure now; a test needs two" ||
			len(got) != used {
			t.Errorf("%s, jobs %v", text, got)
		}
		w.now = w.now.Add(2 * time.Hour)
	}
}

// TestPoolTurns: the tests of a build are on different devices. Nobody can queue a build while its
// pool is tested.
func TestPoolTurns(t *testing.T) {
	w, _ := pooling(t, 8, "a", "b")
	s := w.o.Schedules["nightly"]
	s.Tests = []string{"scroll-*"}
	w.o.Schedules["nightly"] = s
	e := w.engine()
	w.build(1)
	e.step(t.Context())
	if out, err := e.Start(t.Context(), api.ScheduleRun{Schedule: "nightly"}); err == nil ||
		!strings.Contains(err.Error(), "is being tested") {
		t.Errorf("%+v, %v", out, err)
	}
	w.settle(e)
	w.days(e, 2, 3)
	if used := w.used(0); !maps.Equal(used, map[string]int{"a": 3, "b": 3}) {
		t.Errorf("jobs %v", used)
	}
}

// TestPoolOfFleet: a hub's pool has the fitting devices of all rigs.
func TestPoolOfFleet(t *testing.T) {
	there, away := []string{"r2/p", "r1/p"}, []string{"r3/p"}
	var refused error
	w := newWorld(t, 5, func(o *Options) {
		s := o.Schedules["nightly"]
		s.Devices, s.Needs, s.Pool = nil, []string{"model=pixel7"}, "phones"
		o.Schedules["nightly"] = s
		o.Fitting = func(_ string, _ []string, p api.StartParams) ([]string, []string, error) {
			if len(p.Variants) != 2 || !strings.HasPrefix(p.Variants[0].Browser, "firefox@f") {
				t.Errorf("%+v", p)
			}
			return there, away, refused
		}
	})
	refused = errors.New("no device has model=pixel7")
	e := w.engine()
	w.days(e, 1, 1)
	if got := e.List().Schedules[0]; got.Reason != refused.Error() || len(w.order) != 0 {
		t.Errorf("%+v", got)
	}
	refused = nil
	w.days(e, 2, 5)
	if got := e.List().Schedules[0]; !maps.Equal(w.ran(), map[string]int{"pool phones 0": 4}) ||
		!slices.Equal(got.Devices, []string{"r1/p", "r2/p"}) {
		t.Errorf("points %v, %+v", w.ran(), got)
	}
}

// TestPoolCrash ends the engine at its calls. After a restart the outcome is as without.
//
// Fault: A rig is killed during the test of a pool
func TestPoolCrash(t *testing.T) {
	story := func(crash int) (w *world, over bool) {
		w, states := pooling(t, 6, "a", "b")
		w.crash, w.kill = crash, true
		var e *Engine
		run := func(do func()) (crashed bool) {
			defer func() {
				if r := recover(); r != nil {
					if err, is := r.(error); !is || !errors.Is(err, errCrash) {
						panic(r)
					}
					crashed, e = true, w.engine()
				}
			}()
			do()
			return false
		}
		e = w.engine()
		for seq := range int64(4) {
			w.build(seq + 1)
			if seq == 3 {
				states["a"] = DeviceState{Present: true, Program: "2"}
			}
			for range 200 {
				w.now = w.now.Add(time.Minute)
				if !run(func() { e.step(t.Context()) }) && w.work() == 0 {
					break
				}
			}
			w.now = w.now.Truncate(24 * time.Hour).Add(24 * time.Hour)
		}
		return w, w.calls < crash
	}
	want, _ := story(0)
	if want.ran()["pool phones 0"] != 4 {
		t.Fatalf("points %v", want.ran())
	}
	every := 5
	if testing.Short() {
		every = 37
	}
	for crash := 1; ; crash += every {
		got, over := story(crash)
		if over {
			return
		}
		jobs := len(got.order) - 4 // of two tests with 12, 24 or 48 rounds of two devices
		if jobs%24 != 0 || jobs > 192 || !maps.Equal(got.ran(), want.ran()) || len(got.gaps) != 0 {
			t.Fatalf("crash at call %d: %d jobs of tests, points %v, gaps %v", crash, jobs, got.ran(), got.gaps)
		}
	}
}

// TestComparePool: at most 1 of 20 pools opens whose devices differ by the threshold. At most 1 of
// 20 pools of equal devices has a device that is called different. Most equal ones open.
func TestComparePool(t *testing.T) {
	const cases = 200
	for _, one := range []struct {
		devices, values int
		noise           float64
		differs         float64 // of the last device, in the last value
		open, apart     int     // at least
		wrong           int     // at most: open if it differs, and else called different
	}{
		{2, 1, 0.01, 0, cases * 99 / 100, 0, cases / 20}, {2, 1, 0.03, 0, cases * 9 / 10, 0, cases / 20},
		{4, 5, 0.02, 0, cases * 9 / 10, 0, cases / 20}, {3, 2, 0.2, 0, 0, 0, cases / 20},
		{2, 1, 0.01, 0.03, 0, 0, cases / 20}, {2, 1, 0.03, 0.03, 0, 0, cases / 20},
		{3, 3, 0.02, 0.03, 0, 0, cases / 20}, {2, 1, 0.2, 0.03, 0, 0, cases / 20},
		{2, 1, 0.02, 0.06, 0, cases * 9 / 10, 0}, {3, 3, 0.02, 0.1, 0, cases * 99 / 100, 0},
	} {
		r, open, found := rand.New(rand.NewPCG(7, 1)), 0, 0
		for range cases {
			sets := make([][]trend.Measured, one.devices)
			devices := []string{"a", "b", "c", "d"}[:one.devices]
			for block := range 48 {
				common := 0.05 * r.NormFloat64()
				for i := range sets {
					for v := range one.values {
						level := 100.0
						if i == one.devices-1 && v == one.values-1 {
							level *= 1 + one.differs
						}
						m := trend.Measured{Threshold: 0.03, Key: trend.SeriesKey{Device: devices[i], Measure: "load",
							Value: fmt.Sprint(v), Unit: "ms", Better: "lower"}}
						m.Point.Values = []trend.Value{{Value: level * math.Exp(common+one.noise*r.NormFloat64())}}
						addRound(&sets[i], m, block)
					}
				}
				if !slices.Contains(poolLooks(), block+1) {
					continue
				}
				same, apart, text := comparePool(devices, sets)
				if same == (text != "") || same && apart {
					t.Fatalf("%v, %v, %q", same, apart, text)
				}
				if same {
					open++
				}
				if apart {
					found++
				}
				if same || apart {
					break
				}
			}
		}
		wrong := found
		if one.differs > 0 {
			wrong = open
		}
		t.Logf("%+v: %d of %d are open, %d have a device that differs", one, open, cases, found)
		if open < one.open || found < one.apart || wrong > one.wrong {
			t.Errorf("%+v: %d of %d are open, %d have a device that differs", one, open, cases, found)
		}
	}
}

// TestComparePoolValues: values that only some devices have keep a pool apart. Those that are
// usually 0 take no part.
func TestComparePoolValues(t *testing.T) {
	set := func(values map[string]float64, odd float64) (all []trend.Measured) {
		for block := range 12 {
			for name, value := range values {
				if block%5 == 4 {
					value += odd
				}
				m := trend.Measured{Key: trend.SeriesKey{Measure: "load", Value: name, Unit: "ms"}}
				m.Point.Values = []trend.Value{{Value: value}}
				addRound(&all, m, block)
			}
		}
		return all
	}
	for _, one := range []struct {
		a, b map[string]float64
		odd  float64
		text string
	}{
		{map[string]float64{"x": 100, "late": 0}, map[string]float64{"x": 100, "late": 0}, 1, ""},
		{map[string]float64{"x": 100, "late": 0}, map[string]float64{"x": 100, "late": 5}, 0,
			"b beside a: load.late is"},
		{map[string]float64{"x": 100, "y": 1}, map[string]float64{"x": 100}, 0, "a and b have different values"},
		{map[string]float64{"x": 100}, map[string]float64{"y": 100}, 0, "b beside a: load.x is not measured on both"},
		{map[string]float64{"late": 0}, map[string]float64{"late": 0}, 0, "no value can be compared"},
		{nil, nil, 0, "no value can be compared"},
	} {
		same, _, text := comparePool([]string{"a", "b"}, [][]trend.Measured{set(one.a, one.odd), set(one.b, 0)})
		if same != (one.text == "") || !strings.HasPrefix(text, one.text) {
			t.Errorf("%v beside %v: %v, %q, want %q", one.b, one.a, same, text, one.text)
		}
	}
	if n := poolLooks()[0]; n < stats.FewestBlocks {
		t.Error("the first look cannot decide")
	}
}
