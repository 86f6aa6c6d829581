package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"path/filepath"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// A trace is a JSON object in the Trace Event Format of Chrome's trace viewer. Perfetto reads it
// too. [Selection.Perfetto] writes the same events in Perfetto's own format. The first process is
// the recording. It has a track ("thread") of frames, one of gaps, one of
// formats, and one for each source of events. Frames and gaps are complete events (X), events are
// instants (i), and changes are counters (C). Its second process has the requests of the network,
// and its third one the scripts of pages. Further ones are the device's.
//
// Times are microseconds with three decimals from the recording's first frame. Perfetto drops
// negative times, so they count from an event or a gap before that frame, if there is one.
// otherData has the time of the first frame.
//
// A frame lasts until the next one. Stored and missing frames between two times last equally long,
// as on a screen. The gaps' own intervals are in their arguments.

// The tracks.
const (
	tracePID      = 1
	frameTID      = 1
	gapTID        = 2
	formatTID     = 3
	markedTID     = 4
	firstEventTID = 10 // of the first source of events
)

// traceEvent is one line of a trace.
type traceEvent struct {
	Phase    string  `json:"ph"`
	Name     string  `json:"name"`
	Category string  `json:"cat,omitempty"`
	PID      int     `json:"pid"`
	TID      int     `json:"tid"`
	Time     micros  `json:"ts"`
	Duration *micros `json:"dur,omitempty"` // of X
	Scope    string  `json:"s,omitempty"`   // of i
	Args     any     `json:"args"`

	value  int64            // of C
	flow   uint64           // that begins here; 0: none
	flows  []uint64         // that end here
	thread *activity.Thread // of M: the thread or its process; nil: another track
}

// micros are nanoseconds, written as microseconds.
type micros int64

func (m micros) MarshalJSON() ([]byte, error) {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n
	}
	return fmt.Appendf(nil, "%s%d.%03d", sign, n/1000, n%1000), nil
}

// TraceCounts are numbers of parts of a trace. Calls are those of scripts, and Slices those of the
// device's threads. Left counts slices that overlap too many others.
type TraceCounts struct{ Gaps, Events, Requests, Calls, Slices, Left int }

// Trace writes the trace, and returns how much of each kind it has.
func (s *Selection) Trace(ctx context.Context, w io.Writer) (TraceCounts, error) {
	return s.trace(ctx, &jsonTrace{w: w})
}

func (s *Selection) trace(ctx context.Context, to traceEncoder) (TraceCounts, error) {
	t := traceWriter{Selection: s, ctx: ctx, traceEncoder: to}
	t.fail(t.write())
	n := TraceCounts{Gaps: t.gapCount, Events: t.eventCount, Requests: t.requestCount, Slices: t.barCount}
	if t.scripts != nil {
		n.Calls = t.scripts.info.Calls
	}
	return n, t.err
}

// traceEncoder writes events in a format. All but the first line of a track follow its name.
type traceEncoder interface {
	begin(origin timeline.Time, of *Selection)
	put(e traceEvent) error
	end(about any) error
}

// jsonTrace writes one trace line by line.
type jsonTrace struct {
	w    io.Writer
	line bytes.Buffer
	some bool // a line was written
}

// traceWriter writes one trace. It holds one frame at most.
type traceWriter struct {
	*Selection
	traceEncoder
	ctx context.Context
	err error // the first one, after which nothing is written

	origin     timeline.Time
	firstFrame timeline.Time
	gaps       []recording.Gap // not yet written
	held       heldFrame
	counter    pixelCounter
	kinds      *frameKinds
	tracks     []*requestTrack
	flows      *requestFlows
	scripts    *scriptsOfRun // nil: none

	devices []deviceInfo

	gapCount, eventCount, requestCount, barCount int
}

// heldFrame is a frame whose end is unknown yet.
type heldFrame struct {
	begun  bool
	name   string
	at     timeline.Time
	period uint64 // of its segment, in nanoseconds; 0 unknown
	args   frameArgs
	flows  []uint64 // that end at it
}

type frameArgs struct {
	Number        int    `json:"number"`
	Sequence      uint64 `json:"sequence"`
	Unique        bool   `json:"unique"`
	Earliest      micros `json:"earliest_us"`
	Latest        micros `json:"latest_us"`
	Flags         string `json:"flags"`
	ChangedPixels int    `json:"changed_pixels"`
	ChangedBytes  int64  `json:"changed_bytes"`
	ChangedRows   int    `json:"changed_rows"`
	MovedRows     int    `json:"moved_rows"`
	Late          string `json:"late,omitempty"` // what scripts did before it, in words
}

type gapArgs struct {
	Cause         string `json:"cause"`
	Frames        uint64 `json:"frames"`
	FirstSequence uint64 `json:"first_sequence"`
	Before        int    `json:"before_frame"`
	Earliest      micros `json:"earliest_us"`
	Latest        micros `json:"latest_us"`
}

type eventArgs struct {
	Uncertainty micros          `json:"uncertainty_us"`
	Data        json.RawMessage `json:"data,omitempty"`
}

type nameArgs struct {
	Name string `json:"name"`
}

type sortArgs struct {
	Index int `json:"sort_index"`
}

type traceInfo struct {
	Recording    string `json:"recording"`
	Program      string `json:"program"`
	WallOffsetNS int64  `json:"wall_offset_ns"`
	OriginNS     int64  `json:"origin_ns"`
	FirstFrame   micros `json:"first_frame_us"`

	Scripts *scriptInfo  `json:"scripts,omitempty"`
	Devices []deviceInfo `json:"traces,omitempty"`
}

func (t *traceWriter) write() error {
	from, to, err := t.times()
	if err != nil {
		return err
	}
	t.gaps = t.Selection.gaps()
	t.gapCount = len(t.gaps)
	events := t.events(from, to)
	if t.scripts, err = t.readScripts(from, to); err != nil {
		return err
	}
	if t.scripts != nil { // the process of scripts has these too
		events = slices.DeleteFunc(events, func(e chosenEvent) bool {
			return e.Source == scripts.EventSource && e.Kind != scripts.LongTaskEvent
		})
	}
	slices.SortStableFunc(events, func(a, b chosenEvent) int { return cmp.Compare(a.At, b.At) })
	t.eventCount = len(events)
	if err := t.readRequests(from, to); err != nil {
		return err
	}
	if t.kinds, err = t.frameKinds(t.ctx); err != nil {
		return err
	}
	if err := t.findOrigin(events); err != nil {
		return err
	}
	t.begin(t.origin, t.Selection)
	tracks := eventTracks(events)
	t.names(tracks)
	t.flows = newRequestFlows(t.tracks)
	t.frames()
	t.marked()
	t.instants(events, tracks)
	t.requests()
	t.scriptSlices()
	t.deviceTracks(from, to)
	if t.err != nil {
		return t.err
	}
	about := traceInfo{
		Recording: filepath.Base(t.Path), Program: t.Program, WallOffsetNS: t.Reader.Info().WallOffset,
		OriginNS: int64(t.origin), FirstFrame: t.since(t.firstFrame), Devices: t.devices,
	}
	if t.scripts != nil {
		about.Scripts = &t.scripts.info
	}
	return t.end(about)
}

// findOrigin sets the origin of times.
func (t *traceWriter) findOrigin(events []chosenEvent) error {
	if t.Reader.Frames() > 0 {
		m, err := t.Reader.Meta(0)
		if err != nil {
			return err
		}
		t.firstFrame = m.Sampled.Mid()
	} else if len(events) > 0 {
		t.firstFrame = events[0].At
	}
	t.origin = t.firstFrame
	for _, e := range events {
		t.origin = min(t.origin, e.At)
	}
	for _, g := range t.gaps {
		t.origin = min(t.origin, g.At.Earliest)
	}
	for _, track := range t.tracks {
		t.origin = min(t.origin, track.requests[0].Begins().At)
	}
	return nil
}

// fail keeps the first error.
func (t *traceWriter) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// failed reports whether to stop, after an error or the end of the context.
func (t *traceWriter) failed() bool {
	t.fail(t.ctx.Err())
	return t.err != nil
}

func (t *traceWriter) put(e traceEvent) {
	if t.err == nil {
		t.err = t.traceEncoder.put(e)
	}
}

// slice writes an event that lasts.
func (t *traceWriter) slice(e traceEvent, lasted micros) {
	e.Phase, e.Duration = "X", &lasted
	t.put(e)
}

// since returns the time from the origin, limited to what micros hold: a file may have any times.
func (t *traceWriter) since(at timeline.Time) micros {
	d := at - t.origin
	switch {
	case at > t.origin && d < 0:
		return math.MaxInt64
	case at < t.origin && d > 0:
		return math.MinInt64
	}
	return micros(d)
}

func (t *jsonTrace) begin(timeline.Time, *Selection) {}

// put writes one line.
func (t *jsonTrace) put(e traceEvent) error {
	e.PID = cmp.Or(e.PID, tracePID)
	t.line.Reset()
	separator := ",\n"
	if !t.some {
		t.some, separator = true, traceBegin+"\n"
	}
	t.line.WriteString(separator)
	enc := json.NewEncoder(&t.line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return err
	}
	t.line.Truncate(t.line.Len() - 1) // Encode ends the line
	_, err := t.w.Write(t.line.Bytes())
	return err
}

const traceBegin = `{"displayTimeUnit":"ms","traceEvents":[`

func (t *jsonTrace) end(about any) error {
	if !t.some {
		if _, err := io.WriteString(t.w, traceBegin); err != nil {
			return err
		}
	}
	info, err := json.Marshal(about)
	if err == nil {
		_, err = fmt.Fprintf(t.w, "\n],\"otherData\":%s}\n", info)
	}
	return err
}

// eventTracks gives each source of events a track, in the order of their names.
func eventTracks(events []chosenEvent) map[string]int {
	var sources []string
	for _, e := range events {
		sources = append(sources, e.Source)
	}
	slices.Sort(sources)
	tracks := map[string]int{}
	for i, s := range slices.Compact(sources) {
		tracks[s] = firstEventTID + i
	}
	return tracks
}

// names writes the names and the order of the process and its tracks.
func (t *traceWriter) names(tracks map[string]int) {
	t.process(tracePID, filepath.Base(t.Path))
	all := map[int]string{frameTID: "frames", gapTID: "gaps", formatTID: "format"}
	if len(t.Marked) > 0 {
		all[markedTID] = "selected frames"
	}
	for source, tid := range tracks {
		all[tid] = cmp.Or(source, "events")
	}
	for _, tid := range slices.Sorted(maps.Keys(all)) {
		t.track(tracePID, tid, all[tid])
	}
}

// process writes the name of a process.
func (t *traceWriter) process(pid int, name string) {
	t.put(traceEvent{Phase: "M", Name: "process_name", PID: pid, Args: nameArgs{name}})
}

// track writes the name and the place of a track.
func (t *traceWriter) track(pid, tid int, name string) {
	t.put(traceEvent{Phase: "M", Name: "thread_name", PID: pid, TID: tid, Args: nameArgs{name}})
	t.put(traceEvent{Phase: "M", Name: "thread_sort_index", PID: pid, TID: tid, Args: sortArgs{tid}})
}

func (t *traceWriter) instants(events []chosenEvent, tracks map[string]int) {
	for _, e := range events {
		whole, err := t.Reader.Event(e.n)
		if err != nil {
			t.fail(fmt.Errorf("read event %d: %w", e.n, err))
			return
		}
		t.put(traceEvent{
			Phase: "i", Name: e.Kind, Category: e.Source, TID: tracks[e.Source], Time: t.since(e.At), Scope: "t",
			Args: eventArgs{micros(max(e.Uncertainty, 0)), whole.Data},
		})
	}
}

// frames writes the frames with the gaps between them, and their formats.
func (t *traceWriter) frames() {
	segments := t.Segments()
	changes := t.Reader.Timeline(t.From, t.To)
	var format traceEvent // Name is empty before the first one
	for changes.Next() {
		if t.failed() {
			return
		}
		n, at := changes.Number(), changes.Meta().Sampled.Mid()
		missing := len(t.gaps) > 0 && t.gaps[0].Before <= n
		t.until(n, at)
		for len(segments) > 0 && n >= segments[0].First {
			t.endFormat(format, at)
			s := segments[0]
			segments = segments[1:]
			format = traceEvent{Name: s.Layout.Format.String(), TID: formatTID, Time: t.since(at), Args: struct{}{}}
			t.held.period = segmentPeriod(s)
			t.counter.start(s.Layout)
		}
		t.hold(n, changes.Meta(), changes.Change())
		t.held.flows = t.flows.frame(changes.Meta(), t.held.args.Unique, missing)
		t.count("changed pixels", "pixels", int64(t.held.args.ChangedPixels))
		t.count("changed bytes", "bytes", t.held.args.ChangedBytes)
		t.progress(n)
	}
	t.fail(changes.Err())
	t.endFormat(format, t.last())
}

// marked writes the times before the marked frames.
func (t *traceWriter) marked() {
	for _, f := range t.Marked {
		begin := t.since(timeline.Time(f.FromNS))
		t.slice(traceEvent{Name: fmt.Sprintf("before frame %d", f.Frame), TID: markedTID, Time: begin},
			t.since(timeline.Time(f.ToNS))-begin)
	}
}

// endFormat writes a format that has begun.
func (t *traceWriter) endFormat(format traceEvent, at timeline.Time) {
	if format.Name != "" {
		t.slice(format, max(t.since(at)-format.Time, 0))
	}
}

// segmentPeriod returns the time from frame to frame, measured where it is known.
func segmentPeriod(s recording.Segment) uint64 {
	const femtoPerNano = 1_000_000
	switch {
	case s.FemtoPeriod > 0:
		return uint64(s.FemtoPeriod) / femtoPerNano
	case s.PeriodNum > 0 && s.PeriodDen > 0:
		num, den := runfolder.Rate(s)
		return uint64(float64(den) / float64(num) * 1e9)
	}
	return 0
}

// hold begins a frame.
func (t *traceWriter) hold(n int, m frame.Meta, c *frame.Change) {
	a := frameArgs{
		Number: n, Sequence: m.Sequence, Earliest: t.since(m.Sampled.Earliest), Latest: t.since(m.Sampled.Latest),
		Flags: m.Flags.String(), ChangedPixels: t.counter.count(c),
	}
	a.ChangedBytes, a.ChangedRows, a.MovedRows = changeSize(c)
	a.Unique = n == 0 || a.ChangedBytes > 0
	a.Late = t.kinds.causes[n]
	t.held.begun, t.held.at, t.held.args = true, m.Sampled.Mid(), a
	t.held.name = t.kinds.of(n, a.Unique, m.Flags)
}

// count writes a counter of the frame that is held.
func (t *traceWriter) count(name, unit string, n int64) {
	t.put(traceEvent{Phase: "C", Name: name, Time: t.since(t.held.at), Args: map[string]int64{unit: n}, value: n})
}

// until writes the held frame and the gaps after it, which end where frame n begins.
func (t *traceWriter) until(n int, at timeline.Time) {
	gaps := t.gapsBefore(n)
	begin, frames := at, uint64(0)
	if t.held.begun {
		begin, frames = t.held.at, 1
	} else if len(gaps) > 0 {
		begin = gaps[0].At.Earliest
	}
	t.share(begin, max(at, begin), frames, gaps)
}

// last writes the last frame and the gaps after it, and returns their end. Their length is that of
// the gaps' intervals, at least one frame period.
func (t *traceWriter) last() timeline.Time {
	if !t.held.begun {
		return t.origin
	}
	gaps := t.gapsBefore(t.To)
	end := t.held.at + timeline.Time(min(t.held.period, 1<<40))
	for _, g := range gaps {
		end = max(end, g.At.Latest)
	}
	t.share(t.held.at, end, 1, gaps)
	return end
}

// gapsBefore takes the gaps before frame n.
func (t *traceWriter) gapsBefore(n int) []recording.Gap {
	i := 0
	for i < len(t.gaps) && t.gaps[i].Before <= n {
		i++
	}
	gaps := t.gaps[:i]
	t.gaps = t.gaps[i:]
	return gaps
}

// share divides the time from begin to end between the missing frames and, if frames is 1, the held
// frame. Each lasts equally long.
func (t *traceWriter) share(begin, end timeline.Time, frames uint64, gaps []recording.Gap) {
	whole := frames
	for _, g := range gaps {
		whole = addSaturated(whole, g.Count)
	}
	start, span := t.since(begin), uint64(t.since(end)-t.since(begin))
	done := uint64(0)
	next := func(e traceEvent, part uint64) {
		from := shareOf(span, done, whole)
		done = addSaturated(done, part)
		e.Time = start + micros(from)
		t.slice(e, micros(shareOf(span, done, whole)-from))
	}
	if frames > 0 {
		h := &t.held
		next(traceEvent{Name: h.name, Category: "frame", TID: frameTID, Args: h.args, flows: h.flows}, frames)
	}
	for _, g := range gaps {
		a := gapArgs{g.Cause.String(), g.Count, g.First, g.Before, t.since(g.At.Earliest), t.since(g.At.Latest)}
		next(traceEvent{Name: "lost frames: " + g.Cause.String(), Category: "gap", TID: gapTID, Args: a}, g.Count)
	}
}

// addSaturated returns a + b, or the largest number: a file may have any counts.
func addSaturated(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry > 0 {
		return 1<<64 - 1
	}
	return sum
}

// shareOf returns span × part / whole for part ≤ whole, rounded down.
func shareOf(span, part, whole uint64) uint64 {
	if whole == 0 {
		return 0
	}
	hi, lo := bits.Mul64(span, part)
	quotient, _ := bits.Div64(hi, lo, whole) // hi < part ≤ whole
	return quotient
}
