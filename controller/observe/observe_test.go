package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

const page = "<!doctype html><title>app</title><script src=app.js></script>"

// TestApplication: hosts, cookies, redirects and streams work as without the proxy.
func TestApplication(t *testing.T) {
	said := make(chan string)
	app := func(w http.ResponseWriter, r *http.Request) {
		origin := "http://" + r.Host
		h := w.Header()
		switch r.URL.Path {
		case "/old":
			h.Set("Location", origin+"/new")
			h.Add("Set-Cookie", "a=1; Domain=app.test; Secure; SameSite=None; Path=/")
			h.Add("Set-Cookie", "b=2; HttpOnly")
			h.Set("Alt-Svc", `h3=":443"`)
			h.Set("Strict-Transport-Security", "max-age=1")
			h.Set("Access-Control-Allow-Origin", origin)
			w.WriteHeader(http.StatusFound)
		case "/echo":
			fmt.Fprintf(w, "%s|%s|%s|%s|%s", r.Host, r.Header.Get("Cookie"), r.Header.Get("Origin"),
				r.Header.Get("Referer"), r.Header.Get("X-Forwarded-Host"))
		case "/events":
			h.Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			for text := range said {
				fmt.Fprintf(w, "data: %s\n\n", text)
				_ = http.NewResponseController(w).Flush()
			}
		case "/socket":
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nhello")
				c.Close()
			}
		}
	}
	w := observed(t, nil, app)
	host := strings.TrimPrefix(w.front.URL, "http://")
	r, _ := w.ask("/old")
	if got := r.Header.Get("Location"); got != w.front.URL+"/new" {
		t.Errorf("redirected to %s", got)
	}
	if got := r.Header["Set-Cookie"]; len(got) != 3 || !slices.Contains(got, "a=1; Path=/") ||
		!slices.Contains(got, "b=2; HttpOnly") {
		t.Errorf("cookies %q", got)
	}
	if h := r.Header; h.Get("Alt-Svc") != "" || h.Get("Strict-Transport-Security") != "" ||
		h.Get("Access-Control-Allow-Origin") != w.front.URL {
		t.Errorf("header %v", h)
	}
	_, got := w.ask("/echo", "Cookie", "x=1; eideticker=5.i; y=2", "Origin", w.front.URL, "Referer", w.front.URL+"/a?b",
		"Sec-Fetch-Dest", "empty")
	if want := strings.TrimPrefix(w.app.URL, "http://") + "|x=1; y=2|" + w.app.URL + "|" + w.app.URL + "/a?b|" +
		host; got != want {
		t.Errorf("the application gets %s, want %s", got, want)
	}
	w.o.KeepHost = true
	if _, got := w.ask("/echo", "Sec-Fetch-Dest", "empty"); !strings.HasPrefix(got, host+"|") {
		t.Errorf("with --keep-host, the application gets %s", got)
	}
	events, err := http.Get(w.front.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		said <- text
		line := make([]byte, len("data: one\n\n"))
		if _, err := io.ReadFull(events.Body, line); err != nil || string(line) != "data: "+text+"\n\n" {
			t.Errorf("event %q, %v", line, err)
		}
	}
	close(said)
	events.Body.Close()
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /socket HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", host)
	all, _ := io.ReadAll(c) // the end is checked
	if !bytes.HasPrefix(all, []byte("HTTP/1.1 101")) || !bytes.HasSuffix(all, []byte("hello")) {
		t.Errorf("the upgrade gives %q", all)
	}
}

// TestUsers: the share grows by the ramp, users keep their group, and links select users.
func TestUsers(t *testing.T) {
	w := observed(t, func(o *Options) { o.Ramp, o.Share = time.Hour, 0.5 }, nil)
	begin, good := w.now, w.Link()
	for _, tc := range []struct {
		after  time.Duration
		cookie string
		in     bool
	}{
		{0, "9.n", true}, {0, "10.n", false}, {time.Hour, "49.n", true}, {time.Hour, "50.n", false},
		{2 * time.Hour, "249.n", true}, {3 * time.Hour, "499.n", true}, {3 * time.Hour, "500.n", false},
		{90 * time.Hour, "500.n", false}, {0, "on.n", true}, {9 * time.Hour, "off.i", false},
	} {
		w.now = begin.Add(tc.after)
		if load, _ := w.load(w.cookie(tc.cookie)); (load != untouched) != tc.in {
			t.Errorf("%s after %v: %c", tc.cookie, tc.after, load)
		}
	}
	w.now = begin
	for code, want := range map[string]string{good: "on.n", "off": "off.n", good + "a": "700.n", "1-a": "700.n",
		link(w.key, begin.Add(-time.Second)): "700.n", link([]byte("other key"), begin.Add(time.Hour)): "700.n"} {
		r, _ := w.ask("//evil.test/a?b=1&eideticker="+code, "Cookie", "eideticker="+w.cookie("700.n"))
		set := strings.Join(r.Header["Set-Cookie"], "")
		if to := r.Header.Get("Location"); r.StatusCode != http.StatusFound || to != "/evil.test/a?b=1" ||
			want != "700.n" && !strings.HasPrefix(set, Name+"="+w.cookie(want)+";") || want == "700.n" && set != "" {
			t.Errorf("code %s: %d, to %s, cookie %q", code, r.StatusCode, to, set)
		}
	}
	r, _ := w.ask("/")
	c, err := http.ParseSetCookie(strings.Join(r.Header["Set-Cookie"], ""))
	if err != nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode ||
		!regexp.MustCompile(`^\d{1,3}\.[nip]\.[a-z2-7]{24}$`).MatchString(c.Value) {
		t.Errorf("a new user gets %v, %v", c, err)
	}
}

// TestTreatments: about every tenth load of a user stays plain. Scripts have the load's treatment.
func TestTreatments(t *testing.T) {
	w := observed(t, nil, nil)
	count := map[kind]int{}
	for range 400 {
		load, _ := w.load(w.cookie("1.n"))
		count[load]++
	}
	if count[untouched] != 0 || count[reporting] < 10 || count[reporting] > 90 { // p < 1e-6 each
		t.Errorf("loads %v", count)
	}
	for value, want := range map[string]bool{"1.i": true, "1.p": false, "1.n": false, "x": false, "1.x": false,
		"9999.i": false, "-1.i": false} {
		cookie := w.cookie(value)
		r, body := w.ask("/app.js", "Cookie", Name+"="+cookie, "Sec-Fetch-Dest", "script")
		if strings.Contains(body, "R$") != want {
			t.Errorf("cookie %s: %s", cookie, body)
		}
		private := r.Header.Get("Cache-Control") == "private, no-cache"
		if private != strings.Contains("1.i 1.p", value) || r.Header.Get("Set-Cookie") != "" {
			t.Errorf("cookie %s: %v", cookie, r.Header)
		}
	}
}

// batch is a message of a realm without records.
func batch(realm uint32, records int) []byte {
	b := record.Batch{Kind: record.Window, Realm: realm, Origin: 1e12, Sent: 1}
	for range records {
		b.Records = append(b.Records, record.Record{Code: record.Start, At: 1})
	}
	return b.Append(nil)
}

// TestFolders: records go to the folder of their page. Folders are bounded, and continued later.
func TestFolders(t *testing.T) {
	w := observed(t, nil, nil)
	first := w.loadAs(measured)
	w.now = w.now.Add(time.Hour)
	w.work()
	second := w.loadAs(measured)
	if first == second || w.post(first+"records", batch(1, 100)) != 204 ||
		w.post(second+"records", batch(2, 200)) != 204 {
		t.Error("records are refused, or the collector is the same")
	}
	w.now = w.now.Add(time.Hour)
	w.work()
	if status := w.post(first+"records", batch(3, 1)); status != http.StatusNotFound {
		t.Errorf("the first folder has ended: %d", status)
	}
	run, problem, err := scripts.ReadFolder(filepath.Join(w.o.Dir, "000001"))
	if err != nil || problem != "" || run.Trace.Records != 100 || len(run.Info.Programs) != 0 ||
		!slices.Equal(run.Info.Policies, w.o.Policies) {
		t.Errorf("the first folder: %v, %s, %+v", err, problem, run)
	}
	w.o.Keep = 1
	for range 2 {
		w.now = w.now.Add(time.Hour)
		w.work()
	}
	if all, err := w.parts(); err != nil || len(all) != 2 || filepath.Base(all[0]) != "000004" {
		t.Errorf("folders %v, %v", all, err)
	}
	w.close()
	var s Summary
	raw, err := os.ReadFile(filepath.Join(w.o.Dir, summaryFile))
	if err := errors.Join(err, json.Unmarshal(raw, &s)); err != nil || s.Parts != 5 || s.Instrumented < 2 ||
		s.Records != int64(len(batch(1, 100))+len(batch(2, 200))) {
		t.Errorf("%+v, %v", s, err)
	}
	if again, err := New(w.o); err != nil || again.sum.Parts != 6 || again.Link() != w.Link() {
		t.Errorf("the folder is not continued: %v", err)
	} else {
		again.close()
	}
	w.o.Dir = filepath.Dir(w.o.Dir)
	if _, err := New(w.o); err == nil || !strings.Contains(err.Error(), "is not empty; choose another folder") {
		t.Errorf("a folder of others: %v", err)
	}
}

// TestFullFolder: records beyond a quota begin a new folder, but at most one a minute.
func TestFullFolder(t *testing.T) {
	w := observed(t, nil, nil)
	path := w.loadAs(measured)
	for realm := range uint32(14) {
		if status := w.post(path+"records", batch(realm+1, record.MaxRecords)); status != 204 {
			t.Fatalf("batch %d: %d", realm, status)
		}
	}
	w.work()
	parts, _ := w.parts()
	w.now = w.now.Add(time.Minute)
	w.work()
	if after, _ := w.parts(); len(parts) != 1 || len(after) != 2 {
		t.Errorf("%d folders, and %d a minute later", len(parts), len(after))
	}
}

// TestFailuresLeaveThePage: without a folder, a collector or an application, nothing else stops.
//
// Fault: The collector's disk fails, or the application is down, while users are observed
func TestFailuresLeaveThePage(t *testing.T) {
	w := observed(t, nil, nil)
	path := w.loadAs(measured)
	if err := os.RemoveAll(w.o.Dir); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Hour)
	w.work()
	if load, _ := w.load(w.cookie("1.i")); load != untouched || w.Summary().Problem == "" {
		t.Errorf("without a folder: %c, %+v", load, w.Summary())
	}
	if w.post(path+"records", batch(1, 1)) != 204 { // of a page that was loaded before
		t.Error("the earlier page gets an error")
	}
	if err := os.Mkdir(w.o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w.work()
	if w.loadAs(measured); w.Summary().Problem != "" {
		t.Errorf("with a folder again: %+v", w.Summary())
	}
	for _, path := range []string{"/.eideticker/x/records", "/.eideticker/", path + "other"} {
		if status := w.post(path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	w.app.Close()
	r, body := w.ask("/")
	if r.StatusCode != http.StatusBadGateway || body != "The application does not answer.\n" ||
		w.Summary().Upstream != 1 {
		t.Errorf("without the application: %d, %s", r.StatusCode, body)
	}
	if !slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, "connection refused") }) {
		t.Errorf("said %q", w.said)
	}
}

// TestHarm: policies that slow pages down are switched off from the next load.
func TestHarm(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after string // of an even and an odd load
		want          string
	}{
		"slower":      {"100 0 0|102 0 0", "200 0 0|203 0 0", "load time is 200 ms instead of 100 ms"},
		"blocked":     {"100 9 0|101 5 0", "100 90 0|101 95 0", "blocked time is 9"},
		"errors":      {"100 0 0|101 0 0", "100 0 2|101 0 1", "errors in 15 of 15 loads instead of 0 of 15"},
		"never loads": {"100 0 0|101 0 0", "0 0 0|0 0 0", "no load event in 15 of 15 loads instead of 0 of 15"},
		"equal":       {"100 0 1|120 9 0", "120 9 1|100 0 0", ""},
		"faster":      {"200 0 0|201 0 0", "100 0 0|101 0 0", ""},
		"slightly":    {"100 0 0|100.1 0 0", "119 0 0|119.1 0 0", ""},
		"no reason":   {"NaN 0 0|100 0", "-1 0 0|1e9 0 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := observed(t, func(o *Options) { o.Policies = []string{"calls"} }, nil)
			plainPath, path := w.loadAs(reporting), w.loadAs(measured)
			w.waits(20)
			for i := range 20 {
				w.post(plainPath+"load", []byte(strings.Split(tc.before, "|")[i%2]))
				w.post(path+"load", []byte(strings.Split(tc.after, "|")[i%2]))
				if i < 14 {
					if w.judge(); w.off() != "" {
						t.Fatalf("off after %d loads", 2*i+2)
					}
				}
			}
			if due := len(w.due) > 0; due != (name != "no reason") {
				t.Errorf("loads are to be judged: %t", due)
			}
			w.judge()
			off := w.off()
			if (off != "") != (tc.want != "") || !strings.Contains(off, tc.want) {
				t.Fatalf("off: %q, want %q", off, tc.want)
			}
			if load, _ := w.load(w.cookie("1.i")); (load == untouched) != (off != "") {
				t.Errorf("the next load is %c", load)
			}
			if told := strings.Contains(strings.Join(w.said, "\n"), "it harms after 30 loads"); told != (off != "") {
				t.Errorf("said %q", w.said)
			}
		})
	}
}

// off returns the policies that are off.
func (w *world) off() (text string) {
	for _, off := range w.Summary().Off {
		text += off.String() + "\n"
	}
	return text
}

// waits notes loads of both sides that should report.
func (w *world) waits(loads int) {
	w.meta.waiting = [2][]time.Time{}
	for range loads {
		w.meta.begins(plain, w.now)
		w.meta.begins(instrumented, w.now)
	}
}

// TestReportsAreLoads: a report counts for one load. Loads without one count after a while, in the
// order of their begins.
func TestReportsAreLoads(t *testing.T) {
	var m meta
	var trial plan.Trial
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	m.begins(plain, at(0))
	m.begins(instrumented, at(1))
	m.begins(instrumented, at(2))
	m.ends(&trial, instrumented, plan.Past{LoadMS: 5})
	m.expire(&trial, at(59))
	m.expire(&trial, at(61))
	m.ends(&trial, plain, plan.Past{LoadMS: 6}) // too late
	m.expire(&trial, at(62))
	want := []plan.Past{{LoadMS: 5}, {Plain: true}, {}}
	if !slices.Equal(trial.Loads, want) || m.reported != [2]int{0, 1} {
		t.Errorf("%+v, want %+v; %v", trial.Loads, want, m.reported)
	}
	for range maxWaiting + 1 {
		m.begins(plain, at(9))
	}
	if len(m.waiting[plain]) != maxWaiting {
		t.Errorf("%d loads wait", len(m.waiting[plain]))
	}
}

// TestBrokenPages: instrumented loads that do not report are harm. Users of links are not compared.
func TestBrokenPages(t *testing.T) {
	w := observed(t, nil, nil)
	var selected string
	for range 200 {
		switch load, path := w.load(w.cookie("1.n")); load {
		case reporting:
			w.post(path+"load", []byte("100 0 0"))
		case measured:
			selected = path
		}
	}
	r, err := http.NewRequest(http.MethodPost, w.front.URL+selected+"load", strings.NewReader("100 0 9"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", Name+"="+w.cookie("on.i"))
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	w.load(w.cookie("on.n"))
	w.work()
	if s := w.Summary(); len(s.Off) > 0 {
		t.Errorf("the loads may still report: %+v", s)
	}
	w.now = w.now.Add(patience)
	w.work()
	s := w.Summary()
	if !strings.Contains(w.off(), "no load event in ") || s.Reported[instrumented] != 0 ||
		s.Off[0].Loads < 100 {
		t.Errorf("%+v", s)
	}
}

// slows makes instrumented loads report twice the time until a policy is off. It returns the number
// of loads of the trial.
func (w *world) slows() int {
	w.Helper()
	before := len(w.Summary().Off)
	plainPath, path := w.loadAs(reporting), w.loadAs(measured)
	w.waits(40)
	for i := range 40 {
		w.post(plainPath+"load", []byte("100 0 0"))
		w.post(path+"load", []byte("200 0 0"))
		if w.judge(); len(w.Summary().Off) > before {
			return 2 * (i + 1)
		}
	}
	w.Fatal("no policy is off")
	return 0
}

// TestPoliciesOneByOne: harm switches off the policy with the most records, then the next one after
// a fresh trial. Loads of earlier policies do not count, and a restart continues.
func TestPoliciesOneByOne(t *testing.T) {
	w := observed(t, nil, nil)
	path := w.loadAs(measured)
	if w.post(path+"records", calls(7, 10)) != 204 {
		t.Fatal("records are refused")
	}
	if n := w.slows(); n != 30 || !strings.HasPrefix(w.off(), "calls, after 30 loads: load time is 200 ms") {
		t.Errorf("off after %d loads: %s", n, w.off())
	}
	w.waits(40)
	for range 40 {
		w.post(path+"load", []byte("300 0 0")) // with the earlier policies
	}
	if w.plan.Trial.Count != 0 {
		t.Errorf("%d loads of the earlier policies count", w.plan.Trial.Count)
	}
	_, body := w.ask("/app.js", "Cookie", Name+"="+w.cookie("1.i"), "Sec-Fetch-Dest", "script")
	if load, _ := w.load(w.cookie("1.i")); load == untouched || strings.Contains(body, "R$") {
		t.Errorf("the next load is %c, its script %s", load, body)
	}
	w.close()
	again, err := New(w.o)
	if err != nil {
		t.Fatal(err)
	}
	w.Observer = again
	w.front.Config.Handler = again
	if n := w.slows(); n != 30 || !strings.Contains(w.off(), "\nerrors, after 60 loads: load time") {
		t.Errorf("off after %d loads: %s", n, w.off())
	}
	if load, _ := w.load(w.cookie("1.i")); load != untouched || w.Summary().Share != 0 {
		t.Errorf("the next load is %c, %+v", load, w.Summary())
	}
	w.work()
	again.close()
	if again, err = New(w.o); err != nil || again.current != nil || len(again.Summary().Off) != 2 {
		t.Errorf("a restart: %v, %+v", err, again.Summary())
	}
	again.close()
	want := []string{"policy calls is off, because pages are worse with 2 policies after 30 loads",
		"a policy stays off: calls, after 30 loads", "policy errors is off, because it harms after 60 loads"}
	for _, text := range want {
		if !strings.Contains(strings.Join(w.said, "\n"), text) {
			t.Errorf("said %q, want %s", w.said, text)
		}
	}
}

// calls returns a batch of a realm with a function's calls, each of 8 ms, in tasks of their own.
func calls(realm uint32, n int) []byte {
	b := record.Batch{Kind: record.Window, Realm: realm, Origin: 1e12, Sent: float64(20*n + 20)}
	b.Records = append(b.Records, record.Record{Code: record.Start, At: 1})
	for i := range n {
		at := float64(20*i + 10)
		b.Records = append(b.Records, record.Record{Code: record.Enter, ID: 1, At: at},
			record.Record{Code: record.Leave, ID: uint32(i + 1), At: at + 8},
			record.Record{Code: record.Idle, At: at + 9})
	}
	return b.Append(nil)
}

// TestCachedTexts: a plain load does not keep the text of an instrumented one by its date.
func TestCachedTexts(t *testing.T) {
	w := observed(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/ecmascript")
		w.Header().Set("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
		_, _ = io.WriteString(w, "function f() { return 1 }")
	})
	for cookie, date := range map[string]bool{"1.i": false, "1.p": false, "off.n": true} {
		r, _ := w.ask("/app.js", "Cookie", Name+"="+w.cookie(cookie), "Sec-Fetch-Dest", "script")
		if (r.Header.Get("Last-Modified") != "") != date {
			t.Errorf("cookie %s: %v", cookie, r.Header)
		}
	}
}

// TestObserverOfItself: a request that comes back ends.
func TestObserverOfItself(t *testing.T) {
	w := observed(t, func(o *Options) { o.Upstream = nil }, nil)
	r, body := w.ask("/")
	if r.StatusCode != http.StatusLoopDetected || body != "The application is the observer itself.\n" ||
		w.Summary().Upstream != 1 {
		t.Errorf("%d, %s", r.StatusCode, body)
	}
}

// TestOutside: clients of other machines cannot ask services of this machine alone.
func TestOutside(t *testing.T) {
	w := observed(t, func(o *Options) { o.Outside = true }, nil)
	if r, _ := w.ask("/"); r.StatusCode != http.StatusBadGateway || len(w.said) != 1 ||
		!strings.HasSuffix(w.said[0], "clients of other machines may not ask this address") {
		t.Errorf("%d, %q", r.StatusCode, w.said)
	}
	for address, fine := range map[string]bool{"[::1]:80": false, "[::ffff:127.0.0.1]:80": false, "0.0.0.0:80": false,
		"169.254.169.254:80": false, "192.0.2.1:80": true, "[2001:db8::1]:443": true} {
		if err := w.dials("tcp", address, nil); (err == nil) != fine {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestClientsProxy: without an upstream, each request goes to its own host.
func TestClientsProxy(t *testing.T) {
	w := observed(t, func(o *Options) { o.Upstream = nil }, nil)
	r, err := http.NewRequest(http.MethodGet, w.front.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = strings.TrimPrefix(w.app.URL, "http://")
	r.Header.Set("Accept", "text/html")
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), `base="`+w.app.URL+"/.eideticker/") {
		t.Errorf("%v, %s", err, body)
	}
}

// TestRunEnds: the end of the context closes the records.
func TestRunEnds(t *testing.T) {
	w := observed(t, nil, nil)
	ctx, end := context.WithCancel(t.Context())
	end()
	if err := w.Observer.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, _, err := scripts.ReadFolder(filepath.Join(w.o.Dir, "000001")); err != nil {
		t.Error(err)
	}
	if load, _ := w.load(w.cookie("1.i")); load != untouched {
		t.Errorf("after the end: %c", load)
	}
}
