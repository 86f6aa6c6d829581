package daemon_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/api/wire"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/daemon/daemontest"
)

func TestAnalyze(t *testing.T) {
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, nil)
	id := r.Ended(r.Scene("ci", wire.StartParams{Devices: []string{"a"}}).ID).ID
	// The run had a network of its own, of which its recording does not tell.
	dir, err := r.Store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, report.FileName)
	results, err := report.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	results.Network = &report.Network{Profile: "3g", Requests: 50, List: []report.Request{}}
	if err := report.Write(file, results); err != nil {
		t.Fatal(err)
	}
	j, err := r.Analyze(t.Context(), "ci", wire.AnalyzeParams{Run: id, Measures: []string{"fps", "tearing"}, NoVideo: true})
	if err != nil {
		t.Fatal(err)
	}
	if j = r.Ended(j.ID); j.State != "ok" {
		t.Errorf("%+v", j)
	}
	if results, err = report.Read(file); err != nil || results.Network == nil || results.Network.Requests != 50 {
		t.Errorf("%v: the results say of the network: %+v", err, results.Network)
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
	for name, p := range map[string]wire.AnalyzeParams{
		"no run": {Run: "none"}, "up": {Run: "../x"}, "no measure": {Run: id, Measures: []string{"beauty"}}, "backwards": {Run: id, From: 5, To: 2}, "no region": {Run: id, Region: []int{1}},
	} {
		if _, err := r.Analyze(t.Context(), "ci", p); code(err) != wire.InvalidParams && code(err) != wire.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}
