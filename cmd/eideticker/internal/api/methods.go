package api

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/api/wire"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/daemon"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/runweb"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/session"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/store"
	"github.com/eideticker/eideticker/controller/suite"
)

// allMethods binds the methods to what carries them out.
func (s *Server) allMethods() map[string]handler {
	d := s.daemon
	return map[string]handler{
		"rig.status":   method(s.status),
		"sources.list": method(s.sources),
		"suite.list":   method(s.tests),
		"suite.get":    method(s.test),

		"run.start": method(func(ctx context.Context, c *call, p wire.StartParams) (wire.Job, error) {
			return d.Start(ctx, c.owner(), p)
		}),
		"run.cancel": method(func(_ context.Context, c *call, p wire.JobID) (wire.Job, error) {
			j, err := d.Cancel(p.Job, c.may)
			return j, s.did(c, err, "job cancelled", "job", p.Job)
		}),
		"network.set": method(func(_ context.Context, c *call, p wire.NetworkParams) (wire.Line, error) {
			l, err := d.SetNetwork(c.owner(), c.may, p)
			return l, s.did(c, err, "network changed", "job", p.Job, "conditions", l.Conditions)
		}),
		"job.list": method(func(context.Context, *call, wire.Empty) (wire.Jobs, error) { return wire.Jobs{Jobs: d.Jobs(true)}, nil }),
		"job.get":  method(func(_ context.Context, _ *call, p wire.JobID) (wire.Job, error) { return d.Job(p.Job) }),

		"run.list":      method(s.runs),
		"run.get":       method(s.run),
		"run.delete":    method(s.deleteRun),
		"run.pin":       method(s.pin),
		"set.list":      method(s.sets),
		"trend":         method(s.trend),
		"compare":       method(s.compare),
		"baseline.list": method(func(context.Context, *call, wire.Empty) (wire.Baselines, error) { return s.baselines() }),
		"baseline.set":  method(s.setBaseline),
		"analyze.start": method(func(ctx context.Context, c *call, p wire.AnalyzeParams) (wire.Job, error) {
			return d.Analyze(ctx, c.owner(), p)
		}),

		"record.start": method(func(ctx context.Context, c *call, p wire.RecordParams) (wire.Job, error) {
			j, err := d.Record(ctx, c.owner(), p)
			return j, s.did(c, err, "recording asked for", "device", p.Device, "job", j.ID)
		}),
		"record.stop": method(func(ctx context.Context, c *call, p wire.StopParams) (wire.Recorded, error) {
			id, err := d.Stop(ctx, p.Device, c.may)
			return wire.Recorded{Run: id}, s.did(c, err, "recording ended", "device", p.Device, "run", id)
		}),
		"record.keepLast": method(func(ctx context.Context, c *call, p wire.KeepParams) (wire.Recorded, error) {
			id, err := d.KeepLast(ctx, p)
			return wire.Recorded{Run: id}, s.did(c, err, "last seconds kept", "device", p.Device, "run", id)
		}),

		"device.list": method(func(context.Context, *call, wire.Empty) (wire.DeviceList, error) {
			return wire.DeviceList{Devices: d.Devices()}, nil
		}),
		"device.reserve": method(func(_ context.Context, c *call, p wire.ReserveParams) (wire.Reserved, error) {
			return d.Reserve(c.owner(), c.role() == wire.Admin, p)
		}),
		"device.quarantine": method(func(_ context.Context, c *call, p wire.QuarantineParams) (wire.Device, error) {
			out, err := d.Quarantine(p)
			return out, s.did(c, err, "quarantine asked for", "device", p.Device, "lift", p.Lift, "reason", p.Reason)
		}),
		"device.power": method(func(ctx context.Context, c *call, p wire.PowerParams) (wire.Device, error) {
			out, err := d.Power(ctx, p)
			return out, s.did(c, err, "power asked for", "device", p.Device, "do", p.Do)
		}),

		"subscribe": method(func(_ context.Context, c *call, p wire.SubscribeParams) (wire.Subscribed, error) {
			return c.socket.subscribe(p)
		}),
		"unsubscribe": method(func(_ context.Context, c *call, _ wire.Empty) (wire.Empty, error) {
			c.socket.unsubscribe()
			return wire.Empty{}, nil
		}),
		"preview.start": method(func(_ context.Context, c *call, p wire.PreviewParams) (wire.PreviewStarted, error) {
			shown, leave, err := d.Preview(p.Device)
			if err != nil {
				return wire.PreviewStarted{}, err
			}
			c.socket.show(shown, leave)
			return wire.PreviewStarted{Device: p.Device, MaxWidth: wire.PreviewWidth, MaxRate: wire.PreviewRate}, nil
		}),
		"preview.stop": method(func(_ context.Context, c *call, _ wire.Empty) (wire.Empty, error) {
			c.socket.show(nil, nil)
			return wire.Empty{}, nil
		}),
	}
}

// did writes into the log who has done something that others see, if nothing went wrong.
func (s *Server) did(c *call, err error, what string, more ...any) error {
	if err == nil {
		s.daemon.Log().Info(what, append(more, "by", c.owner())...)
	}
	return err
}

func (s *Server) status(_ context.Context, c *call, _ wire.Empty) (wire.Status, error) {
	out := s.daemon.Status()
	out.Role, out.Owner, out.Clients = c.role(), c.owner(), int(s.clients.Load())
	return out, nil
}

func (s *Server) sources(ctx context.Context, _ *call, _ wire.Empty) (json.RawMessage, error) {
	if s.o.Sources == nil {
		return nil, wire.Errorf(wire.Failed, "this rig does not tell its sources")
	}
	if err := s.work(ctx); err != nil {
		return nil, err
	}
	defer s.rest()
	raw, err := s.o.Sources()
	if err != nil {
		return nil, wire.Errorf(wire.Failed, "%v", err)
	}
	return raw, nil
}

// work waits for its turn among what takes long.
func (s *Server) work(ctx context.Context) error {
	select {
	case s.heavy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return wire.Errorf(wire.TooMany, "too much is asked for at once: ask again later")
	}
}

func (s *Server) rest() { <-s.heavy }

func (s *Server) tests(context.Context, *call, wire.Empty) (wire.Tests, error) {
	sources, known := s.daemon.Suite()
	all, err := suite.Tests(known, sources...)
	out := wire.Tests{Tests: []wire.Test{}, Problems: []wire.TestProblem{}}
	for _, t := range all {
		out.Tests = append(out.Tests, testInfo(t))
	}
	for _, one := range separate(err) {
		p := wire.TestProblem{Problem: one.Error()}
		var wrong *suite.Error
		if errors.As(one, &wrong) {
			p = wire.TestProblem{File: wrong.File, Line: wrong.Line, Column: wrong.Column, Problem: wrong.Problem}
		}
		out.Problems = append(out.Problems, p)
	}
	return out, nil
}

// separate returns the errors that one is joined of.
func separate(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, separate(one)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func testInfo(t *suite.Test) wire.Test {
	return wire.Test{Name: t.Name, About: t.About, Standard: t.Standard, Measures: append([]string{}, t.Measures...), Repeat: t.Repeat}
}

func (s *Server) test(_ context.Context, _ *call, p wire.TestName) (wire.Test, error) {
	t, err := s.daemon.Test(p.Test)
	if err != nil {
		return wire.Test{}, err
	}
	out := testInfo(t)
	out.Text = string(t.Text)
	return out, nil
}

// query makes the store's query of a client's.
func query(p wire.ListParams) (store.Query, error) {
	q := store.Query{
		Text: p.Text, Test: p.Test, Device: p.Device, Browser: p.Browser, Label: p.Label, Branch: p.Branch, Revision: p.Revision,
		State: session.State(p.State), Verdict: stats.Verdict(p.Verdict), Set: p.Set, From: at(p.FromWallNS), To: at(p.ToWallNS), Limit: p.Limit, Cursor: p.Cursor, Values: true,
	}
	if p.Limit < 0 || p.Limit > wire.MaxLimit {
		return q, wire.Errorf(wire.InvalidParams, "limit is %d, want 1 to %d", p.Limit, wire.MaxLimit)
	}
	for _, text := range []string{p.Text, p.Test, p.Device, p.Browser, p.Label, p.Branch, p.Revision, p.State, p.Verdict, p.Set, p.Cursor} {
		if len(text) > wire.MaxQuery {
			return q, wire.Errorf(wire.InvalidParams, "a search has at most %d bytes in each of its parts", wire.MaxQuery)
		}
	}
	if n := len(strings.Fields(p.Text)); n > wire.MaxWords {
		return q, wire.Errorf(wire.InvalidParams, "text has %d words, at most %d are looked for", n, wire.MaxWords)
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

func (s *Server) runs(ctx context.Context, _ *call, p wire.ListParams) (wire.Runs, error) {
	q, err := query(p)
	if err != nil {
		return wire.Runs{}, err
	}
	page, err := s.store.List(ctx, q)
	if err != nil {
		return wire.Runs{}, daemon.StoreError(err)
	}
	out := wire.Runs{Runs: []wire.RunInfo{}, Next: page.Next, Total: int(page.Total)}
	for i := range page.Runs {
		r := runInfo(&page.Runs[i])
		r.Values = slices.DeleteFunc(r.Values, func(v wire.Value) bool { return !looksFirst(v) })
		out.Runs = append(out.Runs, r)
	}
	return out, nil
}

// looksFirst reports whether a value is one that people look at first.
func looksFirst(v wire.Value) bool {
	return slices.Contains([]string{
		"fps.framerate", "speedindex.pixel.speed_index", "response.latency_p50", "tearing.torn_frames", "checkerboard.checkerboarded_frames", "scroll.distance", "windowopen.opened",
	}, v.Measure+"."+v.Name)
}

func runInfo(r *store.Run) wire.RunInfo {
	out := wire.RunInfo{
		ID: r.ID, Set: r.Set, Test: r.Test, Device: r.Device, Browser: r.Browser, BrowserVersion: r.Build, Label: r.Label, Branch: r.Branch, Revision: r.Revision,
		State: string(r.State), Reason: r.Reason, StartedWallNS: r.Started.UnixNano(), ElapsedNS: int64(r.Elapsed), Frames: r.Frames, Lost: r.Lost, Bytes: r.Bytes,
		Pinned: r.Pinned, Verdict: string(r.Verdict), Base: r.Base, WarmUp: r.WarmUp, Values: []wire.Value{},
	}
	for _, v := range r.Values {
		out.Values = append(out.Values, wire.Value{
			Measure: v.Measure, Name: v.Name, Unit: v.Unit, Window: v.Window, Value: v.Value, Low: v.Low, High: v.High, State: string(v.State),
		})
	}
	return out
}

func (s *Server) run(ctx context.Context, _ *call, p wire.RunID) (wire.RunDetail, error) {
	r, err := s.store.Get(ctx, p.Run)
	if err != nil {
		return wire.RunDetail{}, daemon.StoreError(err)
	}
	out := wire.RunDetail{RunInfo: runInfo(&r), Environment: r.Environment, Files: []wire.File{}}
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
				out.Files = append(out.Files, wire.File{Name: name, Bytes: st.Size()})
			}
		}
		if len(out.Files) >= maxListed {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return out, wire.Errorf(wire.NotFound, "%s is being deleted", p.Run)
	}
	return out, nil
}

// maxListed is how many files of a run are told.
const maxListed = 2000

func (s *Server) deleteRun(ctx context.Context, c *call, p wire.RunID) (wire.Deleted, error) {
	if s.daemon.AtWork(p.Run) {
		return wire.Deleted{}, wire.Errorf(wire.Busy, "run %s is being made or measured: cancel the job first", p.Run)
	}
	if err := s.store.Delete(ctx, p.Run); err != nil {
		return wire.Deleted{}, daemon.StoreError(err)
	}
	s.daemon.Log().Info("run deleted", "run", p.Run, "by", c.owner())
	s.daemon.Changed(p.Run, "deleted")
	return wire.Deleted(p), nil
}

func (s *Server) pin(ctx context.Context, c *call, p wire.PinParams) (wire.PinParams, error) {
	if err := s.store.Pin(ctx, p.Run, p.Pinned); err != nil {
		return p, daemon.StoreError(err)
	}
	s.daemon.Changed(p.Run, "changed")
	return p, s.did(c, nil, "run pinned or unpinned", "run", p.Run, "pinned", p.Pinned)
}

func (s *Server) sets(ctx context.Context, _ *call, p wire.ListParams) (wire.Sets, error) {
	q, err := query(p)
	if err != nil {
		return wire.Sets{}, err
	}
	page, err := s.store.Sets(ctx, q)
	if err != nil {
		return wire.Sets{}, daemon.StoreError(err)
	}
	out := wire.Sets{Sets: []wire.SetInfo{}, Next: page.Next, Total: int(page.Total)}
	for _, o := range page.Sets {
		verdicts := []string{}
		for _, v := range o.Verdicts {
			verdicts = append(verdicts, string(v))
		}
		out.Sets = append(out.Sets, wire.SetInfo{
			ID: o.ID, Test: o.Test, Label: o.Label, Branch: o.Branch, Revision: o.Revision, StartedWallNS: o.Started.UnixNano(), Runs: o.Runs,
			OK: o.States[session.Passed], Failed: o.States[session.Failed], Rejected: o.States[session.Rejected],
			Devices: append([]string{}, o.Devices...), Browsers: append([]string{}, o.Browsers...), Verdicts: verdicts, Counting: o.Counting, Bytes: o.Bytes, Pinned: o.Pinned,
		})
	}
	return out, nil
}

func (s *Server) trend(ctx context.Context, _ *call, p wire.TrendParams) (wire.Trend, error) {
	if p.Limit < 0 || p.Limit > store.MaxPoints {
		return wire.Trend{}, wire.Errorf(wire.InvalidParams, "limit is %d, want 1 to %d", p.Limit, store.MaxPoints)
	}
	if p.Test == "" || p.Measure == "" || p.Value == "" {
		return wire.Trend{}, wire.Errorf(wire.InvalidParams, "needs a test, a measure and a value")
	}
	t, err := s.store.Trend(ctx, store.TrendQuery{
		Test: p.Test, Device: p.Device, Browser: p.Browser, Branch: p.Branch, Measure: p.Measure, Value: p.Value, Window: p.Window,
		From: at(p.FromWallNS), To: at(p.ToWallNS), Limit: p.Limit,
	})
	if err != nil {
		return wire.Trend{}, daemon.StoreError(err)
	}
	out := wire.Trend{Unit: t.Unit, Points: []wire.Point{}}
	if t.Better != analyze.Neither {
		out.Better = string(t.Better)
	}
	for _, o := range t.Points {
		out.Points = append(out.Points, wire.Point{
			ID: o.ID, StartedWallNS: o.Started.UnixNano(), Runs: o.N, Device: o.Device, Browser: o.Browser, Median: o.Median, Interval: o.Interval, Low: o.Low, High: o.High,
			Verdict: string(o.Verdict), Reason: o.Reason, Before: o.Before, Label: o.Label, Revision: o.Revision,
		})
	}
	return out, nil
}

// compare holds two runs or sets against each other, by ID or by the name of a baseline.
func (s *Server) compare(ctx context.Context, _ *call, p wire.CompareParams) (*wire.Compared, error) {
	if s.o.Compare == nil {
		return nil, wire.Errorf(wire.Failed, "this rig does not compare")
	}
	if !(p.Threshold >= 0 && p.Threshold <= 10) {
		return nil, wire.Errorf(wire.InvalidParams, "threshold is %v, want 0 to 10", p.Threshold)
	}
	var ids, dirs [2]string
	for i, name := range []string{p.Base, p.With} {
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
	out, err := s.o.Compare(ctx, dirs[0], dirs[1], CompareOptions{p.Threshold, p.Primary, s.testOf(ctx, ids[1])})
	if err != nil {
		return nil, wire.Errorf(wire.Failed, "%v", err)
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

func (s *Server) baselines() (wire.Baselines, error) {
	all, err := s.store.Baselines()
	out := wire.Baselines{Baselines: []wire.Baseline{}}
	for name, id := range all {
		out.Baselines = append(out.Baselines, wire.Baseline{Name: name, ID: id})
	}
	slices.SortFunc(out.Baselines, func(a, b wire.Baseline) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func (s *Server) setBaseline(ctx context.Context, c *call, p wire.Baseline) (wire.Baselines, error) {
	if err := s.store.SetBaseline(ctx, p.Name, p.ID); err != nil {
		var told *wire.Error
		if errors.As(daemon.StoreError(err), &told) {
			return wire.Baselines{}, told
		}
		return wire.Baselines{}, wire.Errorf(wire.InvalidParams, "%v", err)
	}
	s.daemon.Log().Info("baseline set", "name", p.Name, "id", p.ID, "by", c.owner())
	return s.baselines()
}
