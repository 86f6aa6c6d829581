package instrument_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// patience bounds how long a browser may take. No result depends on it.
const patience = 8 * time.Minute

// fakeCollector keeps the records of all realms.
type fakeCollector struct {
	begin   time.Time
	mu      sync.Mutex
	changed *sync.Cond
	bad     []string
	codes   map[record.RealmKind]map[record.Code]int
	// ids counts the functions that were entered.
	ids     map[uint32]int
	details []record.Detail
	rewrite func(goal, page, text string) (string, bool)
}

func newFake() *fakeCollector {
	c := &fakeCollector{begin: time.Now(), codes: map[record.RealmKind]map[record.Code]int{}, ids: map[uint32]int{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

func (c *fakeCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Cache-Control", "no-store")
	if r.URL.Path == "/.eideticker/s3/clock" {
		fmt.Fprint(w, time.Since(c.begin).Nanoseconds())
		return
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20+64<<10+1))
	if r.URL.Path == "/.eideticker/s3/rewrite" && r.Method == "POST" && err == nil && r.Header.Get("Cookie") == "" {
		text, ok := "", false
		if c.rewrite != nil {
			text, ok = c.rewrite(r.URL.Query().Get("goal"), r.URL.Query().Get("url"), string(b))
		}
		if !ok {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.WriteString(w, text)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || r.URL.Path != "/.eideticker/s3/records" || r.Method != "POST" || len(b) < 40 ||
		string(b[:4]) != "EIDS" || r.Header.Get("Content-Type") != "text/plain" || r.Header.Get("Cookie") != "" {
		c.bad = append(c.bad, fmt.Sprintf("%s %s: %d bytes, %v, %v", r.Method, r.URL, len(b), r.Header, err))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	kind, end := record.RealmKind(b[5]), 40+16*int(binary.LittleEndian.Uint32(b[32:]))
	if c.codes[kind] == nil {
		c.codes[kind] = map[record.Code]int{}
	}
	for at := 40; at < end; at += 16 {
		code := record.Code(b[at])
		if c.codes[kind][code]++; code == record.Enter {
			c.ids[binary.LittleEndian.Uint32(b[at+4:])]++
		}
	}
	var details []record.Detail
	if err := json.Unmarshal(b[end:], &details); err != nil {
		c.bad = append(c.bad, err.Error())
	}
	c.details = append(c.details, details...)
	c.changed.Broadcast()
	w.WriteHeader(http.StatusNoContent)
}

// wait returns when a realm has sent a record. The test's time limit ends a long wait.
func (c *fakeCollector) wait(kind record.RealmKind, code record.Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.codes[kind][code] == 0 && len(c.bad) == 0 {
		c.changed.Wait()
	}
}

// waitFor returns when missing returns nothing, or its last result after a part of patience.
func (c *fakeCollector) waitFor(missing func() string) (last string) {
	over := false
	timer := time.AfterFunc(patience/8, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		over = true
		c.changed.Broadcast()
	})
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for last = missing(); last != "" && !over; last = missing() {
		c.changed.Wait()
	}
	return last
}

// browserSite has a page with a policy that allows little, whose scripts draw by their results.
func browserSite() map[string]answer {
	sum := sha256.Sum256([]byte(add))
	integrity := "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	const inline = `
const shown = [];
function draw(value) { shown.push(value + ' '); document.getElementById('out').textContent = shown.sort().join(''); }
window.onerror = (m, u, l, c) => { draw('onerror ' + m + ' ' + l); };
draw(add(1));
draw(document.scripts.length + ' ' + document.head.childNodes.length);
async function later() { await null; throw new TypeError("no 'secret' 42"); }
setTimeout(function thrower() { null.property; }, 0);
later().catch(e => draw(e.message));
Promise.reject(new Error('lost 1'));
new Worker('worker.js').onmessage = e => {
  draw('worker ' + e.data);
  const first = document.createElement('script'), element = document.createElement('script');
  first.src = 'again.js';
  first.setAttribute('Integrity', 'INTEGRITY');
  first.onload = () => { document.head.append(element); };
  document.head.append(first);
  element.src = 'dynamic.js';
  element.integrity = 'INTEGRITY';
};
const copied = function () { 'use strict'; postMessage('copied ' + (() => typeof this)()); };
new Worker(URL.createObjectURL(new Blob(['(', copied, ')()']))).onmessage = e => {
  draw(e.data);
  window.copied = true;
};
draw(new Blob(['a']) instanceof Blob && new Blob().constructor === Blob);
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
draw(fib(15));
function done() { draw('done'); window.done = true; }`
	hash := sha256.Sum256([]byte(strings.ReplaceAll(inline, "INTEGRITY", integrity)))
	csp := "default-src 'none'; script-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; worker-src 'self' blob:; img-src 'self'; style-src 'unsafe-inline'"
	doc := `<!doctype html><html lang=en><head><title>t</title><style>body { font: 20px monospace }</style>` +
		`<script src=a.js integrity="` + integrity + `"></script></head><body><p id=out></p>` +
		`<img src=missing.png alt=""><script>` + strings.ReplaceAll(inline, "INTEGRITY", integrity) + `</script>` +
		`<script type=module src=m.js></script></body></html>`
	return map[string]answer{
		"/":     {doc, []string{"Content-Type", page, "Content-Security-Policy", csp}, 0},
		"/a.js": {add, asScript, 0},
		// The same text as /a.js, so it has the same integrity.
		"/dynamic.js": {add, asScript, 0},
		"/again.js":   {add, asScript, 0},
		"/m.js":       {"import {x} from './n.js'; draw('module ' + x(2));", asScript, 0},
		"/n.js": {"export const x = a => a * 21; " +
			"const wait = () => document.querySelector('script[src=\"dynamic.js\"]') && " +
			"window.copied ? done() : setTimeout(wait, 5);" +
			" wait();", asScript, 0},
		"/worker.js": {"function work() { return 'w'.repeat(3); } postMessage(work());", asScript, 0},
	}
}

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// TestChromium: pages with instrumentation have the DOM and the pixels of plain pages. Their
// records arrive.
func TestChromium(t *testing.T) {
	tab := browsertest.NewTab(t, patience, func(string) bool { return true })
	t.Run("policies", func(t *testing.T) { testSite(t, tab) })
	t.Run("slow page", func(t *testing.T) { testSlowPage(t, tab) })
	testHostile(t, tab)
}

// testSlowPage: the browser paints the begin of a document before the server has its end.
func testSlowPage(t *testing.T, tab *browsertest.Tab) {
	fake := newFake()
	rig := httptest.NewServer(fake)
	defer rig.Close()
	in := openInstrument(t, "calls,errors", instrument.Options{
		Collector: func(string, bool) string { return rig.URL }, Patience: time.Hour})
	painted := make(chan string, 1)
	server := httptest.NewServer(in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			painted <- r.URL.Query().Get("shown")
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><script>
			function begun() { return document.readyState + ': ' + document.body.innerText; }
			new PerformanceObserver((list) => {
				if (list.getEntriesByName('first-contentful-paint').length) { fetch('painted?shown=' + begun()); }
			}).observe({type: 'paint', buffered: true});</script><p id=out>Loading`)
		_ = http.NewResponseController(w).Flush()
		select {
		case shown := <-painted:
			_, _ = fmt.Fprintf(w, "...<script>(() => { window.shown = '%s' })()</script>", shown)
		case <-r.Context().Done():
		}
	})))
	defer server.Close()
	tab.Do(chromedp.Navigate(server.URL))
	const want = "loading: Loading, Loading..."
	if shown := browsertest.Eval[string](tab, "`${window.shown}, ${out.innerText}`"); shown != want {
		t.Errorf("the page shows %q", shown)
	}
	called := []string{"begun", "(anonymous)"}
	if missing := fake.waitFor(func() string { return notEntered(in, fake.ids, called) }); missing != "" {
		t.Errorf("functions were not entered: %s", missing)
	}
}

func testSite(t *testing.T, tab *browsertest.Tab) {
	fake := newFake()
	rig := httptest.NewServer(fake)
	defer rig.Close()
	in := openInstrument(t, allNames(), instrument.Options{
		Collector: func(string, bool) string { return rig.URL }, Patience: time.Hour})
	fake.rewrite = in.Dynamic
	plain := httptest.NewServer(site(browserSite()))
	defer plain.Close()
	wrapped := httptest.NewServer(in.Wrap(site(browserSite())))
	defer wrapped.Close()
	type seen struct {
		dom, text string
		picture   []byte
	}
	look := func(address string) (s seen) {
		tab.Do(chromedp.Navigate(address))
		_, err := chromedp.Run(tab.Ctx, chromedp.Poll[bool]("window.done === true", chromedp.WithPollingTimeout(0)))
		tab.Check(err)
		s.dom = browsertest.Eval[string](tab, "document.documentElement.outerHTML")
		s.text = browsertest.Eval[string](tab, "document.getElementById('out').textContent")
		picture, err := chromedp.Run(tab.Ctx, chromedp.CaptureScreenshot())
		tab.Check(err)
		s.picture = picture
		return s
	}
	without, with := look(plain.URL), look(wrapped.URL)
	t.Log(without.text)
	for _, word := range []string{"2 ", "onerror", "610", "no 'secret' 42", "worker www", "copied undefined", "true ",
		"module 42", "done"} {
		if !strings.Contains(without.text, word) {
			t.Errorf("the plain page does not show %q: %s", word, without.text)
		}
	}
	if with.text != without.text {
		t.Errorf("the page shows\n%s, plain\n%s", with.text, without.text)
	}
	if !bytes.Equal(with.picture, without.picture) {
		t.Error("the pictures differ")
	}
	if with.dom != without.dom {
		t.Errorf("the document has other elements: %s", with.dom)
	}
	missing := fake.waitFor(func() string { return notEntered(in, fake.ids, []string{"work", "done"}) })
	if missing != "" {
		t.Errorf("functions were not entered: %s", missing)
	}
	tab.Do(chromedp.Navigate("about:blank"))
	fake.wait(record.Window, record.End)
	fake.mu.Lock()
	defer fake.mu.Unlock()
	if len(fake.bad) > 0 {
		t.Errorf("bad requests: %q", fake.bad)
	}
	calls := map[string]int{}
	for _, p := range in.Programs() {
		if p.Reason != "" {
			t.Errorf("%s is served plain: %s", p.URL, p.Reason)
		}
		for i, f := range p.Functions {
			calls[f.Name] += fake.ids[p.First+uint32(i)]
		}
	}
	for name, want := range map[string]int{"fib": 1973, "x": 1, "work": 1, "later": 1, "thrower": 1, "done": 1} {
		if calls[name] != want {
			t.Errorf("%s was called %d times, want %d", name, calls[name], want)
		}
	}
	window := fake.codes[record.Window]
	for code, least := range map[record.Code]int{record.Start: 1, record.Rig: 8, record.Asked: 8, record.Answered: 8,
		record.Cost: 2, record.Idle: 3, record.Suspend: 1, record.Resume: 1, record.Leave: 1973} {
		if window[code] < least {
			t.Errorf("%d records with code %d, want %d", window[code], code, least)
		}
	}
	messages := map[string]record.Detail{}
	for _, d := range fake.details {
		messages[d.Kind+" "+d.Message+d.Tag] = d
	}
	failed := messages["error TypeError: Cannot read properties of null (reading '…')"]
	if len(failed.Stack) != 1 || failed.Stack[0].Function != "thrower" || failed.URL != wrapped.URL+"/" {
		t.Errorf("the error is %+v; all: %+v", failed, fake.details)
	}
	line := "setTimeout(function thrower() { null"
	if _, column := in.Original(failed.URL, failed.Line, failed.Column); column != len(line)+2 {
		t.Errorf("its column is %d, in the original %d, want %d", failed.Column, column, len(line)+2)
	}
	if d := messages["rejection Error: lost #"]; d.Kind == "" || d.Line != 10 {
		t.Errorf("the rejection is %+v", d)
	}
	if d := messages["resource img"]; d.URL != wrapped.URL+"/missing.png" {
		t.Errorf("the resource is %+v", d)
	}
}

// TestChromiumHangs: a page that hangs in a loop has sent its warning. The loop ends when the
// warning has arrived.
func TestChromiumHangs(t *testing.T) {
	fake := newFake()
	rig := httptest.NewServer(fake)
	defer rig.Close()
	in := openInstrument(t, "loops", instrument.Options{
		Collector: func(string, bool) string { return rig.URL }})
	const src = `<!doctype html><title>t</title><script>
		const arrived = () => { const ask = new XMLHttpRequest(); ask.open('GET', 'arrived', false); ask.send();
			return ask.responseText === '3'; };
		let n = 0;
		while (++n % 1e6 || !arrived());
		window.done = true;</script>`
	mux := http.NewServeMux()
	mux.HandleFunc("/arrived", func(w http.ResponseWriter, r *http.Request) {
		fake.mu.Lock()
		defer fake.mu.Unlock()
		fmt.Fprint(w, fake.codes[record.Window][record.Value])
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, src)
	})
	server := httptest.NewServer(in.Wrap(mux))
	defer server.Close()
	tab := browsertest.NewTab(t, patience, func(string) bool { return true })
	tab.Do(chromedp.Navigate(server.URL))
	_, err := chromedp.Run(tab.Ctx, chromedp.Poll[bool]("window.done === true", chromedp.WithPollingTimeout(0)))
	tab.Check(err)
	fake.mu.Lock()
	defer fake.mu.Unlock()
	programs := in.Programs()
	if len(fake.bad) > 0 || len(programs) != 1 || len(programs[0].Points) != 1 {
		t.Fatalf("bad requests %q, programs %+v", fake.bad, programs)
	}
	p := programs[0].Points[0]
	if p.Name != "while (++n % 1e6 || !arrived());" || p.Line != 5 || p.Column != 3 || p.Off ||
		programs[0].FirstPoint != 1 {
		t.Errorf("the point is %+v", p)
	}
}
