package scripts

import (
	"encoding/json"

	"github.com/eideticker/eideticker/capture/timeline"
)

// EventSource is the source of the events of scripts in a recording.
const EventSource = "script"

// Kinds of these events.
const (
	ErrorEvent    = "error"     // an error, a rejection or a resource that did not load
	LongTaskEvent = "long-task" // the browser reported a task as long
	TaskEvent     = "task"      // a realm ran scripts
)

// Limits of the events in a recording. script.log has everything.
const (
	maxErrorEvents = 500
	maxLongTasks   = 500
	maxTaskEvents  = 2000
	maxOfPolicy    = 500 // of each kind
)

type errorData struct {
	Kind    string `json:"kind"`
	Message string `json:"message,omitempty"`
	URL     string `json:"url,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
}

type taskData struct {
	DurationNS int64 `json:"duration_ns"`
	Realm      int   `json:"realm"`
	// Function has the longest self time.
	Function string `json:"function,omitempty"`
	URL      string `json:"url,omitempty"`
	Line     int    `json:"line,omitempty"`
	SelfNS   int64  `json:"self_ns,omitempty"`
	Calls    int    `json:"calls,omitempty"`
}

type pointData struct {
	Policy string `json:"policy"`
	Name   string `json:"name"` // a short text of the node
	URL    string `json:"url"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text,omitempty"`
}

// Events returns the events for the recording, each kind in order. Times outside of the run, which
// ends now, are left out: they are false claims.
func (r *Run) Events(now timeline.Time) (all []timeline.Event) {
	left := map[string]int{ErrorEvent: maxErrorEvents, LongTaskEvent: maxLongTasks, TaskEvent: maxTaskEvents}
	add := func(at timeline.Interval, kind string, data any) {
		text, err := json.Marshal(data)
		if err != nil || left[kind] == 0 || int64(at.Earliest) < r.Info.StartNS || at.Earliest > now {
			return
		}
		left[kind]--
		all = append(all, timeline.Event{At: at.Mid(), Uncertainty: (at.Width() + 1) / 2, Source: EventSource,
			Kind: kind, Data: text})
	}
	for i, realm := range r.Trace.Realms {
		for _, e := range realm.Events {
			if d := &e.Detail; failure(d.Kind) {
				add(realm.When(e.At), ErrorEvent, errorData{d.Kind, d.Message, d.URL, d.Line,
					r.Column(d.URL, d.Line, d.Column)})
			}
		}
		for _, t := range realm.LongTasks {
			add(realm.When(t.Begin), LongTaskEvent, taskData{DurationNS: t.Duration, Realm: i})
		}
	}
	for _, of := range r.reports {
		for _, e := range of.Events {
			if _, known := left[e.Kind]; !known {
				left[e.Kind] = maxOfPolicy
			}
			p := r.pointOf(e.Point)
			add(timeline.Interval{Earliest: timeline.Time(e.At), Latest: timeline.Time(e.At)}, e.Kind,
				pointData{of.name, p.Name, p.URL, p.Line, p.Column, e.Text})
		}
	}
	for _, t := range r.Trace.Tasks() {
		d := taskData{DurationNS: t.End - t.Begin, Realm: t.Realm, SelfNS: t.Self.Value, Calls: t.Calls}
		if p, f := r.Function(t.Function); f != nil {
			d.Function, d.URL, d.Line = f.Name, p.URL, f.Line
		}
		add(r.Trace.Realms[t.Realm].When(t.Begin), TaskEvent, d)
	}
	return all
}

// failure reports if a detail of this kind is an error of the page.
func failure(kind string) bool {
	switch kind {
	case "error", "rejection", "caught", "resource":
		return true
	}
	return false
}
