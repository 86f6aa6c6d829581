package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/gorilla/websocket"
	"github.com/klauspost/compress/zstd"

	"github.com/eideticker/eideticker/capture/timeline"
)

var text = []byte(strings.Repeat("<p>the same words again and again</p>\n", 400))

func pages(t testing.TB, rules ...Rule) *Pages {
	t.Helper()
	noise := make([]byte, 4096)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(noise)
	p, err := NewPages(fstest.MapFS{
		"index.html":       {Data: []byte("<!doctype html>hello"), ModTime: time.Unix(1e9, 0)},
		"text.html":        {Data: text, ModTime: time.Unix(1e9, 0)},
		"noise.txt":        {Data: noise},
		"under/index.html": {Data: []byte("under")},
		".git/config":      {Data: []byte("secret")},
	}, rules)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ask(h http.Handler, method, url string, header ...string) *http.Response {
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestPagesAreNegotiated(t *testing.T) {
	p := pages(t)
	for accept, want := range map[string]string{
		"":                           "",
		"gzip":                       "gzip",
		"GZIP;Q=0.5":                 "gzip",
		"br":                         "br",
		"zstd":                       "zstd",
		"gzip, deflate, br, zstd":    "smallest",
		"br;q=0.5, gzip;q=0.8":       "gzip",
		"br;q=0, zstd;q=0, *":        "gzip",
		"identity, gzip;q=0.5":       "",
		"gzip;q=0":                   "",
		"gzip;q=nonsense":            "",
		strings.Repeat("x, ", 1<<16): "",
	} {
		r := ask(p, "GET", "/text.html", "Accept-Encoding", accept)
		got := r.Header.Get("Content-Encoding")
		if want == "smallest" {
			for _, b := range p.files["/text.html"].bodies {
				if int64(len(b.body)) < r.ContentLength {
					t.Errorf("%s has %d bytes, and %s with %d was sent", b.encoding, len(b.body), got, r.ContentLength)
				}
			}
		} else if got != want {
			t.Errorf("%.60q: sent %q, want %q", accept, got, want)
		}
		if b := unpack(t, r); !bytes.Equal(b, text) || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%.60q: %d bytes unpacked, Vary %q", accept, len(b), r.Header.Get("Vary"))
		}
	}
	if r := ask(p, "GET", "/noise.txt", "Accept-Encoding", "gzip, br, zstd"); r.Header.Get("Content-Encoding") != "" {
		t.Error("what packing does not make smaller is packed")
	}
}

func unpack(t testing.TB, r *http.Response) []byte {
	t.Helper()
	var from io.Reader = r.Body
	switch r.Header.Get("Content-Encoding") {
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		from = z
	case "br":
		from = brotli.NewReader(r.Body)
	case "zstd":
		z, err := zstd.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		from = z
	}
	b, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPagesAnswer(t *testing.T) {
	p := pages(t, Rule{Pattern: "/text.html", CacheControl: "max-age=60", LastModified: true},
		Rule{Pattern: "/noise.txt", NoETag: true})
	tag := ask(p, "GET", "/text.html").Header.Get("Etag")
	packedTag := ask(p, "GET", "/text.html", "Accept-Encoding", "br").Header.Get("Etag")
	if tag == "" || packedTag == "" || tag == packedTag {
		t.Errorf("tags are %s, and packed %s", tag, packedTag)
	}
	for _, tc := range []struct {
		name, method, url string
		header            []string
		status            int
		want              map[string]string
		body              string
	}{
		{"index", "GET", "/", nil, 200, map[string]string{"Content-Type": "text/html; charset=utf-8",
			"Content-Length": "20", "Last-Modified": "", "Cache-Control": ""}, "<!doctype html>hello"},
		{"head", "HEAD", "/", nil, 200, map[string]string{"Content-Length": "20"}, ""},
		{"folder", "GET", "/under?a=b", nil, 301, map[string]string{"Location": "under/?a=b"}, ""},
		{"in a folder", "GET", "/under/", nil, 200, nil, "under"},
		{"nothing", "GET", "/no", nil, 404, nil, "no file for \"/no\"\n"},
		{"above", "GET", "/../pages.go", nil, 404, nil, "no file for \"/../pages.go\"\n"},
		{"hidden", "GET", "/.git/config", nil, 404, nil, "no file for \"/.git/config\"\n"},
		{"post", "POST", "/", nil, 405, map[string]string{"Allow": "GET, HEAD"},
			"method \"POST\" is not supported: pages need GET or HEAD\n"},
		{"cached", "GET", "/text.html", []string{"If-None-Match", tag}, 304,
			map[string]string{"Cache-Control": "max-age=60"}, ""},
		{"cached otherwise", "GET", "/text.html", []string{"If-None-Match", packedTag}, 200,
			map[string]string{"Cache-Control": "max-age=60", "Last-Modified": "Sun, 09 Sep 2001 01:46:40 GMT"},
			string(text)},
		{"not modified", "GET", "/text.html", []string{"If-Modified-Since", "Sun, 09 Sep 2001 01:46:40 GMT"}, 304, nil,
			""},
		{"range", "GET", "/text.html", []string{"Range", "bytes=3-6"}, 206,
			map[string]string{"Content-Range": "bytes 3-6/15200", "Content-Length": "4"}, string(text[3:7])},
		{"range of another", "GET", "/text.html", []string{"Range", "bytes=3-6", "If-Range", packedTag}, 200, nil,
			string(text)},
		{"range beyond", "GET", "/text.html", []string{"Range", "bytes=99999-"}, 416,
			map[string]string{"Content-Range": "bytes */15200"}, "invalid range: failed to overlap\n"},
		{"no tag", "GET", "/noise.txt", nil, 200, map[string]string{"Etag": ""},
			string(p.files["/noise.txt"].bodies[0].body)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(p, tc.method, tc.url, tc.header...)
			b, _ := io.ReadAll(r.Body)
			if r.StatusCode != tc.status || string(b) != tc.body {
				t.Errorf("%d %.60q, want %d %.60q", r.StatusCode, b, tc.status, tc.body)
			}
			for name, want := range tc.want {
				if got := r.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
	// A range of a packed body is a range of the packed bytes.
	r := ask(p, "GET", "/text.html", "Accept-Encoding", "br", "Range", "bytes=0-9")
	if b, _ := io.ReadAll(r.Body); r.StatusCode != 206 || !bytes.Equal(b, packedAs(p, "br")[:10]) {
		t.Errorf("%d %x", r.StatusCode, b)
	}
}

func packedAs(p *Pages, encoding string) []byte {
	for _, b := range p.files["/text.html"].bodies {
		if b.encoding == encoding {
			return b.body
		}
	}
	return nil
}

func TestFolderIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	write := func(name, body string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("index.html", "before")
	p, err := Folder(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	write("index.html", "after")
	if b, _ := io.ReadAll(ask(p, "GET", "/").Body); string(b) != "before" {
		t.Errorf("%q", b)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "out.txt")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err) // a system without links
	}
	if _, err := Folder(dir, nil); err == nil || !strings.Contains(err.Error(), "out.txt") {
		t.Errorf("a link that leads out: %v", err)
	}
	if _, err := Folder(t.TempDir(), nil); err == nil {
		t.Error("a folder without files is served")
	}
	if _, err := Folder(filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestRulesAreChecked(t *testing.T) {
	for want, r := range map[string]Rule{
		"want a path":                      {Pattern: "a.js"},
		"is not between 0 and":             {Pattern: "/a", Timing: Timing{Latency: -1}},
		"10m0s":                            {Pattern: "/a", Timing: Timing{FirstByte: time.Hour}},
		"chunks must be in the order":      {Pattern: "/a", Timing: Timing{Chunks: []Chunk{{10, 2}, {20, 1}}}},
		"events must be in the order":      {Pattern: "/a", Events: []Event{{At: 2}, {At: 1}}},
		"the name and the number":          {Pattern: "/a", Events: []Event{{Name: "a\nb"}}},
		"messages must be in the order":    {Pattern: "/a", WebSocket: &WebSocket{Sends: []Message{{At: 2}, {At: 1}}}},
		"a field of a head":                {Pattern: "/a", CacheControl: "a\r\nb: c"},
		"there are events or a websocket,": {Pattern: "/a", Events: []Event{{}}, WebSocket: &WebSocket{}},
	} {
		if _, err := NewPages(fstest.MapFS{}, []Rule{r}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"/a", "/a", true}, {"/a", "/ab", false}, {"/a*", "/ab", true}, {"*", "", true}, {"/*.js", "/x/y.js", true},
		{"/*.js", "/x.css", false},
		{"*a*b", "xxaxxb", true}, {"*a*b", "xxbxxa", false}, {"/**", "/", true}, {"", "", true}, {"", "a", false},
		{strings.Repeat("*a", 500) + "b", strings.Repeat("a", 2000), false},
	} {
		if got := matches(tc.pattern, tc.text); got != tc.want {
			t.Errorf("%.20q and %.20q: %v", tc.pattern, tc.text, got)
		}
	}
}

// TestTiming: no response comes before its time, by any protocol. Files without a rule do not wait
// for files with one.
func TestTiming(t *testing.T) {
	const latency, first, second = 60 * time.Millisecond, 50 * time.Millisecond, 120 * time.Millisecond
	timed := Rule{Pattern: "/text.html", Timing: Timing{Latency: latency, FirstByte: first,
		Chunks: []Chunk{{1000, first}, {2000, second}}}}
	for _, protocol := range protocols {
		t.Run(strings.ReplaceAll(protocol, "/", ""), func(t *testing.T) {
			x := serveIt(t, Options{Handler: pages(t, timed)})
			c, root := x.client(t, protocol)
			get(t, c, root+"/")
			began := time.Now()
			r, err := c.Get(root + "/text.html")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			head := time.Since(began)
			one := make([]byte, 1)
			if _, err := io.ReadFull(r.Body, one); err != nil {
				t.Fatal(err)
			}
			byte1 := time.Since(began)
			if _, err := io.CopyN(io.Discard, r.Body, 1000); err != nil {
				t.Fatal(err)
			}
			byte1001 := time.Since(began)
			if rest, err := io.ReadAll(r.Body); err != nil || len(rest) != len(text)-1001 {
				t.Fatal(len(rest), err)
			}
			if head < latency || byte1 < latency+first || byte1001 < latency+second {
				t.Errorf("head after %v, first byte after %v, the 1001st after %v", head, byte1, byte1001)
			}
			if head >= byte1001 {
				t.Errorf("head after %v and the 1001st byte after %v: they were sent at once", head, byte1001)
			}
			_, es := x.settled(t, 2)
			if d := es[1].FirstByte.Sub(es[1].Began); d < latency || es[1].Ended.Sub(es[1].Began) < latency+second {
				t.Errorf("the server says %v and %v", d, es[1].Ended.Sub(es[1].Began))
			}
		})
	}
}

// TestPacer: many wait, some give up; all others wake, none early, and nobody is forgotten when the
// one that sleeps for all leaves.
func TestPacer(t *testing.T) {
	var p pacer
	var all sync.WaitGroup
	clock := timeline.Monotonic()
	begun := clock.Now()
	for i := range 2000 {
		all.Go(func() {
			at := begun.Add(time.Duration(i%97) * time.Millisecond)
			ctx := t.Context()
			if i%5 == 0 {
				c, cancel := context.WithTimeout(ctx, time.Duration(i%31)*time.Millisecond)
				defer cancel()
				ctx = c
			}
			err := p.wait(ctx, at)
			if now := clock.Now(); err == nil && now < at {
				t.Errorf("woken %v early", at.Sub(now))
			} else if err != nil && i%5 != 0 {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(p.waiting) != 0 || p.sleeping {
		t.Errorf("%d wait still, and somebody sleeps for them: %v", len(p.waiting), p.sleeping)
	}
}

func TestEvents(t *testing.T) {
	x := serveIt(t, Options{Handler: pages(t,
		Rule{Pattern: "/events", Events: []Event{{0, "tick", "1", "a\nb"}, {40 * time.Millisecond, "", "", "c"}}})})
	for _, protocol := range protocols {
		c, root := x.client(t, protocol)
		began := time.Now()
		r, err := c.Get(root + "/events")
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(r.Body)
		var got []string
		for lines.Scan() {
			got = append(got, lines.Text())
		}
		r.Body.Close()
		if s := strings.Join(got, "|"); s != "event: tick|id: 1|data: a|data: b||data: c|" ||
			r.Header.Get("Content-Type") != "text/event-stream" || time.Since(began) < 40*time.Millisecond {
			t.Errorf("%s: %q after %v", protocol, s, time.Since(began))
		}
	}
}

func TestWebSocket(t *testing.T) {
	t.Parallel() // it waits
	x := serveIt(t, Options{Handler: pages(t,
		Rule{Pattern: "/ws", WebSocket: &WebSocket{Echo: true, Sends: []Message{{10 * time.Millisecond, "first"},
			{20 * time.Millisecond, "second"}}, Close: 5 * time.Second}})})
	for _, url := range []string{"ws://" + x.http + "/ws", "wss://" + x.https + "/ws"} {
		d := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: x.roots, ServerName: "page.test"}}
		c, _, err := d.Dial(url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.WriteMessage(websocket.BinaryMessage, []byte("back")); err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			_, b, err := c.ReadMessage()
			if err != nil {
				if !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
					t.Error(err)
				}
				break
			}
			got = append(got, string(b))
		}
		c.Close()
		if s := strings.Join(got, " "); s != "back first second" && s != "first back second" &&
			s != "first second back" {
			t.Errorf("%s", s)
		}
	}
	_, es := x.settled(t, 2)
	for _, e := range es {
		if e.Status != 101 || e.To <= e.From || e.Error != "" {
			t.Errorf("%+v", e)
		}
	}
	c, root := x.client(t, "http")
	if r, body := get(t, c, root+"/ws"); r.StatusCode != 426 || !strings.Contains(body, "there is a websocket") {
		t.Errorf("%d %s", r.StatusCode, body)
	}
}
