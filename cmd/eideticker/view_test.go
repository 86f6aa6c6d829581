package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/deploy/server/runweb"
)

// runFolder makes a run folder with a file of everything that is served or is not, beside a secret.
func runFolder(t *testing.T) string {
	t.Helper()
	outside := t.TempDir()
	dir := filepath.Join(outside, "run")
	for name, text := range map[string]string{
		"run/video.mp4": "0123456789", "run/pictures/a.png": "picture", "run/.hidden": "hidden",
		"run/pictures/.git/config": "hidden",
		"run/report.html":          "<script>alert(1)</script>", "run/other.html": "<script>alert(1)</script>",
		"secret": "secret",
	} {
		path := filepath.Join(outside, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link.png")); err != nil {
		t.Fatal(err)
	}
	r := &result.Results{
		Recording: result.Recording{Name: "a run", Frames: 3},
		Quality:   analyze.Result{Measure: "quality", State: analyze.Exact},
	}
	if err := result.Write(filepath.Join(dir, result.FileName), r); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Fault: Another page, user or host asks `view` for files
func TestFolderHandler(t *testing.T) {
	run, err := openRun(runFolder(t))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	h := runweb.NewFolder(run.root, pagesOf(run.root, []byte("the page"), ""), "127.0.0.1:80", "key")
	for _, tc := range []struct {
		name, method, host, path, bytes string
		code                            int
		kind, body                      string
	}{
		{"page", "GET", "127.0.0.1:80", "/key/report.html", "", 200, "text/html; charset=utf-8", "the page"},
		{"page without a name", "GET", "127.0.0.1:80", "/key/", "", 200, "text/html; charset=utf-8", "the page"},
		{"file", "GET", "127.0.0.1:80", "/key/pictures/a.png", "", 200, "image/png", "picture"},
		{"head", "HEAD", "127.0.0.1:80", "/key/pictures/a.png", "", 200, "image/png", ""},
		{"range", "GET", "127.0.0.1:80", "/key/video.mp4", "bytes=3-5", 206, "video/mp4", "345"},
		{"range that is not there", "GET", "127.0.0.1:80", "/key/video.mp4", "bytes=30-", 416, "", ""},
		{"foreign page is text", "GET", "127.0.0.1:80", "/key/other.html", "", 200, "text/plain; charset=utf-8",
			"<script>alert(1)</script>"},
		{"no secret", "GET", "127.0.0.1:80", "/report.html", "", 403, "", ""},
		{"wrong secret", "GET", "127.0.0.1:80", "/kex/report.html", "", 403, "", ""},
		{"other name of the host", "GET", "evil.example:80", "/key/report.html", "", 403, "", ""},
		{"nothing there", "GET", "127.0.0.1:80", "/key/no.png", "", 404, "", ""},
		{"no listing", "GET", "127.0.0.1:80", "/key/pictures", "", 404, "", ""},
		{"no listing with a slash", "GET", "127.0.0.1:80", "/key/pictures/", "", 404, "", ""},
		{"up", "GET", "127.0.0.1:80", "/key/../secret", "", 404, "", ""},
		{"up, encoded", "GET", "127.0.0.1:80", "/key/%2e%2e/secret", "", 404, "", ""},
		{"up, from below", "GET", "127.0.0.1:80", "/key/pictures/../../secret", "", 404, "", ""},
		{"absolute", "GET", "127.0.0.1:80", "/key//etc/passwd", "", 404, "", ""},
		{"link that leads out", "GET", "127.0.0.1:80", "/key/link.png", "", 404, "", ""},
		{"hidden", "GET", "127.0.0.1:80", "/key/.hidden", "", 404, "", ""},
		{"in a hidden folder", "GET", "127.0.0.1:80", "/key/pictures/.git/config", "", 404, "", ""},
		{"a name with zero", "GET", "127.0.0.1:80", "/key/video.mp4%00.png", "", 404, "", ""},
		{"post", "POST", "127.0.0.1:80", "/key/report.html", "", 405, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, "http://"+tc.host+tc.path, nil)
			if tc.bytes != "" {
				r.Header.Set("Range", tc.bytes)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tc.code {
				t.Errorf("code %d, want %d", w.Code, tc.code)
			}
			if got := w.Header().Get("Content-Type"); tc.kind != "" && got != tc.kind {
				t.Errorf("type %q, want %q", got, tc.kind)
			}
			if got := w.Body.String(); w.Code < 300 && got != tc.body || strings.Contains(got, "secret\n") ||
				got == "secret" || got == "hidden" {
				t.Errorf("body %q, want %q", got, tc.body)
			}
			if w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Error("types may be guessed")
			}
		})
	}
}

// TestView shows a folder and a recording, reads the page at the address that is printed, and ends
// with Ctrl-C.
func TestView(t *testing.T) {
	file := filepath.Join(t.TempDir(), "short.eid")
	if code := run(t.Context(), []string{"record", "-s", "synth:page?size=64x48&frames=12", "-o", file}, nil,
		io.Discard, io.Discard); code != exitOK {
		t.Fatalf("record: exit code %d", code)
	}
	for _, tc := range []struct{ name, path, want string }{
		{"folder", runFolder(t), "a run"},
		{"recording", file, "Framerate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			out, printed := io.Pipe()
			code := make(chan int, 1)
			go func() {
				code <- run(ctx, []string{"view", tc.path, "--no-open"}, nil, printed, io.Discard)
				printed.Close() // never fails
			}()
			address, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatalf("%v, exit code %d", err, <-code)
			}
			if !strings.HasPrefix(address, "http://127.0.0.1:") {
				t.Errorf("served at %s", address)
			}
			page := fetch(t, strings.TrimSpace(address))
			if !strings.Contains(page, tc.want) || strings.Contains(page, "alert(1)") {
				t.Errorf("the page is %.200s", page)
			}
			interrupt()
			if got := <-code; got != exitOK {
				t.Errorf("exit code %d", got)
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
				t.Errorf("%d files are left", len(left))
			}
		})
	}
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestSetPages: the pages of a set are made by the program, those in the folder are text.
func TestSetPages(t *testing.T) {
	dir := runFolder(t)
	set := filepath.Dir(dir)
	root, err := os.OpenRoot(set)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	run := filepath.Base(dir)
	if err := os.WriteFile(filepath.Join(dir, "report.html"), []byte("from elsewhere"), 0o644); err != nil {
		t.Fatal(err)
	}
	compared := filepath.Join(t.TempDir(), "page")
	if err := os.WriteFile(compared, []byte("the comparison"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := runweb.NewFolder(root, pagesOf(root, []byte("the set"), compared), "127.0.0.1:80", "key")
	for _, tc := range []struct {
		path, kind, body string
		code             int
	}{
		{"report.html", "text/html; charset=utf-8", "the set", 200},
		{"compare.html", "text/html; charset=utf-8", "the comparison", 200},
		{run + "/report.html", "text/html; charset=utf-8", "<title>a run – Eideticker", 200},
		{run + "/other.html", "text/plain; charset=utf-8", "alert", 200},
		{run + "/pictures/a.png", "image/png", "picture", 200},
		{"none/report.html", "text/plain; charset=utf-8", "not found", 404},
		{run + "/../" + run + "/report.html", "text/plain; charset=utf-8", "not found", 404},
		{".hidden/report.html", "text/plain; charset=utf-8", "not found", 404},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path, r.Host = "/key/"+tc.path, "127.0.0.1:80"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if kind := w.Header().Get("Content-Type"); w.Code != tc.code || kind != tc.kind ||
			!strings.Contains(w.Body.String(), tc.body) {
			t.Errorf("%s: %d %s %.80q", tc.path, w.Code, kind, w.Body.String())
		}
	}
}
