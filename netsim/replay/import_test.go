package replay

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/internal/body"
)

//go:embed testdata/browser.har
var harFromBrowser string

func TestImportHAR(t *testing.T) {
	a, err := importHAR(strings.NewReader(harFromBrowser), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Exchanges) != 5 || !a.Info.Created.Equal(created) {
		t.Fatalf("%d exchanges since %v, %q", len(a.Exchanges), a.Info.Created, a.Notes)
	}
	page, late, form, none, gone := a.Exchanges[0], a.Exchanges[1], a.Exchanges[2], a.Exchanges[3], a.Exchanges[4]
	if page.URL != "https://a.test/" || page.ResponseHeader.Get("Content-Type") != "text/html; charset=utf-8" ||
		string(page.ResponseBody.Bytes) != "<p>ä" || page.Think != 10*time.Millisecond {
		t.Errorf("%+v", page)
	}
	if late.URL != "https://a.test/late.js" || late.Began != 1500*time.Millisecond ||
		late.Think != 25500*time.Microsecond || late.RoundTrip != 10*time.Millisecond || len(late.Header) != 1 {
		t.Errorf("%+v", late)
	}
	if cookies := late.ResponseHeader.Header()["Set-Cookie"]; fmt.Sprint(cookies) != "[a=1 b=2]" ||
		late.ResponseHeader.Get("Content-Length") != "" {
		t.Errorf("%+v", late.ResponseHeader)
	}
	plain, err := body.Unpack(late.ResponseBody.Bytes, []string{"br"}, 100)
	if err != nil || string(plain) != "let a = 1" {
		t.Errorf("%q %v", plain, err)
	}
	if string(form.Body.Bytes) != "a+b=1%262" || string(form.ResponseBody.Bytes) != "\x89PNG" {
		t.Errorf("%+v", form)
	}
	if ok, why := none.Replayable(); ok || !strings.Contains(why, "no body") {
		t.Errorf("%+v", none)
	}
	if gone.Error == "" || gone.Status != 0 {
		t.Errorf("%+v", gone)
	}
	ours := strings.Replace(harFromBrowser, `"entries":`, `"_recording":{"id":5},"entries":`, 1)
	if b, err := importHAR(strings.NewReader(ours), DefaultLimits()); err != nil || ours == harFromBrowser ||
		!reflect.DeepEqual(a, b) {
		t.Errorf("with a field of ours it is another archive: %v", err)
	}
	if len(a.Notes) != 2 || !strings.Contains(a.Notes[0], "none.png: the HAR has no body") ||
		!strings.Contains(a.Notes[1], "data:text/css,a is left out") {
		t.Errorf("%q", a.Notes)
	}
}

// TestExportHAR: an exported archive can be imported again, and is the same as far as HAR can store
// it.
func TestExportHAR(t *testing.T) {
	all := samples()
	all[0].ResponseHeader = append(all[0].ResponseHeader, Field{"Content-Encoding", "gzip"})
	plain := all[0].ResponseBody.Bytes
	all[0].ResponseBody = newBody(gzipped(plain))
	all[0].Chunks = nil
	all[1].Body = newBody([]byte{0xff, 0, 1})
	all[2].ResponseHeader = Fields{{"Content-Type", "text/plain; charset=iso-8859-1"}}
	all[2].ResponseBody = newBody([]byte("gr\xfc\xdfe"))
	a := archiveOf(all...)
	var out bytes.Buffer
	if err := a.ExportHAR(&out, "1"); err != nil {
		t.Fatal(err)
	}
	b, err := importHAR(&out, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Exchanges) != len(all) {
		t.Fatalf("%d exchanges, %q", len(b.Exchanges), b.Notes)
	}
	for i, e := range b.Exchanges {
		want := all[i]
		wantOK, _ := want.Replayable()
		ok, why := e.Replayable()
		if e.URL != want.URL || e.Method != want.Method || e.Status != want.Status || e.Body.Sum != want.Body.Sum ||
			e.Began != want.Began-all[0].Began || ok != wantOK {
			t.Errorf("%+v (%s)\nwant\n%+v", e, why, want)
		}
		if !ok {
			continue
		}
		got, err := body.Unpack(e.ResponseBody.Bytes, e.ResponseHeader.codings(), 1<<20)
		body := want.ResponseBody.Bytes
		if i == 0 {
			body = plain
		}
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes, want %d (%v)", e.URL, len(got), len(body), err)
		}
	}
}

// wprFile writes an archive of Web Page Replay in the way that its recorder does: both messages by
// net/http.
func wprFile(t testing.TB,
	fill func(add func(scheme, method, address, body string, response *http.Response, more map[string]any))) []byte {
	t.Helper()
	requests := map[string]map[string][]map[string]any{}
	fill(func(scheme, method, address, body string, response *http.Response, more map[string]any) {
		r, err := http.NewRequest(method, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var request, answer bytes.Buffer
		if err := r.Write(&request); err != nil {
			t.Fatal(err)
		}
		if response != nil {
			if err := response.Write(&answer); err != nil {
				t.Fatal(err)
			}
		}
		one := map[string]any{"SerializedRequest": request.Bytes(), "SerializedResponse": answer.Bytes(),
			"LastServedSessionId": 0}
		for k, v := range more {
			one[k] = v
		}
		if requests[r.Host] == nil {
			requests[r.Host] = map[string][]map[string]any{}
		}
		requests[r.Host][address] = append(requests[r.Host][address], one)
	})
	text, err := json.Marshal(map[string]any{"Requests": requests, "Certs": map[string][]byte{"a.test": {1, 2}},
		"NegotiatedProtocol":      map[string]string{"a.test": "h2"},
		"DeterministicTimeSeedMs": created.UnixMilli(), "ServeResponseInChronologicalSequence": true,
		"CurrentSessionId": 1, "Metadata": "x"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(text)
	_ = z.Close()
	return out.Bytes()
}

func answered(status int, body string, chunked bool, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: readCloser{strings.NewReader(body)}, ContentLength: int64(len(body))}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	if chunked {
		r.ContentLength, r.TransferEncoding = -1, []string{"chunked"}
	}
	return r
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func TestImportWPR(t *testing.T) {
	packed := string(gzipped([]byte("<p>packed")))
	b := wprFile(t, func(add func(string, string, string, string, *http.Response, map[string]any)) {
		add("https", "GET", "https://a.test/", "", answered(200, packed, true, "Content-Type", "text/html",
			"Content-Encoding", "gzip", "Set-Cookie", "a=1", "Set-Cookie", "b=2"), nil)
		add("https", "GET", "https://a.test/n", "", answered(200, "first", false), nil)
		add("https", "GET", "https://a.test/n", "", answered(200, "second", false), nil)
		add("https", "POST", "https://a.test/post", "question", answered(200, "answer", false), nil)
		add("http", "GET", "http://b.test/failed", "", nil, nil)
		add("https", "GET", "https://a.test/ws", "", answered(101, "", false, "Upgrade", "websocket"),
			map[string]any{"WebSocketMessages": []any{}})
		add("http", "GET", "http://b.test/broken", "", nil,
			map[string]any{"SerializedResponse": base64.StdEncoding.EncodeToString(
				[]byte("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"))})
	})
	a, err := ImportWPR(bytes.NewReader(b), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if !a.Info.Clock.Equal(created) || len(a.Exchanges) != 6 || len(a.Notes) != 1 ||
		!strings.Contains(a.Notes[0], "http://b.test/broken is left out: its response: unexpected EOF") {
		t.Fatalf("%d exchanges, %q, %+v", len(a.Exchanges), a.Notes, a.Info)
	}
	_, c := replayed(t, a, ReplayerOptions{Recorded: true})
	g := get(t, c, "GET", "https://a.test/", "", "Accept-Encoding", "gzip")
	if string(g.body) != packed || g.header.Get("Content-Encoding") != "gzip" || len(g.header["Set-Cookie"]) != 2 {
		t.Errorf("%+v", g)
	}
	for _, want := range []string{"first", "second", "second"} {
		if g := get(t, c, "GET", "https://a.test/n", ""); string(g.body) != want {
			t.Errorf("%q, want %q", g.body, want)
		}
	}
	if g := get(t, c, "POST", "https://a.test/post", "question"); string(g.body) != "answer" {
		t.Errorf("%+v", g)
	}
	if g := get(t, c, "GET", "http://b.test/failed", ""); g.status != 502 {
		t.Errorf("%+v", g)
	}
	if g := get(t, c, "GET", "https://a.test/ws", ""); g.status != 404 ||
		!strings.Contains(string(g.body), "websocket") {
		t.Errorf("%+v", g)
	}
}

func TestImportsRefuse(t *testing.T) {
	pack := func(text string) []byte { return gzipped([]byte(text)) }
	small := DefaultLimits()
	small.Total, small.Body = 1<<10, 1<<10
	for name, tc := range map[string]struct {
		file   []byte
		limits Limits
		want   string
	}{
		"no gzip":              {[]byte("\x1f\x8bnot"), DefaultLimits(), "Web Page Replay"},
		"no JSON":              {pack("hello"), DefaultLimits(), "invalid character"},
		"no requests":          {pack("{}"), DefaultLimits(), "no requests"},
		"a list of hosts":      {pack(`{"Requests":[]}`), DefaultLimits(), "in place of {"},
		"a list for a request": {pack(`{"Requests":{"a":{"http://a/":[[]]}}}`), DefaultLimits(), "cannot unmarshal"},
		"cut":                  {pack(`{"Requests":{"a":{"http://a/":[`), DefaultLimits(), "EOF"},
		"a bomb": {pack(`{"Requests":{"a":"` + strings.Repeat("x", 40<<20) + `"}}`), small,
			"longer than may be"},
		"no HAR":      {[]byte(`{"log":[]}`), DefaultLimits(), "bad HAR file"},
		"another HAR": {[]byte(`{"log":{"version":"3","entries":[]}}`), DefaultLimits(), "want 1.2"},
	} {
		path := t.TempDir() + "/file"
		if err := os.WriteFile(path, tc.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, tc.limits); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func fuzzLimits() Limits {
	l := DefaultLimits()
	l.Body, l.Total, l.Exchanges = 1<<20, 4<<20, 1000
	return l
}

// usable: whatever was imported can be kept in an archive and replayed.
func usable(t *testing.T, a *Archive, l Limits) {
	w, err := NewWriter(&file{}, Info{Created: created}, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range a.Exchanges {
		if err := w.write(e); err != nil {
			t.Fatalf("%s cannot be kept: %v", e.URL, err)
		}
	}
	if _, err := NewReplayer(a, ReplayerOptions{}); err != nil {
		t.Fatal(err)
	}
}

func FuzzImportHAR(f *testing.F) {
	f.Add([]byte(harFromBrowser))
	f.Add([]byte(`{"log":{"version":"1.2","entries":[]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := importHAR(bytes.NewReader(b), fuzzLimits()); err == nil {
			usable(t, a, fuzzLimits())
		}
	})
}

// FuzzImportWPR gets the content of the gzip, since random bytes are rarely valid gzip.
func FuzzImportWPR(f *testing.F) {
	whole := wprFile(f, func(add func(string, string, string, string, *http.Response, map[string]any)) {
		add("https", "GET", "https://a.test/", "", answered(200, "hello", true, "Content-Type", "text/html"), nil)
		add("http", "POST", "http://a.test/", "x", nil, nil)
	})
	text, err := body.Unpack(whole, []string{"gzip"}, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"Requests":{"a":{"http://a/":[{"SerializedRequest":"R0VUIC8gSFRUUC8xLjENCkhvc3Q6IGENCg0K"}]}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := ImportWPR(bytes.NewReader(gzipped(b)), fuzzLimits()); err == nil {
			usable(t, a, fuzzLimits())
		}
	})
}

// TestExportHARIsBounded: the same body stands once in an archive, and as often as it was sent in a
// HAR.
func TestExportHARIsBounded(t *testing.T) {
	e := one("POST", "http://a.test/", 200, "", "Content-Type", "text/plain", "Content-Encoding", "gzip")
	e.ResponseBody = newBody(gzipped(bytes.Repeat([]byte("x"), 1000)))
	asked := *e
	asked.Body = newBody(bytes.Repeat([]byte("y"), 1500))
	f := archiveOf(e, e, &asked).har("1", 2500)
	for i, want := range []struct {
		response, request int
		size              int64
	}{{1000, 0, e.ResponseBody.Size}, {1000, 0, e.ResponseBody.Size}, {0, 0, -1}} {
		h := f.Log.Entries[i]
		text := ""
		if h.Request.Body != nil {
			text = h.Request.Body.Text
		}
		if len(h.Response.Content.Text) != want.response || h.Response.BodySize != want.size ||
			(h.Error == leftOut) != (want.response == 0) || h.Response.Content.Size != 1000 ||
			len(text) != want.request {
			t.Errorf("%d: %+v, request %d", i, h.Response, len(text))
		}
	}
}
