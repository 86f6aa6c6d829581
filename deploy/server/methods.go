package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/server/runweb"
	"github.com/eideticker/eideticker/deploy/store"
	"github.com/eideticker/eideticker/deploy/store/trend"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// allMethods binds the methods to what carries them out.
func (s *Server) allMethods() map[string]handler {
	d := s.daemon
	all := map[string]handler{
		"rig.status":   method(s.status),
		"sources.list": method(s.sources),
		"suite.list":   method(s.tests),
		"suite.get":    method(s.test),
		"suite.check":  method(s.check),
		"suite.schema": method(func(context.Context, *call, api.Empty) (json.RawMessage, error) {
			return suite.Schema(), nil
		}),

		"run.start": method(func(ctx context.Context, c *call, p api.StartParams) (api.Job, error) {
			return d.Start(ctx, c.owner(), p)
		}),
		"run.cancel": method(func(_ context.Context, c *call, p api.JobID) (api.Job, error) {
			j, err := d.Cancel(p.Job, c.may)
			return j, s.did(c, err, "job cancelled", "job", p.Job)
		}),
		"network.set": method(func(_ context.Context, c *call, p api.NetworkParams) (api.Line, error) {
			l, err := d.SetNetwork(c.owner(), c.may, p)
			return l, s.did(c, err, "network changed", "job", p.Job, "conditions", l.Conditions)
		}),
		"job.list": method(func(context.Context, *call, api.Empty) (api.Jobs,
			error) {
			return api.Jobs{Jobs: d.Jobs(true)}, nil
		}),
		"job.get": method(func(_ context.Context, _ *call, p api.JobID) (api.Job, error) { return d.Job(p.Job) }),

		"run.list":   method(s.runs),
		"run.get":    method(s.run),
		"run.delete": method(s.deleteRun),
		"run.pin":    method(s.pin),
		"set.list":   method(s.sets),
		"store.clean": method(func(_ context.Context, c *call, p api.CleanParams) (api.Cleaned, error) {
			done, err := d.Clean(p)
			return done, s.did(c, err, "unused files cleaned", "files", len(done.Files), "removed", p.Remove)
		}),
		"trend":          method(s.trend),
		"schedule.list":  method(s.schedules),
		"schedule.run":   method(s.startSchedule),
		"schedule.pause": method(s.pauseSchedule),
		"series.list":    trends(s, (*trend.DB).Series),
		"series.get":     trends(s, s.oneSeries),
		"change.list": trends(s, func(d *trend.DB, ctx context.Context, p api.ChangeListParams) (out api.ChangeList,
			err error) {
			out.Changes, err = d.Changes(ctx, p)
			return out, err
		}),
		"change.confirm": method(s.confirm),
		"change.dismiss": method(s.dismiss),
		"point.remove":   method(s.removePoints),
		"alert.list":     trends(s, s.alerts),
		"alert.set":      method(s.setAlert),
		"bisect.start":   bisects(s, s.startBisect),
		"bisect.cancel":  bisects(s, s.cancelBisect),
		"bisect.get": bisects(s, func(e Engine, _ context.Context, _ *call, p api.BisectID) (api.Bisect, error) {
			return e.Bisect(p.Bisect)
		}),
		"bisect.list": bisects(s, func(e Engine, _ context.Context, _ *call, _ api.Empty) (api.Bisects, error) {
			return e.Bisects(), nil
		}),
		"compare": method(s.compare),
		"baseline.list": method(func(context.Context, *call, api.Empty) (api.Baselines,
			error) {
			return s.baselines()
		}),
		"baseline.set": method(s.setBaseline),
		"analyze.start": method(func(ctx context.Context, c *call, p api.AnalyzeParams) (api.Job, error) {
			return d.Analyze(ctx, c.owner(), p)
		}),

		"record.start": method(func(ctx context.Context, c *call, p api.RecordParams) (api.Job, error) {
			j, err := d.Record(ctx, c.owner(), p)
			return j, s.did(c, err, "recording asked for", "device", p.Device, "job", j.ID)
		}),
		"record.stop": method(func(ctx context.Context, c *call, p api.StopParams) (api.Recorded, error) {
			id, err := d.Stop(ctx, p.Device, c.may)
			return api.Recorded{Run: id}, s.did(c, err, "recording ended", "device", p.Device, "run", id)
		}),
		"record.keepLast": method(func(ctx context.Context, c *call, p api.KeepParams) (api.Recorded, error) {
			id, err := d.KeepLast(ctx, p)
			return api.Recorded{Run: id}, s.did(c, err, "last seconds kept", "device", p.Device, "run", id)
		}),

		"device.list": method(func(context.Context, *call, api.Empty) (api.DeviceList, error) {
			return api.DeviceList{Devices: d.Devices()}, nil
		}),
		"device.reserve": method(func(_ context.Context, c *call, p api.ReserveParams) (api.Reserved, error) {
			return d.Reserve(c.owner(), c.role() == api.Admin, p)
		}),
		"device.quarantine": method(func(_ context.Context, c *call, p api.QuarantineParams) (api.Device, error) {
			out, err := d.Quarantine(p)
			return out, s.did(c, err, "quarantine asked for", "device", p.Device, "lift", p.Lift, "reason", p.Reason)
		}),
		"device.power": method(func(ctx context.Context, c *call, p api.PowerParams) (api.Device, error) {
			out, err := d.Power(ctx, p)
			return out, s.did(c, err, "power asked for", "device", p.Device, "do", p.Do)
		}),

		"build.list": method(s.builds),

		"subscribe": method(func(_ context.Context, c *call, p api.SubscribeParams) (api.Subscribed, error) {
			return c.socket.subscribe(p)
		}),
		"unsubscribe": method(func(_ context.Context, c *call, _ api.Empty) (api.Empty, error) {
			c.socket.unsubscribe()
			return api.Empty{}, nil
		}),
		"preview.start": method(func(_ context.Context, c *call, p api.PreviewParams) (api.PreviewStarted, error) {
			shown, leave, err := d.Preview(p.Device)
			if err != nil {
				return api.PreviewStarted{}, err
			}
			c.socket.show(shown, leave)
			return api.PreviewStarted{Device: p.Device, MaxWidth: api.PreviewWidth, MaxRate: api.PreviewRate}, nil
		}),
		"preview.stop": method(func(_ context.Context, c *call, _ api.Empty) (api.Empty, error) {
			c.socket.show(nil, nil)
			return api.Empty{}, nil
		}),
	}
	s.fleetMethods(all)
	return all
}

// did logs the caller of a visible change, if it succeeded.
func (s *Server) did(c *call, err error, what string, more ...any) error {
	if err == nil {
		s.daemon.Log().Info(what, append(more, "by", c.owner())...)
	}
	return err
}

func (s *Server) status(_ context.Context, c *call, _ api.Empty) (api.Status, error) {
	out := s.daemon.Status()
	if s.o.Archive != nil {
		out.Store.Archive = s.o.Archive.Problem()
	}
	out.Role, out.Owner, out.Clients = c.role(), c.owner(), int(s.clients.Load())
	return out, nil
}

// builds returns the builds of a feed. A feed that cannot be read has a reason.
func (s *Server) builds(ctx context.Context, _ *call, p api.BuildListParams) (api.BuildList, error) {
	if s.o.Builds == nil {
		return api.BuildList{}, api.Errorf(api.NotFound, "feed %.80q: no feeds are configured", p.Feed)
	}
	if p.Limit < 0 || p.Limit > api.MaxBuilds {
		return api.BuildList{}, api.Errorf(api.InvalidParams, "limit is %d: must be 1 to %d", p.Limit, api.MaxBuilds)
	}
	out := api.BuildList{Builds: []api.Build{}}
	all, err := s.o.Builds(ctx, p.Feed)
	if told := (*api.Error)(nil); errors.As(err, &told) {
		return out, err
	}
	if err != nil {
		out.Reason = err.Error()
	}
	all = all[max(0, len(all)-cmp.Or(p.Limit, 100)):]
	for _, b := range slices.Backward(all) {
		out.Builds = append(out.Builds, b)
	}
	return out, nil
}

func (s *Server) sources(ctx context.Context, _ *call, _ api.Empty) (json.RawMessage, error) {
	if s.o.Sources == nil {
		return nil, api.Errorf(api.Failed, "this rig does not tell its sources")
	}
	if err := s.work(ctx); err != nil {
		return nil, err
	}
	defer s.rest()
	raw, err := s.o.Sources()
	if err != nil {
		return nil, api.Errorf(api.Failed, "%v", err)
	}
	return raw, nil
}

// work waits for its turn among what takes long.
func (s *Server) work(ctx context.Context) error {
	select {
	case s.heavy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return api.Errorf(api.TooMany, "too much is asked for at once: ask again later")
	}
}

func (s *Server) rest() { <-s.heavy }

func (s *Server) tests(context.Context, *call, api.Empty) (api.Tests, error) {
	sources, known := s.daemon.Suite()
	all, err := suite.Tests(known, sources...)
	out := api.Tests{Tests: []api.Test{}, Problems: []api.TestProblem{},
		Networks: append([]string{}, known.Networks...)}
	for _, p := range policy.List() {
		if p.Name == policy.NameAB { // it needs files that a rig does not have
			continue
		}
		out.Policies = append(out.Policies, api.TestPolicy{Name: p.Name, Meaning: p.Meaning})
	}
	for _, t := range all {
		out.Tests = append(out.Tests, testInfo(t))
	}
	out.Problems = append(out.Problems, problems(err)...)
	return out, nil
}

// problems returns the errors about test files, with their places if these are known.
func problems(err error) (all []api.TestProblem) {
	for _, one := range suite.Parts(err) {
		p := api.TestProblem{Problem: one.Error()}
		var wrong *suite.Error
		if errors.As(one, &wrong) {
			p = api.TestProblem{File: wrong.File, Line: wrong.Line, Column: wrong.Column, Problem: wrong.Problem}
		}
		all = append(all, p)
	}
	return all
}

func (s *Server) check(_ context.Context, _ *call, p api.CheckParams) (api.Checked, error) {
	t, err := s.daemon.Check(&p.Upload)
	out := api.Checked{Problems: append([]api.TestProblem{}, problems(err)...)}
	if t != nil {
		out.Name = t.Name
	}
	return out, nil
}

func testInfo(t *suite.Test) api.Test {
	return api.Test{Name: t.Name, About: t.About, Standard: t.Standard, Measures: append([]string{}, t.Measures...),
		Repeat: t.Repeat}
}

func (s *Server) test(_ context.Context, _ *call, p api.TestName) (api.Test, error) {
	t, err := s.daemon.Test(p.Test)
	if err != nil {
		return api.Test{}, err
	}
	out := testInfo(t)
	out.Text = string(t.Text)
	return out, nil
}

// query makes the store's query of a client's.
func query(p api.ListParams) (store.Query, error) {
	q := store.Query{
		Text: p.Text, Test: p.Test, Device: p.Device, Browser: p.Browser, Label: p.Label, Branch: p.Branch,
		Revision: p.Revision,
		State:    session.State(p.State), Verdict: stats.Verdict(p.Verdict), Set: p.Set, From: at(p.FromWallNS),
		To: at(p.ToWallNS), Limit: p.Limit, Cursor: p.Cursor, Values: true,
	}
	if p.Limit < 0 || p.Limit > api.MaxLimit {
		return q, api.Errorf(api.InvalidParams, "limit is %d: must be 1 to %d", p.Limit, api.MaxLimit)
	}
	for _, text := range []string{p.Text, p.Test, p.Device, p.Browser, p.Label, p.Branch, p.Revision, p.State,
		p.Verdict, p.Set, p.Cursor} {
		if len(text) > api.MaxQuery {
			return q, api.Errorf(api.InvalidParams, "a search has at most %d bytes in each of its parts", api.MaxQuery)
		}
	}
	if n := len(strings.Fields(p.Text)); n > api.MaxWords {
		return q, api.Errorf(api.InvalidParams, "text has %d words, at most %d are looked for", n, api.MaxWords)
	}
	return q, nil
}

// at is a time that may be left out.
func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func (s *Server) runs(ctx context.Context, _ *call, p api.ListParams) (api.Runs, error) {
	q, err := query(p)
	if err != nil {
		return api.Runs{}, err
	}
	page, err := s.store.List(ctx, q)
	if err != nil {
		return api.Runs{}, daemon.StoreError(err)
	}
	out := api.Runs{Runs: []api.RunInfo{}, Next: page.Next, Total: int(page.Total)}
	for i := range page.Runs {
		r := runInfo(&page.Runs[i])
		r.Values = slices.DeleteFunc(r.Values, func(v api.Value) bool { return !looksFirst(v) })
		out.Runs = append(out.Runs, r)
	}
	return out, nil
}

// looksFirst reports whether a value is one that people look at first.
func looksFirst(v api.Value) bool {
	return slices.Contains([]string{
		"fps.framerate", "speedindex.pixel.speed_index", "response.latency_p50", "tearing.torn_frames",
		"checkerboard.checkerboarded_frames", "scroll.distance", "windowopen.opened",
	}, v.Measure+"."+v.Name)
}

func runInfo(r *store.Run) api.RunInfo {
	out := api.RunInfo{
		ID: r.ID, Set: r.Set, Test: r.Test, Device: r.Device, Browser: r.Browser, BrowserVersion: r.Build,
		Label: r.Label, Branch: r.Branch, Revision: r.Revision,
		State: string(r.State), Reason: r.Reason, StartedWallNS: r.Started.UnixNano(), ElapsedNS: int64(r.Elapsed),
		Frames: r.Frames, Lost: r.Lost, Bytes: r.Bytes,
		Pinned: r.Pinned, Verdict: string(r.Verdict), Base: r.Base, WarmUp: r.WarmUp, Values: []api.Value{},
	}
	for _, v := range r.Values {
		out.Values = append(out.Values, api.Value{
			Measure: v.Measure, Name: v.Name, Unit: v.Unit, Window: v.Window, Value: v.Value, Low: v.Low, High: v.High,
			State: string(v.State), Text: wording.Measured{
				Value: v.Value, Low: v.Low, High: v.High, Unit: v.Unit, Bounded: v.State == analyze.Bounded,
			}.Text(),
		})
	}
	return out
}

func (s *Server) run(ctx context.Context, _ *call, p api.RunID) (api.RunDetail, error) {
	r, err := s.store.Get(ctx, p.Run)
	if err != nil {
		return api.RunDetail{}, daemon.StoreError(err)
	}
	out := api.RunDetail{RunInfo: runInfo(&r), Environment: r.Environment, Files: []api.File{}}
	if out.Environment == nil {
		out.Environment = map[string]string{}
	}
	root, err := s.store.Folder(p.Run)
	if err != nil {
		return out, daemon.StoreError(err)
	}
	defer root.Close() // was only read
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && runweb.Hidden(name):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type().IsRegular():
			if st, err := entry.Info(); err == nil {
				out.Files = append(out.Files, api.File{Name: name, Bytes: st.Size()})
			}
		}
		if len(out.Files) >= maxListed {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return out, api.Errorf(api.NotFound, "%s is being deleted", p.Run)
	}
	return out, nil
}

// maxListed bounds the listed files of a run.
const maxListed = 2000

func (s *Server) deleteRun(ctx context.Context, c *call, p api.RunID) (api.Deleted, error) {
	if s.daemon.AtWork(p.Run) {
		return api.Deleted{}, api.Errorf(api.Busy, "run %s is being made or measured: cancel the job first", p.Run)
	}
	if err := s.store.Delete(ctx, p.Run); err != nil {
		return api.Deleted{}, daemon.StoreError(err)
	}
	s.daemon.Log().Info("run deleted", "run", p.Run, "by", c.owner())
	s.daemon.Changed(p.Run, "deleted")
	return api.Deleted(p), nil
}

func (s *Server) pin(ctx context.Context, c *call, p api.PinParams) (api.PinParams, error) {
	if err := s.store.Pin(ctx, p.Run, p.Pinned); err != nil {
		return p, daemon.StoreError(err)
	}
	s.daemon.Changed(p.Run, "changed")
	return p, s.did(c, nil, "run pinned or unpinned", "run", p.Run, "pinned", p.Pinned)
}

func (s *Server) sets(ctx context.Context, _ *call, p api.ListParams) (api.Sets, error) {
	q, err := query(p)
	if err != nil {
		return api.Sets{}, err
	}
	page, err := s.store.Sets(ctx, q)
	if err != nil {
		return api.Sets{}, daemon.StoreError(err)
	}
	out := api.Sets{Sets: []api.SetInfo{}, Next: page.Next, Total: int(page.Total)}
	for _, o := range page.Sets {
		verdicts := []string{}
		for _, v := range o.Verdicts {
			verdicts = append(verdicts, string(v))
		}
		out.Sets = append(out.Sets, api.SetInfo{
			ID: o.ID, Test: o.Test, Label: o.Label, Branch: o.Branch, Revision: o.Revision,
			StartedWallNS: o.Started.UnixNano(), Runs: o.Runs,
			OK: o.States[session.Passed], Failed: o.States[session.Failed], Rejected: o.States[session.Rejected],
			Devices: append([]string{}, o.Devices...), Browsers: append([]string{}, o.Browsers...), Verdicts: verdicts,
			Counting: o.Counting, Bytes: o.Bytes, Pinned: o.Pinned,
		})
	}
	return out, nil
}

func (s *Server) trend(ctx context.Context, _ *call, p api.TrendParams) (api.Trend, error) {
	if p.Limit < 0 || p.Limit > store.MaxPoints {
		return api.Trend{}, api.Errorf(api.InvalidParams, "limit is %d: must be 1 to %d", p.Limit, store.MaxPoints)
	}
	if p.Test == "" || p.Measure == "" || p.Value == "" {
		return api.Trend{}, api.Errorf(api.InvalidParams, "needs a test, a measure and a value")
	}
	t, err := s.store.Trend(ctx, store.TrendQuery{
		Test: p.Test, Device: p.Device, Browser: p.Browser, Branch: p.Branch, Measure: p.Measure, Value: p.Value,
		Window: p.Window,
		From:   at(p.FromWallNS), To: at(p.ToWallNS), Limit: p.Limit,
	})
	if err != nil {
		return api.Trend{}, daemon.StoreError(err)
	}
	out := api.Trend{Unit: t.Unit, Points: []api.Point{}}
	if t.Better != analyze.Neither {
		out.Better = string(t.Better)
	}
	for _, o := range t.Points {
		m := wording.Measured{Value: o.Median, Low: o.Low, High: o.High, Unit: t.Unit, Bounded: o.Interval}
		out.Points = append(out.Points, api.Point{
			ID: o.ID, Variant: o.Variant, StartedWallNS: o.Started.UnixNano(), Runs: o.N, Device: o.Device,
			Browser: o.Browser,
			Median:  o.Median, Interval: o.Interval, Low: o.Low, High: o.High, Text: m.Text(), IntervalText: m.Bounds(),
			Verdict: string(o.Verdict), Reason: o.Reason, Before: o.Before, Label: o.Label, Revision: o.Revision,
		})
	}
	return out, nil
}

// compare holds two runs or sets against each other, by ID or by the name of a baseline.
func (s *Server) compare(ctx context.Context, _ *call, p api.CompareParams) (*api.Compared, error) {
	if s.o.Compare == nil {
		return nil, api.Errorf(api.Failed, "this rig does not compare")
	}
	if !(p.Threshold >= 0 && p.Threshold <= 10) {
		return nil, api.Errorf(api.InvalidParams, "threshold is %v: must be 0 to 10", p.Threshold)
	}
	var ids, dirs [2]string
	for i, name := range []string{p.Base, p.With} {
		if ids[i] = name; s.o.Fleet != nil && strings.Contains(name, "/") {
			var err error
			if dirs[i], err = s.o.Fleet.Folder(name); err != nil {
				return nil, err
			}
			continue
		}
		id, err := s.named(ctx, name)
		if err != nil {
			return nil, err
		}
		release, err := s.store.Use(id)
		if err != nil {
			return nil, daemon.StoreError(err)
		}
		defer release()
		if dirs[i], err = s.store.Path(id); err != nil {
			return nil, daemon.StoreError(err)
		}
		ids[i] = id
	}
	if err := s.work(ctx); err != nil {
		return nil, err
	}
	defer s.rest()
	out, err := s.o.Compare(ctx, dirs[0], dirs[1], CompareOptions{p.Threshold, p.Primaries(), p.JudgeAll,
		p.JudgeUnlike, s.testOf(ctx, ids[1])})
	if err != nil {
		return nil, api.Errorf(api.Failed, "%v", err)
	}
	out.Base, out.With = ids[0], ids[1]
	return out, nil
}

// testOf returns the test that runs were made of, or nil where the rig has none of that name.
func (s *Server) testOf(ctx context.Context, id string) *suite.Test {
	name := ""
	if set, err := s.store.GetSet(ctx, id); err == nil {
		name = set.Test
	} else if r, err := s.store.Get(ctx, id); err == nil {
		name = r.Test
	}
	if name == "" {
		return nil
	}
	t, err := s.daemon.Test(name)
	if err != nil {
		return nil
	}
	return t
}

// named returns the ID that a name stands for, which is one itself or that of a baseline.
func (s *Server) named(ctx context.Context, name string) (string, error) {
	if id, err := s.store.Baseline(ctx, name); err == nil {
		return id, nil
	}
	if err := store.CheckID(name); err != nil {
		return "", daemon.StoreError(err)
	}
	return name, nil
}

func (s *Server) baselines() (api.Baselines, error) {
	all, err := s.store.Baselines()
	out := api.Baselines{Baselines: []api.Baseline{}}
	for name, id := range all {
		out.Baselines = append(out.Baselines, api.Baseline{Name: name, ID: id})
	}
	slices.SortFunc(out.Baselines, func(a, b api.Baseline) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func (s *Server) setBaseline(ctx context.Context, c *call, p api.Baseline) (api.Baselines, error) {
	if err := s.store.SetBaseline(ctx, p.Name, p.ID); err != nil {
		var told *api.Error
		if errors.As(daemon.StoreError(err), &told) {
			return api.Baselines{}, told
		}
		return api.Baselines{}, api.Errorf(api.InvalidParams, "%v", err)
	}
	s.daemon.Log().Info("baseline set", "name", p.Name, "id", p.ID, "by", c.owner())
	return s.baselines()
}
