package api

import (
	"encoding/json"
	"net/http"

	"github.com/eideticker/eideticker/cmd/eideticker/internal/api/wire"
	"github.com/eideticker/eideticker/codec/recording"
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

func recordedEvents(r *recording.Reader) ([]byte, error) {
	all := wire.RecordedEvents{Events: []wire.RecordedEvent{}}
	for _, e := range r.Events() {
		all.Events = append(all.Events, wire.RecordedEvent{AtNS: int64(e.At), UncertaintyNS: e.Uncertainty.Nanoseconds(), Source: e.Source, Kind: e.Kind, Data: e.Data})
	}
	return json.Marshal(all)
}
