package instrument

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/internal/body"
)

const asHTML = "text/html; charset=utf-8"

// streaming returns an instrument with a short prelude.
func streaming(t testing.TB) *Instrument {
	t.Helper()
	all, err := policy.Named("calls,errors")
	if err != nil {
		t.Fatal(err)
	}
	in, err := New(Options{Nonce: "$nonce", Secret: "s", Policies: all,
		Prelude:   func(collector string) string { return "p('" + collector + "')" },
		Collector: func(string, bool) string { return "http://rig.test" }})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// parted serves a body in parts that are flushed. One part has a length and is not flushed.
func parted(header http.Header, parts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = append([]string(nil), values...)
		}
		for _, p := range parts {
			_, _ = io.WriteString(w, p)
			if len(parts) > 1 {
				_ = http.NewResponseController(w).Flush()
			}
		}
	})
}

func load(h http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "http://a.test/", nil)
	r.Header.Set("Sec-Fetch-Dest", "document")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// cut divides a text at ascending offsets.
func cut(text string, at ...int) (parts []string) {
	done := 0
	for _, i := range at {
		parts = append(parts, text[done:i])
		done = i
	}
	return append(parts, text[done:])
}

// streamed are documents of which each part matters.
var streamed = []string{
	"", "x", "\ufeff \n<!doctype html><!--a--><html onclick=f()><head onclick='g()'><title>a<b</title>",
	"<!doctype html><p>a<b>c</b> < d <3 </p >e<br/>f<!-- <script> --> g</", "<!-- <p> --!><!doctype html><p>",
	"<!-- never ends > <script>x=()=>1</script>", "<!doctype html><!bogus><p><!DOC", "<html><hea",
	"<html onclick=f()><head a='",
	"<?xml version='1'?><p>",
	"<p><script>x=()=>1</script>\r\n<script type=module>\r\ny=()=>'é😀'</script><script>'<!--<script>';z=()=>1</script>",
	"<script type=application/json>{}</script><script type=importmap>{\"integrity\":{\"a\":\"b\"}}</script><p>a",
	"<script src=a.js integrity='sha256-x'></script><base href=/c/>" +
		"<link rel=preload as=script href=b.js integrity=sha256-y>",
	"<svg><script>x=()=>1</script><style><a></style></svg><template><script>x=()=>1</script></template><math><mi>",
	"<textarea><script>x=()=>1</script></textarea><style>a<b</style><noscript><p></noscript>" +
		"<xmp><a></xmp><plaintext><a>b",
	"<a onclick=\"f(() => 1)\" ONinput='g()' href='javascript:f(()=>1)'><a onclick=f()>é</a>" +
		"<a href=\"javascript:'%41'\">",
	"<iframe srcdoc='<head><script>x=()=>1&lt;2</script>' title=x></iframe><p a='>' b=\"<script>\">",
	"<meta http-equiv=content-security-policy content=\"script-src 'nonce-a'\"><script nonce=a>x=()=>1</script><p>a",
	"<p>a<meta http-equiv=content-security-policy content=\"script-src 'sha256-HASH'\"><script>x=()=>1</script><p>b",
	"<meta charset=utf-8><p>é", "<meta charset=shift_jis><p>a", "<title>a</title><meta charset=big5><p>a", "a\x00b<p>",
	"<script>x=()=>1", "<script>x=()=></script><script>y=()=>1</script><p", "<body><p>" + strings.Repeat("long ", 300) +
		"<meta charset=big5><script>x=()=>1</script>",
}

// documents returns documents of tests. Their policies contain hashes of their scripts.
func documents(t testing.TB) []string {
	all := slices.Clone(streamed)
	files, err := filepath.Glob("testdata/hostile/*.html")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d hostile pages, %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	for i, text := range all {
		all[i] = strings.ReplaceAll(text, "'sha256-HASH'", scriptHash("sha256", "x=()=>1"))
	}
	return all
}

// sameInParts compares a document that is sent in parts with the document that is sent at once.
func sameInParts(t *testing.T, header http.Header, doc string, parts []string) {
	t.Helper()
	whole, inParts := streaming(t), streaming(t)
	want, got := load(whole.Wrap(parted(header, doc))), load(inParts.Wrap(parted(header, parts...)))
	if got.Body.String() != want.Body.String() {
		t.Fatalf("%q becomes\n%q, want\n%q", parts, got.Body, want.Body)
	}
	if g, w := inParts.Programs(), whole.Programs(); !reflect.DeepEqual(g, w) {
		t.Fatalf("%q has the programs\n%+v, want\n%+v", parts, g, w)
	}
	g, w := inParts.texts["http://a.test/"], whole.texts["http://a.test/"]
	if (g == nil) != (w == nil) || g != nil && (g.text != w.text || !reflect.DeepEqual(g.spans, w.spans)) {
		t.Fatalf("%q has the spans\n%+v, want\n%+v", parts, g, w)
	}
	if !reflect.DeepEqual(inParts.elements, whole.elements) || !reflect.DeepEqual(inParts.hashes, whole.hashes) {
		t.Fatalf("%q has the elements %+v and hashes %v, want %+v and %v", parts, inParts.elements, inParts.hashes,
			whole.elements, whole.hashes)
	}
	if p := whole.Programs(); len(p) == 1 && p[0].Goal == "document" && header.Get("Content-Length") == "" {
		return // the header was sent before the document was known
	}
	got.Header().Del("Content-Length")
	want.Header().Del("Content-Length")
	if !reflect.DeepEqual(got.Header(), want.Header()) {
		t.Fatalf("%q has the header %v, want %v", parts, got.Header(), want.Header())
	}
}

// TestStreamedDocuments: parts do not change the result. A document has two of five headers and a
// third of the cuts, and in make soak all.
func TestStreamedDocuments(t *testing.T) {
	cuts, soak := 30, os.Getenv("EIDETICKER_SOAK") != ""
	if soak {
		cuts = 100
	}
	for n, doc := range documents(t) {
		for i, header := range []http.Header{{"Content-Type": {asHTML}}, {"Content-Type": {"text/html"}},
			{"Content-Type": {asHTML}, "Content-Length": {fmt.Sprint(len(doc))}, "Etag": {`"a"`},
				"Content-Security-Policy": {"script-src 'nonce-a'", "connect-src b.test"}},
			{"Content-Type": {"text/html;charset=latin1"}},
			{"Content-Type": {asHTML}, "Content-Security-Policy": {"script-src " + scriptHash("sha256", "x=()=>1")}}} {
			if (n+2*i)%5 > 1 && !soak {
				continue
			}
			every := max(1, len(doc)/cuts)
			for i := rand.IntN(every); i < len(doc); i += every {
				sameInParts(t, header, doc, cut(doc, i))
			}
			at := make([]int, len(doc))
			for i := range at {
				at[i] = i
			}
			sameInParts(t, header, doc, cut(doc, at...))
		}
	}
}

// FuzzStream: parts do not change the result, in any coding.
func FuzzStream(f *testing.F) {
	for i, doc := range documents(f) {
		f.Add(doc, uint64(i), i%2 == 0, "script-src 'nonce-a'")
	}
	f.Fuzz(func(t *testing.T, doc string, seed uint64, stated bool, policies string) {
		if strings.Contains(doc, "$nonce") || strings.Count(strings.ToLower(doc), "<meta") > maxMetas ||
			len(doc) > 1<<16 || strings.ContainsAny(policies, "\r\n") {
			return // the rest of a document with a late failure passes as it is
		}
		header := http.Header{"Content-Type": {"text/html"}, "Content-Security-Policy": {policies}}
		if stated {
			header.Set("Content-Type", asHTML)
		}
		random := rand.New(rand.NewPCG(seed, 0))
		var at []int
		for i := range len(doc) {
			if random.IntN(1+len(doc)/(1+int(seed%8))) == 0 {
				at = append(at, i)
			}
		}
		sameInParts(t, header, doc, cut(doc, append(at, len(doc))...))
	})
}

// arriving is a body. Its handler writes a part when the client has all that earlier parts allow.
var arriving = []struct{ part, arrives string }{
	{"<!doctype html><title>a</title>one", "<!doctype html><script>PRELUDE</script><title>a</title>one"},
	{" two<!-- three", " two<!-- three"},
	{"--> 4 < 5<", "--> 4 < 5"},
	{"p class=a", ""},
	{"><scr", "<p class=a>"},
	{"ipt>x=()=>1", "<script>"},
	{"</script>six", "\vB$nonce(2);\vx=()=>\vR$nonce(E$nonce(1),\v1\v)\v\v;{let x$nonce=Q$nonce(2)}\v</script>six"},
	{"<style>p{", "<style>p{"},
	{"}</style><script type=text/template>a", "}</style><script type=text/template>a"},
	{"</script><script src=a.js integrity=sha256-x>", "</script><script src=a.js data-integritynonce=sha256-x>"},
	{"</script><meta http-equiv=Content-Security-Policy content='script-src a.test'>é", "</script><meta " +
		"http-equiv=Content-Security-Policy content='script-src a.test HASH'>é"},
}

// TestStreamArrives: the client gets each part before the server writes the next one.
func TestStreamArrives(t *testing.T) {
	for _, coding := range []string{"", "gzip", "deflate", "br", "zstd", "gzip, br"} {
		for _, c := range []struct {
			name    string
			proxied bool
			length  bool
		}{{"plain", false, false}, {"with length", false, true}, {"proxied", true, false}} {
			t.Run(c.name+" "+coding, func(t *testing.T) {
				next := make(chan bool, 1)
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", asHTML)
					var all strings.Builder
					for _, p := range arriving {
						all.WriteString(p.part)
					}
					if c.length {
						w.Header().Set("Content-Length", fmt.Sprint(all.Len()))
					}
					applied := body.Codings([]string{coding})
					if len(applied) > 0 {
						w.Header().Set("Content-Encoding", coding)
						w.Header().Del("Content-Length")
					}
					z, err := body.NewWriter(w, applied)
					err = errors.Join(err, http.NewResponseController(w).Flush())
					<-next
					for _, p := range arriving {
						_, failed := io.WriteString(z, p.part)
						err = errors.Join(err, failed, z.Flush(), http.NewResponseController(w).Flush())
						if err != nil {
							t.Error(err)
							return
						}
						<-next
					}
					if err := z.Close(); err != nil {
						t.Error(err)
					}
				})
				in := streaming(t)
				front := in.Wrap(h)
				if c.proxied {
					back := httptest.NewServer(h)
					defer back.Close()
					to, err := url.Parse(back.URL)
					if err != nil {
						t.Fatal(err)
					}
					front = in.Wrap(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
						p.SetURL(to)
					}})
				}
				server := httptest.NewServer(front)
				defer server.Close()
				defer close(next) // behind a failure
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				r, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Accept", "text/html")
				r.Header.Set("Accept-Encoding", "x")
				headLast := c.length && coding == "" // else the length could not be that of a whole document
				if headLast {
					next <- true
				}
				answer, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				if !headLast { // the header arrives alone
					next <- true
				}
				from, err := body.NewReader(answer.Body, body.Codings([]string{coding}), 1<<26)
				if err != nil {
					t.Fatal(err)
				}
				p := in.prelude("http://rig.test")
				fill := strings.NewReplacer("PRELUDE", p.text, "HASH", strings.ReplaceAll(p.hash, "'", "&#39;"))
				for _, part := range arriving {
					want := fill.Replace(part.arrives)
					got := make([]byte, len(want))
					if _, err := io.ReadFull(from, got); err != nil || string(got) != want {
						t.Fatalf("behind %q comes %q, %v; want %q", part.part, got, err, want)
					}
					next <- true
				}
				if rest, err := io.ReadAll(from); err != nil || len(rest) > 0 {
					t.Errorf("the rest is %q, %v", rest, err)
				}
			})
		}
	}
}

// TestStreamFails: behind a failure the rest passes as it is, and the document is counted.
func TestStreamFails(t *testing.T) {
	const rewritten = "<script>\vB$nonce(2);\vx=()=>\vR$nonce(E$nonce(1),\v1\v)\v\v;{let x$nonce=Q$nonce(2)}\v</script>"
	plain := http.Header{"Content-Type": {asHTML}}
	zipped, err := body.Pack([]byte("<p><script>x=()=>1</script>"), []string{"gzip"})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat(strings.Repeat("b", 1021)+"<p>", ecma.MaxSource>>10)
	meta := "<meta http-equiv=content-security-policy content=a>"
	for _, c := range []struct {
		name          string
		header        http.Header
		parts         []string
		changed, rest string
		reason        string
	}{
		{"nonce", plain, []string{"<p><script>x=()=>1</script>", "a$no", "nce<script>y=()=>1</script>", "b"},
			"<p>" + rewritten + "a$no", "nce<script>y=()=>1</script>b", `nonce "$nonce": the document contains it`},
		{"nonce in a script", plain, []string{"<p><script>", "$no", "nce</script>", "b"},
			"<p><script>", "$nonce</script>b",
			`nonce "$nonce": the document contains it`},
		{"panic", plain, []string{"<p>a", "<script src=a.js integrity=x></script>", "b"}, "<p>a",
			"<script src=a.js integrity=x></script>b", "the rewriter failed: assignment to entry in nil map"},
		{"policies", plain, []string{"<p>", strings.Repeat(meta, maxMetas+1), "<script>x=()=>1</script>"}, "<p>",
			strings.Repeat(meta, maxMetas+1) + "<script>x=()=>1</script>",
			"it has more than 100 content security policies"},
		{"coding", http.Header{"Content-Type": {asHTML}, "Content-Encoding": {"gzip"}},
			[]string{string(zipped), "garbage behind the end"}, "<p>" + rewritten, "",
			"unpack gzip: gzip: invalid header"},
		{"length", plain, []string{"<p>a", long, "<script>x=()=>1</script>"}, "<p>a" + long, "<script>x=()=>1</script>",
			"the response is longer than 64 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := streaming(t)
			in.elements = nil // integrity fails
			w := load(in.Wrap(parted(c.header, c.parts...)))
			got, err := body.Unpack(w.Body.Bytes(), body.Codings(c.header["Content-Encoding"]), 2*ecma.MaxSource)
			if want := "<script>" + in.prelude("http://rig.test").text + "</script>" + c.changed + c.rest; err != nil ||
				string(got) != want {
				t.Errorf("got %d bytes %.200q, %v; want %d bytes", len(got), got, err, len(want))
			}
			p := in.Programs()
			if last := p[len(p)-1]; last.Reason != c.reason || last.Goal != "document" {
				t.Errorf("the last program is %+v, want the reason %s", last, c.reason)
			}
		})
	}
}

// gone is a client that leaves behind a number of bytes.
type gone struct {
	*httptest.ResponseRecorder
	left int
}

func (g *gone) Write(b []byte) (int, error) {
	if g.left -= len(b); g.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return g.ResponseRecorder.Write(b)
}

// TestStreamEnds: no coroutine outlives the handler, which ends as it does without instrumentation.
func TestStreamEnds(t *testing.T) {
	in := streaming(t)
	prelude := "<script>" + in.prelude("http://rig.test").text + "</script>"
	for _, c := range []struct {
		name, length string
		parts        []string
		left         int // bytes that the client takes
		want         string
		ends         any // the panic for net/http, which ends the connection
	}{
		{"whole", "", []string{"<p>a", "b<script>1"}, 1e6, prelude + "<p>ab<script>1", nil},
		{"short", "99", []string{"<p>a", "b<script>1"}, 1e6, prelude + "<p>ab<script>1", http.ErrAbortHandler},
		{"short and held", "99", []string{"<!-- ", "b"}, 1e6, "<!-- b", nil},
		{"handler", "", []string{"<p>a", "b<script>1"}, 1e6, prelude + "<p>ab<script>1", "fails"},
		{"handler and held", "", []string{"<!-- ", "b"}, 1e6, "<!-- b", "fails"},
		{"client", "", []string{"<p>a", "b<script>x=()=>1</script>", "c"}, len(prelude) + 4,
			prelude + "<p>a", io.ErrClosedPipe},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // it fails if a coroutine remains
				w := &gone{httptest.NewRecorder(), c.left}
				defer func() {
					if ends := recover(); ends != c.ends || w.Body.String() != c.want {
						t.Errorf("the client has %q, want %q; the end is %v, want %v", w.Body, c.want, ends, c.ends)
					}
				}()
				in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", asHTML)
					if c.length != "" {
						w.Header().Set("Content-Length", c.length)
					}
					for _, p := range c.parts {
						_, err := io.WriteString(w, p)
						err = errors.Join(err, http.NewResponseController(w).Flush())
						if errors.Is(err, io.ErrClosedPipe) {
							panic(io.ErrClosedPipe)
						}
					}
					if c.ends == "fails" {
						panic(c.ends)
					}
				})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			})
		})
	}
}

// TestStreamPositions: an error has its place while the document still arrives.
func TestStreamPositions(t *testing.T) {
	const begin = "<!doctype html><p><script>f(() => 1);"
	in := streaming(t)
	load(in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", asHTML)
		_, _ = io.WriteString(w, begin+"throw 1</script>")
		_ = http.NewResponseController(w).Flush()
		arrived := in.texts["http://a.test/"]
		if arrived == nil {
			t.Fatal("the document has no positions")
		}
		served := strings.Index(arrived.text, "throw") + 1
		if _, column := in.Original("http://a.test/", 1, served); column != len(begin)+1 {
			t.Errorf("column %d becomes %d, want %d", served, column, len(begin)+1)
		}
	})))
}

// TestFlushBehindEnd: a handler may flush when a held document was sent.
func TestFlushBehindEnd(t *testing.T) {
	for _, coding := range []string{"", "gzip", "deflate", "br", "zstd"} {
		packed, err := body.Pack([]byte("<p>a"), body.Codings([]string{coding}))
		if err != nil {
			t.Fatal(err)
		}
		in := streaming(t)
		w := load(in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html") // its charset is unknown until its end
			w.Header().Set("Content-Encoding", coding)
			w.Header().Set("Content-Length", fmt.Sprint(len(packed)))
			for _, part := range [][]byte{packed[:1], packed[1:], nil} {
				_, _ = w.Write(part)
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Errorf("%q: %v", coding, err)
				}
			}
		})))
		got, err := body.Unpack(w.Body.Bytes(), body.Codings([]string{coding}), 1e6)
		want := "<script>" + in.prelude("http://rig.test").text + "</script><p>a"
		if err != nil || string(got) != want {
			t.Errorf("%q: the document is %q, %v", coding, got, err)
		}
	}
}
