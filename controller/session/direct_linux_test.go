package session

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/device"
)

// TestScriptsOfThisMachine: scripts of a server at localhost and of a file are instrumented without
// a test network. The server sees its own name.
func TestScriptsOfThisMachine(t *testing.T) {
	t.Parallel()
	for _, browser := range []string{"chromium", "firefox"} {
		t.Run(browser, func(t *testing.T) {
			t.Parallel()
			needBrowsers(t, browser)
			takeTurn(t)
			server := servePlanted(t, 1, 60, 400)
			_, port, err := net.SplitHostPort(server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			made, _ := playScripts(t, plantedNear(t, "http://localhost:"+port+"/", "[calls, errors]"), browser, "")
			if made.Found.Results.Script == nil {
				t.Fatal("no script in the results")
			}
			checkPlanted(t, server, made.Found.Results.Script)
			server.mu.Lock()
			defer server.mu.Unlock()
			if host := server.hosts; !slices.Equal(host, []string{"localhost:" + port}) {
				t.Errorf("requests came to %q", host)
			}
		})
	}
	for _, of := range []string{"file", "site"} {
		t.Run(of, func(t *testing.T) { playFolder(t, of == "site") })
	}
}

// playFolder plays a page of a folder, as a file or as the build of a site.
func playFolder(t *testing.T, site bool) {
	t.Parallel()
	needBrowsers(t, "chromium")
	takeTurn(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": strings.Replace(fmt.Sprintf(planted, 1, 60, 400), `"/app.js?`, `"app.js?`, 1),
		"app.js":     strings.Replace(fmt.Sprintf(plantedScript, 1, 60, 400), "fetch(", "Promise.resolve(", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	test, folder := plantedNear(t, "file://"+filepath.Join(dir, "index.html"), "[calls]"), ""
	if site {
		test.Site, test.URL, folder = "/", "", dir
	}
	made, _ := playScripts(t, test, "chromium", folder)
	s := made.Found.Results.Script
	if s == nil || !slices.ContainsFunc(s.Late, func(l result.LateFrame) bool {
		return len(l.Functions) > 0 && s.Functions[l.Functions[0].Function].InSource() == "slow (app.js:3)"
	}) {
		t.Errorf("%+v", s)
	}
	if slices.Contains(made.Record.Notes, "") { // of files that are not missing
		t.Errorf("notes %q", made.Record.Notes)
	}
}

// TestDirectlyRefused: only browsers of this machine reach the rig's port, and only trusted tests
// the files and servers of this machine.
//
// Fault: The scripts of a page of this machine on another device
func TestDirectlyRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://localhost:1/", "file:///page.html"} {
		test := plantedNear(t, address, "[calls]")
		elsewhere := device.Description{Name: "phone", Source: "v4l2:/dev/video0"}
		if err := checkDirect(test, elsewhere); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s on a phone: %v", address, err)
		}
		r := &run{Options: Options{Test: test, Untrusted: true}}
		if err := r.checkUntrusted(); !errors.Is(err, device.ErrInside) {
			t.Errorf("%s of an untrusted test: %v", address, err)
		}
		r.AllowLoopback = true
		if err := r.checkUntrusted(); err != nil {
			t.Errorf("%s of a test that may: %v", address, err)
		}
	}
	for _, address := range []string{"https://localhost:1/", "http://example.org/", "about:blank"} {
		if err := checkScript(plantedNear(t, address, "[calls]"), false); err == nil {
			t.Errorf("%s: no error", address)
		}
	}
}

// TestModulesAreServed: browsers run no modules of files, so the page of a built application was
// measured without its content.
func TestModulesAreServed(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]bool{`<script type="module" crossorigin src="./a.js"></script>`: true,
		"<SCRIPT src=a.js TYPE = module>": true, "<script type=text/javascript>": false,
		"<p>a script of type=module</p>": false, "<script type=modules>": false} {
		file := filepath.Join(t.TempDir(), "index.html")
		if err := os.WriteFile(file, []byte("<!doctype html><body>"+page), 0o600); err != nil {
			t.Fatal(err)
		}
		test := URLTest("file://" + file)
		if d := directPage(test); (d != nil) != want || d != nil && d.file != file {
			t.Errorf("%s: %+v", page, d)
		}
		if err := checkDirect(test, device.Description{Name: "desk", Source: "x11::0"}); err != nil {
			t.Errorf("%s on a screen of this machine: %v", page, err)
		}
	}
	if d := directPage(URLTest("file:///no-such-page.html")); d != nil {
		t.Errorf("a missing page is served: %+v", d)
	}
}

// TestVisibleFiles: the folder of a page is served without its hidden files and its lists.
func TestVisibleFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"index.html", "app.js", ".env", ".git/config", "js/a.js", "sub/index.html",
		"old-index.html"} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(name), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	gone := missing{text: "lacks %s"}
	h := &guard{"127.0.0.1:8000", visible(os.DirFS(dir), &gone)}
	for at, want := range map[string]int{"/": 200, "/index.html": 200, "/app.js": 200, "/js/a.js": 200, "/js/": 404,
		"/sub/": 200, "/sub/index.html": 200, "/old-index.html": 200, "/js": 404, "/no.css": 404, "/favicon.ico": 404,
		"/.env": 404, "/.git/config": 404, "/x/../.env": 404, "/js/%2e%2e/.env": 404,
		"http://evil.example:8000/app.js": 404, "http://localhost:8000/app.js": 404} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, at, nil)
		if strings.HasPrefix(at, "/") {
			r.Host = "127.0.0.1:8000"
		}
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d, want %d", at, w.Code, want)
		}
	}
	if text := gone.note(); !strings.Contains(text, "/no.css") || strings.Contains(text, "favicon") ||
		strings.Contains(text, ".env") {
		t.Errorf("the note is %q", text)
	}
	r := httptest.NewRequest(http.MethodGet, "/app.js", nil)
	r.Host = "127.0.0.1:8000"
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusNotFound {
		t.Errorf("a script of another site: %d", w.Code)
	}
}
