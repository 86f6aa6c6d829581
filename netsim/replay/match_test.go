package replay

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// one is an exchange in a few words.
func one(method, address string, status int, body string, header ...string) *Exchange {
	e := &Exchange{Method: method, URL: address, Status: status, ResponseBody: newBody([]byte(body))}
	for i := 0; i < len(header); i += 2 {
		name, ask := strings.CutPrefix(header[i], ">") // of the request
		if ask {
			e.Header = append(e.Header, Field{name, header[i+1]})
		} else {
			e.ResponseHeader = append(e.ResponseHeader, Field{name, header[i+1]})
		}
	}
	return e
}

func archiveOf(all ...*Exchange) *Archive {
	a := &Archive{Info: Info{Writer: "test", Created: created}}
	for i, e := range all {
		e.Number = i + 1
		a.Exchanges = append(a.Exchanges, e)
	}
	return a
}

// replayed answers by a real server and a real client.
func replayed(t testing.TB, a *Archive, o ReplayerOptions) (*Replayer, *http.Client) {
	t.Helper()
	r, err := NewReplayer(a, o)
	if err != nil {
		t.Fatal(err)
	}
	return r, newStage(t, r, nil).client(t, false)
}

func TestReplayMatches(t *testing.T) {
	posted := func(body, answer string) *Exchange {
		e := one("POST", "http://a.test/form", 200, answer)
		e.Body = newBody([]byte(body))
		return e
	}
	a := archiveOf(
		one("GET", "http://a.test", 200, "front"),
		one("GET", "http://a.test/q?x=1&_=123", 200, "busted"),
		one("GET", "http://a.test/q?x=2&y=3", 200, "query"),
		one("GET", "http://a.test/count", 200, "first"),
		one("GET", "http://a.test/count", 200, "second"),
		one("GET", "http://a.test/lang", 200, "hallo", ">Accept-Language", "de", "Vary",
			"Accept-Language, Accept-Encoding"),
		one("GET", "http://a.test/lang", 200, "hello", ">Accept-Language", "en", "Vary", "accept-language"),
		one("GET", "http://a.test/plain", 200, "with key", ">X-Key", "1"),
		one("GET", "http://a.test/plain", 200, "without key"),
		posted("a=1", "one"), posted("a=2", "two"),
		one("GET", "http://a.test/moved", 302, "", "Location", "/count"),
		one("GET", "http://a.test:8080/", 200, "other port"),
		one("GET", "https://a.test/", 200, "by TLS"),
		one("GET", "http://a.test/%7Euser/a%2Fb", 200, "escaped"),
	)
	rules := Rules{Ignore: CacheBusters(), Headers: []string{"X-Key"}}
	near, strict := rules, rules
	near.Near, strict.Body = true, true
	type ask struct {
		method, url, body string
		header            []string
		want              string // body; "" for a miss
		loose             bool
	}
	for name, tc := range map[string]struct {
		rules Rules
		asks  []ask
	}{
		"exact": {rules, []ask{{"GET", "http://a.test/", "", nil, "front", false},
			{"GET", "http://a.test/q?x=1&_=123", "", nil, "busted", false}}},
		"cache busters": {rules, []ask{{"GET", "http://a.test/q?x=1&_=456", "", nil, "busted", true},
			{"GET", "http://a.test/q?_=1&x=1", "", nil, "busted", true}}},
		"no busters": {Rules{}, []ask{{"GET", "http://a.test/q?x=1&_=456", "", nil, "", false}}},
		"far":        {rules, []ask{{"GET", "http://a.test/q?x=2&y=4", "", nil, "", false}}},
		"near": {near, []ask{{"GET", "http://a.test/q?x=2&y=4", "", nil, "query", true},
			{"GET", "http://a.test/other?x=2", "", nil, "", false}}},
		"the n-th": {rules, []ask{{"GET", "http://a.test/count", "", nil, "first", false},
			{"GET", "http://a.test/count", "", nil, "second", false},
			{"GET", "http://a.test/count", "", nil, "second", false}}},
		"vary": {rules,
			[]ask{{"GET", "http://a.test/lang", "", []string{"Accept-Language", "en"}, "hello", false},
				{"GET", "http://a.test/lang", "", []string{"Accept-Language", "de"}, "hallo", false}}},
		"chosen header": {rules, []ask{{"GET", "http://a.test/plain", "", nil, "without key", false},
			{"GET", "http://a.test/plain", "", []string{"X-Key", "1"}, "with key", false}}},
		"body": {rules, []ask{{"POST", "http://a.test/form", "a=2", nil, "two", false},
			{"POST", "http://a.test/form", "a=1", nil, "one", false},
			{"POST", "http://a.test/form", "a=3", nil, "one", true}}},
		"body, strictly": {strict, []ask{{"POST", "http://a.test/form", "a=2", nil, "two", false},
			{"POST", "http://a.test/form", "a=3", nil, "", false}}},
		"method": {rules, []ask{{"POST", "http://a.test/", "x", nil, "", false},
			{"DELETE", "http://a.test/", "", nil, "", false}}},
		"port and scheme": {rules, []ask{{"GET", "http://a.test:8080/", "", nil, "other port", false},
			{"GET", "https://a.test/", "", nil, "by TLS", false}, {"GET", "https://a.test:8080/", "", nil, "", false}}},
		"escapes": {rules, []ask{{"GET", "http://a.test/%7Euser/a%2Fb", "", nil, "escaped", false},
			{"GET", "http://a.test/~user/a/b", "", nil, "", false}}},
		"host's letters": {rules, []ask{{"GET", "http://A.TEST/count", "", nil, "first", false}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, c := replayed(t, a, ReplayerOptions{Rules: tc.rules})
			missed, loose := 0, 0
			for _, ask := range tc.asks {
				g := get(t, c, ask.method, ask.url, ask.body, ask.header...)
				if ask.want == "" {
					missed++
					if g.status != 404 || !bytes.Contains(g.body, []byte("eideticker: "+ask.method)) {
						t.Errorf("%s %s %q: %d %s, want a miss", ask.method, ask.url, ask.body, g.status, g.body)
					}
					continue
				}
				if ask.loose {
					loose++
				}
				if g.status != 200 || string(g.body) != ask.want {
					t.Errorf("%s %s %q: %d %q %v, want %q", ask.method, ask.url, ask.body, g.status, g.body, g.err,
						ask.want)
				}
			}
			if f := r.Fidelity(); f.Requests != len(tc.asks) || f.Missed != missed || f.Loose != loose ||
				len(f.Misses) != missed {
				t.Errorf("fidelity %+v, want %d missed, %d loose", f, missed, loose)
			}
		})
	}
	// Redirects are the site's own.
	_, c := replayed(t, a, ReplayerOptions{})
	if g := get(t, c, "GET", "http://a.test/moved", ""); g.status != 302 || g.header.Get("Location") != "/count" {
		t.Errorf("%+v", g)
	}
	if g := get(t, c, "HEAD", "http://a.test/count", ""); g.status != 200 || len(g.body) != 0 {
		t.Errorf("%+v", g)
	}
}

func TestReplayRangesAndConditions(t *testing.T) {
	a := archiveOf(
		one("GET", "http://a.test/video", 200, "0123456789", "Etag", `"v1"`, "Content-Type", "video/mp4",
			"Last-Modified", "Wed, 04 Mar 2026 05:00:00 GMT", "Content-Length", "10"),
		one("GET", "http://a.test/part", 206, "23456", ">Range", "bytes=2-6", "Content-Range", "bytes 2-6/10"),
		one("GET", "http://a.test/all", 206, "0123456789", ">Range", "bytes=0-", "Content-Range", "bytes 0-9/10"),
		one("GET", "http://a.test/same", 304, "", ">If-None-Match", `"x"`),
		one("GET", "http://a.test/packed", 200, string(gzipped([]byte("hello hello"))), "Content-Encoding", "gzip",
			"Etag", `W/"p"`),
		one("GET", "http://a.test/ws", 101, ""),
	)
	a.Exchanges[5].Missing = notWebSocket
	for name, tc := range map[string]struct {
		url    string
		header []string
		status int
		body   string
		ranged string // Content-Range
	}{
		"of a whole":     {"video", []string{"Range", "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		"to the end":     {"video", []string{"Range", "bytes=7-"}, 206, "789", "bytes 7-9/10"},
		"the last":       {"video", []string{"Range", "bytes=-2"}, 206, "89", "bytes 8-9/10"},
		"from the start": {"video", []string{"Range", "bytes=0-"}, 206, "0123456789", "bytes 0-9/10"},
		"beyond":         {"video", []string{"Range", "bytes=5-99999"}, 206, "56789", "bytes 5-9/10"},
		"nonsense":       {"video", []string{"Range", "bytes=9-2"}, 200, "0123456789", ""},
		"several":        {"video", []string{"Range", "bytes=0-1,3-4"}, 200, "0123456789", ""},
		"of this version": {"video", []string{"Range", "bytes=0-1", "If-Range", `"v1"`}, 206, "01",
			"bytes 0-1/10"},
		"of another version":    {"video", []string{"Range", "bytes=0-1", "If-Range", `"v0"`}, 200, "0123456789", ""},
		"as recorded":           {"part", []string{"Range", "bytes=2-6"}, 206, "23456", "bytes 2-6/10"},
		"within what was":       {"part", []string{"Range", "bytes=3-4"}, 206, "34", "bytes 3-4/10"},
		"outside of what was":   {"part", []string{"Range", "bytes=0-4"}, 404, "", ""},
		"all of a part":         {"part", nil, 404, "", ""},
		"all, recorded as part": {"all", nil, 200, "0123456789", ""},
		"a part of all":         {"all", []string{"Range", "bytes=4-5"}, 206, "45", "bytes 4-5/10"},
		"the same version":      {"video", []string{"If-None-Match", `W/"v0", "v1"`}, 304, "", ""},
		"the same date":         {"video", []string{"If-Modified-Since", "Wed, 04 Mar 2026 05:00:00 GMT"}, 304, "", ""},
		"a newer version":       {"video", []string{"If-None-Match", `"v0"`}, 200, "0123456789", ""},
		"recorded as the same":  {"same", []string{"If-None-Match", `"x"`}, 304, "", ""},
		"never had":             {"same", nil, 404, "", ""},
		"packed, taken": {"packed", []string{"Accept-Encoding", "gzip"}, 200,
			string(gzipped([]byte("hello hello"))), ""},
		"packed, not taken": {"packed", nil, 200, "hello hello", ""},
		"packed, refused":   {"packed", []string{"Accept-Encoding", "gzip;q=0, *"}, 200, "hello hello", ""},
		"packed, in parts": {"packed", []string{"Range", "bytes=0-2", "Accept-Encoding", "gzip"}, 200,
			string(gzipped([]byte("hello hello"))), ""},
		"packed, the same": {"packed", []string{"If-None-Match", `W/"p"`}, 304, "", ""},
		"a websocket":      {"ws", nil, 404, "", ""},
	} {
		_, c := replayed(t, a, ReplayerOptions{})
		g := get(t, c, "GET", "http://a.test/"+tc.url, "", tc.header...)
		if g.err != nil || g.status != tc.status || tc.status != 404 && string(g.body) != tc.body ||
			g.header.Get("Content-Range") != tc.ranged {
			t.Errorf("%s: %d %q %q %v, want %d %q %q", name, g.status, g.body, g.header.Get("Content-Range"), g.err,
				tc.status, tc.body, tc.ranged)
		}
		if packed := g.header.Get("Content-Encoding") != ""; g.status == 200 &&
			packed != (strings.HasPrefix(name, "packed, taken") || name == "packed, in parts") {
			t.Errorf("%s: Content-Encoding %q", name, g.header.Get("Content-Encoding"))
		}
	}
}

// TestReplayLedger: a missed request is listed once, with its count and the most similar recorded
// one.
func TestReplayLedger(t *testing.T) {
	a := archiveOf(one("GET", "http://a.test/app/main.js?v=1", 200, "12345"),
		one("GET", "http://a.test/style.css", 200, "1234567890"), one("GET", "http://b.test/", 200, ""))
	var told []Answer
	r, c := replayed(t, a, ReplayerOptions{OnAnswer: func(a Answer) { told = append(told, a) }})
	for _, address := range []string{"http://a.test/app/main.js?v=2", "http://a.test/app/main.js?v=2",
		"http://a.test/app/other.js", "http://c.test/", "http://a.test/app/main.js?v=1"} {
		get(t, c, "GET", address, "")
	}
	f := r.Fidelity()
	want := []Miss{{"GET", "http://a.test/app/main.js?v=2", 2, "it was not recorded", "http://a.test/app/main.js?v=1"},
		{"GET", "http://a.test/app/other.js", 1, "it was not recorded", "http://a.test/app/main.js?v=1"},
		{"GET", "http://c.test/", 1, "it was not recorded", ""}}
	if fmt.Sprint(f.Misses) != fmt.Sprint(want) {
		t.Errorf("missed are %+v", f.Misses)
	}
	if f.Score() != 0.2 || f.Asked != 1 || f.Replayable != 3 || f.AskedBytes != 5 || f.ReplayableBytes != 15 ||
		f.Bytes != 5 {
		t.Errorf("%+v", f)
	}
	if len(told) != 5 || told[4].Exchange != 1 || told[0].Exchange != 0 || told[4].Bytes != 5 {
		t.Errorf("%+v", told)
	}
}

func TestLedgerIsBounded(t *testing.T) {
	var l ledger
	l.begin(archiveOf())
	for i := range maxMisses + 10 {
		l.add(&Answer{Method: "GET", URL: fmt.Sprint("http://a.test/", i), Missed: "no"})
	}
	if f := l.fidelity(); len(f.Misses) != maxMisses || f.Others != 10 || f.Missed != maxMisses+10 {
		t.Errorf("%d listed, %d others, %d missed", len(f.Misses), f.Others, f.Missed)
	}
	var long ledger
	long.begin(archiveOf())
	for i := range 2 {
		long.add(&Answer{Method: "GET" + strings.Repeat("X", 50_000), URL: "http://a.test/" +
			strings.Repeat("x", 50_000) + fmt.Sprint(i), Missed: "no"})
	}
	for key := range long.misses.at {
		if n := len(key[0]) + len(key[1]); n > 3*maxText || len(long.misses.all) != 1 ||
			long.misses.all[0].Count != 2 {
			t.Errorf("a key of %d bytes, %d rows", n, len(long.misses.all))
		}
	}
}

// TestReplayHeaders: those of the connection and of the time of recording do not come again; dates
// are of today.
func TestReplayHeaders(t *testing.T) {
	day := func(d time.Duration) string { return created.Add(d).Format(http.TimeFormat) }
	e := one("GET", "http://a.test/", 200, "x", "Connection", "close, X-Hop", "X-Hop", "1", "Transfer-Encoding",
		"chunked", "Alt-Svc", "h3", "Date", day(0), "Expires", day(time.Hour),
		"Set-Cookie", "a=1; Path=/; expires="+day(48*time.Hour), "Set-Cookie",
		"gone=; expires=Thu, 01 Jan 1970 00:00:00 GMT", "Last-Modified", day(-time.Hour), "X-Twice", "1", "x-twice",
		"2")
	_, c := replayed(t, archiveOf(e), ReplayerOptions{})
	g := get(t, c, "GET", "http://a.test/", "")
	for _, name := range []string{"X-Hop", "Alt-Svc", "Content-Type"} {
		if g.header.Get(name) != "" {
			t.Errorf("%s: %q", name, g.header.Get(name))
		}
	}
	date, err := http.ParseTime(g.header.Get("Date"))
	if err != nil || time.Since(date).Abs() > time.Hour {
		t.Errorf("Date: %q", g.header.Get("Date"))
	}
	expires, err := http.ParseTime(g.header.Get("Expires"))
	if err != nil || expires.Sub(date) != time.Hour {
		t.Errorf("Expires: %q", g.header.Get("Expires"))
	}
	cookies := g.header["Set-Cookie"]
	if len(cookies) != 2 || cookies[0] != "a=1; Path=/; expires="+date.Add(48*time.Hour).Format(http.TimeFormat) ||
		!strings.HasSuffix(cookies[1], "1970 00:00:00 GMT") {
		t.Errorf("Set-Cookie: %q", cookies)
	}
	if g.header.Get("Last-Modified") != day(-time.Hour) || len(g.header["X-Twice"]) != 2 {
		t.Errorf("%v", g.header)
	}
	_, c = replayed(t, archiveOf(e), ReplayerOptions{KeepDates: true})
	if g := get(t, c, "GET", "http://a.test/", ""); g.header.Get("Date") != day(0) {
		t.Errorf("Date, kept: %q", g.header.Get("Date"))
	}
}

// TestReplayTakesNoTimeIfAsked, and the time of the recording otherwise, in an order that no busy
// machine can turn around.
func TestReplayTime(t *testing.T) {
	const think = 400 * time.Millisecond
	e := one("GET", "http://a.test/", 200, "abcdef")
	e.Think, e.RoundTrip, e.Chunks = think+100*time.Hour, 100*time.Hour, []Chunk{{3, 0}, {3, think}}
	_, slow := replayed(t, archiveOf(e), ReplayerOptions{Recorded: true})
	began := time.Now()
	g := get(t, slow, "GET", "http://a.test/", "")
	took := time.Since(began)
	if g.after < think || took < 2*think || string(g.body) != "abcdef" {
		t.Errorf("the head came after %v, all of %q after %v", g.after, g.body, took)
	}
	e.Think = 200 * time.Hour
	_, quick := replayed(t, archiveOf(e), ReplayerOptions{})
	if g := get(t, quick, "GET", "http://a.test/", ""); string(g.body) != "abcdef" {
		t.Errorf("%+v", g)
	}
}

// TestReplayGivesNoInterimResponse: an interim response is never given as the answer, from any
// source.
func TestReplayGivesNoInterimResponse(t *testing.T) {
	hints := func(address string) *Exchange {
		return one("GET", address, 103, "", "Link", "</a.css>; rel=preload; as=style")
	}
	broken := hints("http://a.test/broken")
	broken.Error = "it ended before it was whole"
	recorded := archiveOf(hints("http://a.test/both"), one("GET", "http://a.test/both", 200, "the answer"),
		hints("http://a.test/both"),
		hints("http://a.test/alone"), broken, one("GET", "http://a.test/continue", 100, ""),
		one("GET", "http://a.test/socket", 101, ""))

	entry := func(path string, status int) string {
		return fmt.Sprintf(`{"startedDateTime":"2026-03-04T05:06:07Z","time":1,
"request":{"method":"GET","url":"http://a.test/%s","httpVersion":"h2","headers":[],"queryString":[],"cookies":[],
"headersSize":-1,"bodySize":0},"response":{"status":%d,"statusText":"","httpVersion":"h2","headers":[],"cookies":[],
"content":{"size":10,"mimeType":"text/plain","text":"the answer"},"redirectURL":"","headersSize":-1,"bodySize":-1},
"cache":{},"timings":{"send":0,"wait":1,"receive":0}}`, path, status)
	}
	fromHAR, err := importHAR(
		strings.NewReader(`{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[`+
			strings.Join([]string{entry("both", 103), entry("both", 200), entry("alone", 103), entry("broken", 103),
				entry("continue", 100), entry("socket", 101)}, ",")+`]}}`), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(fromHAR.Notes) != 5 ||
		!strings.Contains(strings.Join(fromHAR.Notes, "\n"),
			"GET http://a.test/alone: only the interim response was recorded: 103 Early Hints") {
		t.Errorf("%q", fromHAR.Notes)
	}
	fromWPR, err := ImportWPR(
		bytes.NewReader(wprFile(t, func(add func(string, string, string, string, *http.Response, map[string]any)) {
			for path, status := range map[string]int{"alone": 103, "broken": 103, "continue": 100, "socket": 101} {
				add("http", "GET", "http://a.test/"+path, "", answered(status, "", false), nil)
			}
			add("http", "GET", "http://a.test/both", "", answered(103, "", false), nil)
			add("http", "GET", "http://a.test/both", "", answered(200, "the answer", false), nil)
		})), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for from, a := range map[string]*Archive{"an archive": recorded, "a HAR": fromHAR, "Web Page Replay": fromWPR} {
		for _, e := range a.Exchanges {
			if a != recorded && (e.Missing == "") != (e.Status == 200) {
				t.Errorf("%s: %d of %s is kept with %q", from, e.Status, e.URL, e.Missing)
			}
		}
		r, c := replayed(t, a, ReplayerOptions{})
		for range 2 {
			if g := get(t, c, "GET", "http://a.test/both", ""); g.status != 200 || string(g.body) != "the answer" {
				t.Errorf("%s: %d %q", from, g.status, g.body)
			}
		}
		for path, why := range map[string]string{"alone": "103 Early Hints", "broken": "103 Early Hints",
			"continue": "100 Continue", "socket": "a websocket"} {
			if g := get(t, c, "GET", "http://a.test/"+path, ""); g.status != 404 ||
				!strings.Contains(string(g.body), why) {
				t.Errorf("%s: %s: %d %q, %v", from, path, g.status, g.body, g.err)
			}
		}
		if f := r.Fidelity(); f.Replayable != 1 || f.Missed != 4 {
			t.Errorf("%s: %+v", from, f)
		}
	}
}

// TestUnlisted: requests of the rig itself are answered and not counted.
func TestUnlisted(t *testing.T) {
	r, err := NewReplayer(archiveOf(one("GET", "http://a.test/app.js.map", 200, "map")), ReplayerOptions{
		OnAnswer: func(Answer) { t.Error("the answer is reported") }})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/app.js.map": http.StatusOK, "/missing.map": http.StatusNotFound} {
		w := httptest.NewRecorder()
		in := httptest.NewRequest("GET", "http://a.test"+path, nil)
		r.ServeHTTP(w, in.WithContext(Unlisted(t.Context())))
		if w.Code != want || want == http.StatusOK && w.Body.String() != "map" {
			t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
		}
	}
	if f := r.Fidelity(); f.Requests != 0 || len(f.Misses) != 0 {
		t.Errorf("%+v is counted", f)
	}
}
