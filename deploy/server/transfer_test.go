package server

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/deploy/api"
)

// Every way in which a file is asked for has the status that API.md has for it.
func TestRangesAndConditions(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	run := "/api/v1/runs/" + s.scene() + "/"
	for _, name := range []string{"run.json", "recording.eid", "report.html", "frames/0.png", "events.json"} {
		whole, text := s.ask("GET", run+name, "")
		tag := whole.Header.Get("ETag")
		if whole.StatusCode != 200 || tag == "" || text == "" {
			t.Errorf("%s: %d, tag %q, %d bytes", name, whole.StatusCode, tag, len(text))
			continue
		}
		for _, tc := range []struct {
			what, method string
			header       []string
			want         int
			text         string
		}{
			{"head", "HEAD", nil, 200, ""},
			{"as it was", "GET", []string{"If-None-Match", tag}, 304, ""},
			{"as another was", "GET", []string{"If-None-Match", `"other"`}, 200, text},
			{"a range", "GET", []string{"Range", "bytes=1-3"}, 206, text[1:4]},
			{"the end", "GET", []string{"Range", "bytes=-2"}, 206, text[len(text)-2:]},
			{"a range of the same", "GET", []string{"Range", "bytes=1-3", "If-Range", tag}, 206, text[1:4]},
			{"a range of another", "GET", []string{"Range", "bytes=1-3", "If-Range", `"other"`}, 200, text},
			{"behind the end", "GET", []string{"Range", fmt.Sprintf("bytes=%d-", len(text))}, 416, "*"},
			{"no range", "GET", []string{"Range", "bytes=x"}, 416, "*"},
		} {
			res, got := s.ask(tc.method, run+name, "", tc.header...)
			if res.StatusCode != tc.want || tc.text == "*" && got == "" || tc.text != "*" && got != tc.text {
				t.Errorf("%s, %s: %d with %d bytes, want %d", name, tc.what, res.StatusCode, len(got), tc.want)
			}
			if tc.method == "HEAD" && res.ContentLength != int64(len(text)) {
				t.Errorf("%s has %d bytes, and its head says %d", name, len(text), res.ContentLength)
			}
		}
	}
	head, text := s.ask("HEAD", run+"zip", "")
	if head.StatusCode != 200 || text != "" || head.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("head of a zip: %d %v", head.StatusCode, head.Header)
	}
	for _, path := range []string{run + "run.json", run + "zip", "/api/v1/openrpc.json"} {
		if res, text := s.ask("DELETE", path, ""); res.StatusCode != 404 && res.StatusCode != 405 || text == "" {
			t.Errorf("DELETE %s: %d %s", path, res.StatusCode, text)
		}
	}
}

// What cannot be read is said, and not where it lies.
//
// Fault: Paths with `../`, links, hidden files or other schemes
func TestBrokenRecording(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	id := s.scene()
	dir, err := s.Store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, runfolder.RecordingFile)
	elsewhere := filepath.Join(t.TempDir(), runfolder.RecordingFile)
	if err := os.Rename(file, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct {
		do   func() error
		want int
	}{
		"garbage": {func() error { return errors.Join(os.Remove(file), os.WriteFile(file, []byte("garbage"), 0o600)) },
			500},
		"a loop": {func() error { return errors.Join(os.Remove(file), os.Symlink(file, file)) }, 404},
		"a link": {func() error { return errors.Join(os.Remove(file), os.Symlink(elsewhere, file)) }, 404},
	} {
		if err := tc.do(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"frames/0.png", "events.json"} {
			res, text := s.ask("GET", "/api/v1/runs/"+id+"/"+name, "")
			if res.StatusCode != tc.want || text == "" || strings.Contains(text, s.Dir) {
				t.Errorf("%s, %s: %d %s", what, name, res.StatusCode, text)
			}
			s.logged(fmt.Sprintf("status=%d", tc.want))
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"frames/0.png", "events.json", "recording.eid"} {
		if res, text := s.ask("GET", "/api/v1/runs/"+id+"/"+name, ""); res.StatusCode != 404 || text == "" {
			t.Errorf("without a recording, %s: %d %s", name, res.StatusCode, text)
		}
	}
}

// packed is a zip file of so many files. Empty ones are stored: a compressor costs half a megabyte.
func packed(t *testing.T, files, size int) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range files {
		h := zip.FileHeader{Name: fmt.Sprint("f", i)}
		if size > 0 {
			h.Method = zip.Deflate
		}
		w, err := z.CreateHeader(&h)
		if err == nil {
			_, err = io.WriteString(w, strings.Repeat("a", size))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A rejected run gets the status in API.md, a sentence, and a line in the log. The next run is
// accepted.
//
// Fault: A pushed zip that bursts, lies or escapes
func TestPushRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.loud()
	_, whole := s.ask("GET", "/api/v1/runs/"+s.scene()+"/zip", "")
	other := serve(t, nil)
	_, good := other.ask("GET", "/api/v1/runs/"+other.scene()+"/zip", "")
	usual := s.Store.MaxUpload
	for _, tc := range []struct {
		name, body, kind string
		max, free        int64
		want             int
	}{
		{"another type", whole, "application/octet-stream", usual, 0, 415},
		{"no type", whole, "", usual, 0, 415},
		{"nothing", "", "application/zip", usual, 0, 422},
		{"garbage", "PK\x03\x04garbage", "application/zip", usual, 0, 422},
		{"half of one", whole[:len(whole)/2], "application/zip", usual, 0, 422},
		{"no run", packed(t, 1, 1), "application/zip", usual, 0, 422},
		{"many files", packed(t, 10_001, 0), "application/zip", usual, 0, 413},
		{"large, as it says", whole, "application/zip", int64(len(whole)) - 1, 0, 413},
		{"large when unpacked", packed(t, 10, 1000), "application/zip", 5000, 0, 413},
		{"no room", whole, "application/zip", usual, 1 << 62, 507},
		{"a good one", good, "application/zip", usual, 0, 201},
		{"one that is here", whole, "application/zip", usual, 0, 200},
	} {
		s.log.take()
		s.Store.MaxUpload, s.Store.MinFree = tc.max, tc.free
		res, text := s.ask("POST", "/api/v1/runs", tc.body, "Content-Type", tc.kind)
		if res.StatusCode != tc.want || text == "" || strings.Contains(text, s.Dir) {
			t.Errorf("%s: %d %s, want %d", tc.name, res.StatusCode, text, tc.want)
		}
		if line := s.log.take(); tc.want >= 400 && !strings.Contains(line, fmt.Sprintf("status=%d why=", tc.want)) {
			t.Errorf("%s: the log has %q", tc.name, line)
		}
	}
}

// While a run comes in no other one does, and one that breaks off leaves the way free.
func TestPushOneAtATime(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.loud()
	_, whole := s.ask("GET", "/api/v1/runs/"+s.scene()+"/zip", "")
	const head = "POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/zip\r\n" +
		"Content-Length: 1000000\r\n\r\nPK"
	conn := s.raw(head)
	s.Until("the first to come in", func() bool {
		if s.api.uploads.TryLock() {
			s.api.uploads.Unlock()
			return false
		}
		return true
	})
	if res, text := s.ask("POST", "/api/v1/runs", whole, "Content-Type",
		"application/zip"); res.StatusCode != http.StatusServiceUnavailable || text == "" ||
		res.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	s.logged("status=503")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	s.logged("status=400")
	s.Until("the way to be free", func() bool {
		res, text := s.ask("POST", "/api/v1/runs", whole, "Content-Type", "application/zip")
		if res.StatusCode != http.StatusServiceUnavailable && res.StatusCode != http.StatusOK { // it is this rig's own
			t.Fatalf("%d %s", res.StatusCode, text)
		}
		return res.StatusCode == http.StatusOK
	})
	var runs api.Runs
	if e := s.call("run.list", api.ListParams{}, &runs); e != nil || runs.Total != 1 {
		t.Errorf("%+v, %+v", runs, e)
	}
}
