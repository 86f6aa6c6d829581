package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store/trend"
	"github.com/eideticker/eideticker/deploy/store/trend/trendtest"
)

// user is a client that notes which methods have done what it asked for.
type user struct {
	*served
	conn *websocket.Conn
	done map[string]bool
}

// do calls a method, which must succeed.
func (u *user) do(method string, params, result any) {
	u.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		u.t.Fatal(err)
	}
	r := talk(u.t, u.conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, raw))
	if r.Error != nil {
		u.t.Fatalf("%s: %+v", method, r.Error)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result, result); err != nil {
			u.t.Fatalf("%s: %v", method, err)
		}
	}
	u.done[method] = true
}

// TestEveryMethod: each method there is does by websocket what it is for.
func TestEveryMethod(t *testing.T) {
	t.Parallel()
	plug := filepath.Join(t.TempDir(), "on")
	d := daemontest.New("local")
	d.About.Power = device.Power{On: []string{"touch", plug}, Off: []string{"rm", plug}}
	h, messages := newHub(t)
	s := serveRig(t, daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil), func(o *Options) {
		o.Fleet = h
		o.Sources = func() (json.RawMessage, error) { return json.RawMessage(`{"devices": []}`), nil }
		o.Compare = func(_ context.Context, base, with string, o CompareOptions) (*api.Compared, error) {
			_, errBase := os.Stat(filepath.Join(base, session.SetFile))
			_, errWith := os.Stat(filepath.Join(with, session.SetFile))
			return &api.Compared{Outcome: "passed", Sentence: fmt.Sprintf("%v %s", o.Threshold, o.Primary)},
				errors.Join(errBase, errWith)
		}
		o.Trends, o.Engine = trendtest.Open(t, trendtest.Filling{Points: 20, Step: 0.1}), engine{}
		o.Builds = func(_ context.Context, feed string) ([]api.Build, error) {
			return []api.Build{{Feed: feed, Seq: 1, Name: "a"}, {Feed: feed, Seq: 2, Name: "b"},
				{Feed: feed, Seq: 3, Name: "c"}}, errors.New("feed f: absent")
		}
	})
	u := &user{s, s.socket(), map[string]bool{}}
	u.looks()
	sets := u.measures(d)
	u.finds(sets)
	u.switches(plug)
	u.records()
	u.cleans()
	u.trends()
	u.schedules()
	u.fleet(messages)
	u.bisects()
	u.do("run.delete", api.RunID{Run: sets[0]}, nil)
	if _, err := s.Store.Path(sets[0]); err == nil {
		t.Error("what was deleted is still there")
	}
	u.done["network.set"] = true // by TestSetNetwork: a line takes a system and rights that not everybody has
	for _, m := range api.Methods() {
		if !u.done[m.Name] {
			t.Errorf("%s was never called with success", m.Name)
		}
	}
}

// engine has a budget and one schedule, and confirms nothing.
type engine struct{}

func (engine) List() api.Schedules {
	return api.Schedules{Schedules: []api.Schedule{{Name: "awfy", Tests: []string{}, Devices: []string{},
		Browsers: []string{}}}}
}

func (engine) Start(_ context.Context, p api.ScheduleRun) (api.ScheduleStarted, error) {
	return api.ScheduleStarted{Jobs: []string{p.Schedule + "-" + p.Build}}, nil
}

func (engine) Pause(p api.SchedulePause) (api.Schedule, error) {
	return api.Schedule{Name: p.Schedule, Paused: p.Paused, Reason: p.Reason}, nil
}

func (engine) StartBisect(_ context.Context, owner string, p api.BisectParams) (api.Bisect, error) {
	return api.Bisect{ID: "bisect-1", BisectParams: p, Owner: owner, Found: []api.BisectFound{}}, nil
}

func (engine) Bisects() api.Bisects { return api.Bisects{Bisects: []api.Bisect{}} }

func (engine) Bisect(id string) (api.Bisect, error) {
	return api.Bisect{ID: id, Owner: "local", Found: []api.BisectFound{}}, nil
}

func (engine) CancelBisect(id, by string) (api.Bisect, error) {
	return api.Bisect{ID: id, Owner: by, Found: []api.BisectFound{}}, nil
}

func (engine) Confirm(context.Context, int64) error { return nil }
func (engine) ReleasePattern(string) string         { return "build-1[12]" }
func (engine) Budget() api.Budget                   { return api.Budget{Confirmations: 200, Used: 3} }

// bisects starts a bisection, and ends it.
func (u *user) bisects() {
	var b api.Bisect
	u.do("bisect.start", api.BisectParams{Feed: "f", Good: "a", Bad: "c", Test: "load"}, &b)
	if b.ID != "bisect-1" || b.Good != "a" || b.Owner != "local" {
		u.t.Errorf("%+v", b)
	}
	u.do("bisect.list", api.Empty{}, &api.Bisects{})
	u.do("bisect.get", api.BisectID{Bisect: b.ID}, &b)
	u.do("bisect.cancel", api.BisectID{Bisect: b.ID}, &b)
}

// schedules lists the schedule, starts it and pauses it.
func (u *user) schedules() {
	var list api.Schedules
	if u.do("schedule.list", api.Empty{}, &list); len(list.Schedules) != 1 || list.Schedules[0].Name != "awfy" {
		u.t.Errorf("%+v", list)
	}
	var started api.ScheduleStarted
	u.do("schedule.run", api.ScheduleRun{Schedule: "awfy", Build: "b"}, &started)
	if !slices.Equal(started.Jobs, []string{"awfy-b"}) {
		u.t.Errorf("%+v", started)
	}
	var paused api.Schedule
	u.do("schedule.pause", api.SchedulePause{Schedule: "awfy", Paused: true, Reason: "moved"}, &paused)
	if !paused.Paused || paused.Reason != "moved" {
		u.t.Errorf("%+v", paused)
	}
}

// trends reads a series, dismisses its change and acknowledges the alert.
func (u *user) trends() {
	var list api.SeriesList
	if u.do("series.list", api.SeriesListParams{}, &list); list.Total != 3 || list.Series[0].Role != trend.Subject {
		u.t.Fatalf("%+v", list)
	}
	var data api.SeriesData
	u.do("series.get", api.SeriesParams{Series: list.Series[0].ID}, &data)
	if len(data.Points) != 20 || len(data.With) != 2 || data.Gaps == nil || data.Changes == nil ||
		data.Release == nil || data.Release.Build != "build-12" {
		u.t.Errorf("%+v", data)
	}
	change := api.SeriesShift{Series: list.Series[0].ID, FirstSeq: 100, LastSeq: 110, State: "confirmed", Shift: -0.1,
		Relative: true, Direction: "worse"}
	if err := u.api.o.Trends.PutChange(u.t.Context(), &change); err != nil {
		u.t.Fatal(err)
	}
	alert := api.Alert{Schedule: "awfy", Feed: "nightly", FirstSeq: 100, LastSeq: 110, State: "open",
		Changes: []api.SeriesShift{change}}
	if err := u.api.o.Trends.PutAlert(u.t.Context(), &alert); err != nil {
		u.t.Fatal(err)
	}
	var changes api.ChangeList
	if u.do("change.list", api.ChangeListParams{}, &changes); len(changes.Changes) != 1 || changes.Changes[0].Text !=
		"fps.framerate of scene-0 on local: 10 % lower since build build-11 (worse)" {
		u.t.Errorf("%+v", changes)
	}
	wide := change
	wide.ID, wide.FirstSeq = 0, 80
	if err := u.api.o.Trends.PutChange(u.t.Context(), &wide); err != nil {
		u.t.Fatal(err)
	}
	u.do("change.list", api.ChangeListParams{}, &changes)
	if got := changes.Changes[0].Text; !strings.Contains(got, "lower after build build-8, by build build-11") {
		u.t.Error(got)
	}
	u.do("change.confirm", api.ChangeID{Change: change.ID}, nil)
	if u.do("change.dismiss", api.ChangeID{Change: change.ID, Reason: "known"}, &change); change.State !=
		trend.Dismissed || change.Reason != "known" {
		u.t.Errorf("%+v", change)
	}
	note := "looking"
	u.do("alert.set", api.AlertParams{Alert: alert.ID, State: "acknowledged", Note: &note}, &alert)
	var alerts api.AlertList
	if u.do("alert.list", api.AlertListParams{}, &alerts); len(alerts.Alerts) != 1 ||
		len(alerts.Alerts[0].Builds) != 2 || alerts.Alerts[0].Note != note ||
		alerts.Alerts[0].State != "acknowledged" || alerts.Budget.Confirmations != 200 {
		u.t.Errorf("%+v", alerts)
	}
	if _, text := u.ask("GET", "/metrics", ""); !strings.Contains(text, "eideticker_alarm_confirmations 3\n") ||
		!strings.Contains(text, "eideticker_alarm_confirmations_allowed 200\n") {
		u.t.Errorf("no budget in %s", text)
	}
	for _, c := range []struct {
		method string
		params any
		code   api.Code
	}{
		{"series.get", api.SeriesParams{Series: 99}, api.NotFound},
		{"series.get", api.SeriesParams{Series: 1, Limit: 2001}, api.InvalidParams},
		{"series.get", api.SeriesParams{Series: 1, FromSeq: 5, ToSeq: 4}, api.InvalidParams},
		{"series.list", api.SeriesListParams{Limit: -1}, api.InvalidParams},
		{"change.list", api.ChangeListParams{State: "odd"}, api.InvalidParams},
		{"change.dismiss", api.ChangeID{Change: 99}, api.NotFound},
		{"point.remove", api.PointRemove{Set: "s-none"}, api.NotFound},
		{"point.remove", api.PointRemove{}, api.InvalidParams},
		{"alert.set", api.AlertParams{Alert: 99}, api.NotFound},
		{"alert.set", api.AlertParams{Alert: alert.ID, State: "odd"}, api.InvalidParams},
	} {
		if e := u.call(c.method, c.params, nil); e == nil || e.Code != c.code {
			u.t.Errorf("%s %+v: %+v, want %d", c.method, c.params, e, c.code)
		}
	}
	var gone api.PointRemoved
	if u.do("point.remove", api.PointRemove{Set: data.Points[19].Set}, &gone); gone.Points < 3 {
		u.t.Errorf("%+v", gone)
	}
}

// cleans lists and then removes an archive of a site.
func (u *user) cleans() {
	path := filepath.Join(u.Dir, "archives", "a.test-1234.zip")
	old := time.Now().AddDate(0, 0, -8)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, make([]byte, 1000), 0o600),
		os.Chtimes(path, old, old)); err != nil {
		u.t.Fatal(err)
	}
	for _, remove := range []bool{false, true} {
		var done api.Cleaned
		u.do("store.clean", api.CleanParams{AgeNS: int64(7 * 24 * time.Hour), Remove: remove}, &done)
		if _, err := os.Stat(path); len(done.Files) != 1 || done.Files[0].Name != "archives/a.test-1234.zip" ||
			done.Files[0].Why != "expired" || done.Removed != remove || (err == nil) == remove {
			u.t.Errorf("%+v, %v", done, err)
		}
	}
}

// looks asks what there is.
func (u *user) looks() {
	var status api.Status
	if u.do("rig.status", api.Empty{}, &status); status.State != "running" || status.Clients != 1 {
		u.t.Errorf("%+v", status)
	}
	var sources struct{ Devices []any }
	if u.do("sources.list", api.Empty{}, &sources); sources.Devices == nil {
		u.t.Error("no sources")
	}
	var builds api.BuildList
	u.do("build.list", api.BuildListParams{Feed: "f", Limit: 2}, &builds)
	if n := builds.Builds; len(n) != 2 || n[0].Name != "c" || n[1].Name != "b" || builds.Reason != "feed f: absent" {
		u.t.Errorf("%+v", builds)
	}
	u.do("suite.list", api.Empty{}, nil)
	var test api.Test
	if u.do("suite.get", api.TestName{Test: "scene"}, &test); test.Text == "" {
		u.t.Errorf("%+v", test)
	}
	var schema struct{ Properties map[string]any }
	if u.do("suite.schema", api.Empty{}, &schema); schema.Properties["steps"] == nil {
		u.t.Error("no schema")
	}
	for text, want := range map[string]api.TestProblem{
		test.Text: {},
		"name: a\nurl: https://example.org/\nsync: still 1s\nstepz: []\n": {File: "t.yaml", Line: 4, Column: 1},
		"name: a\nurl: http://127.0.0.1/\nsync: still 1s\n":               {},
	} {
		var checked api.Checked
		upload := api.Upload{Test: "t.yaml", Files: map[string]string{"t.yaml": text}}
		u.do("suite.check", api.CheckParams{Upload: upload}, &checked)
		if text == test.Text {
			if checked.Name != "scene" || len(checked.Problems) != 0 {
				u.t.Errorf("%+v", checked)
			}
			continue
		}
		if len(checked.Problems) != 1 || checked.Problems[0].Problem == "" {
			u.t.Fatalf("%s: %+v", text, checked)
		}
		if p := checked.Problems[0]; p.File != want.File || p.Line != want.Line || p.Column != want.Column {
			u.t.Errorf("%s: %+v", text, p)
		}
	}
	var checked api.Checked
	text := "name: a\nurl: http://a.test/\nend: still 1s\nstepz: []\nmeazures: []\n"
	upload := api.Upload{Test: "t.yaml", Files: map[string]string{"t.yaml": text}}
	u.do("suite.check", api.CheckParams{Upload: upload}, &checked)
	if p := checked.Problems; len(p) != 2 || p[0].Line != 4 || p[1].Line != 5 {
		u.t.Errorf("two unknown keys: %+v", p)
	}
	u.do("subscribe", api.SubscribeParams{}, nil)
	u.do("preview.start", api.PreviewParams{Device: "local"}, nil)
	for kind := 0; kind != websocket.BinaryMessage; {
		var err error
		if kind, _, err = u.conn.ReadMessage(); err != nil {
			u.t.Fatal(err)
		}
	}
	u.do("preview.stop", api.Empty{}, nil)
	u.do("unsubscribe", api.Empty{}, nil)
}

// measures makes two sets of two runs, and ends a job before it begins.
func (u *user) measures(d *daemontest.Device) (sets [2]string) {
	all := 1.0
	start := api.StartParams{Test: "scene", Repeat: 2, NoVideo: true, MaxLost: &all, Seed: 1}
	var job api.Job
	for i := range sets {
		u.do("run.start", start, &job)
		if sets[i] = u.Ended(job.ID).ID; job.ID != sets[i] {
			u.t.Errorf("%s became %s", job.ID, sets[i])
		}
		if u.do("job.get", api.JobID{Job: job.ID}, &job); job.State != "ok" || job.Done != 2 {
			u.t.Errorf("%+v", job)
		}
	}
	defer d.Hold()()
	u.do("run.start", start, &job)
	u.do("run.cancel", api.JobID{Job: job.ID}, nil)
	if job = u.Ended(job.ID); job.State != "cancelled" {
		u.t.Errorf("%+v", job)
	}
	var jobs api.Jobs
	if u.do("job.list", api.Empty{}, &jobs); len(jobs.Jobs) != 3 {
		u.t.Errorf("%+v", jobs)
	}
	return sets
}

// finds looks sets and their runs up, holds them against each other, and keeps them.
func (u *user) finds(sets [2]string) {
	var runs api.Runs
	if u.do("run.list", api.ListParams{Set: sets[1]}, &runs); runs.Total != 2 {
		u.t.Fatalf("%+v", runs)
	}
	run := api.RunID{Run: runs.Runs[0].ID}
	u.do("run.get", run, nil)
	var found api.Sets
	if u.do("set.list", api.ListParams{Test: "scene"}, &found); found.Total < 2 {
		u.t.Errorf("%+v", found)
	}
	var trend api.Trend
	if u.do("trend", api.TrendParams{Test: "scene", Measure: "fps", Value: "framerate"}, &trend); len(
		trend.Points) != 2 {
		u.t.Errorf("%+v", trend)
	}
	u.do("baseline.set", api.Baseline{Name: "release", ID: sets[0]}, nil)
	var base api.Baselines
	if u.do("baseline.list", api.Empty{}, &base); len(base.Baselines) != 1 || base.Baselines[0].ID != sets[0] {
		u.t.Errorf("%+v", base)
	}
	var compared api.Compared
	u.do("compare", api.CompareParams{Base: "release", With: sets[1], Threshold: 0.5, Primary: "fps.framerate"},
		&compared)
	if compared.Base != sets[0] || compared.With != sets[1] || compared.Sentence != "0.5 [fps.framerate]" {
		u.t.Errorf("%+v", compared)
	}
	u.do("baseline.set", api.Baseline{Name: "release"}, nil)
	u.do("run.pin", api.PinParams{Run: sets[0], Pinned: true}, nil)
	if e := u.call("run.delete", api.RunID{Run: sets[0]}, nil); e == nil || e.Code != api.Conflict {
		u.t.Errorf("a set that is pinned: %+v", e)
	}
	u.do("run.pin", api.PinParams{Run: sets[0]}, nil)
	var job api.Job
	u.do("analyze.start", api.AnalyzeParams{Run: run.Run, NoVideo: true}, &job)
	if job = u.Ended(job.ID); job.State != "ok" {
		u.t.Errorf("%+v", job)
	}
}

// switches does to the device what admins do.
func (u *user) switches(plug string) {
	var d api.Device
	for _, step := range []struct {
		do string
		on bool
	}{{"on", true}, {"off", false}, {"on", true}} {
		if u.do("device.power", api.PowerParams{Device: "local", Do: step.do}, &d); d.State != "free" || !d.Power {
			u.t.Errorf("%+v", d)
		}
		if _, err := os.Stat(plug); step.on != (err == nil) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			u.t.Errorf("switched %s: %v", step.do, err)
		}
	}
	if e := u.call("device.power", api.PowerParams{Device: "local", Do: "off"}, nil); e != nil {
		u.t.Errorf("%+v", e)
	}
	if e := u.call("device.power", api.PowerParams{Device: "local", Do: "off"}, nil); e == nil || e.Code != api.Failed {
		u.t.Errorf("a command that fails: %+v", e)
	}
	var key api.Reserved
	if u.do("device.reserve", api.ReserveParams{Device: "local", ForNS: 1e9 * 60}, &key); key.Key == "" {
		u.t.Errorf("%+v", key)
	}
	u.do("device.reserve", api.ReserveParams{Device: "local", Release: true}, nil)
	if u.do("device.quarantine", api.QuarantineParams{Device: "local", Reason: "new cable"},
		&d); d.State != "quarantined" {
		u.t.Errorf("%+v", d)
	}
	if e := u.call("run.start", api.StartParams{Test: "scene"}, nil); e == nil || e.Code != api.Unavailable {
		u.t.Errorf("a device under quarantine: %+v", e)
	}
	u.do("device.quarantine", api.QuarantineParams{Device: "local", Lift: true}, nil)
	var list api.DeviceList
	if u.do("device.list", api.Empty{}, &list); len(list.Devices) != 1 || list.Devices[0].State != "free" {
		u.t.Errorf("%+v", list)
	}
}

// records makes a recording, and saves last seconds.
func (u *user) records() {
	shown := func() {
		u.t.Helper()
		before := u.Figures().Captured["local"]
		u.Until("frames", func() bool { return u.Figures().Captured["local"] > before+60 })
	}
	var recorded api.Recorded
	u.do("record.start", api.RecordParams{Device: "local"}, nil)
	shown()
	if e := u.call("record.start", api.RecordParams{Device: "local"}, nil); e == nil || e.Code != api.Busy {
		u.t.Errorf("a device that records: %+v", e)
	}
	if u.do("record.stop", api.StopParams{Device: "local"}, &recorded); recorded.Run == "" {
		u.t.Error("a recording that was stopped is not a run")
	}
	u.Until("the device to be free", func() bool { return u.Devices()[0].State == "free" })
	u.do("record.start", api.RecordParams{Device: "local", KeepLastNS: 1e9}, nil)
	shown()
	if u.do("record.keepLast", api.KeepParams{Device: "local"}, &recorded); recorded.Run == "" {
		u.t.Error("last seconds that were kept are no run")
	}
	u.do("record.stop", api.StopParams{Device: "local"}, nil)
}
