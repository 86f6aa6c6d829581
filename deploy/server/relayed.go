package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/pattern"
)

// pictureTime limits the wait for a picture of a device.
const pictureTime = 5 * time.Second

// inAttempt is the form of the rest of a run's ID, behind that of its attempt.
var inAttempt = pattern.New(`^(~[^~/.][^~/]*)*$`)

// fleetRun reports if an ID is of an attempt of the fleet, or of a run in one.
func fleetRun(id string) bool {
	attempt, _, _ := strings.Cut(id, "~")
	return wire.IsAttempt(attempt) && inAttempt.MatchString(id[len(attempt):])
}

// Relayed answers requests that the hub of the rig's fleet passes on: for files of the fleet's
// runs, and for the current picture of a device with a job of the fleet. Other runs and pictures
// are not for people of the fleet. The hub has checked its own clients. The caller checks paths.
func (s *Server) Relayed() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/runs/{id}/{name...}",
		func(w http.ResponseWriter, r *http.Request) {
			if !fleetRun(r.PathValue("id")) {
				http.Error(w, "the fleet has no such run", http.StatusNotFound)
				return
			}
			s.file(w, r, nil)
		})
	mux.HandleFunc("GET /preview/{device}", s.picture)
	return mux
}

// picture answers with one picture of what a device shows.
func (s *Server) picture(w http.ResponseWriter, r *http.Request) {
	device := r.PathValue("device")
	began := s.inFleet(device)
	if began == 0 {
		http.Error(w, "the device has no job of the fleet", http.StatusNotFound)
		return
	}
	shown, leave, err := s.daemon.Preview(device)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), pictureTime)
	defer cancel()
	var p *daemon.Picture
	for {
		var newer <-chan struct{}
		// an older one shows its owner's work
		if p, newer = shown.Latest(); p != nil && p.TakenWallNS >= began {
			break
		}
		select {
		case <-newer:
		case <-ctx.Done():
			http.Error(w, "the device shows no picture", http.StatusServiceUnavailable)
			return
		}
	}
	if s.inFleet(device) != began { // the job has ended meanwhile
		http.Error(w, "the device has no job of the fleet", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "image/jpeg")
	_, _ = w.Write(p.JPEG) // the hub has disconnected
}

// inFleet returns when the job of the fleet that holds a device began; 0: none does.
func (s *Server) inFleet(device string) int64 {
	for _, j := range s.daemon.Jobs(false) {
		if j.State == "running" && j.Owner == wire.Owner && fleetRun(j.ID) && slices.Contains(j.Devices, device) {
			return max(j.StartedWallNS, 1)
		}
	}
	return 0
}
