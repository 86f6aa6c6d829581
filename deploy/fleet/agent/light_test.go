package agent

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// TestLightZip: a light folder has equal bytes each time, and bounds.
func TestLightZip(t *testing.T) {
	noise := make([]byte, 3<<20)
	_, _ = rand.Read(noise) // has no errors
	set := fstest.MapFS{"set.json": {Data: []byte("{}")}, "origin.json": {Data: []byte("{}")},
		"a/verdict.json": {Data: []byte(`{"verdict":"slower"}`)}, "a/recording.eid": {Data: noise},
		".hidden/run.json": {Data: []byte("{}")}, "a/b.1/log.txt": {Data: noise}}
	for i := range 40 {
		dir := fmt.Sprintf("a/run-%02d/", i)
		set[dir+"run.json"] = &fstest.MapFile{Data: []byte(`{"state":"ok"}`)}
		set[dir+"results.json"] = &fstest.MapFile{Data: []byte(strings.Repeat(`{"x":1}`, 1000))}
		set[dir+"pictures/poster.png"] = &fstest.MapFile{Data: noise[:400<<10]}
		set[dir+"video.mp4.json"] = &fstest.MapFile{Data: []byte(`{"slots":[]}`)}
		set[dir+"pictures/z.png"] = &fstest.MapFile{Data: noise[:500<<10]}
		set[dir+"recording.eid"] = &fstest.MapFile{Data: noise}
	}
	set["why/set.json"] = &fstest.MapFile{Data: []byte("{}")}
	set["a/run-07/results.json"] = &fstest.MapFile{Data: noise} // does not fit
	content, runs, verdict, err := lightZip(set, "s-x.1")
	again, _, _, _ := lightZip(set, "s-x.1")
	if err != nil || !bytes.Equal(content, again) || len(runs) != 40 || verdict != "slower" ||
		runs[7] != (wire.LightRun{Run: "s-x.1~a~run-07", State: "ok"}) {
		t.Fatalf("%d bytes, %d runs, verdict %q, %v", len(content), len(runs), verdict, err)
	}
	if len(content) > 40*(420<<10) || bytes.Contains(content, []byte("a/run-07/results.json")) ||
		!bytes.Contains(content, []byte("a/run-07/pictures/poster.png")) ||
		!bytes.Contains(content, []byte("a/run-00/video.mp4.json")) || bytes.Contains(content, []byte("z.png")) ||
		!bytes.Contains(content, []byte("why/set.json")) {
		t.Errorf("%d bytes", len(content))
	}
	for i := range 100 { // with these it is too large
		dir := fmt.Sprintf("why/a/run-%02d/", i)
		set[dir+"run.json"] = &fstest.MapFile{Data: []byte(`{"state":"ok"}`)}
		set[dir+"results.json"] = &fstest.MapFile{Data: noise[:900<<10]}
	}
	content, runs, _, err = lightZip(set, "s-x.1")
	if err != nil || len(runs) != 40 || bytes.Contains(content, []byte("why/")) {
		t.Errorf("%d bytes of a large set, %d runs, %v", len(content), len(runs), err)
	}
	for name, text := range map[string]string{"a/run-00/run.json": "{", "set.json": strings.Repeat(" ", maxFile+1)} {
		bad := fstest.MapFS{name: {Data: []byte(text)}}
		if _, _, _, err := lightZip(bad, "s-x.1"); err == nil {
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
