package hub

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// zipped returns a zip file and what announces it.
func zipped(t testing.TB, files map[string]string) ([]byte, *wire.LightState) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range sortedKeys(files) {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), &wire.LightState{Bytes: int64(b.Len()), SHA256: hexSum(b.Bytes())}
}

const lightSet = `{"runs":[{"dir":"run-1","variant":"b","state":"failed","reason":"x"}]}`

var lightFiles = map[string]string{"set.json": lightSet, "origin.json": "from the rig", "run-1/run.json": "{}",
	"run-1/files.json": `[{"name":"video.mp4","bytes":5}]`}

func fetch(t testing.TB, method, url, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw), res.Header
}

// TestLight: a result is stored and acknowledged after its light folder is. Each ticket is for one
// transfer of the announced content.
func TestLight(t *testing.T) {
	t.Parallel()
	good, state := zipped(t, lightFiles)
	bad, badState := zipped(t, map[string]string{"../out": "x"})
	bomb, bombState := zipped(t, map[string]string{"bomb": strings.Repeat("0", wire.MaxLight+1)})
	other := bytes.Clone(good)
	other[40] ^= 1
	for name, c := range map[string]struct {
		state  *wire.LightState
		body   []byte
		status int
		job    string
		folder bool
	}{
		"as announced":    {state, good, 204, "ok a:ok", true},
		"another content": {state, other, 422, "ok a:ok", false},
		"cut":             {state, good[:100], 422, "ok a:ok", false},
		"too large":       {state, append(bytes.Clone(good), 0), 413, "running a:running", false},
		"outside":         {badState, bad, 422, "ok a:ok", false},
		"bomb":            {bombState, bomb, 422, "ok a:ok", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "a")
			s := httptest.NewServer(w.hub.Handler())
			defer s.Close()
			w.submit("s-1", api.JobParams{StartParams: api.StartParams{Origin: json.RawMessage(`{"of":"hub"}`)}})
			a := w.rigs["a"].poll().poll().end("s-1.1", wire.Ended{State: "ok", Light: c.state}).poll().poll()
			if len(a.answer.Light) != 1 || len(a.answer.Acknowledged) != 0 || a.answer.Light[0].Attempt != "s-1.1" {
				t.Fatalf("%+v", a.answer)
			}
			w.expect("s-1", "running a:running")
			url := s.URL + "/fleet/v1/ticket/" + a.answer.Light[0].ID
			if status, body, _ := fetch(t, "POST", url, string(c.body)); status != c.status {
				t.Errorf("%d %s", status, body)
			}
			w.expect("s-1", c.job)
			if status, _, _ := fetch(t, "POST", url, string(c.body)); status != 404 {
				t.Errorf("the second time: %d", status)
			}
			if a.poll(); (len(a.has) == 0) != (c.job == "ok a:ok") {
				t.Errorf("%+v", a.answer)
			}
			dir, err := w.hub.Queue().Folder("s-1")
			if !c.folder {
				if err == nil {
					t.Error("there is a folder")
				}
				return
			}
			if j, is := w.hub.Queue().Job("s-1"); !is || fmt.Sprint(j.Runs) != "[{a/s-1.1~run-1 b failed x false}]" {
				t.Errorf("%v %v", is, j.Runs)
			}
			raw, err := os.ReadFile(filepath.Join(dir, "origin.json"))
			if err != nil || string(raw) != `{"of":"hub"}` {
				t.Errorf("origin %s, %v", raw, err)
			}
			w.restart()
			if again, err := w.hub.Queue().Folder("s-1"); err != nil || again != dir {
				t.Errorf("after a restart: %s %v", again, err)
			}
			if left, err := os.ReadDir(filepath.Join(w.o.Dir, "fleet/light/.staging")); err != nil || len(left) > 0 {
				t.Errorf("%v %v", left, err)
			}
		})
	}
}

// TestQueueProgress: programs see the run of a job on its rig, or why the job waits there.
func TestQueueProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.submit("s-1", api.JobParams{})
	for _, c := range []struct{ state, progress, run, reason string }{
		{queued, "device phone is at job x", "", "device phone is at job x"},
		{running, "run 3 of 24: running scroll", "3 of 24", ""},
		{running, "comparing", "", ""},
	} {
		w.rigs["a"].state, w.rigs["a"].progress = c.state, c.progress
		w.rigs["a"].poll().poll()
		w.rigs["a"].poll() // a change of its state is kept before its progress
		j, is := w.hub.Queue().Job("s-1")
		run := ""
		if j.Phase != nil {
			run = j.Phase.Run
		}
		if !is || j.State != c.state || run != c.run || j.Reason != c.reason {
			t.Errorf("%+v: %+v, run %q", c, j, run)
		}
	}
}

// TestQueueUnavailable: a job of a hub that does not lead waits; it is not unknown.
func TestQueueUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.submit("s-1", api.JobParams{})
	if j, is := w.hub.Queue().Job("s-2"); is {
		t.Errorf("%+v", j)
	}
	w.hub.mu.Lock()
	w.hub.leads = false
	w.hub.mu.Unlock()
	for _, id := range []string{"s-1", "s-2"} {
		if j, is := w.hub.Queue().Job(id); !is || j.State != queued || j.Reason == "" {
			t.Errorf("%+v %v", j, is)
		}
	}
}

// TestLightLimit: above the limit the folder that was used longest ago is deleted.
func TestLightLimit(t *testing.T) {
	t.Parallel()
	raw, state := zipped(t, map[string]string{"set.json": "{}", "run-1/log.json": strings.Repeat("0", 50_000)})
	const space = 4096 + 13*4096 // unpacked
	dir := t.TempDir()
	l, err := openLight(dir, 2*space)
	if err != nil {
		t.Fatal(err)
	}
	take := func(name string) {
		if err := l.receive(t.Context(), "a", name, *state, bytes.NewReader(raw), nil); err != nil {
			t.Fatal(err)
		}
	}
	take("s-1.1")
	take("s-2.1")
	l.all["a/s-2.1"].used = time.Time{} // it was used before the first
	take("s-3.1")
	for range 2 {
		if !l.has("a", "s-1.1") || l.has("a", "s-2.1") || !l.has("a", "s-3.1") || l.bytes != 2*space {
			t.Errorf("%v %d", l.all, l.bytes)
		}
		if l, err = openLight(dir, 2*space); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLightMakesRoom: on a full disk a new job has old light folders deleted, if no point needs
// them. Those of the last days stay.
//
// Fault: Light folders fill the disk of a fleet's hub
func TestLightMakesRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	raw, state := zipped(t, lightFiles)
	var each int64
	for i, name := range []string{"s-1.1", "s-2.1", "s-3.1", "s-4.1"} {
		if err := w.hub.light.receive(t.Context(), "a", name, *state, bytes.NewReader(raw), nil); err != nil {
			t.Fatal(err)
		}
		kept := w.hub.light.all["a/"+name]
		kept.used, each = time.Now().Add(time.Duration(i-10)*24*time.Hour), kept.bytes
	}
	w.hub.light.all["a/s-4.1"].used = time.Now()
	w.hub.o.Needed = func() (map[string]bool, error) { return map[string]bool{"a/s-1.1": true, "a/s-2.1": true}, nil }
	w.hub.o.Quota = 1 << 30
	for i, want := range []string{"1 1 1 1", "1 1 0 1", "1 1 0 1"} {
		w.hub.o.Free = func() (int64, error) { return 2<<30 + int64(4-i)*each - w.hub.light.bytes, nil }
		_, err := w.hub.Submit(t.Context(), "ann", api.JobParams{Job: fmt.Sprint("s-", i),
			StartParams: api.StartParams{Test: "scroll"}})
		if (err == nil) != (i < 2) {
			t.Errorf("job %d: %v", i, err)
		}
		have := ""
		for n := range 4 {
			name := fmt.Sprintf("s-%d.1", n+1)
			is := w.hub.light.has("a", name)
			if _, err := os.Stat(filepath.Join(w.hub.light.dir, "a", name)); (err == nil) != is {
				t.Errorf("%s: %v", name, err)
			}
			have += map[bool]string{true: " 1", false: " 0"}[is]
		}
		if have[1:] != want {
			t.Errorf("job %d leaves%s, want %s", i, have, want)
		}
	}
}

// TestFiles: files of light folders come from the hub, others from the rig, of an absent rig none.
func TestFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := httptest.NewServer(w.hub.Handler())
	defer s.Close()
	raw, state := zipped(t, lightFiles)
	if err := w.hub.light.receive(t.Context(), "a", "s-1.1", *state, bytes.NewReader(raw), nil); err != nil {
		t.Fatal(err)
	}
	w.relays(s.URL, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Range", "bytes 1-2/5")
		if r.Header.Get("Range") != "" {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = io.WriteString(w, "<b>"+r.URL.Path+" "+r.Header.Get("Range")) // never fails
	}))
	for _, c := range []struct {
		path, ranged string
		status       int
		body, kind   string
	}{
		{"runs/a/s-1.1~run-1/run.json", "", 200, "{}", "application/json"},
		{"runs/a/s-1.1/set.json", "bytes=0-0", 206, "{", "application/json"},
		{"runs/a/s-1.1~run-1/video.mp4", "", 200, "<b>/api/v1/runs/s-1.1~run-1/video.mp4 ", "video/mp4"},
		{"runs/a/s-1.1~run-1/video.mp4", "bytes=1-2", 206, "<b>/api/v1/runs/s-1.1~run-1/video.mp4 bytes=1-2",
			"video/mp4"},
		{"runs/a/s-1.1~run-1/x.html", "", 200, "<b>/api/v1/runs/s-1.1~run-1/x.html ", "text/plain; charset=utf-8"},
		{"runs/a/s-9.1/report.html", "", 404, "no light folder", "text/plain; charset=utf-8"},
		{"runs/a/s-1.1~run-1/report.html", "", 404, "no results", "text/plain; charset=utf-8"},
		{"runs/a/s-1.1/.bytes", "", 404, "not found", "text/plain; charset=utf-8"},
		{"runs/a/..%2Fs-1.1/set.json", "", 404, "not found", "text/plain; charset=utf-8"},
		{"runs/b/s-1.1/set.json", "", 503, "unknown rig b", "text/plain; charset=utf-8"},
		{"picture/a/phone", "", 200, "<b>/preview/phone ", "image/jpeg"},
	} {
		status, body, header := fetch(t, "GET", s.URL+"/fleet/v1/"+c.path, "", "Range", c.ranged)
		if status != c.status || !strings.Contains(body, c.body) || header.Get("Content-Type") != c.kind ||
			header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %q %v", c.path, status, body, header)
		}
	}
	w.now = w.now.Add(time.Minute)
	if status, body, _ := fetch(t, "GET", s.URL+"/fleet/v1/runs/a/s-1.1/video.mp4", ""); status != 503 ||
		!strings.Contains(body, "a is away since 2026-11-28 12:00") {
		t.Errorf("%d %s", status, body)
	}
	if n := fmt.Sprint(len(w.hub.tickets), len(w.hub.rigs["a"].relaying), len(w.hub.relays.files)); n != "0 0 0" {
		t.Errorf("tickets, transfers of the rig, transfers: %s", n)
	}
}
