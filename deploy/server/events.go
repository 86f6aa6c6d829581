package server

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/deploy/api"
)

// eventsFile is made of a recording when it is asked for.
const eventsFile = "events.json"

// events answers with what a recording says was sent and seen while it was made.
func (s *Server) events(w http.ResponseWriter, r *http.Request, id string) {
	if err := s.work(r.Context()); err != nil {
		s.refuse(w, r, http.StatusServiceUnavailable, err.Error())
		return
	}
	var text []byte
	err := s.withRecording(id, func(from *recording.Reader) (err error) {
		text, err = recordedEvents(from)
		return err
	})
	s.rest()
	if err != nil {
		s.noRecording(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	made(w, r, eventsFile, text)
}

// maxEventsBytes is the largest unpacked size of the events that one answer has.
const maxEventsBytes = recording.MaxUntrustedValues

func recordedEvents(r *recording.Reader) ([]byte, error) {
	all := api.RecordedEvents{Events: []api.RecordedEvent{}}
	size := 0
	for n, head := range r.Events() {
		if size += len(head.Source) + len(head.Kind) + head.Bytes; size > maxEventsBytes {
			return nil, &requestError{http.StatusRequestEntityTooLarge,
				fmt.Sprintf("%s: the recording has more than %d bytes of events; eideticker export writes all of them",
					eventsFile, maxEventsBytes)}
		}
		e, err := r.Event(n)
		if err != nil {
			return nil, err
		}
		all.Events = append(all.Events, api.RecordedEvent{AtNS: int64(e.At), UncertaintyNS: e.Uncertainty.Nanoseconds(),
			Source: e.Source, Kind: e.Kind, Data: e.Data})
	}
	return json.Marshal(all)
}
