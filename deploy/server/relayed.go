package server

import (
	"context"
	"net/http"
	"time"

	"github.com/eideticker/eideticker/deploy/daemon"
)

// pictureTime limits the wait for a picture of a device.
const pictureTime = 5 * time.Second

// Relayed answers requests that the hub of the rig's fleet passes on: for files of runs, and for a
// device's current picture. The hub has checked its own clients. The caller checks the paths.
func (s *Server) Relayed() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/runs/{id}/{name...}",
		func(w http.ResponseWriter, r *http.Request) { s.file(w, r, nil) })
	mux.HandleFunc("GET /preview/{device}", s.picture)
	return mux
}

// picture answers with one picture of what a device shows.
func (s *Server) picture(w http.ResponseWriter, r *http.Request) {
	shown, leave, err := s.daemon.Preview(r.PathValue("device"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), pictureTime)
	defer cancel()
	var p *daemon.Picture
	for p == nil {
		var newer <-chan struct{}
		if p, newer = shown.Latest(); p != nil {
			break
		}
		select {
		case <-newer:
		case <-ctx.Done():
			http.Error(w, "the device shows no picture", http.StatusServiceUnavailable)
			return
		}
	}
	w.Header().Set("Content-Type", "image/jpeg")
	_, _ = w.Write(p.JPEG) // the hub has disconnected
}
