package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/export/pftrace/pftracetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// parsedTrace is a trace as a viewer reads it. Times are in nanoseconds.
type parsedTrace struct {
	names    map[int]string   // of the tracks
	pids     map[int]int64    // of the tracks' processes
	last     map[string]int64 // time of the last event of a phase and track
	slices   map[int][]parsedSlice
	instants []parsedSlice
	counters map[string][]int64
	info     traceInfoRead
}

type parsedSlice struct {
	name    string
	at, dur int64
	tid     int
	args    map[string]any
}

type traceInfoRead struct {
	Recording  string
	OriginNS   int64       `json:"origin_ns"`
	FirstFrame json.Number `json:"first_frame_us"`
	Scripts    struct {
		Calls         int
		Left          int `json:"calls_left_out"`
		Note, Problem string
	}
}

// nanos reads microseconds with up to three decimals, without rounding.
func nanos(t *testing.T, n json.Number) int64 {
	t.Helper()
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		t.Fatalf("time %q", n)
	}
	r.Mul(r, big.NewRat(1000, 1))
	if !r.IsInt() {
		t.Fatalf("time %q is finer than a nanosecond", n)
	}
	return r.Num().Int64()
}

// parseTrace holds a file against the rules of the Trace Event Format: what each phase must have,
// and that times are not negative. Events of one track are in order of time. Slices of the
// network's and scripts' tracks are apart or nested, and those of others are apart.
func parseTrace(t *testing.T, path string) parsedTrace {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		DisplayTimeUnit string           `json:"displayTimeUnit"`
		TraceEvents     []map[string]any `json:"traceEvents"`
		OtherData       traceInfoRead    `json:"otherData"`
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.DisplayTimeUnit != "ms" && doc.DisplayTimeUnit != "ns" {
		t.Errorf("displayTimeUnit is %q", doc.DisplayTimeUnit)
	}
	p := parsedTrace{names: map[int]string{}, pids: map[int]int64{}, last: map[string]int64{},
		slices: map[int][]parsedSlice{}, counters: map[string][]int64{}, info: doc.OtherData}
	for i, e := range doc.TraceEvents {
		p.add(t, i, e)
	}
	for tid, all := range p.slices {
		var open []parsedSlice
		for _, s := range all {
			for len(open) > 0 && open[len(open)-1].at+open[len(open)-1].dur <= s.at {
				open = open[:len(open)-1]
			}
			if n := len(open); n > 0 && (p.pids[tid] == 1 || open[n-1].at+open[n-1].dur < s.at+s.dur) {
				t.Errorf("track %q: %v overlaps %v", p.names[tid], open[n-1], s)
			}
			open = append(open, s)
		}
	}
	return p
}

func (p *parsedTrace) add(t *testing.T, i int, e map[string]any) {
	t.Helper()
	number := func(key string) json.Number {
		n, ok := e[key].(json.Number)
		if !ok {
			t.Fatalf("event %d: %s is %v", i, key, e[key])
		}
		return n
	}
	pid, _ := number("pid").Int64()
	tid, err := number("tid").Int64()
	name, named := e["name"].(string)
	at := nanos(t, number("ts"))
	args, isObject := e["args"].(map[string]any)
	if err != nil || pid < 1 || pid > 99 || !named || name == "" || at < 0 || !isObject {
		t.Fatalf("event %d: %v", i, e)
	}
	s := parsedSlice{name: name, at: at, tid: int(tid), args: args}
	if was, ok := p.pids[s.tid]; ok && s.tid != 0 && was != pid {
		t.Errorf("event %d: track %d is of two processes", i, tid)
	}
	p.pids[s.tid] = pid
	if track := fmt.Sprintf("%v %d", e["ph"], tid); at < p.last[track] {
		t.Errorf("event %d: %v is earlier than the one before it", i, s)
	} else {
		p.last[track] = at
	}
	switch e["ph"] {
	case "M":
		switch name {
		case "thread_name":
			p.names[int(tid)], _ = args["name"].(string)
		case "process_name", "thread_sort_index":
		default:
			t.Errorf("event %d: metadata %q", i, name)
		}
	case "X":
		if s.dur = nanos(t, number("dur")); s.dur < 0 {
			t.Errorf("event %d lasts %d ns", i, s.dur)
		}
		p.slices[int(tid)] = append(p.slices[int(tid)], s)
	case "i":
		if e["s"] != "t" && e["s"] != "p" && e["s"] != "g" {
			t.Errorf("event %d: scope %v", i, e["s"])
		}
		p.instants = append(p.instants, s)
	case "C":
		for _, v := range args {
			n, err := v.(json.Number).Int64()
			if err != nil {
				t.Errorf("event %d: counter %v", i, v)
			}
			p.counters[name] = append(p.counters[name], n)
		}
	default:
		t.Errorf("event %d: phase %v", i, e["ph"])
	}
	if p.names[s.tid] == "" && s.tid != 0 {
		t.Errorf("event %d is on a track without a name", i)
	}
}

func (p parsedTrace) track(name string) []parsedSlice {
	for tid, n := range p.names {
		if n == name {
			return p.slices[tid]
		}
	}
	return nil
}

// exported runs export and returns where OUT is.
func exported(t *testing.T, in, ending string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out"+ending)
	if code, _, errOut := command(t, append([]string{"export", in, "-o", out}, flags...)...); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	return out
}

// writeTimeline makes a recording of 8 frames at 100 Hz, 10 ms each: 4 numbers are missing before
// frame 3, for two causes, one before the first and two after the last; frame 5 repeats frame 4.
// Frame 0 is 3 ms after an event.
func writeTimeline(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.eid")
	w, err := recording.Create(path, recording.Options{NoDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := frame.NewFormat(frame.NV12, 16, 8)
	check := func(more error) {
		t.Helper()
		if err = errors.Join(err, more); err != nil {
			t.Fatal(err)
		}
	}
	const ms = 1_000_000
	at := func(sequence int) timeline.Time { return timeline.Time(1_000_000_007 + sequence*10*ms) }
	gap := func(first, count int, cause frame.Cause) {
		check(w.Gap(frame.Gap{First: uint64(first), Count: uint64(count), Cause: cause,
			At: timeline.Interval{Earliest: at(first - 1), Latest: at(first + count)}}))
	}
	check(w.Segment(f, 1, 100))
	gap(9, 1, frame.SourceLate)
	pix := make([]byte, f.Size())
	sequence := 10
	for n := range 8 {
		if n == 3 {
			gap(13, 3, frame.RingFull)
			gap(16, 1, frame.DriverLost)
			sequence += 4
		}
		if n != 5 {
			pix = bytes.Clone(pix)
			pix[3] ^= 1 // luma of (3, 0)
			if n == 6 {
				pix[16*8+3] ^= 1 // chroma of four pixels, of which one's luma changed
			}
		}
		m := frame.Meta{Sequence: uint64(sequence), Sampled: timeline.Interval{Earliest: at(sequence) - ms,
			Latest: at(sequence) + ms}}
		check(w.WriteFrame(pix, m, nil))
		sequence++
	}
	gap(sequence, 2, frame.Stopped)
	check(w.Event(timeline.Event{At: at(10) - 3*ms, Uncertainty: 1500, Source: "input", Kind: "click",
		Data: json.RawMessage(`{"x": 1}`)}))
	check(w.Event(timeline.Event{At: at(12), Source: "page", Kind: "load <&> \u2028"}))
	check(w.Event(timeline.Event{At: at(12), Source: "", Kind: "nobody's"}))
	check(w.Close())
	return path
}

func TestTrace(t *testing.T) {
	in := writeTimeline(t)
	p := parseTrace(t, exported(t, in, ".trace.json"))
	samePerfetto(t, in, p)
	const ms = 1_000_000
	// All counts from the leading gap, a frame before the first.
	if p.info.Recording != "a.eid" || p.info.OriginNS != 1_000_000_007+80*ms || nanos(t, p.info.FirstFrame) != 20*ms {
		t.Errorf("%+v", p.info)
	}
	wantSlices(t, "frames", p.track("frames"), []string{
		"new frame 20ms+10", "new frame 30ms+10", "new frame 40ms+10", "new frame 90ms+10", "new frame 100ms+10",
		"repeat 110ms+10", "new frame 120ms+10", "new frame 130ms+10",
	})
	wantSlices(t, "gaps", p.track("gaps"), []string{"lost frames: source late 0ms+20",
		"lost frames: ring full 50ms+30", "lost frames: dropped by the driver 80ms+10",
		"lost frames: recording stopped 140ms+20"})
	wantSlices(t, "format", p.track("format"), []string{"16x8 NV12 20ms+140"})
	if got := p.counters["changed pixels"]; !slices.Equal(got, []int64{128, 1, 1, 1, 1, 0, 4, 1}) {
		t.Errorf("changed pixels %v", got)
	}
	if got := p.counters["changed bytes"]; !slices.Equal(got[1:6], []int64{1, 1, 1, 1, 0}) {
		t.Errorf("changed bytes %v", got)
	}
	args := p.track("frames")[3].args
	for name, want := range map[string]string{
		"number": "3", "sequence": "17", "unique": "true", "earliest_us": "89000.000", "latest_us": "91000.000",
		"flags": "gap-before",
	} {
		if got := fmt.Sprint(args[name]); got != want {
			t.Errorf("%s of frame 3 is %s, want %s", name, got, want)
		}
	}
	var said []string
	for _, e := range p.instants {
		said = append(said, fmt.Sprintf("%s: %s at %d, %v", p.names[e.tid], e.name, e.at/ms, e.args["data"]))
	}
	if want := []string{"input: click at 17, map[x:1]", "page: load <&> \u2028 at 40, <nil>",
		"events: nobody's at 40, <nil>"}; !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}

func wantSlices(t *testing.T, track string, got []parsedSlice, want []string) {
	t.Helper()
	var said []string
	for _, s := range got {
		said = append(said, fmt.Sprintf("%s %vms+%v", s.name, float64(s.at)/1e6, float64(s.dur)/1e6))
	}
	if !slices.Equal(said, want) {
		t.Errorf("%s:\n%q, want\n%q", track, said, want)
	}
}

// TestTraceOfPart: a part counts from the recording's first frame, and holds what is between its
// own.
func TestTraceOfPart(t *testing.T) {
	p := parseTrace(t, exported(t, writeTimeline(t), ".trace.json", "--frames", "3:6", "--no-events"))
	wantSlices(t, "frames", p.track("frames"), []string{"new frame 70ms+10", "new frame 80ms+10", "repeat 90ms+10"})
	if len(p.track("gaps")) > 0 || len(p.instants) > 0 {
		t.Errorf("gaps %v, events %v", p.track("gaps"), p.instants)
	}
}

func TestTraceOfSeveralFormats(t *testing.T) {
	p := parseTrace(t, exported(t, writeSegments(t), ".trace.json"))
	wantSlices(t, "format", p.track("format"), []string{
		"16x8 YU12 0ms+180", "16x8 YU12 180ms+140", "16x8 YU12 320ms+140", "32x16 YU12 460ms+100",
	})
	if len(p.track("frames")) != 20 || len(p.counters["changed pixels"]) != 20 {
		t.Errorf("%d frames", len(p.track("frames")))
	}
}

// TestTraceOfAnything gives times and counts that no rig makes: the trace stays one that viewers
// read.
func TestTraceOfAnything(t *testing.T) {
	const farthest = 1 << 62
	for name, write := range map[string]func(*recording.Writer, frame.Format) error{
		"nothing": func(*recording.Writer, frame.Format) error { return nil },
		"only events": func(w *recording.Writer, _ frame.Format) error {
			return w.Event(timeline.Event{At: -7, Kind: "k"})
		},
		"only gaps": func(w *recording.Writer, _ frame.Format) error {
			return w.Gap(frame.Gap{Count: 3, Cause: frame.SignalLost,
				At: timeline.Interval{Earliest: -farthest, Latest: farthest}})
		},
		"far events": func(w *recording.Writer, f frame.Format) error {
			return errors.Join(w.Segment(f, 0, 0), w.WriteFrame(make([]byte, f.Size()), frame.Meta{}, nil),
				w.Event(timeline.Event{At: -1 << 63, Kind: "k"}), w.Event(timeline.Event{At: 1<<63 - 1, Kind: "k"}))
		},
		"huge gaps": func(w *recording.Writer, f frame.Format) error {
			g := frame.Gap{First: 1, Count: 1 << 40, Cause: frame.SignalLost} // the longest there can be
			h := frame.Gap{First: 1 + 1<<40, Count: 1 << 40, Cause: frame.SignalLost}
			return errors.Join(w.Segment(f, 0, 0), w.WriteFrame(make([]byte, f.Size()), frame.Meta{}, nil), w.Gap(g),
				w.Gap(h),
				w.WriteFrame(make([]byte, f.Size()),
					frame.Meta{Sequence: h.First + h.Count, Sampled: timeline.At(1e18)}, nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.eid")
			w, err := recording.Create(path, recording.Options{NoDirect: true})
			if err != nil {
				t.Fatal(err)
			}
			f, _ := frame.NewFormat(frame.GREY, 4, 4)
			if err := errors.Join(write(w, f), w.Close()); err != nil {
				t.Fatal(err)
			}
			p := parseTrace(t, exported(t, path, ".trace.json"))
			if p.info.OriginNS >= 0 && !strings.Contains(name, "huge") {
				samePerfetto(t, path, p)
			} else if raw, err := os.ReadFile(exported(t, path, ".pftrace")); err != nil {
				t.Error(err)
			} else {
				pftracetest.Decode(t, raw)
			}
		})
	}
}

// TestTraceStreams holds what is kept in memory against what is written: no more than a line.
func TestTraceStreams(t *testing.T) {
	r, err := recording.Open(writeTimeline(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := export.Selection{Reader: r, To: r.Frames()}
	if _, err := s.Trace(t.Context(), lineWriter{t}); err != nil {
		t.Fatal(err)
	}
}

// lineWriter refuses to be given more than one line at once.
type lineWriter struct{ t *testing.T }

func (l lineWriter) Write(p []byte) (int, error) {
	if n := strings.Count(string(p), "\n"); n > 2 {
		l.t.Errorf("%d lines at once", n)
	}
	return len(p), nil
}
