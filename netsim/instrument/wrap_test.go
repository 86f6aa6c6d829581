package instrument_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/runtime"
)

const collector = "http://10.9.9.9:4999"

// openInstrument adds the names of tests to options, and policies.
func openInstrument(t testing.TB, policies string, o instrument.Options) *instrument.Instrument {
	t.Helper()
	all, err := policy.Named(policies)
	if err != nil {
		t.Fatal(err)
	}
	o.Nonce, o.Secret, o.Policies = "$nonce", "s3", all
	in, err := instrument.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func newInstrument(t testing.TB, policies string) *instrument.Instrument {
	t.Helper()
	return openInstrument(t, policies, instrument.Options{Collector: func(_ string, secure bool) string {
		if secure {
			return strings.Replace(collector, "http:", "https:", 1)
		}
		return collector
	}})
}

// preludeOf returns the program of pages.
func preludeOf(t testing.TB, policies, origin string) string {
	all, err := policy.Named(policies)
	if err != nil {
		t.Fatal(err)
	}
	o := runtime.Options{Nonce: "$nonce", Collector: origin + "/.eideticker/s3/", Patience: 50}
	for _, p := range all {
		o.Integrity = o.Integrity || p.Times
		o.Policies = append(o.Policies, runtime.Policy{Name: p.Name, Text: p.Runtime, Calls: p.Calls(),
			Objects: p.Objects})
	}
	return runtime.Prelude(o)
}

// answer is what a site answers to a path.
type answer struct {
	body   string
	header []string // names and values
	status int
}

// exchange asks a wrapped handler.
func exchange(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func site(all map[string]answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := all[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		for i := 0; i < len(a.header); i += 2 {
			w.Header().Add(a.header[i], a.header[i+1])
		}
		w.WriteHeader(max(a.status, 200))
		_, _ = io.WriteString(w, a.body)
	})
}

const (
	js   = "text/javascript"
	page = "text/html; charset=utf-8"
	add  = "function add(a){return a+1}"
	// The guard precedes a script. Its function has the number 1.
	addedFunction = "function add(a){\vlet d$nonce=E$nonce(1);\vreturn \vR$nonce(d$nonce,\va+1\v)\v}"
)

// added is add as a script: its code outside functions has the number 2.
var added = ofScript(2, addedFunction)

// ofScript returns a script with a number, and ofModule a module.
func ofScript(n int, text string) string {
	return fmt.Sprintf("\vB$nonce(%d);\v%s\v;{let x$nonce=Q$nonce(%d)}\v", n, text, n)
}

func ofModule(n int, text string) string {
	return fmt.Sprintf("\vlet d$nonce=E$nonce(%d,3);\v%s\v;R$nonce(d$nonce)\v", n, text)
}

var asScript, asPage = []string{"Content-Type", js}, []string{"Content-Type", page}

func guarded(text string) string { return "\v" + runtime.Guard("$nonce") + "\v" + text }

func TestNew(t *testing.T) {
	all, err := policy.Named("calls")
	if err != nil {
		t.Fatal(err)
	}
	origin := func(string, bool) string { return "" }
	for want, o := range map[string]instrument.Options{
		"no policy":      {Nonce: "$abcd", Secret: "x", Collector: origin},
		"no collector":   {Nonce: "$abcd", Secret: "x", Policies: all},
		`nonce "abcde"`:  {Nonce: "abcde", Secret: "x", Policies: all, Collector: origin},
		`nonce "$ab"`:    {Nonce: "$ab", Secret: "x", Policies: all, Collector: origin},
		`nonce "$abc\""`: {Nonce: `$abc"`, Secret: "x", Policies: all, Collector: origin},
		"path element":   {Nonce: "$abcd", Secret: "x/y", Policies: all, Collector: origin},
	} {
		if _, err := instrument.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestWrapScripts: scripts get a guard and insertions by their use. Others pass unchanged.
func TestWrapScripts(t *testing.T) {
	module := "export const x=a=>a"
	for _, c := range []struct {
		name, dest string
		answer     answer
		want       string // "": the same
		reason     string
	}{
		{"script", "script", answer{add, asScript, 0}, guarded(added), ""},
		{"by its type", "", answer{add, []string{"Content-Type", "application/x-javascript; charset=latin1"}, 0},
			guarded(added), ""},
		{"wrong type", "script", answer{add, []string{"Content-Type", "text/plain"}, 0}, guarded(added), ""},
		{"directive", "script", answer{"#!x\n'use strict'\n" + add, asScript, 0},
			"#!x\n'use strict'" + strings.Replace(guarded(ofScript(2, "\n"+addedFunction)), "\v", "\v;", 1), ""},
		{"module", "script", answer{module, asScript, 0},
			guarded(ofModule(2, "export const x=a=>\vR$nonce(E$nonce(1),\va\v)\v")), ""},
		{"only code outside functions", "script", answer{"a()", asScript, 0}, guarded(ofScript(1, "a()")), ""},
		{"worker", "worker", answer{add, asScript, 0},
			"\v" + preludeOf(t, "calls", collector) + ";\v" + added, ""},
		{"empty", "script", answer{"", asScript, 0}, "", ""},
		{"array that a script reads", "", answer{"[1, 2]", asScript, 0}, "", ""},
		{"array behind a loop", "", answer{"while(1);[1, 2]", asScript, 0}, "", ""},
		{"array behind another loop", "", answer{"for (;;);\n[1, 2]", asScript, 0}, "", ""},
		{"empty statement", "script", answer{";a()", asScript, 0}, guarded(ofScript(1, ";a()")), ""},
		{"array behind an exception", "", answer{"throw 1; [1, 2]", asScript, 0}, "", ""},
		{"code behind a loop", "script", answer{"while(1);a()", asScript, 0}, guarded(ofScript(1, "while(1);a()")), ""},
		{"module of JSON", "script", answer{"[1, 2]", []string{"Content-Type", "application/json"}, 0}, "", ""},
		{"read by a script", "empty", answer{add, asScript, 0}, "", ""},
		{"style", "style", answer{add, asScript, 0}, "", ""},
		{"not found", "script", answer{add, asScript, 404}, "", ""},
		{"part", "script", answer{add, asScript, 206}, "", ""},
		{"WebAssembly", "script", answer{"\x00asm", []string{"Content-Type", "application/wasm"}, 0}, "", ""},
		{"syntax", "script", answer{"function f( {", asScript, 0}, "", "1:14: unexpected end"},
		{"JSON", "script", answer{`{"a": 1}`, []string{"Content-Type", "application/json"}, 0}, "",
			"1:5: unexpected :"},
		{"UTF-8", "script", answer{"'\xff'", asScript, 0}, "", "1:2: invalid UTF-8"},
		{"charset", "script", answer{add, []string{"Content-Type", js + ";charset=csISO2022JP"}, 0}, "",
			`the charset "iso-2022-jp" is not supported`},
		{"nonce", "script", answer{"E$nonce", asScript, 0}, "",
			`nonce "$nonce": the program contains it`},
		{"service worker", "serviceworker", answer{add, asScript, 0}, "",
			"service workers are not instrumented"},
		{"worklet", "audioworklet", answer{add, asScript, 0}, "", "worklets are not instrumented"},
		{"unknown coding", "script", answer{add, []string{"Content-Type", js, "Content-Encoding", "x"}, 0}, "",
			"unpack x: it is not known here"},
		{"broken gzip", "script", answer{add, []string{"Content-Type", js, "Content-Encoding", "gzip"}, 0}, "",
			"unpack gzip: gzip: invalid header"},
		{"cut", "script", answer{add, []string{"Content-Type", js, "Content-Length", "99"}, 0}, "",
			"the response is incomplete"},
		{"long", "script", answer{add, []string{"Content-Type", js, "Content-Length", "67108865"}, 0}, "",
			"the response is longer than 64 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := newInstrument(t, "calls")
			w := exchange(in.Wrap(site(map[string]answer{"/a.js": c.answer})), "/a.js?q=1", "Sec-Fetch-Dest", c.dest)
			want := c.want
			if want == "" {
				want = c.answer.body
			}
			if got := w.Body.String(); got != want || w.Code != max(c.answer.status, 200) {
				t.Errorf("status %d, got\n%s\nwant\n%s", w.Code, got, want)
			}
			programs := in.Programs()
			if (len(programs) == 1 && programs[0].Reason != "") != (c.reason != "") ||
				len(programs) == 0 && (c.want != "" || c.reason != "") {
				t.Fatalf("programs %+v, want reason %q", programs, c.reason)
			}
			if len(programs) > 0 && (programs[0].Reason != c.reason || programs[0].URL != "http://example.com/a.js" ||
				programs[0].Count != 1) {
				t.Errorf("program %+v, want reason %q", programs[0], c.reason)
			}
		})
	}
}

// TestWrapHeader: length, tag, digests and policies fit the changed body.
func TestWrapHeader(t *testing.T) {
	in := newInstrument(t, "calls")
	h := in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `W/"v1"`)
		w.Header().Set("Content-Type", js)
		if r.Header.Get("If-None-Match") == `W/"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if r.Header.Get("If-Modified-Since") != "" || r.Header.Get("If-None-Match") != "" {
			t.Errorf("a plain copy is validated: %v", r.Header)
		}
		for _, name := range []string{"Digest", "Repr-Digest", "Content-Digest", "Content-MD5", "Accept-Ranges",
			"Integrity-Policy"} {
			w.Header().Set(name, "x")
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(add)))
		_, _ = io.WriteString(w, add[:5])
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, add[5:])
	}))
	w := exchange(h, "/a.js", "Sec-Fetch-Dest", "script", "If-None-Match", `"plain"`, "If-Modified-Since", "yesterday")
	tag := w.Header().Get("ETag")
	if !strings.HasPrefix(tag, `W/"v1-`) || w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) ||
		len(w.Header()) != 3 {
		t.Errorf("header %v", w.Header())
	}
	w = exchange(h, "/a.js", "Sec-Fetch-Dest", "script", "If-None-Match", tag)
	if w.Code != http.StatusNotModified || w.Header().Get("ETag") != tag {
		t.Errorf("status %d, tag %s, want %s", w.Code, w.Header().Get("ETag"), tag)
	}
}

// TestWrapPasses: HEAD, ranges and streams are not touched, and not held back.
func TestWrapPasses(t *testing.T) {
	in := newInstrument(t, "calls")
	h := in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", js)
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = io.WriteString(w, add)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		if r.Method != http.MethodHead {
			<-r.Context().Done()
		}
	}))
	server := httptest.NewServer(h)
	defer server.Close()
	for _, c := range []struct{ method, path, header string }{
		{"HEAD", "/a.js", ""}, {"GET", "/a.js", "Range"}, {"GET", "/stream", ""}, {"POST", "/a.js", ""},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, c.method, server.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.header != "" {
			r.Header.Set(c.header, "bytes=0-")
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(add))
		if _, err := io.ReadFull(answer.Body, got); c.method != "HEAD" && (err != nil || string(got) != add) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
		cancel()
		answer.Body.Close()
	}
	if p := in.Programs(); len(p) > 0 {
		t.Errorf("programs %+v", p)
	}
}

// TestWrapAborted: the bytes of a handler that fails are sent, and the failure is passed on.
func TestWrapAborted(t *testing.T) {
	h := newInstrument(t, "calls").Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", js)
		_, _ = io.WriteString(w, "let a")
		panic(http.ErrAbortHandler)
	}))
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if failed := recover(); failed != http.ErrAbortHandler {
				t.Errorf("the handler fails with %v", failed)
			}
		}()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/a.js", nil))
	}()
	if w.Body.String() != "let a" {
		t.Errorf("sent %q", w.Body)
	}
}

func TestWrapCodings(t *testing.T) {
	var zipped, brotlied bytes.Buffer
	for _, z := range []io.WriteCloser{gzip.NewWriter(&zipped), brotli.NewWriter(&brotlied)} {
		if _, err := io.WriteString(z, add); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	h := newInstrument(t, "calls").Wrap(site(map[string]answer{
		"/gzip": {zipped.String(), []string{"Content-Type", js, "Content-Encoding", "gzip"}, 0},
		"/br":   {brotlied.String(), []string{"Content-Type", js, "Content-Encoding", "br"}, 0},
	}))
	for range 2 { // the second one is cached
		w := exchange(h, "/gzip", "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(z); err != nil || string(text) != guarded(added) {
			t.Errorf("gzip: %s, %v", text, err)
		}
		w = exchange(h, "/br", "Accept-Encoding", "br")
		if text, err := io.ReadAll(brotli.NewReader(w.Body)); err != nil || string(text) != guarded(added) {
			t.Errorf("br: %s, %v", text, err)
		}
	}
}

// TestWrapDocuments: documents get a prelude and inline insertions, and keep everything else.
func TestWrapDocuments(t *testing.T) {
	prelude := "<script>" + preludeOf(t, "calls", collector) + "</script>"
	const unrun = "<template><script>x=()=>1</script></template><svg><script>x=()=>1</script><style><a></style></svg>" +
		"<textarea><script>x=()=>1</script></textarea><!--<script>x=()=>1</script>--><script src=a>x=()=>1</script>"
	const end = "\v;R$nonce(d$nonce)\v"
	handler := func(n int, before, end, after string) string {
		return fmt.Sprintf("\vlet d$nonce=E$nonce(%d);\v%s", n, before) + end + after
	}
	call := func(n int) string { return fmt.Sprintf("()=>\vR$nonce(E$nonce(%d),\v1\v)\v", n) }
	// assigns is x=()=>1, whose function has the number n.
	assigns := func(n int) string { return ofScript(n+1, "x="+call(n)) }
	for _, c := range []struct{ name, src, want string }{
		{"empty", "", prelude},
		{"plain", "<!doctype html><html><head><title>t</title>",
			"<!doctype html><html><head>" + prelude + "<title>t</title>"},
		{"inline", "<p>é<script>x=()=>1</script><script>\ny=()=>1</script>",
			prelude + "<p>é<script>" + assigns(1) + "</script><script>\n" + ofScript(4, "y="+call(3)) + "</script>"},
		{"values", "<script>[1]</script><script>'a'</script><script>{}</script><script>-1</script>",
			prelude + "<script>[1]</script><script>'a'</script><script>{}</script><script>-1</script>"},
		{"comment and string", "<script><!--\nx=()=>1\n//--></script><script>'<!--<script>';x=()=>1</script>",
			prelude + "<script><!--\n" + assigns(1) + "\n//--></script><script>'<!--<script>';x=()=>1</script>"},
		{"types", "<script type=module>x=()=>1</script><script type=text/template>x=()=>1</script>" +
			"<script language=vbscript>x=()=>1</script><SCRIPT TYPE=' Text/JavaScript '>x=()=>1</SCRIPT>",
			prelude + "<script type=module>" + ofModule(2, "x="+call(1)) + "</script>" +
				"<script type=text/template>x=()=>1</script><script language=vbscript>x=()=>1</script>" +
				"<SCRIPT TYPE=' Text/JavaScript '>" + assigns(1) + "</SCRIPT>"},
		{"not run", unrun, prelude + unrun},
		{"broken script", "<script>x=()=></script><script>x=()=>1</script>",
			prelude + "<script>x=()=></script><script>" + assigns(1) + "</script>"},
		{"integrity", "<script src=/a.js integrity='sha256-x'></script><link rel=stylesheet integrity=x>" +
			"<link rel=preload as=script href=/b.js INTEGRITY = sha256-y>" +
			"<script src=//b.test/c.js integrity=x></script>",
			prelude + "<script src=/a.js data-integritynonce='sha256-x'></script><link rel=stylesheet integrity=x>" +
				"<link rel=preload as=script href=/b.js data-INTEGRITYnonce = sha256-y>" +
				"<script src=//b.test/c.js integrity=x></script>"},
		{"integrity behind SVG", "<svg/><script src=a.js integrity=x></script><script>x=()=>1</script>",
			prelude + "<svg/><script src=a.js data-integritynonce=x></script><script>" + assigns(1) + "</script>"},
		{"integrity in a template", "<template><script src=a.js integrity=x></script></template>",
			prelude + "<template><script src=a.js data-integritynonce=x></script></template>"},
		{"import map", `<script type=importmap>{"integrity":{"/a.js":"sha256-x"}}</script>`,
			prelude + `<script type=importmap>{"data-integrity":{"/a.js":"sha256-x"}}</script>`},
		{"policy", `<meta http-equiv=Content-Security-Policy content="connect-src 'none'"><meta content=a>`,
			prelude + `<meta http-equiv=Content-Security-Policy content="connect-src ` + collector +
				`"><meta content=a>`},
		{"policy in other quotes", `<meta content=default-src&#32;https: http-equiv="content-security-policy">`,
			prelude + `<meta content="default-src https:; script-src https: HASH; connect-src https: ` + collector +
				`" http-equiv="content-security-policy">`},
		{"handlers", "<body onload='f()\n//x' onload=g() data-on=x>" +
			"<b onclick=\"return &quot;é&quot;\" only=x ONinput=h()>",
			prelude + "<body onload='" + handler(1, "f()", end, "\n//x") + "' onload=g() data-on=x><b onclick=\"" +
				handler(2, "return ", "\vR$nonce(d$nonce,\v&#34;é&#34;\v)\v", "") + "\" only=x ONinput=\"" +
				handler(3, "h()", end, "") + "\">"},
		{"addresses", `<a href=" JavaScript:g()"><a href="javascript:f(()=>1)//x"><a href="javascript:f(()=>'%41')">`,
			prelude + `<a href=" JavaScript:g()"><a href="javascript:f(` + call(1) +
				`)//x"><a href="javascript:f(()=>'%41')">`},
		{"document in an attribute",
			"<iframe srcdoc='<head><script>x=()=>1&lt;2</script>' title=x></iframe><a srcdoc='<p>'>",
			prelude + "<iframe srcdoc='" + html.EscapeString("<head>"+prelude+
				"<script>"+ofScript(2, "x=()=>\vR$nonce(E$nonce(1),\v1<2\v)\v")+"</script>") +
				"' title=x></iframe><a srcdoc='<p>'>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := newInstrument(t, "calls")
			h := in.Wrap(site(map[string]answer{"/": {c.src, asPage, 0}}))
			sum := sha256.Sum256([]byte(preludeOf(t, "calls", collector)))
			want := strings.ReplaceAll(c.want, "HASH", "&#39;sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"&#39;")
			want = strings.ReplaceAll(want, "&#43;", "+")
			for _, dest := range []string{"document", ""} {
				w := exchange(h, "/", "Sec-Fetch-Dest", dest, "Accept", "text/html,*/*")
				if got := strings.ReplaceAll(w.Body.String(), "&#43;", "+"); got != want {
					t.Errorf("got\n%s\nwant\n%s", strings.Replace(got, prelude, "PRELUDE", 1),
						strings.Replace(want, prelude, "PRELUDE", 1))
				}
			}
			for _, header := range [][]string{{"Sec-Fetch-Dest", "empty"}, {"Accept", "*/*"},
				{"X-Requested-With", "XMLHttpRequest"}} {
				if w := exchange(h, "/", header...); w.Body.String() != c.src {
					t.Errorf("with %v, the document changes", header)
				}
			}
			if c.name == "addresses" {
				if p := in.Programs(); len(p) != 3 || p[2].Reason != "code in an attribute is not instrumented" ||
					p[2].Bytes != len("javascript:f(()=>'%41')") || p[1].Functions[0].Column != 49 {
					t.Errorf("programs %+v", p)
				}
			}
		})
	}
	for reason, a := range map[string]answer{
		`the charset "iso-2022-jp" is not supported`: {"<meta charset=ISO-2022-JP>",
			[]string{"Content-Type", "text/html"}, 0},
		"the document is in UTF-16 without a mark or header": {"<\x00p\x00", []string{"Content-Type", "text/html"}, 0},
		`nonce "$nonce": the document contains it`:           {"$nonce", []string{"Content-Type", "text/html"}, 0},
		"its content security policy forbids scripts": {"<p>", []string{"Content-Type", "text/html",
			"Content-Security-Policy", "sandbox"}, 0},
	} {
		in := newInstrument(t, "calls")
		w := exchange(in.Wrap(site(map[string]answer{"/": a})), "/", "Sec-Fetch-Dest", "document")
		if p := in.Programs(); w.Body.String() != a.body || len(p) != 1 || p[0].Reason != reason ||
			p[0].Goal != "document" {
			t.Errorf("%s: %q, %+v", reason, w.Body, p)
		}
	}
}

// TestWrapPolicies: fields of policies allow the prelude, the changed scripts and the collector.
func TestWrapPolicies(t *testing.T) {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	const inline = "\nx=()=>1\n"
	after := "\n" + ofScript(2, "x=()=>\vR$nonce(E$nonce(1),\v1\v)\v") + "\n"
	for _, c := range []struct{ policy, want string }{
		{"img-src *", "img-src *"},
		{"connect-src 'self'", "connect-src 'self' " + collector},
		{"script-src " + hash(inline), "script-src " + hash(inline) + " PRELUDE " + hash(after)},
		{"script-src 'nonce-a'; connect-src *", "script-src 'nonce-a' PRELUDE; connect-src *"},
		{"script-src 'unsafe-inline'", "script-src 'unsafe-inline'"},
		{"default-src 'none'", "default-src 'none'; script-src PRELUDE; connect-src " + collector},
		{"upgrade-insecure-requests; connect-src a.test",
			"upgrade-insecure-requests; connect-src a.test https://10.9.9.9:4999"},
	} {
		in := newInstrument(t, "calls")
		// Browsers hash the text with other line breaks.
		doc := "<script>\r\nx=()=>1\r</script>"
		w := exchange(in.Wrap(site(map[string]answer{"/": {doc,
			append(asPage[:2:2], "Content-Security-Policy", c.policy), 0}})), "/", "Sec-Fetch-Dest", "document")
		want := strings.ReplaceAll(c.want, "PRELUDE", hash(preludeOf(t, "calls", collector)))
		if got := w.Header().Get("Content-Security-Policy"); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", c.policy, got, want)
		}
	}
}

// TestWrapIntegrity: the rig refuses a script that a browser would refuse.
func TestWrapIntegrity(t *testing.T) {
	sum := sha256.Sum256([]byte(add))
	right := "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	for _, c := range []struct {
		integrity string
		status    int
	}{
		{right, 200}, {"md5-x", 200}, {"SHA256-x " + right + "?a", 200}, {"sha256-x", 404}, {right + " sha384-x", 404},
	} {
		in := newInstrument(t, "calls")
		h := in.Wrap(site(map[string]answer{
			"/dir/": {"<base href=/sub/><script src='../a.js?v=1&amp;w' integrity='" + c.integrity + "'></script>",
				asPage, 0},
			"/a.js": {add, asScript, 0},
		}))
		exchange(h, "/dir/", "Sec-Fetch-Dest", "document")
		w := exchange(h, "/a.js?v=1&w", "Sec-Fetch-Dest", "script")
		p := in.Programs()
		if w.Code != c.status || len(p) != 1 || (c.status == 404) != strings.Contains(p[0].Reason, "integrity") ||
			c.status == 404 && w.Body.Len() > 0 {
			t.Errorf("%s: status %d, %+v", c.integrity, w.Code, p)
		}
	}
}

// TestWrapErrorPages: the documents of errors and of forms are instrumented. Their scripts are too,
// so the browser must not check them.
func TestWrapErrorPages(t *testing.T) {
	const src = "<script src=a.js integrity=sha256-x></script>"
	want := "<script>" + preludeOf(t, "calls", collector) + "</script>" +
		strings.Replace(src, "integrity", "data-integritynonce", 1)
	for _, status := range []int{200, 404, 500} {
		for _, method := range []string{"GET", "POST"} {
			for _, dest := range []string{"document", ""} {
				h := newInstrument(t, "calls").Wrap(site(map[string]answer{"/": {src, asPage, status}}))
				r := httptest.NewRequest(method, "/", nil)
				r.Header.Set("Sec-Fetch-Dest", dest)
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != status || w.Body.String() != want {
					t.Errorf("%s, %q: status %d, %s", method, dest, w.Code, w.Body)
				}
			}
		}
	}
}

// TestWrapPrefetch: browsers use a prefetched script later, without another request.
func TestWrapPrefetch(t *testing.T) {
	h := newInstrument(t, "calls").Wrap(site(map[string]answer{"/a.js": {add, asScript, 0}}))
	w := exchange(h, "/a.js", "Sec-Fetch-Dest", "empty", "Sec-Purpose", "prefetch")
	if w.Body.String() != guarded(added) {
		t.Errorf("got %s", w.Body)
	}
}

// TestPlainCopies: a browser's plain copy of a document is not validated, with or without TLS.
func TestPlainCopies(t *testing.T) {
	for _, header := range [][]string{{"Sec-Fetch-Dest", "document"}, {"Accept", "text/html,*/*"},
		{"Accept", "image/*"}} {
		h := newInstrument(t, "calls").Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if kept := r.Header.Get("If-Modified-Since") != ""; kept != (header[1] == "image/*") {
				t.Errorf("%v: validated: %v", header, kept)
			}
		}))
		exchange(h, "/", append(header, "If-Modified-Since", "yesterday")...)
	}
}

// TestScriptsInSVG: a document is listed once, also with many of them.
func TestScriptsInSVG(t *testing.T) {
	in := newInstrument(t, "calls")
	src := strings.Repeat("<svg><script>x=()=>1</script></svg>", 3)
	exchange(in.Wrap(site(map[string]answer{"/": {src, asPage, 0}})), "/", "Sec-Fetch-Dest", "document")
	if p := in.Programs(); len(p) != 1 || p[0].Count != 1 || p[0].Reason != "a script in SVG is not instrumented" {
		t.Errorf("programs %+v", p)
	}
}

// TestScriptsAllowedByHash: browsers run such a script only with its attribute and its own text.
func TestScriptsAllowedByHash(t *testing.T) {
	const policy = "script-src 'sha256-x'"
	for _, a := range []answer{
		{"<script src=a.js integrity=sha256-x></script>", append(asPage[:2:2], "Content-Security-Policy", policy), 0},
		{`<meta http-equiv=Content-Security-Policy content="` + policy + `">` +
			"<script src=a.js integrity=sha256-x></script>", asPage, 0},
	} {
		in := newInstrument(t, "calls")
		sum := sha256.Sum256([]byte(add))
		hash := base64.StdEncoding.EncodeToString(sum[:])
		for i := range a.header {
			a.header[i] = strings.ReplaceAll(a.header[i], "sha256-x", "sha256-"+hash)
		}
		a.body = strings.ReplaceAll(a.body, "sha256-x", "sha256-"+hash)
		h := in.Wrap(site(map[string]answer{"/": a, "/a.js": {add, asScript, 0}}))
		doc := exchange(h, "/", "Sec-Fetch-Dest", "document").Body.String()
		w := exchange(h, "/a.js?", "Sec-Fetch-Dest", "script")
		p := in.Programs()
		if !strings.Contains(doc, " integrity=sha256-"+hash) || w.Body.String() != add || len(p) != 1 ||
			!strings.Contains(p[0].Reason, "policy allows only its hash") {
			t.Errorf("%s, programs %+v", w.Body, p)
		}
	}
}

// TestLaterIntegrity: a page that loads a script again without a check gets it.
func TestLaterIntegrity(t *testing.T) {
	in := newInstrument(t, "calls")
	h := in.Wrap(site(map[string]answer{"/": {"<script src=a.js integrity=sha256-x></script>", asPage, 0},
		"/again": {"<script src=a.js></script>", asPage, 0}, "/a.js": {add, asScript, 0}}))
	for path, want := range map[string]int{"/": 404, "/again": 200} {
		exchange(h, path, "Sec-Fetch-Dest", "document")
		if w := exchange(h, "/a.js?", "Sec-Fetch-Dest", "script"); w.Code != want {
			t.Errorf("after %s: status %d, want %d", path, w.Code, want)
		}
	}
}

// TestWrapErrorsOnly: without timed calls, scripts stay as they are.
func TestWrapErrorsOnly(t *testing.T) {
	in := newInstrument(t, "errors")
	const src = "<script>x=()=>1</script><script src=a.js integrity=x></script>"
	h := in.Wrap(site(map[string]answer{"/": {src, asPage, 0},
		"/a.js": {add, asScript, 0}}))
	prelude := preludeOf(t, "errors", collector)
	if w := exchange(h, "/", "Sec-Fetch-Dest", "document"); w.Body.String() != "<script>"+prelude+"</script>"+src {
		t.Errorf("document %s", w.Body)
	}
	if w := exchange(h, "/a.js", "Sec-Fetch-Dest", "script"); w.Body.String() != add {
		t.Errorf("script %s", w.Body)
	}
	if w := exchange(h, "/a.js", "Sec-Fetch-Dest", "worker"); w.Body.String() != "\v"+prelude+";\v"+add {
		t.Errorf("worker %s", w.Body)
	}
}
