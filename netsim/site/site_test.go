package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// ticker is a clock that goes on by a millisecond each time it is read.
type ticker struct{ now timeline.Time }

func (c *ticker) Now() timeline.Time {
	c.now = c.now.Add(time.Millisecond)
	return c.now
}

func newSite(t testing.TB, playlist ...string) *Site {
	t.Helper()
	s, err := New(Options{Nonce: "abc", Clock: &ticker{now: 1e12}, Strip: json.RawMessage(`{"cells":96}`),
		Playlist: playlist})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sends a request and returns status and body.
func ask(s *Site, method, target, kind, body string) (int, string, http.Header) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

// good is a report as a page sends it; its clock stands 2 s behind the rig's.
func good(entry int, now timeline.Time) map[string]any {
	at := int64(now)/1000 - 2e6 // microseconds on the page's clock
	return map[string]any{
		"run": "abc", "entry": entry, "ids": []int{0, 1, 2}, "times_us": []int64{at + 100, at + 200, at + 300},
		"callbacks": 4, "green_us": []int64{at + 10, at + 90}, "red_us": []int64{at + 400, at + 500},
		"clock": []map[string]any{{"before_us": at - 50, "now_ns": fmt.Sprint(int64(now)), "after_us": at + 30},
			{"before_us": at - 20, "now_ns": fmt.Sprint(int64(now)), "after_us": at + 40}},
		"claimed_fps": 59.9, "agent": "a browser", "width": 1280, "height": 720, "pixel_ratio": 1, "isolated": true,
		"warnings": []string{},
	}
}

func text(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestServesOnlyItsTable(t *testing.T) {
	s := newSite(t)
	for _, tc := range []struct {
		method, target string
		status         int
		has            string
	}{
		{"GET", "/", 200, `href="/load.html"`},
		{"GET", "/manifest.json", 200, `"duration_ms":1500`},
		{"GET", "/animation.html", 200, `"run":""`},
		{"GET", "/animation.html?run=abc&entry=0", 200, `"number":1`},
		{"GET", "/load.html?run=abc&entry=1", 200, `"cells":96`},
		{"GET", "/load.html?run=abc&entry=0", 404, "does not belong"},
		{"GET", "/load.html?run=abc&entry=-1", 404, "does not belong"},
		{"GET", "/load.html?run=abc&entry=99999999999999999999", 404, "does not belong"},
		{"GET", "/load.html?run=other&entry=1", 404, "does not belong"},
		{"GET", "/assets/sync.js", 200, "use strict"},
		{"GET", "/assets/site.css", 200, "#marker"},
		{"GET", "/assets/hills.svg", 200, "<svg"},
		{"HEAD", "/assets/hills.svg", 200, ""},
		{"GET", "/clock?run=abc", 200, `"now_ns":"`},
		{"GET", "/clock?run=abcd", 403, "nonce"},
		{"GET", "/ended?run=abcd", 403, "nonce"},
		{"GET", "/framerate.html", 200, `"cadence":"every-frame"`},
		{"GET", "/framerate-half.html", 200, `"gaps":[2]`},
		{"GET", "/tearing-combined.html", 200, `"layers":["dom","canvas","video"]`},
		{"GET", "/checkerboard-scroll.html", 200, `"scroll":32`},
		{"GET", "/tearing.html", 404, ""},
		{"GET", "/tearing.png?page=tearing-dom&image=3&width=64&height=64", 200, "PNG"},
		{"GET", "/tearing.png?page=tearing-dom&image=4&width=64&height=64", 400, "no image 4"},
		{"GET", "/tearing.png?page=load&image=0&width=64&height=64", 400, "no image 0"},
		{"GET", "/tearing.png?page=other&image=0&width=64&height=64", 404, "no test page"},
		{"GET", "/tearing.png?page=tearing-dom&image=0&width=5000&height=64", 400, "64 to 4096"},
		{"GET", "/tearing.png?page=tearing-dom&image=0&width=64", 400, "invalid number"},
		{"GET", "/gallery.html", 200, `"path":"/gallery/47.png"`},
		{"GET", "/gallery/1.png", 200, "PNG"},
		{"GET", "/gallery/47.png", 200, "PNG"},
		{"GET", "/gallery/0.png", 404, ""},
		{"GET", "/gallery/48.png", 404, ""},
		{"GET", "/gallery/01.png", 404, ""},
		{"GET", "/gallery/1.jpg", 404, ""},
		{"POST", "/gallery/1.png", 405, ""},
		{"GET", "/index.html", 404, ""},
		{"GET", "/assets/", 404, ""},
		{"GET", "/assets", 404, ""},
		{"GET", "/pages/animation.html", 404, ""},
		{"GET", "/../site.go", 404, ""},
		{"GET", "/assets/../../site.go", 404, ""},
		{"GET", "/assets/%2e%2e/%2e%2e/site.go", 404, ""},
		{"GET", "/etc/passwd", 404, ""},
		{"POST", "/animation.html", 405, ""},
		{"GET", "/report", 405, "POST only"},
		{"DELETE", "/report", 405, "POST only"},
	} {
		t.Run(tc.method+" "+tc.target, func(t *testing.T) {
			status, body, h := ask(s, tc.method, tc.target, "", "")
			if status != tc.status || !strings.Contains(body, tc.has) {
				t.Errorf("status %d, body %.200q, want %d with %q", status, body, tc.status, tc.has)
			}
			if h.Get("Cache-Control") != "no-store" {
				t.Error("the answer may be cached")
			}
		})
	}
}

func TestPagesNameWhatTheyNeed(t *testing.T) {
	s := newSite(t)
	for _, p := range Pages() {
		f, ok := s.files[p.Path]
		if !ok {
			t.Fatalf("%s: no file %s", p.Name, p.Path)
		}
		for _, want := range []string{"<!--rig-->", `id="marker"`, "/assets/sync.js", "Rig.play("} {
			if !strings.Contains(string(f.body), want) {
				t.Errorf("%s lacks %s", p.Path, want)
			}
		}
		for i, step := range p.Steps {
			if step.AtMillis >= p.DurationMillis || i > 0 && step.AtMillis <= p.Steps[i-1].AtMillis || i == 0 &&
				step.AtMillis != 0 {
				t.Errorf("%s: step %d at %d ms", p.Name, i, step.AtMillis)
			}
			if !strings.Contains(string(f.body), fmt.Sprintf(`data-step="%d"`, i)) {
				t.Errorf("%s: nothing appears in step %d", p.Path, i)
			}
		}
		if strings.Contains(string(f.body), fmt.Sprintf(`data-step="%d"`, len(p.Steps))) {
			t.Errorf("%s: more steps than its manifest has", p.Path)
		}
	}
}

func TestPlaysThePlaylist(t *testing.T) {
	s := newSite(t, "load", "animation")
	clock := s.clock.(*ticker)
	if s.Start() != "/load.html?run=abc&entry=0" {
		t.Errorf("starts at %s", s.Start())
	}
	ask(s, "GET", s.Start(), "", "")
	post := func(entry int) (int, string) {
		status, body, _ := ask(s, "POST", "/report", "application/json", text(t, good(entry, clock.now)))
		return status, strings.TrimSpace(body)
	}
	if status, body := post(1); status != 409 || !strings.Contains(body, "page 1 is due") {
		t.Errorf("out of turn: %d %s", status, body)
	}
	const next = `{"next":"/animation.html?run=abc\u0026entry=1"}`
	for range 2 { // a browser may send twice
		if status, body := post(0); status != 200 || body != next {
			t.Errorf("first: %d %s", status, body)
		}
	}
	if status, body := post(1); status != 200 || body != `{"next":""}` {
		t.Errorf("last: %d %s", status, body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // reached only where the test fails
	defer cancel()
	first, err := s.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if first.Page.Name != "load" || first.Number != 1 || first.Requested == 0 || len(first.Drawn) != 3 {
		t.Errorf("first report %+v", first)
	}
	if second, err := s.Next(ctx); err != nil || second.Page.Name != "animation" || second.Number != 2 {
		t.Errorf("second report %+v, %v", second, err)
	}
	if _, err := s.Next(ctx); !errors.Is(err, errPlayed) {
		t.Errorf("third report: %v", err)
	}
}

func TestReportIsOnTheRigsClock(t *testing.T) {
	s := newSite(t)
	now := s.clock.Now()
	r, err := s.parseReport([]byte(text(t, good(0, now))), now.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	// Offset in [now - (at+30 µs), now - (at-20 µs)], 100 µs wider on both sides; the frame at
	// at+200 µs.
	want := timeline.Interval{Earliest: now.Add((200 - 30 - 100) * time.Microsecond),
		Latest: now.Add((200 + 20 + 100) * time.Microsecond)}
	if r.Drawn[1].At != want || r.Drawn[1].ID != 1 {
		t.Errorf("drawn %v, want %v", r.Drawn[1], want)
	}
	if len(r.Warnings) != 0 {
		t.Errorf("warnings %q", r.Warnings)
	}
	for _, e := range r.Events() {
		if !slices.Contains(EventKinds(), e.Kind) {
			t.Errorf("EventKinds lacks %s", e.Kind)
		}
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestReportWarnings(t *testing.T) {
	s := newSite(t)
	now := s.clock.Now()
	m := good(0, now)
	m["pixel_ratio"] = 1.5
	at := int64(now)/1000 - 2e6
	m["clock"] = []map[string]any{{"before_us": at, "now_ns": fmt.Sprint(int64(now)), "after_us": at},
		{"before_us": at + 5000, "now_ns": fmt.Sprint(int64(now)), "after_us": at + 5000}}
	r, err := s.parseReport([]byte(text(t, m)), now.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Warnings, "; "); !strings.Contains(got, "keep step") ||
		!strings.Contains(got, "1.5 device pixels") {
		t.Errorf("warnings %q", got)
	}
}

func TestRefusesReports(t *testing.T) {
	s := newSite(t, "animation", "load")
	for _, tc := range []struct {
		name   string
		change func(m map[string]any)
		status int
		has    string
	}{
		{"nonce", func(m map[string]any) { m["run"] = "abd" }, 403, "another run"},
		{"entry", func(m map[string]any) { m["entry"] = 7 }, 400, "playlist has 2"},
		{"negative entry", func(m map[string]any) { m["entry"] = -1 }, 400, "playlist has 2"},
		{"unknown key", func(m map[string]any) { m["x"] = 1 }, 400, "unknown field"},
		{"no frames", func(m map[string]any) { m["ids"], m["times_us"] = []int{}, []int{} }, 400, "0 ids"},
		{"unequal", func(m map[string]any) { m["ids"] = []int{0} }, 400, "1 ids and 3 times"},
		{"ids go back", func(m map[string]any) { m["ids"] = []int{0, 2, 2} }, 400, "out of order"},
		{"id too large", func(m map[string]any) { m["ids"] = []int{0, 1, 1 << 24} }, 400, "24 bits"},
		{"negative id", func(m map[string]any) { m["ids"] = []int{-1, 1, 2} }, 400, "not as expected"},
		{"times go back", func(m map[string]any) { m["times_us"] = []int{5, 4, 6} }, 400, "does not follow"},
		{"far future", func(m map[string]any) { m["red_us"] = []int64{1 << 60, 1 << 60} }, 400, "does not follow"},
		{"callbacks", func(m map[string]any) { m["callbacks"] = 1 }, 400, "callbacks"},
		{"no green", func(m map[string]any) { m["green_us"] = []int{1} }, 400, "lacks"},
		{"no clock", func(m map[string]any) { m["clock"] = []any{} }, 400, "clock samples"},
		{"clock of another run", func(m map[string]any) {
			m["clock"] = []any{map[string]any{"before_us": 0, "now_ns": "12", "after_us": 1}}
		}, 400, "not answered in this run"},
		{"clock is not a number", func(m map[string]any) {
			m["clock"] = []any{map[string]any{"before_us": 0, "now_ns": "1e9", "after_us": 1}}
		}, 400, "not answered in this run"},
		{"answered before asked", func(m map[string]any) { m["clock"].([]map[string]any)[0]["after_us"] = -1 }, 400,
			"answered at"},
		{"viewport", func(m map[string]any) { m["width"] = 0 }, 400, "viewport"},
		{"ratio", func(m map[string]any) { m["pixel_ratio"] = -1 }, 400, "device pixels"},
		{"rate", func(m map[string]any) { m["claimed_fps"] = 1e9 }, 400, "claims"},
		{"long agent", func(m map[string]any) { m["agent"] = strings.Repeat("x", 513) }, 400, "limit 512"},
		{"too many warnings", func(m map[string]any) { m["warnings"] = make([]string, 21) }, 400, "21 warnings"},
		{"too large", func(m map[string]any) { m["agent"] = strings.Repeat("x", maxReportBytes) }, 413, "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := good(0, s.clock.Now())
			tc.change(m)
			status, body, _ := ask(s, "POST", "/report", "application/json", text(t, m))
			if status != tc.status || !strings.Contains(body, tc.has) {
				t.Errorf("status %d, %q, want %d with %q", status, body, tc.status, tc.has)
			}
		})
	}
	for name, body := range map[string]string{"empty": "", "array": "[]", "two": "{}{}",
		"deep": strings.Repeat("[", 100000)} {
		if status, _, _ := ask(s, "POST", "/report", "application/json", body); status < 400 || status > 499 {
			t.Errorf("%s: status %d", name, status)
		}
	}
	if status, _, _ := ask(s, "POST", "/report", "text/plain", "{}"); status != 415 {
		t.Errorf("text: status %d", status)
	}
	select {
	case r := <-s.reports:
		t.Errorf("a refused report was passed on: %+v", r)
	default:
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    Options
		has  string
	}{
		{"unknown page", Options{Playlist: []string{"lod"}}, "use one of animation load"},
		{"empty playlist", Options{Playlist: []string{}}, "0 pages"},
		{"long playlist", Options{Playlist: make([]string, 256)}, "256 pages"},
		{"nonce", Options{Nonce: "a&b"}, "letters and digits"},
		{"strip", Options{Strip: json.RawMessage("7")}, "JSON object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := New(tc.o); err == nil || !strings.Contains(err.Error(), tc.has) {
				t.Errorf("error %v, want %q", err, tc.has)
			}
		})
	}
}

func TestNextSaysWhatItWaitedFor(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), `open test page "animation"`) {
		t.Errorf("error %v", err)
	}
	ask(s, "GET", s.Start(), "", "")
	if _, err := s.Next(ctx); err == nil || !strings.Contains(err.Error(), `report of test page "animation"`) {
		t.Errorf("error %v", err)
	}
}

func FuzzReport(f *testing.F) {
	s := newSite(f)
	now := s.clock.Now()
	seeds := []map[string]any{good(0, now), good(1, now)}
	seeds[1]["warnings"] = []string{"resized"}
	for _, m := range seeds {
		f.Add([]byte(text(f, m)))
	}
	f.Add([]byte(`{"run":"abc"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := s.parseReport(body, now.Add(time.Second))
		if err != nil {
			return
		}
		if len(r.Drawn) == 0 || len(r.Drawn) > maxDrawn {
			t.Errorf("%d frames were let through", len(r.Drawn))
		}
		for _, d := range r.Drawn {
			if !d.At.Valid() {
				t.Errorf("frame %d at %v", d.ID, d.At)
			}
		}
		for _, e := range r.Events() {
			if err := e.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestArrive: a page that is arrived at shows and holds no green.
func TestArrive(t *testing.T) {
	for _, arrive := range []bool{false, true} {
		for _, p := range Pages() {
			s, err := New(Options{Nonce: "abc", Playlist: []string{p.Name, p.Name}, Arrive: arrive})
			if err != nil {
				t.Fatal(err)
			}
			for entry := range 2 {
				_, body, _ := ask(s, http.MethodGet, fmt.Sprintf("%s?run=abc&entry=%d", p.Path, entry), "", "")
				first := arrive && entry == 0
				if strings.Contains(body, greenGround) == (first || !p.Markers) ||
					strings.Contains(body, `"arrive":true`) != first {
					t.Errorf("page %s, arrive %v, entry %d: %.300s", p.Name, arrive, entry, body)
				}
			}
		}
	}
}
