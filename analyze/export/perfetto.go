package export

import (
	"cmp"
	"context"
	"io"
	"math"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/export/pftrace"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Perfetto writes the trace in Perfetto's protobuf format. Times are those of CLOCK_MONOTONIC, and
// processes and threads of the device have their own numbers: other traces of it fit. Addresses are
// cut before their queries, unless FullURLs is set.
func (s *Selection) Perfetto(ctx context.Context, w io.Writer) (TraceCounts, error) {
	p := &perfettoTrace{w: w, groups: map[int]*pftrace.Track{}, tracks: map[int]*pftrace.Track{},
		counters: map[string]*pftrace.Track{}, device: map[[2]int32]*pftrace.Track{}}
	n, err := s.trace(ctx, p)
	n.Left = p.left
	return n, err
}

// perfettoTrace encodes the events of a trace.
type perfettoTrace struct {
	w        io.Writer
	to       *pftrace.Writer
	origin   int64 // of times
	full     bool
	left     int
	groups   map[int]*pftrace.Track // by process
	tracks   map[int]*pftrace.Track // by thread
	counters map[string]*pftrace.Track
	device   map[[2]int32]*pftrace.Track // by process and thread; thread 0: the process
}

func (p *perfettoTrace) begin(origin timeline.Time, of *Selection) {
	p.origin = max(int64(origin), 0) // no clock of a machine is negative
	info := of.Reader.Info()
	clock := &pftrace.Clock{At: p.origin, Wall: info.WallOffset}
	if info.OwnClock {
		clock = nil
	}
	text := activity.CutQueries
	if p.full = of.FullURLs; p.full {
		text = func(s string) string { return s }
	}
	p.to = pftrace.NewWriter(p.w, clock, text)
}

func (p *perfettoTrace) put(e traceEvent) error {
	e.PID = cmp.Or(e.PID, tracePID)
	at := p.origin + min(int64(e.Time), math.MaxInt64-p.origin)
	event := pftrace.Event{Name: e.Name, Category: e.Category, Args: e.Args, Flow: e.flow, Ends: e.flows}
	switch e.Phase {
	case "M":
		p.describe(&e)
	case "X":
		if e.PID == networkPID && !p.full { // an address without its scheme
			event.Name, _, _ = strings.Cut(e.Name, "?")
		}
		p.to.Slice(p.tracks[e.TID], at, at+min(int64(*e.Duration), math.MaxInt64-at), event)
	case "i":
		p.to.Instant(p.tracks[e.TID], at, event)
	case "C":
		if p.counters[e.Name] == nil {
			p.counters[e.Name] = p.to.Add(pftrace.Track{Name: e.Name, Parent: p.groups[e.PID], Counter: true})
		}
		p.to.Count(p.counters[e.Name], at, e.value)
	}
	return nil
}

// describe adds the track of a name. The first track of a thread is that of the thread itself.
func (p *perfettoTrace) describe(e *traceEvent) {
	name, ok := e.Args.(nameArgs)
	if !ok {
		return // tracks are in the order of their names
	}
	of, id, track, own := p.tracks, e.TID, pftrace.Track{Name: name.Name, Parent: p.groups[e.PID]}, ""
	var key [2]int32
	if t := e.thread; t != nil {
		key, own = [2]int32{t.Process, t.ID}, t.Name
	}
	if e.Name == "process_name" {
		of, id, track.Parent, key[1] = p.groups, e.PID, nil, 0
		own = name.Name
	}
	switch had := p.device[key]; {
	case key[0] <= 0 || e.Name != "process_name" && key[1] <= 0:
	case had == nil:
		track.Process, track.Thread, track.Name = key[0], key[1], cmp.Or(own, name.Name)
		defer func() { p.device[key] = of[id] }()
	case key[1] == 0:
		of[id] = had
		return
	default:
		track.Parent = had
	}
	of[id] = p.to.Add(track)
}

// end writes about the trace as an instant, and ends it.
func (p *perfettoTrace) end(about any) (err error) {
	p.to.Instant(p.groups[tracePID], p.origin, pftrace.Event{Name: "about this trace", Args: about})
	p.left, err = p.to.Close()
	return err
}
