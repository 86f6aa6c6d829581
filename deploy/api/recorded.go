package api

import "encoding/json"

// RecordedEvents are the inputs and observations during a recording, as in a run's events.json.
type RecordedEvents struct {
	Events []RecordedEvent `json:"events"` // in the order in which they were recorded
}

// RecordedEvent is one of them. It was within AtNS ± UncertaintyNS on the recording's clock, as are
// the times of its results.
type RecordedEvent struct {
	AtNS          int64           `json:"at_ns"`
	UncertaintyNS int64           `json:"uncertainty_ns"`
	Source        string          `json:"source"`
	Kind          string          `json:"kind"`
	Data          json.RawMessage `json:"data,omitempty"` // in the source's own words
}
