package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// Scripts are a third process. Each realm has a track with its calls as nested slices. A call that
// awaits or yields overlaps others. So it has a further track, with the calls that it made.
// Errors are instants. Without script.log, slices are the tasks of the results.
//
// Slices use the middle of the bounds on the realm's clock. Calls are claims of the page. A claim
// before the trace's first time is cut there.
const (
	scriptPID      = 3
	firstScriptTID = 1 << 21 // behind the tracks of requests
	usualCalls     = 200_000
	maxCallRows    = 8   // tracks of one realm
	maxScriptName  = 200 // characters
)

// scriptTrack is a track of slices that are apart or nested, in the order of their begins.
type scriptTrack struct {
	name     string
	slices   []scriptSlice
	instants []scriptSlice // From only
	open     []openCall
}

type scriptSlice struct {
	name     string
	from, to timeline.Time
	args     any
}

// openCall is a call on a track that had not ended at the begin of the last one.
type openCall struct {
	call int32 // index in the realm
	end  int64
}

type callArgs struct {
	URL     string `json:"url"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Self    micros `json:"self_us"` // as measured, with the cost of the instrumentation
	Threw   bool   `json:"threw,omitempty"`
	Open    bool   `json:"open,omitempty"` // its end is unknown
	Awaited micros `json:"suspended_us,omitempty"`
}

type taskArgs struct {
	Calls int    `json:"calls"`
	URL   string `json:"url,omitempty"` // of the function with the longest self time
	Line  int    `json:"line,omitempty"`
}

type errorArgs struct {
	Kind   string `json:"kind"`
	URL    string `json:"url"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Count  int    `json:"count"`
}

// requestOfPage is about a request, as its page states it.
type requestOfPage struct {
	By        string `json:"by"`            // initiator
	FirstByte int64  `json:"first_byte_us"` // after the begin; -1: not stated
}

type gapOfScript struct {
	Records int64 `json:"records"`
}

// scriptInfo is about the slices of scripts.
type scriptInfo struct {
	Calls   int    `json:"calls"` // slices
	Left    int    `json:"calls_left_out"`
	Within  micros `json:"clock_within_us"` // width of the bounds between the clocks
	Problem string `json:"problem,omitempty"`
	Note    string `json:"note"`
}

// scriptsOfRun are the tracks of scripts.
type scriptsOfRun struct {
	tracks []*scriptTrack
	info   scriptInfo
}

// readScripts reads the scripts from script.log, or else from the results. It returns nil without
// either.
func (t *traceWriter) readScripts(from, to timeline.Time) (*scriptsOfRun, error) {
	if t.NoEvents {
		return nil, nil
	}
	s := &scriptsOfRun{}
	if t.Scripts != "" {
		run, problem, err := t.readLog()
		if err != nil {
			return nil, err
		}
		s.info.Problem = problem
		s.calls(run, from, to, cmp.Or(t.MaxCalls, usualCalls))
		return s, nil
	}
	r, err := t.results()
	if err != nil || r == nil || r.Script == nil {
		return nil, err
	}
	s.tasks(r.Script, from, to)
	return s, nil
}

// WriteTrace writes the longest calls of a run's scripts as a trace without frames.
func WriteTrace(ctx context.Context, w io.Writer, run *scripts.Run) error {
	t := traceWriter{ctx: ctx, traceEncoder: &jsonTrace{w: w}, scripts: &scriptsOfRun{}}
	t.scripts.calls(run, math.MinInt64, math.MaxInt64, usualCalls)
	t.origin = math.MaxInt64
	for _, r := range run.Trace.Realms {
		t.origin = min(t.origin, r.When(r.Begin).Mid())
	}
	t.scriptSlices()
	if t.err != nil {
		return t.err
	}
	return t.end(map[string]any{"scripts": t.scripts.info})
}

// readLog reads the files of the run folder. A damaged end of the log is a problem, not an error.
func (s *Selection) readLog() (run *scripts.Run, problem string, err error) {
	run, problem, err = scripts.ReadFolder(s.Scripts)
	if err != nil {
		return nil, "", err
	}
	if id := fmt.Sprintf("%x", s.Reader.Info().ID); run.Info.Recording != "" && run.Info.Recording != id {
		return nil, "", fmt.Errorf("read %s: it is of another recording; export the recording.eid instead",
			filepath.Join(s.Scripts, scripts.InfoFile))
	}
	return run, problem, nil
}

// realmName names a track.
func realmName(kind, url string) string {
	if kind == result.RealmWindow {
		kind = "main"
	}
	return wording.Short(kind+" "+url, maxScriptName)
}

// tasks adds the tasks, errors and gaps of results.
func (s *scriptsOfRun) tasks(of *result.Script, from, to timeline.Time) {
	inside := func(begin, end int64) bool { return timeline.Time(begin) < to && timeline.Time(end) >= from }
	for i, realm := range of.Realms {
		track := &scriptTrack{name: realmName(realm.Kind, realm.URL)}
		for _, k := range of.Tasks {
			if k.Realm != i || !inside(k.BeginNS, k.EndNS) {
				continue
			}
			name, args := "task", taskArgs{Calls: k.Calls}
			if k.Function >= 0 {
				f := &of.Functions[k.Function]
				name, args.URL, args.Line = f.Name, f.URL, f.Line
			}
			track.add(name, timeline.Time(k.BeginNS), timeline.Time(k.EndNS), args)
		}
		s.tracks = append(s.tracks, track)
	}
	errors, lost := &scriptTrack{name: "errors"}, &scriptTrack{name: "lost records"}
	for _, e := range of.Errors {
		if inside(e.AtNS, e.AtNS) {
			errors.instants = append(errors.instants, scriptSlice{name: wording.Short(cmp.Or(e.Message, e.URL),
				maxScriptName),
				from: timeline.Time(e.AtNS), args: errorArgs{e.Kind, e.URL, e.Line, e.Column, e.Count}})
		}
	}
	for _, g := range of.Gaps {
		if inside(g.FromNS, g.ToNS) {
			lost.add("lost: "+g.Cause, timeline.Time(g.FromNS), timeline.Time(g.ToNS), gapOfScript{g.Records})
		}
	}
	s.tracks = append(s.tracks, errors, lost)
	s.info.Within = micros(of.ClockNS)
	s.info.Note = "script.log is missing: slices are the longest tasks, not calls"
	s.tidy()
}

// calls adds the calls, errors and gaps of all realms.
func (s *scriptsOfRun) calls(run *scripts.Run, from, to timeline.Time, most int) {
	chosen, left := longestCalls(run.Trace, from, to, most)
	kinds := map[record.RealmKind]string{record.Window: result.RealmWindow, record.Frame: result.RealmFrame,
		record.Worker: result.RealmWorker, record.Node: result.RealmNode}
	for i, realm := range run.Trace.Realms {
		at := func(page int64) timeline.Time { return realm.When(page).Mid() }
		rows := []*scriptTrack{{name: realmName(kinds[realm.Kind], realm.URL)}}
		for _, n := range chosen[i] {
			c := &realm.Calls[n]
			row := rowFor(&rows, n, c)
			if row == nil {
				left++
				continue
			}
			name := fmt.Sprintf("function %d, which was not served", c.Function)
			args := callArgs{Self: micros(c.Self), Threw: c.Threw, Open: c.Open,
				Awaited: micros(c.End - c.Begin - c.Total)}
			if p, f := run.Function(c.Function); f != nil {
				name, args.URL, args.Line, args.Column = f.Name, p.URL, f.Line, f.Column
			}
			row.add(name, at(c.Begin), at(c.End), args)
			s.info.Calls++
		}
		lost := &scriptTrack{name: rows[0].name + ", lost records"}
		for _, g := range realm.Gaps {
			if at(g.From) < to && at(g.To) >= from {
				lost.add("lost records", at(g.From), at(g.To), gapOfScript{g.Records})
			}
		}
		for _, e := range realm.Events {
			d := &e.Detail
			if when := at(e.At); when >= from && when < to && d.Kind != "blocked" && d.Kind != "plain" &&
				d.Kind != "request" {
				rows[0].instants = append(rows[0].instants, scriptSlice{
					name: wording.Short(cmp.Or(d.Message, d.URL, d.Kind), maxScriptName), from: when,
					args: errorArgs{d.Kind, d.URL, d.Line, run.Column(d.URL, d.Line, d.Column), 1}})
			}
		}
		s.tracks = slices.Concat(s.tracks, rows, []*scriptTrack{lost}, claimedRequests(realm, rows[0].name, from, to))
		s.info.Within = max(s.info.Within, micros(realm.Offset.Width()))
	}
	s.info.Left = left
	s.info.Note = "each call is a slice; its time includes the cost of the instrumentation"
	if left > 0 {
		s.info.Note = fmt.Sprintf("the longest calls are slices; %d shorter or overlapping ones are left out", left)
	}
	s.tidy()
}

// claimedRequests returns the longest requests that a realm states. Those that overlap have tracks
// of their own.
func claimedRequests(realm *trace.Realm, name string, from, to timeline.Time) (tracks []*scriptTrack) {
	all := slices.DeleteFunc(slices.Clone(realm.Events), func(e trace.Event) bool {
		begin := realm.When(e.At).Mid()
		return e.Detail.Kind != "request" || begin >= to || begin+timeline.Time(1000*e.Detail.TookUS) < from
	})
	slices.SortStableFunc(all, func(a, b trace.Event) int { return cmp.Compare(b.Detail.TookUS, a.Detail.TookUS) })
	all = all[:min(len(all), result.MaxRequests)]
	slices.SortStableFunc(all, func(a, b trace.Event) int { return cmp.Compare(a.At, b.At) })
	var ends []timeline.Time
	for _, e := range all {
		d, begin := &e.Detail, realm.When(e.At).Mid()
		end := begin + timeline.Time(1000*d.TookUS)
		row := slices.IndexFunc(ends, func(last timeline.Time) bool { return last <= begin })
		if row < 0 {
			row = len(tracks)
			ends = append(ends, 0)
			tracks = append(tracks, &scriptTrack{name: fmt.Sprintf("%s, requests (%d)", name, row+1)})
		}
		ends[row] = end
		tracks[row].add(wording.Short(d.URL, maxScriptName), begin, end, requestOfPage{d.What, d.WaitUS})
	}
	return tracks
}

// longestCalls chooses calls within a time, by realm, in the order of their begins. A chosen call
// has its callers, which last at least as long. It returns how many are left out.
func longestCalls(of *trace.Trace, from, to timeline.Time, most int) (chosen [][]int32, left int) {
	type call struct{ realm, index int32 }
	var all []call
	for i, realm := range of.Realms {
		for n := range realm.Calls {
			c := &realm.Calls[n]
			if realm.When(c.Begin).Mid() < to && realm.When(c.End).Mid() >= from {
				all = append(all, call{int32(i), int32(n)})
			}
		}
	}
	if left = len(all) - most; left > 0 {
		lasts := func(c call) int64 { k := &of.Realms[c.realm].Calls[c.index]; return k.End - k.Begin }
		slices.SortStableFunc(all, func(a, b call) int { return cmp.Compare(lasts(b), lasts(a)) })
		all = all[:most]
		slices.SortFunc(all, func(a, b call) int {
			return cmp.Or(cmp.Compare(a.realm, b.realm), cmp.Compare(a.index, b.index))
		})
	}
	chosen = make([][]int32, len(of.Realms))
	for _, c := range all {
		chosen[c.realm] = append(chosen[c.realm], c.index)
	}
	return chosen, max(left, 0)
}

// rowFor returns the track for a call: that on which its caller is on top, else one without an open
// call. A call that was suspended is not on the first track. It returns nil if there are too many
// tracks.
func rowFor(rows *[]*scriptTrack, n int32, c *trace.Call) (row *scriptTrack) {
	first := 0
	if c.End-c.Begin > c.Total {
		first = 1
	}
	for i, r := range *rows {
		for len(r.open) > 0 && r.top().end <= c.Begin && r.top().call != c.Parent {
			r.open = r.open[:len(r.open)-1]
		}
		switch {
		case i < first:
		case len(r.open) > 0 && r.top().call == c.Parent && r.top().end >= c.End:
			r.open = append(r.open, openCall{n, c.End})
			return r
		case len(r.open) == 0 && row == nil:
			row = r
		}
	}
	if row == nil {
		k := len(*rows)
		if k == maxCallRows {
			return nil
		}
		row = &scriptTrack{name: fmt.Sprintf("%s, suspended calls (%d)", (*rows)[0].name, k)}
		*rows = append(*rows, row)
	}
	row.open = append(row.open, openCall{n, c.End})
	return row
}

func (t *scriptTrack) top() openCall { return t.open[len(t.open)-1] }

func (t *scriptTrack) add(name string, from, to timeline.Time, args any) {
	name = wording.Short(cmp.Or(name, "(anonymous)"), maxScriptName)
	t.slices = append(t.slices, scriptSlice{name, from, max(from, to), args})
}

// tidy removes tracks without content.
func (s *scriptsOfRun) tidy() {
	s.tracks = slices.DeleteFunc(s.tracks, func(t *scriptTrack) bool { return len(t.slices)+len(t.instants) == 0 })
}

// inside returns the time from the origin, not negative. A page may claim any times.
func (t *traceWriter) inside(at timeline.Time) micros {
	return min(max(t.since(at), 0), math.MaxInt64/2)
}

// scriptSlices writes the tracks of scripts.
func (t *traceWriter) scriptSlices() {
	if t.scripts == nil {
		return
	}
	for i, track := range t.scripts.tracks {
		if i == 0 {
			t.process(scriptPID, "scripts")
		}
		tid := firstScriptTID + i
		t.track(scriptPID, tid, track.name)
		slices.SortStableFunc(track.instants, func(a, b scriptSlice) int { return cmp.Compare(a.from, b.from) })
		event := func(s *scriptSlice) traceEvent {
			return traceEvent{Name: s.name, Category: "script", PID: scriptPID, TID: tid, Time: t.inside(s.from),
				Args: s.args}
		}
		for k := range track.slices {
			e := event(&track.slices[k])
			t.slice(e, t.inside(track.slices[k].to)-e.Time)
			if k%1024 == 0 && t.failed() {
				return
			}
		}
		for i := range track.instants {
			e := event(&track.instants[i])
			e.Phase, e.Scope = "i", "t"
			t.put(e)
		}
	}
}
