package api

import "encoding/json"

// RecordedEvents are what a recording says was sent and seen while it was made, as events.json of a
// run has them.
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
