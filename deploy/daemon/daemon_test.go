package daemon_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

func everybody(string) bool { return true }

func code(err error) api.Code {
	var told *api.Error
	if errors.As(err, &told) {
		return told.Code
	}
	return 0
}

// verified fails the test if a run's recording is not whole.
func verified(t *testing.T, r *daemontest.Rig, id string) *recording.Reader {
	t.Helper()
	dir, err := r.Store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	if _, err := reader.Verify(t.Context(), nil); err != nil {
		t.Errorf("the recording of %s: %v", id, err)
	}
	return reader
}

// events returns all that have happened.
func events(t *testing.T, d *daemon.Daemon) (all []api.Event) {
	t.Helper()
	list := make([]daemon.Message, daemon.MaxEvents)
	n, _, _ := d.Events().After(0, list)
	for _, m := range list[:n] {
		var note api.Notification
		var e api.Event
		if err := json.Unmarshal(m.Text, &note); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(note.Params, &e); err != nil {
			t.Fatal(err)
		}
		if e.Seq != m.Seq || e.Kind != m.Kind {
			t.Errorf("event %d of kind %s says that it is %d of kind %s", m.Seq, m.Kind, e.Seq, e.Kind)
		}
		all = append(all, e)
	}
	return all
}

func TestJob(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, nil)
	j := r.Scene("ci", api.StartParams{Devices: []string{"a"}, Label: "nightly", Branch: "main", Revision: "abc"})
	if j.State != "queued" || j.Position != 1 || j.Total != 1 {
		t.Errorf("%+v", j)
	}
	j = r.Ended(j.ID)
	if j.State != "ok" || len(j.Runs) != 1 || j.Runs[0].Run != j.ID {
		t.Fatalf("%+v", j)
	}
	run, err := r.Store.Get(t.Context(), j.ID)
	if err != nil || run.Label != "nightly" || run.Branch != "main" || run.Revision != "abc" ||
		run.State != session.Passed || len(run.Values) == 0 {
		t.Errorf("%+v, %v", run, err)
	}
	verified(t, r, j.ID)
	var kinds, phases []string
	for i, e := range events(t, r.Daemon) {
		if all := events(t, r.Daemon); i > 0 && e.Seq != all[i-1].Seq+1 {
			t.Errorf("event %d follows %d", e.Seq, all[i-1].Seq)
		}
		kinds = append(kinds, e.Kind)
		if e.Phase != nil {
			if e.JobID != j.ID || e.Phase.Done > e.Phase.Total && e.Phase.Total > 0 {
				t.Errorf("%+v", e)
			}
			phases = append(phases, e.Phase.Name)
		}
	}
	for _, kind := range []string{"job", "phase", "run", "device", "log", "store"} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no event of kind %s among %v", kind, kinds)
		}
	}
	for _, phase := range []string{"getting the device ready", "running scene", "measuring scene"} {
		if !slices.Contains(phases, phase) {
			t.Errorf("no phase %q among %q", phase, phases)
		}
	}
	if f := r.Figures(); f.Captured["a"] != run.Frames || f.Runs["a"]["ok"] != 1 {
		t.Errorf("%+v, and the run has %d frames", f, run.Frames)
	}
}
