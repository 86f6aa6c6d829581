package agent_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/publish"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// TestHubPublishesFilms: the light folder of real runs has a filmstrip of each and a video of each
// browser. A public site that is made of it shows them.
//
// Fault: A public site of a hub has no films
func TestHubPublishesFilms(t *testing.T) {
	t.Parallel()
	const id = "s-films.1"
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, nil)
	h := newHub(t)
	start(t, options(r.Dir, r.Store, r.Queue(), r.Devices))
	if err := agent.Write(r.Dir, h.fleet, []byte("seed"), "jwt"); err != nil {
		t.Fatal(err)
	}
	two := assignment(id)
	two.Params.Repeat, two.Params.Browsers, two.Params.NoVideo = 2, []string{"one", "two"}, false
	h.desire(two)
	h.until(t, r, "the result", func() bool { return h.results[id].State != "" })
	content := h.now().light[id]
	all := names(t, content)
	for _, browser := range []string{"a-one", "a-two"} {
		for _, run := range []string{"/run-01/", "/run-02/"} {
			strip, video := browser+run+runfolder.PicturesDir+"/filmstrip_even.png", browser+run+runfolder.VideoFile
			if !slices.Contains(all, strip) || slices.Contains(all, video) != (run == "/run-01/") ||
				!slices.Contains(all, video+".json") {
				t.Errorf("%s%s: %q", browser, run, all)
			}
		}
	}

	data := t.TempDir()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err == nil {
		err = os.CopyFS(filepath.Join(data, "fleet", "light", "lab-07", id), z)
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := trend.Open(t.Context(), filepath.Join(data, "trend.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() // the test is over
	m := trend.Measured{Key: trend.SeriesKey{Schedule: "s", Test: "scene", Measure: "fps", Value: "framerate",
		Unit: "frames/s", Better: "higher", Version: 1, Device: "lab-07/a", Product: "one", Role: trend.Subject},
		Point: trend.Point{Seq: 1, Build: "v1"}}
	for i := range 2 {
		m.Point.Values = append(m.Point.Values, trend.Value{Block: i, Value: 20,
			Run: fmt.Sprintf("lab-07/%s~a-one~run-%02d", id, i+1)})
	}
	if err := db.Add(t.Context(), "lab-07/"+id, []trend.Measured{m}); err != nil {
		t.Fatal(err)
	}
	site, err := publish.Write(t.Context(), db, publish.Options{Dir: t.TempDir(), Data: data, Tests: []string{"scene"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, film := range []string{`film-\w+\.mp4`, `strip-\w+\.png`} {
		if !slices.ContainsFunc(site.New, func(f publish.File) bool {
			return regexp.MustCompile(film).MatchString(f.Name)
		}) {
			t.Errorf("the site has no %s: %+v", film, site.New)
		}
	}
}
