package observe

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// world is an application, an observer and its clock.
type world struct {
	*testing.T
	*Observer
	app   *httptest.Server
	front *httptest.Server
	now   time.Time
	said  []string
}

// observed starts both. The application answers by handle, if that is not nil.
func observed(t *testing.T, change func(*Options), handle http.HandlerFunc) *world {
	t.Helper()
	w := &world{T: t, now: time.Unix(1e9, 0)}
	if handle == nil {
		handle = func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, ".js") {
				w.Header().Set("Content-Type", "text/javascript")
				_, _ = io.WriteString(w, "function f() { return 1 }")
				return
			}
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, page)
		}
	}
	w.app = httptest.NewServer(handle)
	t.Cleanup(w.app.Close)
	upstream, err := url.Parse(w.app.URL)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Upstream: upstream, Policies: []string{"errors", "calls"}, Share: 1,
		Dir: filepath.Join(t.TempDir(), "o"), Rotate: time.Hour, Keep: 1 << 30, Now: func() time.Time { return w.now },
		Log: func(text string) { w.said = append(w.said, text) }}
	if change != nil {
		change(&o)
	}
	if w.Observer, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	w.front = httptest.NewServer(w.Observer)
	t.Cleanup(w.front.Close)
	return w
}

// ask sends a request with further fields, and returns the response with its body.
func (w *world) ask(path string, fields ...string) (*http.Response, string) {
	w.Helper()
	r, err := http.NewRequest(http.MethodGet, w.front.URL+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return response, string(body)
}

var collector = regexp.MustCompile(`base="([^"]+)`)

// load loads the page of a user, and returns its treatment and the path of its collector.
func (w *world) load(cookie string) (load kind, path string) {
	w.Helper()
	_, body := w.ask("/", "Cookie", Name+"="+cookie)
	if body == page {
		return untouched, ""
	}
	m := collector.FindStringSubmatch(body)
	if m == nil || !strings.HasSuffix(body, page[len("<!doctype html>"):]) {
		w.Fatalf("the page is %s", body)
	}
	if load = reporting; strings.Contains(body, "'use strict'") {
		load = measured
	}
	return load, strings.TrimPrefix(m[1], w.front.URL)
}

// loadAs loads the page until it has a treatment.
func (w *world) loadAs(want kind) string {
	w.Helper()
	for range 1000 {
		if load, path := w.load(w.cookie("1.n")); load == want {
			return path
		}
	}
	w.Fatalf("no load in 1,000 is %c", want)
	return ""
}

// cookie returns the value of a cookie that the observer gave.
func (w *world) cookie(value string) string { return signed(w.key, value) }

func (w *world) post(path string, body []byte) int {
	w.Helper()
	response, err := http.Post(w.front.URL+path, "text/plain", bytes.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}
