package export

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// Numbers are the events, gaps and metadata of a selection. Times are on the recording's clock, ns.
type Numbers struct {
	Path         string     `json:"path"`
	WallOffsetNS int64      `json:"wall_offset_ns"`
	OwnClock     bool       `json:"own_clock"`
	Frames       int        `json:"frames"`
	Events       []Event    `json:"events"`
	Gaps         []Gap      `json:"gaps"`
	Metadata     []Metadata `json:"metadata"`
}

type Event struct {
	AtNS          int64           `json:"at_ns"`
	UncertaintyNS int64           `json:"uncertainty_ns"`
	Source        string          `json:"source"`
	Kind          string          `json:"kind"`
	Data          json.RawMessage `json:"data,omitempty"`
}

type Gap struct {
	BeforeFrame   int    `json:"before_frame"`
	FirstSequence uint64 `json:"first_sequence"`
	Frames        uint64 `json:"frames"`
	Cause         string `json:"cause"`
	EarliestNS    int64  `json:"earliest_ns"`
	LatestNS      int64  `json:"latest_ns"`
}

// Metadata is a named value of a recording.
type Metadata struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// metadataOf returns the metadata of a recording.
func metadataOf(r *recording.Reader) []Metadata {
	all := []Metadata{}
	for _, m := range r.Metadata() {
		all = append(all, Metadata{m.Name, m.Value})
	}
	return all
}

// Numbers returns the events, gaps and metadata.
func (s *Selection) Numbers() (*Numbers, error) {
	in := s.Reader.Info()
	doc := &Numbers{
		Path: s.Path, WallOffsetNS: in.WallOffset, OwnClock: in.OwnClock, Frames: s.To - s.From,
		Events: []Event{}, Gaps: []Gap{}, Metadata: metadataOf(s.Reader),
	}
	from, to, err := s.times()
	if err != nil {
		return nil, err
	}
	for _, chosen := range s.events(from, to) {
		e, err := s.Reader.Event(chosen.n)
		if err != nil {
			return nil, fmt.Errorf("read event %d: %w", chosen.n, err)
		}
		doc.Events = append(doc.Events, Event{int64(e.At), e.Uncertainty.Nanoseconds(), e.Source, e.Kind, e.Data})
	}
	for _, g := range s.gaps() {
		doc.Gaps = append(doc.Gaps, Gap{g.Before, g.First, g.Count, g.Cause.String(), int64(g.At.Earliest),
			int64(g.At.Latest)})
	}
	return doc, nil
}

// times returns the time of the selected frames, or all time if all frames are selected.
func (s *Selection) times() (from, to timeline.Time, err error) {
	from, to = -1<<63, 1<<63-1
	if s.From > 0 {
		m, err := s.Reader.Meta(s.From)
		if err != nil {
			return 0, 0, err
		}
		from = m.Sampled.Earliest
	}
	if s.To < s.Reader.Frames() {
		m, err := s.Reader.Meta(s.To)
		if err != nil {
			return 0, 0, err
		}
		to = m.Sampled.Earliest
	}
	return from, to, nil
}

// chosenEvent is event n of the recording.
type chosenEvent struct {
	timeline.EventHead
	n int
}

// events returns the events from one time up to another, or none with NoEvents.
func (s *Selection) events(from, to timeline.Time) (chosen []chosenEvent) {
	if s.NoEvents {
		return nil
	}
	for n, e := range s.Reader.Events() {
		if e.At >= from && e.At < to {
			chosen = append(chosen, chosenEvent{e, n})
		}
	}
	return chosen
}

// gaps returns the gaps between the selected frames, and after the last frame if it is selected.
func (s *Selection) gaps() []recording.Gap {
	return slices.DeleteFunc(slices.Clone(s.Reader.Gaps()), func(g recording.Gap) bool {
		inside := g.Before > s.From && g.Before < s.To
		atStart := g.Before == s.From && s.From == 0
		atEnd := g.Before == s.To && s.To == s.Reader.Frames()
		return !inside && !atStart && !atEnd
	})
}

// EventCount returns how many events are exported.
func (s *Selection) EventCount() (int, error) {
	from, to, err := s.times()
	return len(s.events(from, to)), err
}
