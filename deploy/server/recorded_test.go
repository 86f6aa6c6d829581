package server

import (
	"bytes"
	"errors"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// TestEventsAreBounded refuses to make events.json of more events than memory should hold.
func TestEventsAreBounded(t *testing.T) {
	blanks := append(bytes.Repeat([]byte(" "), timeline.MaxEventData-1), '1')
	for events, want := range map[int]bool{3: true, maxEventsBytes/timeline.MaxEventData + 1: false} {
		path := filepath.Join(t.TempDir(), "recording.eid")
		w, err := recording.Create(path, recording.Options{NoDirect: true})
		for range events {
			err = errors.Join(err, w.Event(timeline.Event{Kind: "large", Data: blanks}))
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = recordedEvents(r)
		var refused *requestError
		if is := errors.As(err, &refused); is == want || err != nil &&
			(!is || refused.status != http.StatusRequestEntityTooLarge) {
			t.Errorf("%d events: %v", events, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
