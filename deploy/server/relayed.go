package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
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
	if !s.inFleet(device) {
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
	if !s.inFleet(device) { // the job has ended meanwhile
		http.Error(w, "the device has no job of the fleet", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "image/jpeg")
	_, _ = w.Write(p.JPEG) // the hub has disconnected
}

// inFleet reports if a job of the fleet holds a device.
func (s *Server) inFleet(device string) bool {
	return slices.ContainsFunc(s.daemon.Jobs(false), func(j api.Job) bool {
		return j.State == "running" && j.Owner == wire.Owner && fleetRun(j.ID) &&
			slices.Contains(j.Devices, device)
	})
}
