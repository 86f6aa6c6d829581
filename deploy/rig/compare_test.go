package rig

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/server"
)

// TestRigCompares: a rig holds two of its sets against each other, and one against a baseline, as
// eideticker compare does.
func TestRigCompares(t *testing.T) {
	t.Parallel()
	rig := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("local")}, nil)
	tokens, err := server.OpenTokens(rig.Dir)
	if err != nil {
		t.Fatal(err)
	}
	server, err := server.New(server.Options{Daemon: rig.Daemon, Tokens: tokens, Place: server.Place{Loopback: true},
		Program: "test", Compare: CompareFolders})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		h.Close()
	})
	c, err := client.New(h.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	var sets [2]string
	for i := range sets {
		job := rig.Played(api.StartParams{Repeat: 2})
		if sets[i] = job.ID; job.State != "ok" {
			t.Fatalf("%+v", job)
		}
	}
	if err := c.Call(t.Context(), "baseline.set", api.Baseline{Name: "release", ID: sets[0]}, nil); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{sets[0], "release"} {
		var got api.Compared
		if err := c.Call(t.Context(), "compare", api.CompareParams{Base: base, With: sets[1], Primary: "fps.framerate",
			Threshold: 0.03}, &got); err != nil {
			t.Fatal(err)
		}
		type side struct {
			Path   string
			Values []struct{ Value float64 }
		}
		var table struct {
			A, B     side
			Outcome  string
			Measures []struct {
				Name string
				A, B side
			}
		}
		if err := json.Unmarshal(got.Comparison, &table); err != nil {
			t.Fatalf("%v: %s", err, got.Comparison)
		}
		if got.Base != sets[0] || got.With != sets[1] || table.A.Path != sets[0] || table.B.Path != sets[1] ||
			strings.Contains(string(got.Comparison), rig.Dir) {
			t.Errorf("%s and %s were compared: %s", got.Base, got.With, got.Comparison)
		}
		// Two runs are too few to find that a scene that plays twice has got worse.
		if got.Outcome != table.Outcome || got.Outcome == "regressed" ||
			(got.Sentence == "") != (got.Outcome == "passed") {
			t.Errorf("%s, %q: %s", got.Outcome, got.Sentence, got.Comparison)
		}
		found := false
		for _, m := range table.Measures {
			found = found || m.Name == "fps.framerate" && len(m.A.Values) == 2 && len(m.B.Values) == 2 &&
				m.A.Values[0].Value > 0
		}
		if !found {
			t.Errorf("no frame rates of two runs each: %s", got.Comparison)
		}
	}
	// A test's rules for its values count here as when the rig judges its runs. The client can
	// override them.
	judged := rig.Ended(rig.Scene("ci", api.StartParams{Test: "judged"}).ID)
	for _, asked := range []struct {
		api.CompareParams
		primary   string
		threshold float64
	}{
		{api.CompareParams{Base: judged.ID, With: judged.ID}, "fps.unique_frames", 0.37},
		{api.CompareParams{Base: judged.ID, With: judged.ID, Threshold: 0.05}, "fps.unique_frames", 0.05},
		{api.CompareParams{Base: judged.ID, With: judged.ID, Primary: "fps.framerate"}, "fps.framerate", 0.37},
	} {
		var got api.Compared
		if err := c.Call(t.Context(), "compare", asked.CompareParams, &got); err != nil {
			t.Fatal(err)
		}
		var table struct {
			Primary  string
			Measures []struct {
				Name      string
				Threshold float64 `json:"threshold_fraction"`
			}
		}
		if err := json.Unmarshal(got.Comparison, &table); err != nil {
			t.Fatal(err)
		}
		for _, m := range table.Measures {
			if m.Name == "fps.unique_frames" && m.Threshold != asked.threshold || table.Primary != asked.primary {
				t.Errorf("asked for %+v: primary %s, threshold %v", asked.CompareParams, table.Primary, m.Threshold)
			}
		}
	}
	for i, id := range sets { // B was measured on a busy machine
		folder := filepath.Join(rig.Dir, "runs", id)
		change(t, folder, "run.json", "machine",
			map[string]any{"others_fraction": 0.5 * float64(i), "steal_fraction": 0})
		change(t, folder, "results.json", "environment", map[string]any{"machine_shared": "yes"})
	}
	for _, judge := range []bool{false, true} {
		var got api.Compared
		p := api.CompareParams{Base: sets[0], With: sets[1], JudgeUnlike: judge}
		if err := c.Call(t.Context(), "compare", p, &got); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(got.Comparison), `"withheld"`) == judge {
			t.Errorf("judge unlike sides: %t: %s", judge, got.Comparison)
		}
	}
	bare := filepath.Join(rig.Dir, "runs", "20260101-000000-recording-aaaa")
	if err := os.MkdirAll(bare, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (&session.Record{Schema: session.Schema, Version: session.Version, Device: "local", State: session.Passed,
		Attempt: 1, Block: 1, Place: 1}).Write(bare); err != nil {
		t.Fatal(err)
	}
	if err := rig.Daemon.Store().Add(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	var without *api.Error
	if err := c.Call(t.Context(), "compare", api.CompareParams{Base: filepath.Base(bare), With: sets[1]},
		nil); !errors.As(err, &without) || !strings.Contains(without.Message, filepath.Base(bare)+" has no results") ||
		strings.Contains(without.Message, rig.Dir) {
		t.Errorf("a recording without results: %v", err)
	}
	for what, p := range map[string]api.CompareParams{
		"no such run":     {Base: "none", With: sets[1]},
		"no such measure": {Base: sets[0], With: sets[1], Primary: "fps.none"},
	} {
		var told *api.Error
		if err := c.Call(t.Context(), "compare", p, nil); !errors.As(err, &told) || told.Message == "" ||
			strings.Contains(told.Message, rig.Dir) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// change sets a value in all files of a name below a folder.
func change(t *testing.T, folder, name, key string, value any) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*", name))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no %s: %v", folder, name, err)
	}
	for _, file := range files {
		var content map[string]any
		raw, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(raw, &content)
		}
		if err != nil {
			t.Fatal(err)
		}
		content[key] = value
		if raw, err = json.Marshal(content); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
