package daemon_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store"
)

// paged adds a test whose scripts can be instrumented.
func paged(o *daemon.Options) {
	o.Suite = append(o.Suite, suite.Source{Name: "pages", FS: fstest.MapFS{"paged.yaml": {Data: []byte(
		"name: paged\nabout: Plays a page\npage: /framerate.html\nmeasures: [fps]\nprimary: fps.framerate\n" +
			"timeout: 2m\n")}}})
}

// TestWhyChangedRefused: a job whose changes cannot be explained does not begin.
//
// Fault: A job with `why_changed` has one variant, or scripts that cannot be instrumented
func TestWhyChangedRefused(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a"), daemontest.New("b")}, paged)
	for want, p := range map[string]api.StartParams{
		"it needs two":           {Test: "paged", Devices: []string{"a"}},
		"must be plain":          {Test: "paged", Devices: []string{"a", "b"}, Script: []string{"calls"}},
		"ends with a failure":    {Test: "paged", Devices: []string{"a", "b"}, UntilFail: true},
		"script needs pages":     {Test: "scene", Devices: []string{"a", "b"}},
		"without script and pro": {Test: "paged", Devices: []string{"a", "b"}, Profile: "samples", ProfiledOnly: true},
	} {
		p.WhyChanged = true
		_, err := r.Start(t.Context(), "ci", p)
		if told := (*api.Error)(nil); !errors.As(err, &told) || told.Code != api.InvalidParams ||
			!strings.Contains(err.Error(), "why_changed: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", p, err, want)
		}
	}
	if jobs := r.Jobs(true); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
}

// TestWhyChanged: a primary value changed, so further runs with measuring code begin in the folder
// why. The plain runs stay whole if the further ones fail, and only they count.
//
// Fault: The further runs of a job with `why_changed` fail
func TestWhyChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("16 runs in real time")
	}
	t.Parallel()
	a, b := daemontest.New("a"), daemontest.New("b")
	a.Scene, b.Scene = fast, slow
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{a, b}, paged)
	two := api.StartParams{Test: "paged", Devices: []string{"a", "b"}, Repeat: 1, WhyChanged: true}
	if j := r.Ended(r.Scene("ci", two).ID); j.State != "ok" || j.Done != 2 || j.Total != 2 {
		t.Fatalf("two runs decide nothing: %+v", j)
	}
	id := r.Scene("ci", api.StartParams{Test: "paged", Devices: []string{"a", "b"}, Repeat: 6, WhyChanged: true}).ID
	var j api.Job
	r.Until("further runs, or the end", func() bool {
		j, _ = r.Job(id)
		return j.Total > 12 || j.EndedWallNS != 0
	})
	if j.Total != 12+16 || j.EndedWallNS != 0 {
		t.Fatalf("%+v", j)
	}
	a.Break(errors.New("the cable is loose"))
	b.Break(errors.New("the cable is loose"))
	if j = r.Ended(id); j.State != "ok" || j.Done < 13 || len(j.Runs) != 12 ||
		logged(t, r, "the change is not explained") != 1 {
		t.Errorf("%+v", j)
	}
	dir := filepath.Join(r.Dir, "runs", id)
	for name, want := range map[string]session.State{"": session.Passed, session.WhyDir: session.Failed} {
		var set struct {
			Repeat int
			Runs   []struct{ State session.State }
		}
		raw, err := os.ReadFile(filepath.Join(dir, name, session.SetFile))
		if err == nil {
			err = json.Unmarshal(raw, &set)
		}
		if err != nil || set.Repeat != map[string]int{"": 6, session.WhyDir: 8}[name] ||
			set.Runs[len(set.Runs)-1].State != want {
			t.Errorf("%s: %+v, %v", name, set, err)
		}
	}
	a.Break(nil)
	if err := r.Store.SetBaseline(t.Context(), "release", id); err != nil {
		t.Fatal(err)
	}
	all := 1.0
	if _, err := r.Queue().Submit(t.Context(), "s-explain", "schedule nightly", api.StartParams{Test: "paged",
		Devices: []string{"a"}, Repeat: 1, NoVideo: true, MaxLost: &all, Script: []string{"calls"},
		Origin: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	run := r.Ended("s-explain")
	if run.State != "ok" {
		t.Fatalf("%+v", run)
	}
	if _, v, err := r.Store.Judged(run.Runs[0].Run); err != nil || v != nil {
		t.Errorf("a schedule's run with measuring code has the verdict %+v, %v", v, err)
	}
	page, err := r.Store.List(t.Context(), store.Query{Set: id, Limit: store.MaxLimit})
	if err != nil || page.Total != 12 {
		t.Errorf("%+v, %v", page, err)
	}
}
