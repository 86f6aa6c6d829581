package site

import (
	"encoding/json"

	"github.com/eideticker/eideticker/capture/timeline"
)

// EventSource is the source of a page's own events. ReportEvent is the event with its whole report.
const (
	EventSource = "page"
	ReportEvent = "report"
)

// EventKinds are those of a page that has markers.
func EventKinds() []string {
	return []string{"requested", "content", "content-end", "green", "red", ReportEvent}
}

// Events returns the report as events for a recording, with the source "page". They are the page's
// request, its green, its first and last content frame, its red and the whole report.
func (r Report) Events() []timeline.Event {
	name, err := json.Marshal(map[string]any{"page": r.Page.Name, "number": r.Number})
	if err != nil {
		panic(err) // a string and a number cannot fail
	}
	at := func(kind string, i timeline.Interval) timeline.Event {
		return timeline.Event{At: i.Mid(), Uncertainty: i.Width() - i.Width()/2, Source: EventSource, Kind: kind,
			Data: name}
	}
	events := []timeline.Event{
		at("requested", timeline.At(r.Requested)),
		at("content", r.Drawn[0].At),
		at("content-end", r.Drawn[len(r.Drawn)-1].At),
	}
	if r.Page.Markers {
		events = append(events, at("green", r.GreenFrom), at("red", r.RedFrom))
	}
	// A report of 20,000 frames is too long for an event; their times are in the strip anyway.
	whole, err := json.Marshal(r)
	if err != nil || len(whole) > timeline.MaxEventData {
		r.Drawn, r.Truth = nil, Truth{Claims: r.Truth.Claims}
		if whole, err = json.Marshal(r); err != nil {
			return events // floats were checked to be finite: cannot happen
		}
	}
	return append(events, timeline.Event{At: r.Received, Source: EventSource, Kind: ReportEvent, Data: whole})
}
