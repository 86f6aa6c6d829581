package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/serve"
)

func TestAnalyze(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, nil)
	id := r.Ended(r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID).ID
	// The run had a network of its own, of which its recording does not tell.
	dir, err := r.Store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, result.FileName)
	results, err := result.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	results.Network = &result.Network{Profile: "3g", Requests: 50, List: []result.Request{}}
	if err := result.Write(file, results); err != nil {
		t.Fatal(err)
	}
	asked := timeline.Time(results.Windows[0].StartNS)
	fall := har.New(har.Evidence{
		Exchanges: []serve.Exchange{{ID: 1, URL: "http://page.test/load.html", Status: 200, Began: asked,
			FirstByte: asked + 1e6, Ended: asked + 2e6}}})
	var archive bytes.Buffer
	if err := fall.Write(&archive, har.Options{Creator: har.Program{Name: "test", Version: "1"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, session.HARFile), archive.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	// What its test said is known of its run.json alone.
	f, err := os.Open(filepath.Join(dir, session.RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	record, err := session.ReadRecord(f)
	if err := errors.Join(err, f.Close()); err != nil || record.Measured == nil {
		t.Fatalf("%v: %+v", err, record)
	}
	record.Measured.Cadence = 30
	if err := record.Write(dir); err != nil {
		t.Fatal(err)
	}
	j, err := r.Analyze(t.Context(), "ci", api.AnalyzeParams{Run: id, Measures: []string{"fps", "tearing"},
		NoVideo: true})
	if err != nil {
		t.Fatal(err)
	}
	if j = r.Ended(j.ID); j.State != "ok" {
		t.Errorf("%+v", j)
	}
	if results, err = result.Read(file); err != nil || results.Network == nil || results.Network.Requests != 50 {
		t.Errorf("%v: the results say of the network: %+v", err, results.Network)
	}
	if !slices.ContainsFunc(results.Windows[0].Pictures,
		func(p result.Picture) bool { return p.Kind == result.PictureWaterfall }) ||
		results.Network.File != session.HARFile {
		t.Errorf("there is no waterfall: %v, notes %q", results.Windows[0].Pictures, results.Notes)
	}
	if svg, err := os.ReadFile(filepath.Join(dir, runfolder.PicturesDir, "waterfall.svg")); err != nil ||
		!bytes.Contains(svg, []byte("/load.html")) {
		t.Errorf("%v: the waterfall is\n%s", err, svg)
	}
	if fps := results.Windows[0].Results[0]; !slices.ContainsFunc(fps.Values,
		func(v analyze.Value) bool { return v.Name == "dropped" }) {
		t.Errorf("it was not measured as its test said: %+v", fps)
	}
	run, err := r.Store.Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	measures := map[string]bool{}
	for _, v := range run.Values {
		measures[v.Measure] = true
	}
	if !measures["fps"] || !measures["tearing"] {
		t.Errorf("%v", measures)
	}
	for name, p := range map[string]api.AnalyzeParams{
		"no run": {Run: "none"}, "up": {Run: "../x"}, "no measure": {Run: id, Measures: []string{"beauty"}},
		"backwards": {Run: id, From: 5, To: 2}, "no region": {Run: id, Region: []int{1}},
	} {
		if _, err := r.Analyze(t.Context(), "ci", p); code(err) != api.InvalidParams && code(err) != api.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}
