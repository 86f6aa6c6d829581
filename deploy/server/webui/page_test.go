package webui

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/report"
)

func get(t *testing.T, method, path string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "http://rig"+path, nil))
	return w.Result()
}

func TestHandler(t *testing.T) {
	for _, tc := range []struct {
		method, path string
		status       int
		kind         string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/js/main.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/shared/timeline.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/shared/page.css", 200, "text/css; charset=utf-8"},
		{"GET", "/icon.svg", 200, "image/svg+xml"},
		{"GET", "/shared/page.html", 404, "text/plain; charset=utf-8"}, // a template
		{"GET", "/js/", 404, "text/plain; charset=utf-8"},
		{"GET", "/js/../webui.go", 404, "text/plain; charset=utf-8"},
		{"GET", "//js/main.js", 404, "text/plain; charset=utf-8"},
		{"POST", "/", 405, "text/plain; charset=utf-8"},
	} {
		r := get(t, tc.method, tc.path)
		if r.StatusCode != tc.status || r.Header.Get("Content-Type") != tc.kind {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, r.StatusCode, r.Header.Get("Content-Type"))
		}
		csp := r.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'self';") || strings.Contains(csp, "unsafe") ||
			strings.Contains(csp, "http") || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: %v", tc.method, tc.path, r.Header)
		}
	}
}

// TestUnchangedIsNotSentAgain: who has the page already asks whether it still is the same.
func TestUnchangedIsNotSentAgain(t *testing.T) {
	tag := get(t, "GET", "/js/main.js").Header.Get("ETag")
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "http://rig/js/main.js", nil)
	r.Header.Set("If-None-Match", tag)
	Handler().ServeHTTP(w, r)
	if tag == "" || w.Code != http.StatusNotModified {
		t.Errorf("tag %s: %d", tag, w.Code)
	}
}

// TestNothingFromElsewhere: no file of ours names another host, and no document holds a script or a
// style.
func TestNothingFromElsewhere(t *testing.T) {
	elsewhere := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9-]+\.[a-z]{2,}`)
	inline := regexp.MustCompile(`(?i)<script>|<script [^>]*>[^<]|<style|\son[a-z]+=|\sstyle=`)
	err := fs.WalkDir(page, "page", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(name, "page/vendor/") {
			return err
		}
		text, err := fs.ReadFile(page, name)
		for _, host := range elsewhere.FindAllString(string(text), -1) {
			if host != "http://www.w3.org" { // a name, not an address
				t.Errorf("%s names %s", name, host)
			}
		}
		if strings.HasSuffix(name, ".html") && inline.Match(text) {
			t.Errorf("%s has %s", name, inline.Find(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// vendored fails without the files from npm. A laptop may be without.
func vendored(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not there: make webui", path)
	}
	t.Skipf("%s is not there: make webui", path)
}

func TestTypeCheck(t *testing.T) {
	t.Parallel()
	const tsc = "node_modules/.bin/tsc"
	vendored(t, tsc)
	if out, err := exec.CommandContext(t.Context(), tsc, "--noEmit", "-p", ".").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// inNode runs a script that may import the page's modules, and reads what it prints.
func inNode(t *testing.T, script string, into any) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("there is no node: ", err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "js"), os.DirFS("page/js")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "shared"), report.Modules()); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), node, "--input-type=module", "-")
	run.Dir = dir
	run.Stdin = strings.NewReader(strings.ReplaceAll(script, "PAGE", filepath.ToSlash(dir)))
	out, err := run.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
