// Package page turns messages of test pages into activity. Rig.watch of the pages sends them inside
// the picture: long tasks, long frames and layout shifts, measures, hints of garbage collections.
// All are claims of the page.
package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TraceName is the name of the trace in a run. engine, way and why describe it.
const (
	TraceName = "page"
	engine    = "page"
	way       = "messages"
	why       = "the page sends them inside the picture"
)

// Info describes the trace of a recording, without counts.
func Info(recording, target string, clock activity.Clock) activity.Info {
	return activity.Info{Recording: recording, Name: TraceName, Engine: engine, Way: way, Why: why, Target: target,
		Clock: clock, Command: []string{}, Warnings: []string{}, Raw: []string{}}
}

// Claim is something that a page reports. Times are in ns of the page's clock.
type Claim struct {
	Kind  string // that of an event of a profile
	Name  string // empty: none
	Begin int64
	// Span is its duration. Of a collection, it is the time from the earliest possible begin until
	// the page noticed it.
	Span int64
	// Frame is the first one that shows the message.
	Frame int
}

// kindOf returns the kind of a message, and its name for people.
func kindOf(kind string) (event, label string) {
	switch kind {
	case "gc":
		return result.EventGC, "garbage collection noticed"
	case "longtask":
		return result.EventLongTask, "long task"
	case "long-animation-frame":
		return result.EventMissed, "long animation frame"
	case "layout-shift":
		return result.EventLayout, "layout shift"
	case "measure":
		return result.EventMeasure, "measure"
	}
	return "", ""
}

// maxTime limits times of claims, in ms: four months.
const maxTime = 1e10

// Read returns the claims in messages. Other messages are data of the page. skipped counts
// messages of a known kind without the numbers of a claim.
func Read(messages []payload.Message) (claims []Claim, skipped int64) {
	for _, m := range messages {
		if !bytes.HasPrefix(m.Data, []byte(`{"kind":`)) {
			continue
		}
		var said struct {
			Kind string   `json:"kind"`
			At   *float64 `json:"at"`
			For  *float64 `json:"ms"`
			Name string   `json:"name"`
		}
		err := json.Unmarshal(m.Data, &said)
		kind, label := kindOf(said.Kind)
		switch {
		case err == nil && kind == "":
			continue
		case err != nil || said.At == nil || said.For == nil || !(*said.At >= 0 && *said.At <= maxTime) ||
			!(*said.For >= 0 && *said.For <= maxTime):
			skipped++
			continue
		}
		if name := activity.Clean(said.Name); name != "" {
			label += " " + name
		}
		ns := func(ms float64) int64 { return int64(math.Round(ms * 1e6)) }
		claims = append(claims, Claim{kind, label, ns(*said.At), ns(*said.For), m.Frame})
	}
	return claims, skipped
}

// Write writes claims to a sink, each kind as a thread. Slices of a thread are nested. So a claim
// that overlaps another one in part is an instant.
func Write(claims []Claim, to activity.Sink) error {
	threads := map[string]uint32{}
	open := map[string][]int64{} // ends of slices around the next one
	claims = slices.SortedStableFunc(slices.Values(claims), func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(b.Span, a.Span))
	})
	for _, c := range claims {
		thread, known := threads[c.Kind]
		if !known {
			thread = to.Thread(activity.Thread{ID: int32(len(threads) + 1), Name: "page: " + c.Kind})
			threads[c.Kind] = thread
		}
		e := activity.Event{At: c.Begin, Thread: thread, Kind: activity.Slice, Value: c.Span,
			Ref: to.Function(activity.Function{Name: c.Name, Lang: activity.Category})}
		around := open[c.Kind]
		for len(around) > 0 && around[len(around)-1] <= c.Begin {
			around = around[:len(around)-1]
		}
		switch {
		case c.Kind == result.EventGC: // when it began is not known
			e.Kind, e.At, e.Value = activity.Instant, c.Begin+c.Span, 0
		case c.Span == 0 || len(around) > 0 && around[len(around)-1] < c.Begin+c.Span:
			e.Kind, e.Value = activity.Instant, 0
		default:
			around = append(around, c.Begin+c.Span)
		}
		open[c.Kind] = around
		if err := to.Event(e); err != nil {
			return err
		}
	}
	return nil
}

// coarse is the greatest step of a page's clock. Browsers round it down.
const coarse = time.Millisecond

// Clock maps the page's clock to the recording's. reported bounds the time at which the page's
// clock was 0, by its questions for the time. Each frame with a packet is another bound: the page
// drew the packet before. If both contradict each other, reported counts and the second result is
// false.
func Clock(reported timeline.Interval, shown *payload.Account) (activity.Clock, bool) {
	from, to := reported.Earliest, reported.Latest
	agrees := true
	if shown.Packets > 0 && shown.Restarts == 0 {
		if latest := shown.Zero.Add(coarse); latest < from {
			agrees = false
		} else {
			to = min(to, latest)
		}
	}
	c := activity.Clock{Corners: []activity.Corner{{Offset: int64(from)}, {Offset: int64(to)}}}
	half := time.Duration(to-from+1) / 2
	c.Text = fmt.Sprintf("±%.2f ms (the page asked for the time; %d frames with packets)", half.Seconds()*1000,
		shown.Frames)
	return c, agrees
}

// AddTo adds claims to the events of a profile, in the order of time, and their trace. p may be
// nil. It returns the profile. A profile with that trace is not changed. windows are those of the
// results.
func AddTo(p *result.Profile, claims []Claim, clock activity.Clock, windows []result.Window) *result.Profile {
	if len(claims) == 0 || p != nil && slices.ContainsFunc(p.Traces, isOfPage) {
		return p
	}
	if p == nil {
		p = &result.Profile{}
	}
	of := result.ProfileTrace{Name: TraceName, Engine: engine, Way: way, Why: why, Events: int64(len(claims)),
		BeginNS: math.MaxInt64, ClockNS: clock.HalfWidth(claims[0].Begin), Clock: clock.Text}
	for _, c := range claims {
		earliest, latest := clock.Bounds(c.Begin)
		_, end := clock.Bounds(c.Begin + c.Span)
		e := result.ProfileEvent{Kind: c.Kind, Name: c.Name, Thread: -1, EarliestNS: earliest, LatestNS: latest,
			DurationNS: c.Span, Frame: result.FrameAfter(windows, end)}
		if c.Kind == result.EventGC {
			e.LatestNS, e.DurationNS = end, 0
		}
		p.Events = append(p.Events, e)
		of.BeginNS, of.EndNS = min(of.BeginNS, earliest), max(of.EndNS, end)
	}
	slices.SortStableFunc(p.Events, func(a, b result.ProfileEvent) int {
		return cmp.Compare(a.EarliestNS, b.EarliestNS)
	})
	if more := len(p.Events) - result.MaxProfileEvents; more > 0 {
		p.Events, p.EventsLeft = p.Events[:result.MaxProfileEvents], p.EventsLeft+int64(more)
	}
	p.Traces = append(p.Traces, of)
	return p
}

func isOfPage(t result.ProfileTrace) bool { return t.Name == TraceName }

// Alone reports whether a profile has nothing but claims of a page.
func Alone(p *result.Profile) bool {
	return !slices.ContainsFunc(p.Traces, func(t result.ProfileTrace) bool { return !isOfPage(t) })
}
