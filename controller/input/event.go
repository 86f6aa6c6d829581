package input

import (
	"encoding/json"
	"fmt"

	"github.com/eideticker/eideticker/capture/timeline"
)

// EventSource is the source of all events of input in a recording, and EventKind that of one.
const (
	EventSource = "input"
	EventKind   = "sent"
)

// Event returns an event for the recording. At ± Uncertainty is the interval that the driver
// returned. The data has the driver, the actions as text, and their place, if any, in pixels of the
// device's screen.
func Event(info Info, sent timeline.Interval, actions ...Action) timeline.Event {
	const most = 200 // runes of the actions' text
	data := struct {
		Driver  string   `json:"driver"`
		Realism Realism  `json:"realism"`
		Did     string   `json:"did"`
		X       *float64 `json:"x,omitempty"`
		Y       *float64 `json:"y,omitempty"`
	}{Driver: info.Driver, Realism: info.Realism}
	for i, a := range actions {
		if i > 0 {
			data.Did += ", "
		}
		data.Did += a.String()
		switch a := a.(type) {
		case Move:
			data.X, data.Y = &a.X, &a.Y
		case TouchDown:
			data.X, data.Y = &a.X, &a.Y
		}
	}
	if r := []rune(data.Did); len(r) > most {
		data.Did = string(r[:most]) + "…"
	}
	raw, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("event of %v: %v", actions, err)) // strings, and numbers that were checked
	}
	return timeline.Event{
		At: sent.Mid(), Uncertainty: sent.Width() - sent.Width()/2, Source: EventSource, Kind: EventKind, Data: raw,
	}
}
