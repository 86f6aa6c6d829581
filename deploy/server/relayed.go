package server

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
)

// pictureTime limits the wait for a picture of a device.
const pictureTime = 5 * time.Second

// fleetOwner owns the jobs of the rig's fleet.
const fleetOwner = "fleet"

// fleetRun is the form of IDs of the fleet's attempts, and of their runs.
var fleetRun = regexp.MustCompile(`^s-[a-z0-9-]{1,100}\.[1-9][0-9]{0,3}(~[^~/.][^~/]*)*$`)

// Relayed answers requests that the hub of the rig's fleet passes on: for files of the fleet's
// runs, and for the current picture of a device with a job of the fleet. Other runs and pictures
// are not for people of the fleet. The hub has checked its own clients. The caller checks paths.
func (s *Server) Relayed() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/runs/{id}/{name...}",
		func(w http.ResponseWriter, r *http.Request) {
			if !fleetRun.MatchString(r.PathValue("id")) {
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
	if !s.ofFleet(device) {
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
	if !s.ofFleet(device) { // the job has ended meanwhile
		http.Error(w, "the device has no job of the fleet", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "image/jpeg")
	_, _ = w.Write(p.JPEG) // the hub has disconnected
}

// ofFleet reports if a job of the fleet holds a device.
func (s *Server) ofFleet(device string) bool {
	return slices.ContainsFunc(s.daemon.Jobs(false), func(j api.Job) bool {
		return j.State == "running" && j.Owner == fleetOwner && fleetRun.MatchString(j.ID) &&
			slices.Contains(j.Devices, device)
	})
}
