package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/hub"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// office invites rigs whose token is their name.
type office struct{}

func (office) Invite(rig string, now time.Time) (string, time.Time, error) {
	return rig, now.Add(time.Hour), nil
}
func (office) Join(token, _ string, _ time.Time) (string, string, error) {
	if token != "lab-07" {
		return "", "", errors.New("join: the invitation is unknown, used or too old; ask for another one")
	}
	return token, "jwt", nil
}
func (office) Renew(string, string, time.Time) (string, bool, error) { return "", false, nil }
func (office) Revoke(string) error                                   { return nil }

// newHub returns a hub that runs until the test ends, and its bus.
func newHub(t testing.TB) (*hub.Hub, *bus.Memory) {
	t.Helper()
	m := bus.NewMemory()
	h, err := hub.New(t.Context(), hub.Options{Dir: t.TempDir(), Bus: m.Hub(), Authority: office{},
		URL: "https://hub:8430"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h, m
}

// polls sends the poll of a rig with a phone, once the hub answers.
func polls(t testing.TB, m *bus.Memory) {
	t.Helper()
	raw, err := json.Marshal(wire.Poll{Version: wire.Version, Boot: "1", Devices: []wire.Device{{Name: "phone",
		State: "free", Labels: map[string]string{"os": "android"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(daemontest.Patience); ; time.Sleep(time.Millisecond) {
		_, err := m.Rig("lab-07").Request(t.Context(), "poll", raw)
		if err == nil {
			return
		}
		if !errors.Is(err, bus.ErrAway) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// fleet calls all methods of a hub.
func (u *user) fleet(m *bus.Memory) {
	t := u.t
	t.Helper()
	var status api.FleetStatus
	if u.do("fleet.status", api.Empty{}, &status); status.Role != "hub" || status.Epoch != 1 {
		t.Errorf("%+v", status)
	}
	var invited api.FleetInvitation
	u.do("fleet.invite", api.FleetInvite{Rig: "lab-07"}, &invited)
	base, token, _ := strings.Cut(invited.URL, "/#")
	if base != "https://hub:8430" || token != "lab-07" {
		t.Errorf("%+v", invited)
	}
	res, body := u.ask("POST", "/fleet/v1/join", `{"version":1,"token":"x"}`)
	if res.StatusCode != http.StatusForbidden || !strings.Contains(body, "unknown") {
		t.Errorf("a wrong token: %s %s", res.Status, body)
	}
	res, body = u.ask("POST", "/fleet/v1/join", `{"version":1,"token":"lab-07","key":"K"}`)
	if res.StatusCode != 200 || !strings.Contains(body, `"jwt":"jwt"`) {
		t.Errorf("%s %s", res.Status, body)
	}
	polls(t, m)
	var rigs api.FleetRigs
	if u.do("fleet.rigs", api.Empty{}, &rigs); len(rigs.Rigs) != 1 || rigs.Rigs[0].State != "ready" ||
		rigs.Rigs[0].Devices[0].Labels["os"] != "android" {
		t.Errorf("%+v", rigs)
	}
	var job, again api.FleetJob
	p := api.JobParams{Job: "s-1", Needs: []string{"os=android"}, StartParams: api.StartParams{Test: "scroll"}}
	u.do("job.start", p, &job)
	if u.do("job.start", p, &again); job.State != "assigned" || again.Attempts[0].Rig != "lab-07" {
		t.Errorf("%+v %+v", job, again)
	}
	if u.do("fleet.job", api.JobID{Job: "s-1"}, &job); job.Owner != "local" {
		t.Errorf("%+v", job)
	}
	if u.do("fleet.cancel", api.JobID{Job: "s-1"}, &job); job.State != "cancelled" {
		t.Errorf("%+v", job)
	}
	var jobs api.FleetJobs
	if u.do("fleet.jobs", api.FleetJobsParams{}, &jobs); jobs.Total != 1 || jobs.Jobs[0].Job != "s-1" {
		t.Errorf("%+v", jobs)
	}
	var drained api.FleetRig
	if u.do("fleet.drain", api.FleetDrain{Rig: "lab-07", Drain: true}, &drained); drained.State != "drained" {
		t.Errorf("%+v", drained)
	}
	if res, body := u.ask("GET", "/metrics", ""); !strings.Contains(body, "eideticker_fleet_polls_total") {
		t.Error(res.Status)
	}
	u.do("fleet.remove", api.FleetRigName{Rig: "lab-07"}, nil)
}

// TestRigWithoutHub: methods of a hub answer with a sentence elsewhere. Routes of a hub need a
// token, or have a rate.
func TestRigWithoutHub(t *testing.T) {
	t.Parallel()
	alone := serve(t, nil)
	var status api.FleetStatus
	if err := alone.call("fleet.status", api.Empty{}, &status); err != nil || status.Role != "alone" {
		t.Errorf("%v %+v", err, status)
	}
	if err := alone.call("fleet.rigs", api.Empty{}, nil); err == nil || err.Code != api.NotFound ||
		!strings.Contains(err.Message, "not a hub") {
		t.Errorf("%+v", err)
	}
	h, _ := newHub(t)
	s := serve(t, func(o *Options) { o.Fleet, o.Needed = h, true })
	for _, path := range []string{"/fleet/v1/runs/lab-07/s-1.1/results.json", "/fleet/v1/picture/lab-07/phone"} {
		if res, _ := s.ask("GET", path, ""); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a token: %s", path, res.Status)
		}
	}
	res, body := 0, ""
	for range 8 {
		r, text := s.ask("POST", "/fleet/v1/join", `{"version":1,"token":"guess"}`)
		res, body = r.StatusCode, text
	}
	if res != http.StatusTooManyRequests {
		t.Errorf("guesses are not bounded: %d %s", res, bytes.TrimSpace([]byte(body)))
	}
}

// TestRelayed: the hub of a rig's fleet gets files and pictures without a token, and nothing else.
func TestRelayed(t *testing.T) {
	t.Parallel()
	device := daemontest.New("local")
	s := serveRig(t, daemontest.Start(t, t.TempDir(), daemontest.Devices{device}, nil),
		func(o *Options) { o.Needed = true })
	job := s.Ended(s.Scene("ci", api.StartParams{Devices: []string{"local"}}).ID)
	attempt := func(id string) api.Job {
		j, err := s.Queue().Submit(t.Context(), id, "fleet", api.StartParams{Test: "scene", NoVideo: true,
			Devices: []string{"local"}})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	s.Ended(attempt("s-x.1").ID)
	relayed := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // waits for no picture
		s.api.Relayed().ServeHTTP(w, httptest.NewRequest("GET", path, nil).WithContext(ctx))
		return w
	}
	get := func(path string) int { return relayed(path).Code }
	for path, want := range map[string]int{"/api/v1/runs/" + job.ID + "/run.json": 404,
		"/api/v1/runs/s-x.1/set.json": 200, "/api/v1/runs/s-x.1~run-01/run.json": 200,
		"/api/v1/runs/none/run.json": 404, "/api/v1/runs/s-x.1~..~" + job.ID + "/run.json": 404,
		"/api/v1/openrpc.json": 404, "/preview/local": 404, "/preview/other": 404, "/metrics": 404} {
		if got := get(path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	shown, leave, err := s.Preview("local") // the owner looks, before the job and meanwhile
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	s.Until("a picture for the owner", func() bool { p, _ := shown.Latest(); return p != nil })
	free := device.Hold()
	s.State(attempt("s-x.2").ID, "running")
	began, err := s.Job("s-x.2")
	if err != nil {
		t.Fatal(err)
	}
	switch got := relayed("/preview/local"); got.Code {
	case http.StatusServiceUnavailable:
	case http.StatusOK:
		info := api.PictureInfo{}
		body := got.Body.Bytes()
		if err := json.Unmarshal(body[6:4+binary.BigEndian.Uint16(body[4:])], &info); err != nil ||
			info.TimeWallNS < began.StartedWallNS {
			t.Errorf("the fleet sees a picture of before its job: %+v, %v", info, err)
		}
	default:
		t.Errorf("a device with a job of the fleet: %d", got.Code)
	}
	free()
	s.Ended("s-x.2")
	if res, err := http.Get(s.URL + "/preview/local"); err != nil || res.StatusCode != 200 {
		t.Error(err)
	} else if text, _ := io.ReadAll(res.Body); string(text) != "the page" {
		t.Errorf("strangers see a preview: %.100q", text)
	}
}
