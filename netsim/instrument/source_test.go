package instrument_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/instrument/sourcemap"
)

// TestSources: the functions of a bundle have places in its sources. The browser's tools get a map
// of the text that it runs.
func TestSources(t *testing.T) {
	const code, data = "var a=()=>1,b=()=>2;", `{"version":3,"sources":["webpack://x/./src/App.tsx"],` +
		`"mappings":"AAAA,MAWE,QADA"}`
	inline := "data:application/json;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(data))
	answers := map[string]answer{
		"/comment.js": {code + "\n//# sourceMappingURL=maps/a.map?1", asScript, 0},
		"/old.js":     {code + "\n//@ sourceMappingURL=/maps/a.map?1\n", asScript, 0},
		"/style.js":   {code + "\n/*# sourceMappingURL=/maps/a.map?1 */", asScript, 0},
		"/header.js":  {code, append(asScript[:2:2], "SourceMap", "/maps/a.map?1"), 0},
		"/inline.js":  {code + "\n//# sourceMappingURL=" + inline, asScript, 0},
		"/text.js":    {code + "\n//# sourceMappingURL=data:," + strings.ReplaceAll(data, "\"", "%22"), asScript, 0},
		"/maps/a.map": {data, []string{"Content-Type", "application/json", "ETag", `"1"`}, 0},
		"/none.js":    {code, asScript, 0},
		"/other.js":   {code + "\n//# sourceMappingURL=http://other.test/maps/a.map?1", asScript, 0},
		"/missing.js": {code + "\n//# sourceMappingURL=missing.map", asScript, 0},
		"/broken.js":  {code + "\n//# sourceMappingURL=broken.map", asScript, 0},
		"/broken.map": {`{"mappings":"!"}`, []string{"Content-Type", "text/plain"}, 0},
		"/crash.js":   {code + "\n//# sourceMappingURL=crash.map", asScript, 0},
		"/base64.js":  {code + "\n//# sourceMappingURL=data:;base64,?", asScript, 0},
		"/cut.js":     {code + "\n//# sourceMappingURL=", asScript, 0},
		// Fault: the map of a module in a text was that of its bundle.
		"/bundle.js": {code + "\neval('//# sourceMappingURL=data:;base64,eyJ9\\n//# sourceURL=x')", asScript, 0},
	}
	origin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/crash.map" {
			panic(http.ErrAbortHandler)
		}
		site(answers).ServeHTTP(w, r)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err) // recorded responses need it
		}
	})
	const app = "src/App.tsx"
	known := []sourcemap.Source{{File: app, Line: 12}, {File: app, Line: 11}}
	for path, c := range map[string]struct {
		want   []sourcemap.Source
		reason string
	}{
		"/comment.js": {known, ""}, "/old.js": {known, ""}, "/style.js": {known, ""}, "/header.js": {known, ""},
		"/inline.js": {known, ""}, "/text.js": {known, ""}, "/none.js": {make([]sourcemap.Source, 2), ""},
		"/other.js": {make([]sourcemap.Source, 2), ""}, "/missing.js": {make([]sourcemap.Source, 2), ""},
		"/broken.js": {nil, "line 1: unexpected '!'"}, "/crash.js": {nil, "the site fails: net/http: abort Handler"},
		"/base64.js": {nil, "illegal base64"}, "/cut.js": {make([]sourcemap.Source, 2), ""},
		"/bundle.js": {make([]sourcemap.Source, 2), ""},
	} {
		in := newInstrument(t, "calls")
		h := in.Wrap(origin)
		exchange(h, path, "Sec-Fetch-Dest", "script")
		p := in.Programs()
		if len(p) != 1 || len(p[0].Functions) != 3 {
			t.Fatalf("%s: programs %+v", path, p)
		}
		var places []sourcemap.Place
		for _, f := range p[0].Functions[:2] {
			places = append(places, sourcemap.Place{Line: f.Line, Column: f.Column})
		}
		got, err := in.Sources(t.Context(), origin, p[0].URL, places)
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.reason == "") ||
			err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: sources %v, %v", path, got, err)
		}
		if in.Mapped(p[0].URL) != (path != "/none.js" && path != "/other.js" && path != "/cut.js" &&
			path != "/bundle.js") {
			t.Errorf("%s: mapped is %v", path, in.Mapped(p[0].URL))
		}
		if path == "/broken.js" {
			w := exchange(h, "/broken.map")
			if w.Body.String() != answers["/broken.map"].body || len(in.Programs()) != 1 {
				t.Errorf("a broken map becomes %s, programs %+v", w.Body, in.Programs())
			}
		}
		if path != "/comment.js" {
			continue
		}
		served := exchange(h, path, "Sec-Fetch-Dest", "script").Body.String()
		w := exchange(h, "/maps/a.map?1", "Sec-Fetch-Dest", "empty", "If-None-Match", `"plain"`)
		for i, text := range []string{"()=>\vR$nonce(E$nonce(1)", "()=>\vR$nonce(E$nonce(2)"} {
			place := sourcemap.Place{Line: 1, Column: strings.Index(served, text) + 1}
			got, err := sourcemap.Lookup(w.Body.Bytes(), []sourcemap.Place{place})
			if err != nil || got[0] != known[i] || !strings.HasPrefix(w.Header().Get("ETag"), `"1-`) {
				t.Errorf("the served %s is from %v, %v; header %v", text, got, err, w.Header())
			}
		}
		if w := exchange(h, "/maps/a.map?2"); w.Body.String() != data {
			t.Errorf("another map becomes %s", w.Body)
		}
	}
	in := newInstrument(t, "calls")
	exchange(in.Wrap(origin), "/comment.js", "Sec-Fetch-Dest", "script")
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for b := make([]byte, 1<<20); ; {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	})
	if _, err := in.Sources(t.Context(), endless, "http://example.com/comment.js", nil); err == nil ||
		!strings.HasSuffix(err.Error(), "it is longer than 64 MiB") {
		t.Errorf("an endless map: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.Sources(gone, origin, "http://example.com/comment.js", nil); err == nil {
		t.Error("the end of the run does not end it")
	}
}
