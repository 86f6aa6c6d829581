package server

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
	"github.com/eideticker/eideticker/deploy/store"
)

// Fault: Paths with `../`, links, hidden files or other schemes
func TestFiles(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.loud()
	id := s.scene()
	dir, err := s.Store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	outside, raw := filepath.Join(t.TempDir(), "secret"), "traces/native/raw/perf.data"
	for path, text := range map[string]string{outside: "secret", filepath.Join(dir, ".hidden"): "hidden",
		filepath.Join(dir, session.KeyLogFile): "secret keys", filepath.Join(dir, raw): "secret addresses"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	run := "/api/v1/runs/" + id + "/"
	for _, tc := range []struct {
		path, kind string
		want       int
	}{
		{run + "run.json", "application/json", 200},
		{run + "results.json", "application/json", 200},
		{run + "recording.eid", "application/octet-stream", 200},
		{run + "log.txt", "text/plain; charset=utf-8", 200},
		{run + "report.html", "text/html; charset=utf-8", 200},
		{run + "frames/0.png", "image/png", 200},
		{run + "frames/0.png?region=8x8+4+4", "image/png", 200},
		{run + "frames/0.png?region=8000x8+4+4", "", 400},
		{run + "frames/0.png?region=nonsense", "", 400},
		{run + "frames/100000.png", "", 404},
		{run + "frames/99999999999999999999.png", "", 404},
		{run + "frames/-1.png", "", 404},
		{run + "frames/00.png", "", 404},
		{run + "frames/x", "", 404},
		{run + "zip", "application/zip", 200},
		{run + "none.txt", "", 404},
		{run + ".hidden", "", 404},
		{run + "link.txt", "", 404},
		{run + "network.keys", "", 404},
		{run + "NETWORK.keys", "", 404},
		{run + raw, "", 404},
		{run + "traces/native/RAW/perf.data", "", 404},
		{run + "pictures", "", 404},
		{run + "%2e%2e/%2e%2e/jobs.json", "", 404},
		{run + "..%2f..%2fjobs.json", "", 404},
		{run + `..\..\jobs.json`, "", 404},
		{run + "/etc/passwd", "", 0},
		{"/api/v1/runs/../secrets/tokens.json", "", 0},
		{"/api/v1/runs/..%2fsecrets/tokens.json", "", 400},
		{"/api/v1/runs/a~..~..~secrets/tokens.json", "", 400},
		{"/api/v1/runs/none/run.json", "", 404},
		{"/api/v1/none", "", 404},
	} {
		s.log.take()
		res, text := s.ask("GET", tc.path, "")
		if line := s.log.take(); tc.want >= 400 && !strings.Contains(line, fmt.Sprintf("status=%d why=", tc.want)) {
			t.Errorf("%s: the log has %q", tc.path, line)
		}
		if tc.want != 0 && res.StatusCode != tc.want || tc.want == 0 && res.StatusCode == 200 || tc.kind != "" &&
			res.Header.Get("Content-Type") != tc.kind {
			t.Errorf("%s: %d %s, want %d %s", tc.path, res.StatusCode, res.Header.Get("Content-Type"), tc.want, tc.kind)
		}
		if strings.Contains(text, "secret") && res.StatusCode == 200 || res.StatusCode >= 400 &&
			(text == "" || strings.Contains(text, s.Dir)) {
			t.Errorf("%s: %.200s", tc.path, text)
		}
		if res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has no headers that protect", tc.path)
		}
	}
	_, packed := s.ask("GET", run+"zip", "")
	z, err := zip.NewReader(strings.NewReader(packed), int64(len(packed)))
	secret := func(name string) bool { return name == session.KeyLogFile || strings.Contains(name, "/raw") }
	if err != nil || slices.ContainsFunc(z.File, func(f *zip.File) bool { return secret(f.Name) }) {
		t.Errorf("secrets of TLS or raw traces are in a zip file: %v", err)
	}
	var detail api.RunDetail
	if e := s.call("run.get", api.RunID{Run: id}, &detail); e != nil || len(detail.Files) < 4 ||
		slices.ContainsFunc(detail.Files, func(f api.File) bool { return secret(f.Name) }) {
		t.Errorf("secrets of TLS or raw traces are told of: %+v, %v", detail.Files, e)
	}
	whole, _ := s.ask("GET", run+"recording.eid", "")
	part, text := s.ask("GET", run+"recording.eid", "", "Range", "bytes=4-7", "If-Range", whole.Header.Get("ETag"))
	if part.StatusCode != http.StatusPartialContent || len(text) != 4 {
		t.Errorf("a range: %d, %d bytes", part.StatusCode, len(text))
	}
}

// Files that came with a run do not run. Its page is made again. Others that a browser might open
// as a page are text, or may do nothing.
//
// Fault: A report page with scripts in a pushed run
func TestHostilePages(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	id := s.scene()
	dir, err := s.Store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	const script = "<script>alert(1)</script>"
	for _, name := range []string{"report.html", "other.html", "page.HTML", "picture.svg", "script.js"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		res, text := s.ask("GET", "/api/v1/runs/"+id+"/"+name, "")
		if res.StatusCode != 200 || text == "" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
		if kind := res.Header.Get("Content-Type"); name == "report.html" {
			if strings.Contains(text, script) || !strings.HasPrefix(kind, "text/html") {
				t.Errorf("the page that came with the run is sent: %.200s", text)
			}
		} else if policy := res.Header.Get("Content-Security-Policy"); strings.Contains(kind, "html") ||
			strings.Contains(kind, "javascript") || !strings.Contains(policy, "sandbox") ||
			!strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s is %s, under the policy %q", name, kind, policy)
		}
	}
}

// A frame's picture is the frame that was captured, pixel by pixel.
func TestFrameIsExact(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	id := s.scene()
	dir, err := s.Store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, name := range []string{"0", "31"} {
		_, text := s.ask("GET", "/api/v1/runs/"+id+"/frames/"+name+".png", "")
		got, err := png.Decode(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		img, err := r.Image(map[string]int{"0": 0, "31": 31}[name])
		if err != nil {
			t.Fatal(err)
		}
		want := frame.NewConverter(img.Layout).Picture(img)
		if got.Bounds() != want.Bounds() {
			t.Fatalf("%v, want %v", got.Bounds(), want.Bounds())
		}
		for y := range got.Bounds().Dy() {
			for x := range got.Bounds().Dx() {
				gr, gg, gb, _ := got.At(x, y).RGBA()
				wr, wg, wb, _ := want.At(x, y).RGBA()
				if gr != wr || gg != wg || gb != wb {
					t.Fatalf("frame %s differs at %d, %d", name, x, y)
				}
			}
		}
	}
}

// Runs move from one rig to another, and invalid ones are rejected.
func TestPushAndDelete(t *testing.T) {
	t.Parallel()
	a, b := serve(t, nil), serve(t, nil)
	id := a.scene()
	_, packed := a.ask("GET", "/api/v1/runs/"+id+"/zip", "")
	if _, err := zip.NewReader(strings.NewReader(packed), int64(len(packed))); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(b.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	there, _, err := c.Push(t.Context(), strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var detail api.RunDetail
	if err := c.Call(t.Context(), "run.get", api.RunID{Run: there}, &detail); err != nil || detail.Test != "scene" ||
		len(detail.Values) == 0 || len(detail.Files) < 4 {
		t.Errorf("%+v, %v", detail, err)
	}
	for name, body := range map[string]string{"nothing": "", "garbage": "PK\x03\x04garbage",
		"half": packed[:len(packed)/2]} {
		res, text := b.ask("POST", "/api/v1/runs", body, "Content-Type", "application/zip")
		if res.StatusCode != http.StatusUnprocessableEntity && res.StatusCode != http.StatusBadRequest || text == "" {
			t.Errorf("%s: %d %s", name, res.StatusCode, text)
		}
	}
	// Two clients delete one run: one has done it.
	var wg sync.WaitGroup
	results := make([]*api.Error, 2)
	for i := range results {
		wg.Go(func() { results[i] = b.call("run.delete", api.RunID{Run: there}, nil) })
	}
	wg.Wait()
	gone := 0
	for _, e := range results {
		if e != nil && e.Code == api.NotFound {
			gone++
		} else if e != nil {
			t.Errorf("%+v", e)
		}
	}
	if gone != 1 {
		t.Errorf("%+v", results)
	}
	b.logged(fmt.Sprintf("code=%d", api.NotFound))
	if res, text := b.ask("GET", "/api/v1/runs/"+there+"/zip", ""); res.StatusCode != 404 ||
		!strings.Contains(text, there) {
		t.Errorf("a zip of what was deleted: %d %s", res.StatusCode, text)
	}
	b.logged("status=404")
	if e := b.call("rig.status", api.Empty{}, nil); e != nil {
		t.Errorf("after all that: %+v", e)
	}
}

// Everything about runs, once through.
func TestRuns(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) {
		o.Compare = nil
		o.Sources = func() (json.RawMessage, error) { return json.RawMessage(`{"devices": []}`), nil }
	})
	id := s.scene()
	var list api.Runs
	if e := s.call("run.list", api.ListParams{Test: "scene", State: "ok"}, &list); e != nil || list.Total != 1 ||
		list.Runs[0].ID != id || list.Runs[0].Lost > list.Runs[0].Frames {
		t.Errorf("%+v, %+v", list, e)
	}
	if e := s.call("run.list", api.ListParams{Test: "other"}, &list); e != nil || list.Total != 0 {
		t.Errorf("%+v, %+v", list, e)
	}
	if e := s.call("run.list", api.ListParams{Verdict: "regressed"}, &list); e != nil || list.Total != 0 {
		t.Errorf("%+v, %+v", list, e)
	}
	judged := store.Verdict{Verdict: stats.Regressed, Base: id}
	if err := s.Store.SetVerdict(t.Context(), id, &judged); err != nil {
		t.Fatal(err)
	}
	if e := s.call("run.list", api.ListParams{Verdict: "regressed"}, &list); e != nil || list.Total != 1 ||
		list.Runs[0].Verdict != "regressed" || list.Runs[0].Base != id {
		t.Errorf("%+v, %+v", list, e)
	}
	if e := s.call("set.list", api.ListParams{Verdict: "worse"}, nil); e == nil || e.Code != api.InvalidParams {
		t.Errorf("a verdict that there is not: %+v", e)
	}
	var trend api.Trend
	if e := s.call("trend", api.TrendParams{Test: "scene", Measure: "fps", Value: "framerate"}, &trend); e != nil ||
		len(trend.Points) != 1 || trend.Unit == "" {
		t.Errorf("%+v, %+v", trend, e)
	}
	if e := s.call("run.pin", api.PinParams{Run: id, Pinned: true}, nil); e != nil {
		t.Errorf("%+v", e)
	}
	if e := s.call("run.delete", api.RunID{Run: id}, nil); e == nil || e.Code != api.Conflict {
		t.Errorf("what is pinned was deleted: %+v", e)
	}
	var base api.Baselines
	if e := s.call("baseline.set", api.Baseline{Name: "release", ID: id}, &base); e != nil || len(base.Baselines) != 1 {
		t.Errorf("%+v, %+v", base, e)
	}
	if e := s.call("baseline.set", api.Baseline{Name: "release"}, &base); e != nil || len(base.Baselines) != 0 {
		t.Errorf("%+v, %+v", base, e)
	}
	if e := s.call("run.pin", api.PinParams{Run: id}, nil); e != nil {
		t.Errorf("%+v", e)
	}
	if e := s.call("run.delete", api.RunID{Run: id}, nil); e != nil {
		t.Errorf("%+v", e)
	}
	var sources map[string]any
	if e := s.call("sources.list", api.Empty{}, &sources); e != nil || sources["devices"] == nil {
		t.Errorf("%v, %+v", sources, e)
	}
	var tests api.Tests
	if e := s.call("suite.list", api.Empty{}, &tests); e != nil || len(tests.Tests) < 10 || len(tests.Problems) != 0 {
		t.Errorf("%+v, %+v", tests, e)
	}
	offers := func(name string) bool {
		return slices.ContainsFunc(tests.Policies, func(p api.TestPolicy) bool { return p.Name == name })
	}
	if !offers("calls") || offers("ab") {
		t.Errorf("policies %+v", tests.Policies)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.scene()
	res, text := s.ask("GET", "/metrics", "")
	for _, want := range []string{
		`eideticker_captured_frames_total{device="local"}`, `eideticker_runs_total{device="local",state="ok"} 1`,
		`eideticker_jobs_total{kind="run",state="ok"} 1`,
		"eideticker_queued_jobs 0", "eideticker_store_free_bytes", "eideticker_websocket_clients 0",
		`eideticker_device_state{device="local",state="free"} 1`, "go_goroutines", "process_open_fds",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%d, and no %s", res.StatusCode, want)
		}
	}
	if res, _ := s.ask("GET", "/healthz", ""); res.StatusCode != 200 {
		t.Errorf("health: %d", res.StatusCode)
	}
}

// TestArchivesStay: neither an address nor the zip of a run leads to archives of sites.
//
// Fault: A recorded site has cookies, and its runs are pushed
func TestArchivesStay(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	id := s.scene()
	for _, name := range []string{"archives/a.test-1234.zip", "traces/a.json", "caches/a"} {
		path := filepath.Join(s.Dir, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("s3cret"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{"../" + name, "..%2F" + name, id + "/../../" + name, id + "/..%2F..%2F" + name,
			"..~" + strings.ReplaceAll(name, "/", "~"), "..~" + name, name, "archives/zip"} {
			if res, text := s.ask("GET", "/api/v1/runs/"+address, ""); strings.Contains(text, "s3cret") ||
				res.StatusCode < 300 {
				t.Errorf("%s: %d %s", address, res.StatusCode, text)
			}
		}
	}
	res, body := s.ask("GET", "/api/v1/runs/"+id+"/zip", "")
	z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res.StatusCode, err)
	}
	dir, err := s.Store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if err != nil || strings.HasSuffix(f.Name, ".zip") {
			t.Errorf("the zip has %s, %v", f.Name, err)
		}
	}
	if strings.Contains(body, "s3cret") || len(z.File) == 0 {
		t.Errorf("the zip of a run has %d files", len(z.File))
	}
}
