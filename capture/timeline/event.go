package timeline

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// Event is something that happened beside the frames: an input that was sent, a
// page's claim, a scene's truth. It is recorded in the same file on the same clock.
type Event struct {
	At          Time            // when
	Uncertainty time.Duration   // it happened within At ± Uncertainty
	Source      string          // the reporter: "input", "netsim" or "synth", for example
	Kind        string          // what happened, in the source's own words
	Data        json.RawMessage // details as one JSON value, or nil
}

// EventHead is an event without its data.
type EventHead struct {
	At          Time
	Uncertainty time.Duration
	Source      string
	Kind        string
	Bytes       int // of the data
}

// Limits of an event that comes from outside.
const (
	MaxEventName = 255     // bytes of Source and of Kind
	MaxEventData = 1 << 20 // bytes of Data
)

// Validate reports why the event cannot be recorded, or nil.
func (e Event) Validate() error {
	switch {
	case e.Kind == "":
		return fmt.Errorf("event has no kind")
	case len(e.Source) > MaxEventName, len(e.Kind) > MaxEventName:
		return fmt.Errorf("event's source or kind is longer than %d bytes", MaxEventName)
	case !utf8.ValidString(e.Source), !utf8.ValidString(e.Kind):
		return fmt.Errorf("event's source or kind is not UTF-8")
	case len(e.Data) > MaxEventData:
		return fmt.Errorf("event %q carries %d bytes, limit %d", e.Kind, len(e.Data), MaxEventData)
	case e.Data != nil && !json.Valid(e.Data):
		return fmt.Errorf("event %q carries data that is not JSON", e.Kind)
	case e.Uncertainty < 0:
		return fmt.Errorf("event %q has a negative uncertainty", e.Kind)
	}
	return nil
}
