package agent_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// TestAgent: a rig joins a fleet while it serves, and does what its hub desires, within its own
// limits.
//
// Fault: A hub asks a rig for what the rig does not accept
func TestAgent(t *testing.T) {
	t.Parallel()
	h, dir, device := newHub(t), t.TempDir(), daemontest.New("a")
	r := daemontest.Start(t, dir, daemontest.Devices{device}, nil)
	o := options(dir, r.Store, r.Queue(), r.Devices)
	o.Accept = wire.Accept{Owners: []string{"ci"}, Kinds: []string{"suite", "upload"}, Feeds: []string{"firefox"}}
	o.Labels = map[string]map[string]string{"": {"rack": "3", "rig": "another"}, "a": {"model": "pixel7"}}
	o.Files = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Path == "/api/v1/runs/x/broken" {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.WriteString(w, r.URL.RequestURI()+" "+r.Header.Get("Range"))
	})
	superseded := make(chan string, 100)
	o.Superseded = func(set string) { superseded <- set }
	h.set(func() { h.polled.Superseded = []string{"../s-1.1", "s-1.1"} })
	a, stop := start(t, o)
	if s := a.Status(); s.Role != "alone" || s.Connected {
		t.Errorf("without fleet.json: %+v", s)
	}
	if _, err := os.Stat(filepath.Join(dir, "fleet-agent.json")); err == nil {
		t.Error("a rig alone has a file of fleets")
	}
	if err := agent.Write(dir, h.fleet, []byte("seed"), "jwt"); err != nil {
		t.Fatal(err)
	}
	h.until(t, r, "the first poll", func() bool { return h.polls > 0 })
	h.set(func() { h.polled.Superseded = nil })
	if got := <-superseded; got != "s-1.1" {
		t.Errorf("%q is superseded", got)
	}
	labels := h.now().poll.Devices[0].Labels
	for key, want := range map[string]string{"rig": "lab-07", "device": "a", "rack": "3", "model": "pixel7",
		"browser": "one,two", "source": "synth", "size": "160x90"} {
		if labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, labels[key], want)
		}
	}

	victim := filepath.Join(dir, "victim.1.zip")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	free := device.Hold()
	upload := `{"test":"scene.yaml","files":{"scene.yaml":"name: mine\nabout: x\nurl: http://s.example/\n` +
		`sync: markers\nmeasures: [fps]\n"}}`
	h.set(func() { h.uploads[hashOf(upload)], h.uploads[hashOf("x")] = upload, upload })
	change := func(id string, do func(*wire.Assignment)) wire.Assignment {
		out := assignment(id)
		do(&out)
		return out
	}
	all := []wire.Assignment{
		assignment("s-ok.1"), assignment("s-dropped.1"),
		change("s-cancelled.3", func(d *wire.Assignment) { d.Cancel = "a person cancelled it" }),
		change("s-owner.1", func(d *wire.Assignment) { d.Owner = "eve" }),
		change("s-url.1", func(d *wire.Assignment) { d.Params.Test, d.Params.URL = "", "http://x.example/" }),
		change("s-feed.1", func(d *wire.Assignment) { d.Params.Browsers = []string{"chrome@chrome:1"} }),
		change("s-unknown.1", func(d *wire.Assignment) { d.Params.Test = "none" }),
		assignment("s-bad-id"), assignment("../victim.1"), assignment("s-" + strings.Repeat("x", 101) + ".1"),
		change("s-upload.1", func(d *wire.Assignment) { d.Params.Test, d.Upload = "", hashOf(upload) }),
		change("s-changed.1", func(d *wire.Assignment) { d.Params.Test, d.Upload = "", hashOf("x") }),
	}
	h.desire(all...)
	h.until(t, r, "the first attempt to run", func() bool {
		return slices.ContainsFunc(h.poll.Running, func(r wire.Running) bool {
			return r.Attempt == "s-ok.1" && r.State == "running"
		}) && len(h.results) >= 6
	})
	if !h.now().poll.Busy {
		t.Error("a rig at work is not busy")
	}
	if got := a.Status(); got.Role != "rig" || !got.Connected || got.Running != 1 || got.SinceWallNS == 0 {
		t.Errorf("%+v", got)
	}
	h.set(func() { h.polled.Epoch, h.polled.Desired = 2, nil }) // an old copy of the hub
	n := h.now().polls
	h.until(t, r, "a poll", func() bool { return h.polls > n+1 })
	if j, err := r.Job("s-ok.1"); err != nil || j.State != "running" || a.Status().Reason == "" {
		t.Errorf("an old copy has an effect: %+v, %v, %+v", j, err, a.Status())
	}
	h.set(func() { h.polled.Epoch, h.polled.Desired = 3, slices.Delete(all, 1, 2) })
	h.until(t, r, "the end of the dropped attempt", func() bool { return h.results["s-dropped.1"].State != "" })
	free()
	h.until(t, r, "the results", func() bool {
		return h.results["s-ok.1"].State != "" &&
			h.results["s-upload.1"].State != ""
	})
	got := h.now()
	for id, want := range map[string]string{"s-ok.1": "ok", "s-upload.1": "ok", "s-dropped.1": "interrupted: no longer",
		"s-cancelled.3": "cancelled: a person", "s-owner.1": "refused: does not accept jobs of owner \"eve\"",
		"s-url.1": "refused: of kind url", "s-feed.1": "refused: of feed \"chrome\"", "s-unknown.1": "refused: none",
		"s-changed.1": "refused: another hash"} {
		result := got.results[id]
		state, words, _ := strings.Cut(want, ": ")
		if result.State != state || !strings.Contains(result.Reason, words) {
			t.Errorf("%s: %+v, want %s", id, result, want)
		}
	}
	for id := range got.results {
		if strings.HasPrefix(id, "..") || !strings.Contains(id, ".") || len(id) > 100 {
			t.Errorf("attempt %s was accepted", id)
		}
	}
	if _, err := os.Stat(victim); err != nil {
		t.Errorf("a hub has deleted a file: %v", err)
	}
	content := names(t, got.light["s-ok.1"])
	for _, want := range []string{"set.json", "run-01/run.json", "run-01/results.json", "run-01/files.json"} {
		if !slices.Contains(content, want) {
			t.Errorf("the light folder has no %s: %q", want, content)
		}
	}

	// the hub has lost its results: they are reported again, and nothing is run again
	h.set(func() {
		delete(h.results, "s-ok.1")
		delete(h.results, "s-dropped.1")
		h.polled.Desired = []wire.Assignment{assignment("s-ok.1"), assignment("s-dropped.1")}
	})
	h.until(t, r, "the results again", func() bool {
		return h.results["s-ok.1"].State == "ok" && h.results["s-dropped.1"].State == "interrupted"
	})
	if jobs := r.Jobs(true); len(jobs) != 3 {
		t.Errorf("%d jobs: %+v", len(jobs), jobs)
	}

	device.Break(os.ErrNotExist)
	h.desire(assignment("s-lab.1"))
	h.until(t, r, "the failure", func() bool { return h.results["s-lab.1"].State != "" })
	if got := h.now().results["s-lab.1"]; got.State != "failed" || got.Fault != "lab" {
		t.Errorf("a broken device: %+v", got)
	}

	h.set(func() {
		h.files = []wire.Ticket{{ID: "one", Path: "/api/v1/runs/s-ok.1~run-01/frames/0.png?region=1",
			Range: "bytes=1-"},
			{ID: "two", Path: "/api/v1/rpc"}, {ID: "three", Path: "/preview/../api/v1/rpc"}, {ID: "four",
				Path: "/preview/a"}, {ID: "five", Path: "/api/v1/runs/x/broken"}, {ID: "six",
				Path: "//e.example/preview/"}}
	})
	h.until(t, r, "the files", func() bool {
		return h.relayed["one"] != nil && h.relayed["two"] != nil && h.relayed["three"] != nil &&
			h.relayed["four"] != nil && h.relayed["six"] != nil
	})
	got = h.now()
	for id, want := range map[string]string{"one": "206 /api/v1/runs/s-ok.1~run-01/frames/0.png?region=1 bytes=1-",
		"two": "400 path", "three": "400 path", "four": "206 /preview/a", "six": "400 path"} {
		file := got.relayed[id].Header.Get(wire.StatusHeader) + " " + got.bodies[id]
		if !strings.HasPrefix(file, want) {
			t.Errorf("ticket %s: %q, want %q", id, file, want)
		}
	}
	if err := os.Remove(filepath.Join(dir, agent.FileName)); err != nil {
		t.Fatal(err)
	}
	r.Until("the rig to leave", func() bool { return a.Status().Role == "alone" })
	stop()
	got = h.now()
	if five := got.relayed["five"]; len(got.wrong) > 0 || five != nil && five.Header.Get(wire.StatusHeader) == "200" {
		t.Error(got.wrong)
	}
}

// Fault: A rig of a fleet measures while its files are wanted
func TestNoTransferWhileMeasuring(t *testing.T) {
	t.Parallel()
	h, dir, one, two := newHub(t), t.TempDir(), daemontest.New("a"), daemontest.New("b")
	r := daemontest.Start(t, dir, daemontest.Devices{one, two}, nil)
	free := two.Hold()
	defer free()
	o := options(dir, r.Store, r.Queue(), r.Devices)
	o.Files = http.NotFoundHandler()
	if err := agent.Write(dir, h.fleet, []byte("seed"), "jwt"); err != nil {
		t.Fatal(err)
	}
	start(t, o)
	busy := r.Scene("x", api.StartParams{Devices: []string{"b"}})
	r.State(busy.ID, "running")
	h.desire(assignment("s-first.1"))
	h.until(t, r, "the result to be reported", func() bool { return len(h.poll.Ended) == 1 })
	h.set(func() { h.files = []wire.Ticket{{ID: "one", Path: "/api/v1/runs/s-first.1/set.json"}} })
	n := h.now().polls
	h.until(t, r, "more polls and the file", func() bool { return h.polls > n+2 && h.relayed["one"] != nil })
	if got := h.now(); len(got.light) > 0 || got.relayed["one"].Header.Get(wire.StatusHeader) != "503" {
		t.Error("a file was sent while a device measures")
	}
	free()
	h.until(t, r, "the result", func() bool { return h.results["s-first.1"].State == "ok" && len(h.light) == 1 })
}
