package agent

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// TestLightZip: a light folder has equal bytes each time, and bounds. A run has its results and the
// first filmstrip that fits. A failed run has its last frame. One run of a variant has its video.
func TestLightZip(t *testing.T) {
	noise := make([]byte, 3<<20)
	_, _ = rand.Read(noise) // has no errors
	results, err := result.Encode(&result.Results{Schema: result.Schema, Version: result.Version,
		Quality: analyze.Result{Measure: "quality", State: analyze.Exact}, Recording: result.Recording{Frames: 1},
		Video: &result.Video{File: "v.mp4", Map: "v.json"}, Windows: []result.Window{},
		Pictures: []result.Picture{{Kind: result.PictureEvidence, File: "pictures/z.png"},
			{Kind: result.PictureFilmstrip, File: "pictures/1.png"},
			{Kind: result.PictureFilmstrip, File: "pictures/2.png"}}})
	if err != nil {
		t.Fatal(err)
	}
	set := fstest.MapFS{"set.json": {Data: []byte("{}")}, "origin.json": {Data: []byte("{}")},
		"a/verdict.json": {Data: []byte(`{"verdict":"slower"}`)}, "a/recording.eid": {Data: noise},
		".hidden/run.json": {Data: []byte("{}")}, "a/b.1/log.txt": {Data: noise}}
	made := func(dir, state string, strip int) {
		for name, data := range map[string][]byte{"run.json": fmt.Appendf(nil, `{"state":%q}`, state),
			result.FileName: results, "pictures/1.png": noise[:strip], "pictures/2.png": noise[:100<<10],
			"pictures/z.png": noise[:1], "v.json": []byte(`{"slots":[]}`), "v.mp4": noise[:900<<10],
			session.LastFrameFile: noise[:10<<10], "recording.eid": noise} {
			set[dir+"/"+name] = &fstest.MapFile{Data: data}
		}
	}
	made("a/failed/run-01", "failed", 50<<10)
	for i := range 10 {
		made(fmt.Sprintf("a/run-%02d", i), "ok", 50<<10)
		made(fmt.Sprintf("c/run-%02d", i), "ok", 3<<20-1)
	}
	delete(set, "a/run-00/v.mp4")
	set["why/set.json"] = &fstest.MapFile{Data: []byte("{}")}
	set["a/run-07/results.json"] = &fstest.MapFile{Data: noise} // does not fit
	content, runs, verdict, err := lightZip(set, "s-x.1", 5<<20)
	again, _, _, _ := lightZip(set, "s-x.1", 5<<20)
	if err != nil || !bytes.Equal(content, again) || len(runs) != 21 || verdict != "slower" ||
		runs[8] != (wire.LightRun{Run: "s-x.1~a~run-07", State: "ok"}) {
		t.Fatalf("%d bytes, %d runs, verdict %q, %v", len(content), len(runs), verdict, err)
	}
	has := func(names ...string) {
		t.Helper()
		for _, name := range names {
			name, no := strings.CutPrefix(name, "!")
			if bytes.Contains(content, []byte(name)) == no {
				t.Errorf("%s: want the opposite of %v", name, no)
			}
		}
	}
	has("a/run-01/pictures/1.png", "!a/run-01/pictures/2.png", "!pictures/z.png", "c/run-01/pictures/2.png",
		"!c/run-01/pictures/1.png", "!a/run-07/results.json", "!a/run-07/pictures/1.png", "why/set.json",
		"a/run-05/v.json", "a/run-01/v.mp4", "c/run-00/v.mp4", "!a/run-02/v.mp4", "!c/run-01/v.mp4",
		"a/failed/run-01/pictures/last-frame.png", "a/failed/run-01/pictures/1.png",
		"!a/run-01/pictures/last-frame.png", "!a/failed/run-01/v.mp4")
	for i := range 3 { // with these it is too large
		made(fmt.Sprintf("why/a%d/run-01", i), "ok", 1<<20)
	}
	content, runs, _, err = lightZip(set, "s-x.1", 5<<20)
	if err != nil || len(runs) != 21 {
		t.Errorf("%d bytes of a large set, %d runs, %v", len(content), len(runs), err)
	}
	has("!why/", "a/run-01/v.mp4")
	content, _, _, err = lightZip(set, "s-x.1", 2<<20) // too large with videos
	if has("!a/run-01/v.mp4", "a/run-05/pictures/1.png"); err != nil {
		t.Error(err)
	}
	content, runs, _, err = lightZip(set, "s-x.1", 100<<10) // too large with filmstrips
	if has("!a/run-01/pictures/1.png", "a/run-05/results.json"); err != nil || len(runs) != 21 {
		t.Errorf("%d bytes of a large set, %d runs, %v", len(content), len(runs), err)
	}
	if _, _, _, err := lightZip(set, "s-x.1", 1); err == nil {
		t.Error("a set is packed that is too large")
	}
	for name, text := range map[string]string{"a/run-00/run.json": "{", "set.json": strings.Repeat(" ", maxFile+1)} {
		bad := fstest.MapFS{name: {Data: []byte(text)}}
		if _, _, _, err := lightZip(bad, "s-x.1", 5<<20); err == nil {
			t.Errorf("a bad %s is packed", name)
		}
	}
}

// FuzzRelayRequest: a ticket of a hub reaches files of runs and previews only.
func FuzzRelayRequest(f *testing.F) {
	for _, path := range []string{"/api/v1/runs/a/b", "/preview/a", "/api/v1/runs/../rpc", "/preview/%2e%2e/x",
		"http://x/preview/",
		"/api/v1/runs/%2e%2e%2frpc", "//x/preview/", "/preview/\x00"} {
		f.Add(path, "bytes=0-1")
	}
	f.Fuzz(func(t *testing.T, path, ranged string) {
		r, err := relayRequest(context.Background(), wire.Ticket{Path: path, Range: ranged})
		if err != nil {
			return
		}
		if p := r.URL.Path; r.URL.Host != "" || strings.Contains(p, "..") || r.Method != "GET" ||
			!strings.HasPrefix(p, "/preview/") && !strings.HasPrefix(p, "/api/v1/runs/") {
			t.Errorf("%q becomes %q", path, r.URL)
		}
	})
}
