package session

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// TestSourcesOfScriptPages: functions have places in sources. Live sites are not asked for maps.
func TestSourcesOfScriptPages(t *testing.T) {
	for _, live := range []bool{false, true} {
		asked := 0
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, ".map") {
				asked++
				_, _ = io.WriteString(w, `{"version": 3, "sources": ["x.ts"], "names": [], "mappings": "AAAA"}`)
				return
			}
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, "function f() {}\n//# sourceMappingURL=a.js.map")
		})
		pages, err := OpenScriptPages(ScriptOptions{Policies: []string{"calls"}, Dir: t.TempDir(), Live: live})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "http://a.test/a.js", nil)
		r.Header.Set("Sec-Fetch-Dest", "script")
		pages.Wrap(site).ServeHTTP(httptest.NewRecorder(), r)
		run, err := pages.Close()
		if err != nil || len(run.Info.Programs) != 1 || len(run.Info.Programs[0].Functions) != 2 {
			t.Fatalf("%v, %+v", err, run)
		}
		file := run.Info.Programs[0].Functions[0].Source.File
		if (asked == 0) != live || (file == "") != live || len(run.Info.Warnings) != 0 {
			t.Errorf("live %v: asked %d times, file %q, warnings %q", live, asked, file, run.Info.Warnings)
		}
	}
}

// TestEarlyErrors: an error in a document that is still being sent gets its original position.
func TestEarlyErrors(t *testing.T) {
	pages, err := OpenScriptPages(ScriptOptions{Policies: []string{"calls"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	const url, line = "http://a.test/", "<script>function f() { return g() }</script>"
	sent := httptest.NewRecorder()
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>a</title>\n"+line+"\n")
		_ = http.NewResponseController(w).Flush()
		_, served, _ := strings.Cut(sent.Body.String(), "\n")
		column := strings.Index(served, "g()") + 1
		if column < 1 {
			t.Fatalf("not sent in parts: %q", sent.Body)
		}
		b := &record.Batch{Kind: record.Window, Realm: 1, Origin: 1e12, Sent: 100,
			Details: []record.Detail{{Kind: "error", URL: url, Line: 2, Column: column}}}
		pages.accept(pages.collector.Start(), b, b.Append(nil))
		if _, err := pages.Read(); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "<p>end")
	})
	r := httptest.NewRequest(http.MethodGet, url, nil)
	r.Header.Set("Sec-Fetch-Dest", "document")
	pages.Wrap(site).ServeHTTP(sent, r)
	run, err := pages.Close()
	if err != nil || len(run.Info.Moved) != 1 || run.Info.Moved[0].Column != strings.Index(line, "g()")+1 {
		t.Errorf("%v, %+v, served %s", err, run.Info.Moved, sent.Body)
	}
}
