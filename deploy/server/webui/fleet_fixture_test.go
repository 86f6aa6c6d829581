package webui

import (
	"encoding/json"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
)

// fleet is what a played hub knows.
type fleet struct {
	status   api.FleetStatus // of the role "": the rig has no such methods
	rigs     []api.FleetRig
	jobs     []api.FleetJob
	started  api.JobParams
	pictures []string // RIG/DEVICE that were asked for
}

// makeFleet makes a hub that is a rig of another fleet too, with rigs and jobs in many states.
func (f *fleet) makeFleet() {
	at := func(hour, minute int) int64 {
		return time.Date(2026, 11, 21, hour, minute, 0, 0, time.Local).UnixNano()
	}
	device := func(name, state string, labels ...string) api.FleetDevice {
		d := api.FleetDevice{Device: name, State: state, Labels: map[string]string{"device": name}}
		for _, l := range labels {
			key, value, _ := strings.Cut(l, "=")
			d.Labels[key] = value
		}
		return d
	}
	busy := device("pixel", "running", "os=android", "model=pixel7", "size=1080x2400", "hz=60", "certified=yes")
	busy.Job = "s-81-pixel-k7f2"
	f.rigs = []api.FleetRig{
		{Rig: "lab-07", Key: "UCXG5QK4VQ2V6XJ4LRYZ2F3OI4SXZTBQY5W4XK2PJH3VQ5N6LZTPR7QA", Program: "eideticker 1.4.0",
			State: "busy", SeenWallNS: at(14, 2), JoinedWallNS: at(9, 0), Address: "https://lab-07:8430/",
			ClockNS: -2.4e9, Devices: []api.FleetDevice{busy,
				device("desk", "free", "os=linux", "browser=chromium,firefox", "size=1920x1080", "hz=60")}},
		{Rig: "lab-08", Key: "UBK4VQ2V6XJ4LRYZ2F3OI4SXZTBQY5W4XK2PJH3VQ5N6LZTPR7QACXG5", Program: "eideticker 1.3.2",
			State: "away", Reason: "it has been silent for 30 s", SeenWallNS: at(13, 5), JoinedWallNS: at(9, 5),
			Unreported: 2, Devices: []api.FleetDevice{device("wall", "free", "os=linux", "model="+evilPath)}},
		{Rig: "lab-09", Key: "UDRYZ2F3OI4SXZTBQY5W4XK2PJH3VQ5N6LZTPR7QACXG5BK4VQ2V6XJ4L", Program: "eideticker 1.4.0",
			State: "draining", Reason: "new cable", SeenWallNS: at(14, 2), JoinedWallNS: at(9, 7), ClockNS: 4e6,
			Address: "javascript:alert(1)", Devices: []api.FleetDevice{}},
	}
	f.jobs = []api.FleetJob{
		{Job: "s-82-pixel-k7f2", Owner: "ada", Class: "now", Test: "framerate", Needs: []string{"model=pixel7"},
			State: "queued", Position: 1, QueuedWallNS: at(14, 1), Attempts: []api.FleetAttempt{},
			Reason: "The only fitting device, lab-07/pixel, is at work on s-81-pixel-k7f2."},
		{Job: "s-81-pixel-k7f2", Owner: "ci", Class: "check", Test: "scroll", Label: "nightly",
			Needs: []string{"os=android,linux"}, State: "running", QueuedWallNS: at(13, 1),
			Attempts: []api.FleetAttempt{
				{Attempt: 1, Rig: "lab-08", Devices: []string{"wall"}, State: "lost", Fault: "lab",
					Reason: "the rig was silent for 2 min after the estimated end", StartedWallNS: at(13, 2)},
				{Attempt: 2, Rig: "lab-07", Devices: []string{"pixel"}, State: "running", Progress: "run 3 of 8",
					StartedWallNS: at(13, 40)}}},
		{Job: "s-80-desk-k7f2", Owner: "schedule awfy", Class: "watch", Test: "load", Needs: []string{}, State: "ok",
			Winner: 2, Verdict: "regressed", QueuedWallNS: at(11, 0), EndedWallNS: at(12, 3),
			Attempts: []api.FleetAttempt{
				{Attempt: 1, Rig: "lab-08", Devices: []string{"wall"}, State: "ok", Superseded: true,
					Set: "lab-08/s-80-desk-k7f2.1", StartedWallNS: at(11, 1), EndedWallNS: at(12, 9)},
				{Attempt: 2, Rig: "lab-07", Devices: []string{"desk"}, State: "ok", Set: "lab-07/s-80-desk-k7f2.2",
					StartedWallNS: at(11, 59), EndedWallNS: at(12, 3)}}},
		{Job: "s-79-desk-k7f2", Owner: "ci", Class: "check", Test: evilPath, Needs: []string{"os=linux"},
			State: "failed", QueuedWallNS: at(10, 0), EndedWallNS: at(10, 5), Reason: "the browser crashed",
			Attempts: []api.FleetAttempt{{Attempt: 1, Rig: "lab-07", Devices: []string{"desk"}, State: "failed",
				Fault: "product", Reason: "the browser crashed", EndedWallNS: at(10, 5)}}},
	}
	f.status = api.FleetStatus{Role: "both", Rigs: 3, Away: 1, Waiting: map[string]int{"now": 1}, Running: 1,
		Hub: "https://hub.example:8430/", Rig: "lab-01", Reason: "the hub does not answer", SinceWallNS: at(13, 5),
		Results: 2}
}

// do answers the methods of fleets.
func (f *fleet) do(call *api.Request) (answer any, problem *api.Error, is bool) {
	var params struct {
		Rig, Reason, Job string
		Drain            bool
	}
	if json.Unmarshal(call.Params, &params) != nil || f.status.Role == "" {
		return nil, nil, false
	}
	at := func() int {
		return slices.IndexFunc(f.rigs, func(r api.FleetRig) bool { return r.Rig == params.Rig })
	}
	switch call.Method {
	case "fleet.status":
		return f.status, nil, true
	case "fleet.rigs":
		return api.FleetRigs{Rigs: f.rigs}, nil, true
	case "fleet.jobs":
		return api.FleetJobs{Jobs: f.jobs, Total: len(f.jobs)}, nil, true
	case "fleet.invite":
		made := api.FleetInvitation{Rig: params.Rig, URL: "https://hub:8430/#kV8secret", ExpiresWallNS: 1.9e18}
		return made, nil, true
	case "fleet.drain":
		r := &f.rigs[at()]
		r.State, r.Reason = map[bool]string{true: "drained", false: "ready"}[params.Drain], params.Reason
		return *r, nil, true
	case "fleet.remove":
		f.rigs = slices.Delete(slices.Clone(f.rigs), at(), at()+1)
		return api.Empty{}, nil, true
	case "fleet.job":
		for _, j := range f.jobs {
			if j.Job == params.Job {
				return j, nil, true
			}
		}
		return nil, api.Errorf(api.NotFound, "unknown job %s", params.Job), true
	case "fleet.cancel":
		i := slices.IndexFunc(f.jobs, func(j api.FleetJob) bool { return j.Job == params.Job })
		f.jobs[i].State, f.jobs[i].Reason, f.jobs[i].Position = "cancelled", "ada cancelled it", 0
		return f.jobs[i], nil, true
	case "job.start":
		if err := json.Unmarshal(call.Params, &f.started); err != nil {
			return nil, api.Errorf(api.InvalidParams, "%v", err), true
		}
		j := api.FleetJob{Job: "s-83-k7f2", Owner: "local", Class: f.started.Class, Test: f.started.Test,
			Needs: f.started.Needs, State: "queued", Position: 2, Attempts: []api.FleetAttempt{},
			Reason: "Another job is before it."}
		f.jobs = append([]api.FleetJob{j}, f.jobs...)
		return j, nil, true
	}
	return nil, nil, false
}

// fleetFile serves pictures of devices, light folders, and the set of an ended job.
func (p *played) fleetFile(w http.ResponseWriter, r *http.Request, path string) {
	if name, is := strings.CutPrefix(path, "picture/"); is {
		p.mu.Lock()
		p.fleet.pictures = append(p.fleet.pictures, name)
		p.mu.Unlock()
		m := image.NewRGBA(image.Rect(0, 0, 320, 180))
		draw.Draw(m, m.Bounds(), image.NewUniform(color.RGBA{30, 90, 160, 255}), image.Point{}, draw.Src)
		draw.Draw(m, image.Rect(20, 20, 200, 60), image.White, image.Point{}, draw.Src)
		w.Header().Set("Content-Type", "image/jpeg")
		if err := jpeg.Encode(w, m, nil); err != nil {
			p.Log(err) // the page has gone
		}
		return
	}
	run, name, _ := strings.Cut(strings.TrimPrefix(path, "runs/lab-07/"), "/")
	p.mu.Lock()
	dir, is := p.folders["lab-07/"+run]
	p.mu.Unlock()
	if is {
		http.ServeFileFS(w, r, os.DirFS(dir), name)
		return
	}
	_, _ = w.Write([]byte(`{"runs": [{"dir": "chromium/1", "state": "ok"},
		{"dir": "rejected/2", "state": "rejected", "reason": "a noisy machine"}]}`))
}
