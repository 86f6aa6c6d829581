package webui

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// trends are the schedules, series and alerts of a played rig.
type trends struct {
	schedules []api.Schedule
	series    []api.SeriesData
	alerts    []api.Alert
	bisects   []api.Bisect
	limits    []int     // asked for by series.get
	stored    *trend.DB // has other series; nil: none
	none      bool      // the rig has no schedules
}

// Series of the played rig.
const (
	subjectSeries, rivalSeries, controlSeries, emptySeries = 11, 12, 13, 31
)

// filmed is the set of the fresh runs of a change.
const filmed = "c-5-k7f2"

// makeTrends adds a schedule with a subject that became slower at build 61, a rival and a control.
func (p *played) makeTrends() {
	day := func(n int64) int64 {
		return time.Date(2026, 9, 1, 3, 0, 0, 0, time.UTC).AddDate(0, 0, int(n)).UnixNano()
	}
	build := func(seq int64) string {
		return time.Unix(0, day(seq)).UTC().Format(time.DateOnly)
	}
	t := &p.trends
	t.schedules = []api.Schedule{
		{Name: "awfy", On: "feed.nightly", Tests: []string{"framerate", "scroll-*"}, Devices: []string{"local"},
			Browsers: []string{"firefox@nightly", "chrome@stable"}, Control: "firefox@nightly:2026-09-01", Runs: 5,
			Class: "watch", LastNS: day(80), LastJob: "s-80-k7f2", Queued: 3, Points: 474,
			Pool: "pool desks: scroll-a: desk-2 beside desk-1: fps.framerate is lower by 4 % (3–5 %), 12 blocks"},
		{Name: "night", Cron: "0 3 * * *", Timezone: "UTC", Tests: []string{"load"}, Devices: []string{"lab-07/desk"},
			Browsers: []string{"chromium"}, Runs: 5, Class: "watch", Paused: true, Reason: "the disk is full",
			NextNS: day(90), LastNS: day(79), LastJob: "s-79-k7f2", Gap: "load, 20261130-0300: no browser"},
	}
	base := api.Series{Schedule: "awfy", Test: "framerate", Measure: "fps", Value: "framerate", Unit: "frames/s",
		Better: "higher", Version: 1, Device: "local", Product: "firefox", Feed: "nightly", Role: "subject",
		Points: 79, FirstSeq: 1, LastSeq: 80, Latest: "53.9 frames/s", Change: "confirmed", Threshold: 0.03}
	rows := []struct {
		id                  int64
		role, product, feed string
		level               float64
		drop                float64
	}{{subjectSeries, "subject", "firefox", "nightly", 58.4, 4.2}, {rivalSeries, "rival", "chrome", "stable", 59.6, 0},
		{controlSeries, "control", "firefox", "nightly", 57.2, 0}}
	for _, r := range rows {
		d := api.SeriesData{Series: base, Points: []api.SeriesPoint{}, Tiles: []api.SeriesTile{},
			Gaps:    []api.SeriesGap{{Seq: 37, Build: build(37), Reason: "the job passed its deadline"}},
			Changes: []api.SeriesShift{}, With: []api.Series{}}
		d.Series.ID, d.Series.Role, d.Series.Product, d.Series.Feed = r.id, r.role, r.product, r.feed
		for seq := int64(1); seq <= 80; seq++ {
			if seq == 37 {
				continue
			}
			noise := 0.35*math.Sin(float64(seq)*1.7+float64(r.id)) + 0.2*math.Sin(float64(seq)*5.3)
			v := r.level + noise
			if seq >= 61 {
				v -= r.drop
			}
			d.Points = append(d.Points, api.SeriesPoint{Seq: seq, Build: build(seq), Revision: fmt.Sprintf("%08x",
				seq*0x9e3779b1&0xffffffff), Set: fmt.Sprintf("s-%d-k7f2", seq), WallNS: day(seq), Runs: 5, Median: v,
				Low: v - 0.5 - 0.2*math.Abs(noise), High: v + 0.45, Text: fmt.Sprintf("%.1f frames/s", v),
				Interval: true})
		}
		if last := &d.Points[len(d.Points)-1]; r.role == "control" {
			last.Build, last.Runs, last.Interval = "", 1, false
		}
		t.series = append(t.series, d)
	}
	subject := &t.series[0]
	subject.Release = &subject.Points[9]
	subject.With = []api.Series{t.series[1].Series, t.series[2].Series}
	change := func(id, from, to int64, state, direction string, shift float64, text, reason string) api.SeriesShift {
		return api.SeriesShift{ID: id, Series: subjectSeries, FirstSeq: from, LastSeq: to, State: state,
			Direction: direction, Relative: true, Shift: shift, Low: shift - 0.007, High: shift + 0.006, P: 0.0006,
			FoundNS: day(to + 1), Text: text, Reason: reason}
	}
	worse := change(5, 60, 61, "confirmed", "worse", -0.072,
		"fps.framerate of firefox is 7.2 % lower since "+build(61)+".", "24 fresh blocks confirmed it")
	worse.Set, worse.Cause = filmed, "draw (app.js:3) ran for 40 ms instead of 9 ms. "+evilPath
	subject.Changes = []api.SeriesShift{
		change(1, 12, 13, "refuted", "worse", -0.02, "fps.framerate was 2 % lower at "+build(13)+".",
			"12 fresh blocks did not differ"),
		change(2, 22, 24, "lab", "worse", -0.03, "fps.framerate was 3 % lower since "+build(24)+".",
			"the control moved too"),
		change(3, 40, 41, "dismissed", "changed", -0.01, "fps.framerate was 1 % lower since "+build(41)+".",
			"the cable was changed"),
		change(4, 48, 49, "candidate", "better", 0.011, "fps.framerate may be 1.1 % higher since "+build(49)+".", ""),
		worse,
		change(6, 76, 77, "confirming", "worse", -0.012, "fps.framerate may be 1.2 % lower since "+build(77)+".",
			"12 of 24 blocks have run"),
	}
	empty := api.SeriesData{Series: base, Points: []api.SeriesPoint{}, Tiles: []api.SeriesTile{},
		Gaps: []api.SeriesGap{}, Changes: []api.SeriesShift{}, With: []api.Series{}}
	empty.Series.ID, empty.Series.Points, empty.Series.Test, empty.Series.Change = emptySeries, 0, evilPath, ""
	t.series = append(t.series, empty)
	t.alerts = []api.Alert{{ID: 7, Schedule: "awfy", Feed: "nightly", FirstSeq: 60, LastSeq: 61, State: "open",
		OpenedNS: day(63), Changes: []api.SeriesShift{worse}, Text: "framerate is worse in firefox since " + build(61) +
			": fps.framerate 7.2 % lower.", Command: "eideticker run framerate --variant firefox@nightly:" + build(60) +
			" --variant firefox@nightly:" + build(61) + " --repeat 24",
		Builds: []api.Build{{Feed: "nightly", Seq: 60, Name: build(60), Revision: "5d1e02ab4c", State: "usable",
			WallNS: day(60)}, {Feed: "nightly", Seq: 61, Name: build(61), Revision: "77aa01be99", State: "usable",
			WallNS: day(61), Subject: "Draw each frame twice"}}},
		{ID: 3, Schedule: "awfy", Feed: "nightly", FirstSeq: 20, LastSeq: 21, State: "fixed", Owner: "ada",
			Note: evilPath, OpenedNS: day(25), Changes: []api.SeriesShift{}, Builds: []api.Build{},
			Text: "scrolling was worse in firefox: " + evilPath}}
}

// doTrends answers the methods of schedules, series, changes and alerts.
func (p *played) doTrends(call *api.Request) (any, *api.Error) {
	var params struct {
		Series, Change, Alert                           int64
		FromSeq                                         int64 `json:"from_seq"`
		ToSeq                                           int64 `json:"to_seq"`
		Limit                                           int
		Schedule, Test, Value, Device, Role, State, Why string
		Owner, Note                                     *string
		Paused                                          bool
		Reason                                          string
	}
	if err := json.Unmarshal(call.Params, &params); err != nil {
		return nil, api.Errorf(api.InvalidParams, "%v", err)
	}
	t := &p.trends
	if answer, is := t.doBisect(call); is {
		return answer, nil
	}
	if t.none {
		return nil, api.Errorf(api.Unavailable, "this rig has no schedules")
	}
	switch call.Method {
	case "schedule.list":
		return api.Schedules{Schedules: append([]api.Schedule{}, t.schedules...)}, nil
	case "schedule.run":
		return api.ScheduleStarted{Jobs: []string{"s-81-k7f2"}}, nil
	case "schedule.pause":
		i := slices.IndexFunc(t.schedules, func(s api.Schedule) bool { return s.Name == params.Schedule })
		t.schedules[i].Paused, t.schedules[i].Reason = params.Paused, params.Reason
		return t.schedules[i], nil
	case "series.list":
		out := api.SeriesList{Series: []api.Series{}}
		for _, d := range t.series {
			if s := d.Series; (params.Role == "" || s.Role == params.Role) && (params.Test == "" ||
				s.Test == params.Test) && (params.Device == "" || s.Device == params.Device) {
				out.Series = append(out.Series, s)
			}
		}
		out.Total = len(out.Series)
		return out, nil
	case "series.get":
		t.limits = append(t.limits, params.Limit)
		for _, d := range t.series {
			if d.Series.ID == params.Series {
				return within(d, params.FromSeq, params.ToSeq), nil
			}
		}
		if t.stored != nil {
			out, err := t.stored.Get(p.Context(), api.SeriesParams{Series: params.Series, FromSeq: params.FromSeq,
				ToSeq: params.ToSeq, Limit: params.Limit})
			if err == nil {
				return out, nil
			}
		}
		return nil, api.Errorf(api.NotFound, "unknown series %d", params.Series)
	case "change.confirm", "change.dismiss":
		all := t.series[0].Changes
		i := slices.IndexFunc(all, func(c api.SeriesShift) bool { return c.ID == params.Change })
		all[i].State = map[string]string{"change.confirm": "confirming", "change.dismiss": "dismissed"}[call.Method]
		all[i].Reason = params.Reason
		return all[i], nil
	case "alert.list":
		return api.AlertList{Alerts: append([]api.Alert{}, t.alerts...), Budget: api.Budget{FalseAlarms: 1,
			PeriodNS: int64(7 * 24 * time.Hour), Confirmations: 200, Used: 12, Alpha: 0.005,
			Text: "At most 1 false alarm is expected in 7 days. 12 of 200 confirmations are used."}}, nil
	case "alert.set":
		i := slices.IndexFunc(t.alerts, func(a api.Alert) bool { return a.ID == params.Alert })
		a := &t.alerts[i]
		if params.State != "" {
			a.State = params.State
		}
		if params.Owner != nil {
			a.Owner = *params.Owner
		}
		return *a, nil
	}
	return nil, api.Errorf(api.UnknownMethod, "unknown method %q", call.Method)
}

// within is a series between two builds.
func within(d api.SeriesData, from, to int64) api.SeriesData {
	if to == 0 {
		to = math.MaxInt64
	}
	d.Points = slices.DeleteFunc(slices.Clone(d.Points), func(p api.SeriesPoint) bool {
		return p.Seq < from || p.Seq > to
	})
	d.Gaps = slices.DeleteFunc(slices.Clone(d.Gaps), func(g api.SeriesGap) bool { return g.Seq < from || g.Seq > to })
	d.Changes = slices.DeleteFunc(slices.Clone(d.Changes), func(c api.SeriesShift) bool {
		return c.LastSeq < from || c.FirstSeq > to
	})
	return d
}

// makeFilms makes the fresh runs of a set, one of each build that counts. Those before it do not.
func (p *played) makeFilms(set string) {
	p.Helper()
	one, other := p.makeRun("20261121-201530-framerate-k7f2", smooth),
		p.makeRun("20261121-201531-framerate-k7f3", uneven)
	dir := p.TempDir()
	p.check(os.WriteFile(filepath.Join(dir, session.SetFile), []byte(`{
		"builds": {"before": "firefox@nightly:1"}, "runs": [
		{"dir": "rejected/run-01", "variant": "before", "state": "rejected"},
		{"dir": "before/warm-up/run-01", "variant": "before", "state": "ok", "warm_up": true},
		{"dir": "after/run-01", "variant": "after", "state": "ok"},
		{"dir": "before/run-01", "variant": "before", "state": "ok"},
		{"dir": "before/run-02", "variant": "before", "state": "ok"}]}`), 0o644))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.folders[set] = dir
	p.folders[set+"~before~run-01"], p.folders[set+"~after~run-01"] = one.dir, other.dir
}
