package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// TestClonedRig: two machines that poll in turns as one rig are suspended. It ends after one is
// silent for long, or by an invitation. A restart is not a clone.
func TestClonedRig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		boots []string // of polls, each five seconds after the one before
		do    func(w *world)
		state string
	}{
		"restarts": {boots: []string{"1", "2", "1", "3", "3", "4", "4"}, state: "ready"},
		"two":      {boots: []string{"1", "2", "1", "2", "1", "2"}, state: "suspended"},
		"invited again": {boots: []string{"1", "2", "1", "2", "1"}, do: func(w *world) { w.enrol("a") },
			state: "ready"},
		"one is silent": {boots: []string{"1", "2", "1", "2", "1"}, do: func(w *world) {
			w.rigs["a"].boot = "1"
			w.pass(cloneTime+time.Minute, "a")
		}, state: "ready"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a")
			a := w.rigs["a"]
			for _, boot := range c.boots {
				w.now = w.now.Add(5 * time.Second)
				a.boot = boot
				a.poll()
			}
			if c.do != nil {
				c.do(w)
				a.poll()
			}
			rigs, err := w.hub.Rigs()
			if err != nil || rigs.Rigs[0].State != c.state || (a.answer.Error != "") != (c.state == "suspended") {
				t.Errorf("%+v %v %q", rigs, err, a.answer.Error)
			}
		})
	}
}

// TestHostileRig: a rig ends only its own attempts, and invalid polls are refused.
//
// Fault: A rig of a fleet reports attempts of others, and floods its hub
func TestHostileRig(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	w.submit("s-1", api.JobParams{})
	w.rigs["a"].poll()
	b := w.rigs["b"]
	for _, id := range []string{"s-1.1", "s-1.2", "s-1.0", "s-1.01", "s-1", "x.1", "s-1.99999999999999999999",
		"../x.1"} {
		b.has[id] = &simAttempt{}
		b.end(id, wire.Ended{State: "ok"})
	}
	b.poll()
	w.expect("s-1", "assigned a:assigned")
	long := strings.Repeat("x", 1<<20)
	many := make([]wire.Device, wire.MaxDevices+1)
	heavy := []wire.Device{}
	for i := range wire.MaxDevices {
		d := wire.Device{Name: fmt.Sprint("d", i), Labels: map[string]string{}}
		for k := range wire.MaxLabels {
			d.Labels[fmt.Sprint("k", k)] = long[:100]
		}
		heavy = append(heavy, d)
	}
	for name, p := range map[string]wire.Poll{
		"devices": {Version: 1, Devices: many}, "labels": {Version: 1, Devices: heavy}, "version": {},
		"name":    {Version: 1, Devices: []wire.Device{{Name: "a/b"}}},
		"running": {Version: 1, Running: make([]wire.Running, wire.MaxRunning+1)},
		"accept":  {Version: 1, Accept: wire.Accept{Owners: []string{long}}},
		"runs":    {Version: 1, Ended: []wire.Ended{{State: "ok", Runs: make([]wire.LightRun, maxRuns+1)}}},
		"path":    {Version: 1, Ended: []wire.Ended{{State: "ok", Runs: []wire.LightRun{{Run: long}}}}},
		"label":   {Version: 1, Devices: []wire.Device{{Name: "d", Labels: map[string]string{"k": "a\nb"}}}},
	} {
		raw, _ := json.Marshal(p)
		var out wire.Polled
		if err := json.Unmarshal(w.hub.handle(t.Context(), "b", "poll", raw), &out); err != nil || out.Error == "" ||
			len(out.Error) > 1000 {
			t.Errorf("%s: %v %+v", name, err, out)
		}
	}
	for _, raw := range []string{"", "null", "[]", `{"version":"x"}`, "\x00"} {
		for _, kind := range []string{"poll", "event", "ask", "relay", "other"} {
			w.hub.handle(t.Context(), "b", kind, []byte(raw))
			w.hub.handle(t.Context(), "nobody", kind, []byte(raw))
		}
	}
	e := wire.Ended{State: "failed", Fault: "product", Reason: long, Verdict: long, Set: long[:maxPath]}
	w.rigs["a"].end("s-1.1", e).poll()
	if j := w.job("s-1"); j.State != "failed" || len(j.Reason) > maxReason || len(j.Verdict) > 64 ||
		j.Attempts[0].Set != "a/s-1.1" {
		t.Errorf("%.2000v", j)
	}
}

// TestSubmit: parameters are checked, large ones and uploads are kept apart, and only the job's rig
// gets an upload.
func TestSubmit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	large := strings.Repeat("x", maxSpec+1)
	start := func(p api.StartParams) api.JobParams { return api.JobParams{StartParams: p} }
	var many []string // they nearly fill a record, which could never have an attempt
	for i := range maxNeeds {
		many = append(many, fmt.Sprintf("word%d=%s", i, strings.Repeat("linux-debian,", 31)+"linux"))
	}
	for want, p := range map[string]api.JobParams{
		"tests, needs":       {Needs: many, StartParams: api.StartParams{Test: "t"}},
		"55 variants":        start(api.StartParams{Variants: make([]api.Variant, 55), Test: "t"}),
		"must be RIG/DEVICE": start(api.StartParams{Test: "t", Devices: []string{"phone"}}),
		"a job has one rig":  start(api.StartParams{Test: "t", Devices: []string{"a/phone", "b/phone"}}),
		"class":              start(api.StartParams{Test: "t", Class: "soon"}),
		"needs one of":       start(api.StartParams{Test: "t", URL: "http://x"}),
		"bytes, at most":     start(api.StartParams{Test: "t", Network: large}),
		"not JSON":           start(api.StartParams{Test: "t", Origin: json.RawMessage("{")}),
		"in variants":        start(api.StartParams{Test: "t", Variants: []api.Variant{{Upload: &api.Upload{}}}}),
		"os":                 {Needs: []string{"os=beos"}, StartParams: api.StartParams{Test: "t"}},
		"must be s-":         {Job: "mine", StartParams: api.StartParams{Test: "t"}},
	} {
		if _, err := w.hub.Submit(t.Context(), "ann", p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+.200v: %v, want %q", p, err, want)
		}
	}
	w.hub.o.Free, w.hub.o.Quota = func() (int64, error) { return 3 << 30, nil }, 2<<30
	told := (*api.Error)(nil)
	if _, err := w.hub.Submit(t.Context(), "ann", start(api.StartParams{Test: "t"})); !errors.As(err, &told) ||
		told.Code != api.Unavailable || !strings.Contains(err.Error(), "disk is nearly full") {
		t.Error(err)
	}
	if got := w.hub.Status().Reason; !strings.Contains(got, "disk is nearly full") {
		t.Errorf("the status has the reason %q", got)
	}
	w.hub.o.Quota = 1 << 30
	upload := &api.Upload{Test: "t.yaml", Files: map[string]string{"t.yaml": "steps"}}
	j := w.submit("s-1", api.JobParams{StartParams: api.StartParams{Upload: upload, Devices: []string{"b/phone"},
		Network: large[:maxInline]}})
	if j.State != "assigned" || j.Attempts[0].Rig != "b" {
		t.Fatalf("%+v", j)
	}
	w.restart()
	d := w.rigs["b"].poll().answer.Desired
	if len(d) != 1 || d[0].Params.Network != large[:maxInline] ||
		!slices.Equal(d[0].Params.Devices, []string{"phone"}) {
		t.Fatalf("%.3000v", d)
	}
	for rig, is := range map[string]bool{"a": false, "b": true} {
		raw, _ := json.Marshal(wire.Ask{Upload: d[0].Upload})
		var got wire.Asked
		if err := json.Unmarshal(w.hub.handle(t.Context(), rig, "ask", raw), &got); err != nil ||
			strings.Contains(string(got.Upload), "steps") != is || (got.Error == "") != is {
			t.Errorf("%s: %v %+v", rig, err, got)
		}
	}
	w.rigs["b"].end("s-1.1", wire.Ended{State: "ok"}).poll()
	w.hub.tick(t.Context())
	if _, err := w.memory.Hub().Blobs().Get(t.Context(), d[0].Upload); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("the upload of an ended job: %v", err)
	}
}

// TestLeaders: one of two hubs of a storage leads. After it has stopped the other one does, and the
// old one changes nothing.
func TestLeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.submit("s-1", api.JobParams{})
	w.o.Shared = true
	w.restart()
	one := w.hub
	w.restart()
	two := w.hub
	leads := func() string { return fmt.Sprint(one.tick(t.Context()), two.tick(t.Context())) }
	for range 10 {
		if w.now = w.now.Add(10 * time.Second); leads() != "true false" {
			t.Fatal(leads())
		}
	}
	if _, err := two.Submit(t.Context(), "ann", api.JobParams{StartParams: api.StartParams{Test: "t"}}); err == nil {
		t.Error("the second hub takes a job")
	}
	for range 4 {
		w.now = w.now.Add(10 * time.Second)
		two.tick(t.Context())
	}
	w.hub = two
	w.expect("s-1", "assigned a:assigned")
	w.rigs["a"].poll().end("s-1.1", wire.Ended{State: "ok"}).poll()
	if _, err := one.Cancel(t.Context(), "s-1", "", func(string) bool { return true }); err == nil {
		t.Error("the old leader has cancelled an ended job")
	}
	w.expect("s-1", "ok a:ok")
	for range 3 {
		if w.now = w.now.Add(10 * time.Second); leads() != "false true" {
			t.Fatal(leads())
		}
	}
}

// TestStorageFails: a job that cannot be stored is not acknowledged, and a result that cannot be
// stored neither. Both are stored later, once.
func TestStorageFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	full := errors.New("no space")
	w.memory.Fail(full)
	if _, err := w.hub.Submit(t.Context(), "ann", api.JobParams{Job: "s-1",
		StartParams: api.StartParams{Test: "t"}}); err == nil {
		t.Fatal("it was acknowledged")
	}
	w.memory.Fail(nil, full) // it is stored, and cannot be assigned
	w.submit("s-1", api.JobParams{})
	w.expect("s-1", "queued")
	a := w.rigs["a"].poll()
	w.expect("s-1", "assigned a:assigned")
	w.memory.Fail(full)
	if a.end("s-1.1", wire.Ended{State: "ok"}).poll(); len(a.has) != 1 {
		t.Error("a result that was not stored is acknowledged")
	}
	if a.poll(); len(a.has) != 0 {
		t.Errorf("%v", slices.Collect(maps.Keys(a.has)))
	}
	w.expect("s-1", "ok a:ok")
}

func FuzzPoll(f *testing.F) {
	w := newWorld(f, "a")
	w.submit("s-1", api.JobParams{})
	f.Add(w.rigs["a"].report())
	f.Add([]byte(`{"version":1,"boot":"1","ended":[{"attempt":"s-1.1","state":"ok","light":{"bytes":1}}]}`))
	f.Add([]byte(`{"version":1,"running":[{"attempt":"s-1.1","state":"running","progress":"\u0000"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var out wire.Polled
		if err := json.Unmarshal(w.hub.handle(t.Context(), "a", "poll", raw), &out); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCloneOnce: a poll that is carried out again after a change is not one of a clone.
func TestCloneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.submit("s-1", api.JobParams{})
		a := w.rigs["a"]
		a.poll()
		w.hub.turn <- struct{}{}
		for _, boot := range []string{"a-boot", "2"} { // in one round; the first one stores that s-1 runs
			a.boot = boot
			raw := a.report()
			go w.hub.handle(t.Context(), "a", "poll", raw)
			synctest.Wait()
		}
		<-w.hub.turn
		synctest.Wait()
		w.expect("s-1", "running a:running")
		if r := w.hub.rigs["a"]; len(r.boots) != 2 || len(r.backs) != 0 {
			t.Errorf("polls of %v, returns at %v", r.boots, r.backs)
		}
	})
}
