package instrument_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/instrument/sourcemap"
)

// TestDynamic: code that pages make has insertions by its kind. It is listed with the page.
func TestDynamic(t *testing.T) {
	call := func(n int) string { return fmt.Sprintf("()=>\vR$nonce(E$nonce(%d),\v1\v)\v", n) }
	prelude := preludeOf(t, "calls", collector)
	handler, second := "\vlet d$nonce=E$nonce(1);\v", guarded(ofScript(3, "x="+call(2)))
	for _, c := range []struct{ kind, src, want, reason string }{
		{"eval", "x=()=>1", "x=" + call(1), ""},
		{"eval", "eval(a);(0,eval)(b);eval?.(c);window.eval(d,e);o.eval(f);eval();eval(...g);evil(h)",
			"eval(\vv$nonce(eval,\va\v)\v);(0,eval)(\vv$nonce(eval,\vb\v)\v);eval?.(\vv$nonce(eval,\vc\v)\v);" +
				"window.eval(\vv$nonce(eval,\vd\v)\v,e);o.eval(f);eval();eval(...g);evil(h)", ""},
		{"script", "x=()=>1", guarded(ofScript(2, "x="+call(1))), ""},
		{"script", `{"a":1}`, "", "1:5: unexpected :"},
		{"module", "export{};x=()=>1", guarded(ofModule(2, "export{};x="+call(1))), ""},
		{"worker", "x=()=>1", "\v" + prelude + ";\v" + ofScript(2, "x="+call(1)), ""},
		{"function", "'use strict';f() // end", "'use strict';" + handler + "f()\v;R$nonce(d$nonce)\v // end", ""},
		{"function", "", handler + "\v;R$nonce(d$nonce)\v", ""},
		{"onclick", "'\f';return g", "'\f';" + handler + "return \vR$nonce(d$nonce,\vg\v)\v", ""},
		{"onclick", "'\v';g", "'\v';\flet d$nonce=E$nonce(1);\fg\f;R$nonce(d$nonce)\f", ""},
		{"onclick", "'\v\f'", "", "vertical tabs"},
		{"generator", "yield 1", handler +
			"\vr$nonce(d$nonce,\vyield \vs$nonce(d$nonce,\v1\v))\v\v;R$nonce(d$nonce)\v", ""},
		{"async", "return await 1", "", ""},
		{"function", "await 1", "", "unexpected"},
		{"function", "} function g() {", "", "body of one function"},
		{"function", "}), (function() {", "", "unexpected )"},
		{"function", "E$nonce(1)", "", "the program contains it"},
		{"onfoo", "f()", "", "unknown kind"},
		{"", "f()", "", "unknown kind"},
		{"eval", strings.Repeat("x", 1<<20+1), "", "too much code"},
		{"html", "a<b onclick='f()' onfoo=x><script>x=()=>1</script><script src=a integrity=b></script><script>x=()=>1",
			"a<b onclick='" + handler + "f()\v;R$nonce(d$nonce)\v' onfoo=x><script>" + second +
				"</script><script src=a data-integritynonce=b></script><script>" + second, ""},
		{"html", "<b onclick='f()", "<b onclick='f()", ""},
		{"html", "$nonce", "", `nonce "$nonce": the document contains it`},
		{"srcdoc", "<p><script>x=()=>1</script>", "<script>" + prelude + "</script><p><script>" +
			guarded(ofScript(2, "x="+call(1))) + "</script>", ""},
		{"script", "draw()", "", "only its hash"},
		{"onload", "draw()", "", "only its hash"},
		{"html", "<b onclick=draw()>", "<b onclick=draw()>", "only its hash"},
		{"eval", "draw()", "draw()", ""},
	} {
		in := newInstrument(t, "calls")
		sum := sha256.Sum256([]byte("draw()"))
		h := in.Wrap(site(map[string]answer{"/": {"<p>", append(asPage[:2:2], "Content-Security-Policy",
			"script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'"), 0}}))
		exchange(h, "/", "Sec-Fetch-Dest", "document")
		got, ok := in.Dynamic(c.kind, "http://a.test/p?q=1#r", c.src)
		if c.want == "" && c.reason == "" { // its text is long
			c.want = got
		}
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s %.100q becomes\n%q, want\n%q", c.kind, c.src, got, c.want)
		}
		last := in.Programs()[len(in.Programs())-1]
		if !strings.Contains(last.Reason, c.reason) || last.Reason != "" && last.URL != "http://a.test/p" {
			t.Errorf("%s %.100q: the last program is %+v, want the reason %s", c.kind, c.src, last, c.reason)
		}
		for _, f := range last.Functions {
			if int(f.End) > len(c.src) && f.Name != "(wait for the rig)" {
				t.Errorf("%s %.100q: function %+v", c.kind, c.src, f)
			}
		}
	}
	in := newInstrument(t, "calls")
	for _, page := range []string{"", "about:blank", "%", strings.Repeat("x", 2000), "//a.test/"} {
		if _, ok := in.Dynamic("eval", page, "()=>1"); !ok {
			t.Errorf("%.20q: refused", page)
		}
	}
	if n := len(in.Programs()); n != 3 { // with the wait for the rig
		t.Errorf("%d programs: %+v", n, in.Programs())
	}
}

// TestDynamicHasAnAddress: code of a bundler states the address of its module. It may have a map.
// Such a claim does not replace a script of the site.
func TestDynamicHasAnAddress(t *testing.T) {
	in := newInstrument(t, "calls")
	h := in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, "of=()=>site")
	}))
	r := httptest.NewRequest(http.MethodGet, "http://a.test/app.js", nil)
	r.Header.Set("Sec-Fetch-Dest", "script")
	served := httptest.NewRecorder()
	h.ServeHTTP(served, r)
	end := served.Body.Len() + 1
	const module = "webpack-internal:///./src/slow.js"
	const mapped = `{"sources":["webpack://x/./src/slow.ts"],"names":["slow"],"mappings":"AAMAA,EAAE"}`
	for _, code := range []string{
		"s=()=>1\n//# sourceURL=[module]\n//# sourceMappingURL=data:;base64," +
			base64.StdEncoding.EncodeToString([]byte(mapped)) + "\n//# sourceURL=" + module + "?7a\n",
		"f=()=>2\n//# sourceURL=http://a.test/app.js", "g=()=>3//# sourceURL=",
	} {
		if _, ok := in.Dynamic("eval", "http://a.test/", code); !ok {
			t.Errorf("%s is not instrumented", code)
		}
	}
	var all []string
	for _, p := range in.Programs() {
		for _, f := range p.Functions {
			all = append(all, f.Name+" "+p.URL)
		}
	}
	if want := []string{"of http://a.test/app.js", "(script) http://a.test/app.js", "(wait for the rig) about:blank",
		"s " + module, "f http://a.test/", "g http://a.test/"}; !slices.Equal(all, want) {
		t.Errorf("functions %q, want %q", all, want)
	}
	found, err := in.Sources(t.Context(), nil, module, []sourcemap.Place{{Line: 1, Column: 1}, {Line: 1, Column: 3}})
	if want := []sourcemap.Source{{File: "src/slow.ts", Line: 7, Name: "slow"},
		{File: "src/slow.ts", Line: 7}}; err != nil || !slices.Equal(found, want) {
		t.Errorf("%+v, %v", found, err)
	}
	// The site's script has its own insertions.
	if _, column := in.Original("http://a.test/app.js", 1, end); column != 12 {
		t.Errorf("the end of the site's script is at column %d", column)
	}
}

// TestDynamicLimit: many short texts end, too. Each worker has a prelude.
func TestDynamicLimit(t *testing.T) {
	in := newInstrument(t, "calls")
	done := 0
	for ; done < 1<<17; done++ {
		if _, ok := in.Dynamic("eval", "http://a.test/", "1"); !ok {
			break
		}
	}
	if done == 0 || done == 1<<17 {
		t.Errorf("%d texts are rewritten", done)
	}
}
