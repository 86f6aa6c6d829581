package server

import (
	"cmp"
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eideticker/eideticker/deploy/api"
)

// Fleet is the hub of a fleet.
type Fleet interface {
	Status() api.FleetStatus
	Rigs() (api.FleetRigs, error)
	Invite(rig string) (api.FleetInvitation, error)
	Drain(ctx context.Context, p api.FleetDrain) (api.FleetRig, error)
	Remove(ctx context.Context, rig string) error
	Submit(ctx context.Context, owner string, p api.JobParams) (api.FleetJob, error)
	Job(ctx context.Context, id string) (api.FleetJob, error)
	Jobs(p api.FleetJobsParams) (api.FleetJobs, error)
	Cancel(ctx context.Context, id, reason string, may func(owner string) bool) (api.FleetJob, error)
	// Folder returns the hub's folder of a set RIG/ID, or of a part of it, RIG/ID~VARIANT.
	Folder(set string) (string, error)
	// Handler answers requests below /fleet/v1/.
	Handler() http.Handler
	prometheus.Collector
}

// ofFleet makes a handler of a method of a hub.
func ofFleet[P, R any](s *Server, do func(ctx context.Context, c *call, p P) (R, error)) handler {
	return method(func(ctx context.Context, c *call, p P) (out R, err error) {
		if s.o.Fleet == nil {
			return out, api.Errorf(api.NotFound, "this rig is not a hub; eideticker fleet init makes it one")
		}
		return do(ctx, c, p)
	})
}

// fleetMethods are the methods of a hub.
func (s *Server) fleetMethods(all map[string]handler) {
	f := s.o.Fleet
	all["fleet.status"] = method(func(context.Context, *call, api.Empty) (api.FleetStatus, error) {
		return s.fleetStatus(), nil
	})
	all["fleet.rigs"] = ofFleet(s, func(context.Context, *call, api.Empty) (api.FleetRigs, error) { return f.Rigs() })
	all["fleet.invite"] = ofFleet(s, func(_ context.Context, c *call, p api.FleetInvite) (api.FleetInvitation, error) {
		out, err := f.Invite(p.Rig)
		return out, s.did(c, err, "rig invited", "rig", p.Rig)
	})
	all["fleet.drain"] = ofFleet(s, func(ctx context.Context, c *call, p api.FleetDrain) (api.FleetRig, error) {
		out, err := f.Drain(ctx, p)
		return out, s.did(c, err, "rig drained or continued", "rig", p.Rig, "drain", p.Drain)
	})
	all["fleet.remove"] = ofFleet(s, func(ctx context.Context, c *call, p api.FleetRigName) (api.Empty, error) {
		err := f.Remove(ctx, p.Rig)
		return api.Empty{}, s.did(c, err, "rig removed", "rig", p.Rig)
	})
	all["job.start"] = ofFleet(s, func(ctx context.Context, c *call, p api.JobParams) (api.FleetJob, error) {
		return f.Submit(ctx, c.owner(), p)
	})
	all["fleet.job"] = ofFleet(s, func(ctx context.Context, _ *call, p api.JobID) (api.FleetJob, error) {
		return f.Job(ctx, p.Job)
	})
	all["fleet.jobs"] = ofFleet(s, func(_ context.Context, _ *call, p api.FleetJobsParams) (api.FleetJobs, error) {
		return f.Jobs(p)
	})
	all["fleet.cancel"] = ofFleet(s, func(ctx context.Context, c *call, p api.JobID) (api.FleetJob, error) {
		out, err := f.Cancel(ctx, p.Job, c.owner()+" has cancelled it", c.may)
		return out, s.did(c, err, "job of the fleet cancelled", "job", p.Job)
	})
}

// fleetStatus joins the state of the hub and that of the rig in a fleet.
func (s *Server) fleetStatus() api.FleetStatus {
	out := api.FleetStatus{Role: "alone", Waiting: map[string]int{}}
	if s.o.FleetRig != nil {
		out = s.o.FleetRig()
		if out.Waiting == nil {
			out.Waiting = map[string]int{}
		}
	}
	if s.o.Fleet == nil {
		return out
	}
	h := s.o.Fleet.Status()
	if out.Role == "rig" {
		h.Role, h.Hub, h.Rig, h.Connected = "both", out.Hub, out.Rig, out.Connected
		h.Reason, h.SinceWallNS, h.Results = cmp.Or(out.Reason, h.Reason), out.SinceWallNS, out.Results
	}
	return h
}

// fleetRoutes serves rigs, which prove themselves, and files of rigs to people.
func (s *Server) fleetRoutes(mux *http.ServeMux) {
	if s.o.Fleet == nil {
		return
	}
	h := s.o.Fleet.Handler()
	view := s.as(api.View, func(w http.ResponseWriter, r *http.Request, _ *caller) { h.ServeHTTP(w, r) })
	mux.HandleFunc("GET /fleet/v1/runs/", view)
	mux.HandleFunc("GET /fleet/v1/picture/", view)
	for path, rate := range map[string]*limiters{"POST /fleet/v1/join": newLimiters(0.5, 5),
		"GET /fleet/v1/nats": newLimiters(2, 50), "POST /fleet/v1/ticket/": newLimiters(50, 200),
		"GET /fleet/v1/ticket/": newLimiters(5, 50)} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if !rate.allow(remote(r), 1, s.now()) {
				s.refuse(w, r, http.StatusTooManyRequests,
					"too many requests came from this address; wait some seconds")
				return
			}
			h.ServeHTTP(w, r)
		})
	}
}
