package webui

import (
	"io/fs"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
)

// plain is the page as a plain go build has it: without what comes from npm.
func plain(t *testing.T) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	own, err := fs.Sub(page, "page")
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.WalkDir(own, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(name, "vendor/") && name != "vendor/README.md" {
			return err
		}
		content, err := fs.ReadFile(own, name)
		all[name] = &fstest.MapFile{Data: content}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// A program that was built without the chart library shows everything else, and says what is
// missing where charts would be.
func TestWithoutChartLibrary(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	p.page = serving(plain(t))
	w := httptest.NewRecorder()
	p.page.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://rig/vendor/uPlot.esm.js", nil))
	if kind := w.Result().Header.Get("Content-Type"); w.Code != 200 || kind != "text/javascript; charset=utf-8" ||
		!strings.Contains(w.Body.String(), "export default null;") {
		t.Errorf("%d %s %s", w.Code, kind, w.Body)
	}
	p.manyRuns(30)
	m := p.makeRun("20261121-201532-tearing-k7f4", torn)
	b.open("#/runs/" + m.id + "?frame=40")
	b.shows(m, 40)
	b.await("the page says what is missing",
		`[...document.querySelectorAll('.result .refusal')].filter((e) => e.textContent.includes('built without its chart library') && e.textContent.includes('make webui')).length >= 2`)
	if n := browsertest.Eval[int](b.Tab, `document.querySelectorAll('.uplot').length`); n > 0 {
		t.Errorf("%d charts are drawn", n)
	}
	b.await("the numbers are there",
		`document.querySelectorAll('.result table.values td.number').length > 3 && document.querySelectorAll('.evidence .proof').length > 0`)
	b.picture("run-without-charts")
	b.open("#/runs?trend=framerate/fps.framerate")
	b.await("the trend is told in words, and as a table",
		`(t => t.includes('1 regressed') && t.includes('make webui'))(document.querySelector('.trend-box')?.textContent ?? '') && document.querySelectorAll('.trend-box tbody tr').length === 24`)
	b.Quiet()
}
