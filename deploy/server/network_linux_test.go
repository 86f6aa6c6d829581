package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/netsim/link"
)

// onLine is a client whose job runs a test on a link. The device shows green and content, and never
// red.
type onLine struct {
	*served
	*client.Client
	device *daemontest.Device
	job    api.Job
}

// startOnLine begins the job; the device waits until free is called.
func startOnLine(t *testing.T, test string) (o *onLine, free func()) {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a network of its own takes root")
	}
	o = &onLine{device: daemontest.New("local")}
	o.device.Scene = daemontest.Stuck
	free = o.device.Hold()
	t.Cleanup(free)
	o.served = serveRig(t, daemontest.Start(t, t.TempDir(), daemontest.Devices{o.device}, nil), nil)
	c, err := client.New(o.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	o.Client = c
	all := 1.0
	start := api.StartParams{Upload: &api.Upload{Test: "far.yaml", Files: map[string]string{"far.yaml": test}},
		NoVideo: true, MaxLost: &all, Seed: 1}
	if err := c.Call(t.Context(), "run.start", start, &o.job); err != nil {
		t.Fatal(err)
	}
	o.Until("a run to have its network", func() bool { return o.device.Wanted().Network != nil || o.over() })
	return o, free
}

// set changes the line of the run at work.
func (o *onLine) set(network api.Conditions) (l api.Line, err error) {
	err = o.Call(o.t.Context(), "network.set", api.NetworkParams{Job: o.job.ID, Network: network}, &l)
	return l, err
}

// setFirst does so as soon as there is one.
func (o *onLine) setFirst(network api.Conditions) (l api.Line, err error) {
	o.Until("the run to be at work", func() bool {
		l, err = o.set(network)
		return !conflict(err) || o.over()
	})
	return l, err
}

func conflict(err error) bool {
	var told *api.Error
	return errors.As(err, &told) && told.Code == api.Conflict
}

// over reports whether the job has ended, so that nobody waits for what it does.
func (o *onLine) over() bool {
	j, err := o.Job(o.job.ID)
	return err != nil || j.EndedWallNS != 0
}

// TestSetNetwork: a client changes the link of a running test. Later traffic takes the new time,
// and the run records the change.
func TestSetNetwork(t *testing.T) {
	t.Parallel()
	o, free := startOnLine(t, "name: far\npage: /load.html\nmeasures: [fps]\nnetwork: {rtt: 400ms}\ntimeout: 10m\n")
	if _, err := o.set(api.Conditions{RTT: "1s"}); !conflict(err) ||
		!strings.Contains(err.Error(), "getting the device ready") {
		t.Errorf("before the run is recorded: %v", err)
	}
	began := timeline.Monotonic().Now()
	shown := o.Figures().Captured["local"]
	free()
	first, err := o.setFirst(api.Conditions{Down: "20Mbit"})
	if err != nil || first.RTTNS != 4e8 || first.Down != 2e7 || first.Up != 0 || first.Loss != 0 ||
		first.Conditions != "20Mbit down, unlimited up, RTT 400ms" {
		t.Fatalf("%+v, %v", first, err)
	}
	if n := o.examples("jsonrpc-line", o.socket(), strings.NewReplacer(`"job": "…"`, `"job": "`+o.job.ID+`"`)); n != 1 {
		t.Errorf("%d examples were found", n)
	}
	last, err := o.set(api.Conditions{Profile: "none", RTT: "1200ms"})
	if err != nil || last.RTTNS != 12e8 || last.AtNS <= first.AtNS {
		t.Errorf("%+v, %v", last, err)
	}
	if took := connect(t, o.device); took < 1200*time.Millisecond {
		t.Errorf("a connection takes %v, and a round trip 1.2s", took)
	}
	// A stall delays the frames of the scene, 20 a second. They keep their times. Wait until one is
	// due after the change.
	after := uint64(time.Duration(last.AtNS-int64(began))/(50*time.Millisecond)) + 2
	o.Until("a frame after the change", func() bool { return o.Figures().Captured["local"] > shown+after || o.over() })
	if err := o.Call(t.Context(), "run.cancel", api.JobID{Job: o.job.ID}, nil); err != nil {
		t.Error(err)
	}
	if j := o.Ended(o.job.ID); j.State != "cancelled" {
		t.Errorf("%+v", j)
	}
	if _, err := o.set(api.Conditions{RTT: "1s"}); !conflict(err) ||
		!strings.Contains(err.Error(), "has ended already") {
		t.Errorf("after the job: %v", err)
	}
	dir, err := o.Store.Path(o.job.ID)
	if err != nil {
		t.Fatal(err)
	}
	changesTold(t, dir, first, last)
}

// connect is how long it takes to connect to what serves the page, over the line of the device's
// run.
func connect(t *testing.T, d *daemontest.Device) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Patience)
	defer cancel()
	began := time.Now()
	conn, err := d.Wanted().Network.Link.Device.Dial(ctx, "tcp",
		netip.AddrPortFrom(link.ServerAddress.Addr(), 80).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return time.Since(began)
}

// changesTold compares a run's record of its link with the changes.
func changesTold(t *testing.T, dir string, first, last api.Line) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, session.RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	var record session.Record
	if err := json.Unmarshal(raw, &record); err != nil || record.State != session.Failed {
		t.Errorf("%s, %v", raw, err)
	}
	notes := slices.DeleteFunc(record.Notes, func(n string) bool { return !strings.Contains(n, "changed the network") })
	if want := "client local changed the network: "; len(notes) != 3 || notes[0] != want+first.Conditions ||
		!strings.HasPrefix(notes[1], want+"3g: ") || notes[2] != want+last.Conditions {
		t.Errorf("notes %q", notes)
	}
	r, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() // was only read
	var events []timeline.Event
	for n, head := range r.Events() {
		if head.Kind != controller.LinkChanged {
			continue
		}
		e, err := r.Event(n)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if len(events) != 3 {
		t.Fatalf("%+v", events)
	}
	begin, errBegin := r.Meta(0)
	end, errEnd := r.Meta(r.Frames() - 1)
	// A run can be changed before its first frame. The connection after the last change takes 1.2 s
	// and is on record.
	if errors.Join(errBegin, errEnd) != nil || events[0].At > events[2].At ||
		events[2].At.Add(1200*time.Millisecond) < begin.Sampled.Earliest || events[2].At > end.Sampled.Latest {
		t.Errorf("changed at %d and %d, and frames from %v to %v (%v, %v)", events[0].At, events[2].At, begin.Sampled,
			end.Sampled, errBegin, errEnd)
	}
	for i, l := range map[int]api.Line{0: first, 2: last} {
		e := events[i]
		want := `{"conditions":"` + l.Conditions + `","by":"local"}`
		if e.Source != controller.EventSource || int64(e.At) != l.AtNS || int64(e.Uncertainty) != l.UncertaintyNS ||
			string(e.Data) != want {
			t.Errorf("event %d: %+v %s, want %+v", i, e, e.Data, l)
		}
	}
}
