package daemon_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store"
)

// Short scenes, the second at a third of the rate of the first. Green, content and red last over a
// second each. A machine that stalls delays them.
const (
	fast = "synth:fps?size=96x64&fps=24&frames=30&rate=24&markers=1&pace=steady"
	slow = "synth:fps?size=96x64&fps=24&frames=30&rate=8&markers=1&pace=steady"
)

// judged makes runs and returns them as the store has them.
func judged(t *testing.T, r *daemontest.Rig, p api.StartParams) (id string, runs []store.Run) {
	t.Helper()
	p.Devices = []string{"a"}
	j := r.Ended(r.Scene("ci", p).ID)
	if j.State != "ok" {
		t.Fatalf("%+v", j)
	}
	page, err := r.Store.List(t.Context(), store.Query{Set: j.ID})
	if err != nil {
		t.Fatal(err)
	}
	return j.ID, page.Runs
}

// logged counts the lines of the log that say something, as clients hear it.
func logged(t *testing.T, r *daemontest.Rig, line string) (n int) {
	t.Helper()
	for _, e := range events(t, r.Daemon) {
		if e.Log != nil && strings.Contains(e.Log.Message, line) {
			n++
		}
	}
	return n
}

// Runs that have all been made are held against their baseline: the one that is named, or the only
// one that has runs like them.
func TestVerdict(t *testing.T) {
	if testing.Short() {
		t.Skip("7 runs in real time")
	}
	t.Parallel()
	d := daemontest.New("a")
	d.Scene = fast
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	base, runs := judged(t, r, api.StartParams{})
	if runs[0].Verdict != "" {
		t.Errorf("without a baseline: %+v", runs)
	}
	two, _ := judged(t, r, api.StartParams{Browsers: []string{"two"}})
	if err := errors.Join(r.Store.SetBaseline(t.Context(), "release", base),
		r.Store.SetBaseline(t.Context(), "release-of-two", two)); err != nil {
		t.Fatal(err)
	}
	d.Scene = slow
	id, runs := judged(t, r, api.StartParams{})
	// that single runs differ may be chance
	if len(runs) != 1 || runs[0].Verdict != stats.Inconclusive || runs[0].Base != base {
		t.Fatalf("a run at a third of the rate: %+v", runs)
	}
	if _, v, err := r.Store.Judged(id); err != nil || v.Baseline != "release" ||
		!strings.Contains(v.Primary, "fps.framerate") || v.Sentence == "" || v.JudgedWallNS == 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, runs = judged(t, r, api.StartParams{Browsers: []string{"one"}}); runs[0].Verdict != "" {
		t.Errorf("of another browser than the baselines': %+v", runs)
	}
	if _, runs = judged(t, r, api.StartParams{Browsers: []string{"two"}, Baseline: id}); runs[0].Verdict == "" ||
		runs[0].Base != id {
		t.Errorf("by ID: %+v", runs)
	}
	if err := r.Store.SetBaseline(t.Context(), "other", id); err != nil {
		t.Fatal(err)
	}
	if _, runs = judged(t, r, api.StartParams{}); runs[0].Verdict != "" ||
		logged(t, r, "could not be held against a baseline") != 1 {
		t.Errorf("two baselines have such runs, and none was named: %+v", runs)
	}
	if _, runs = judged(t, r, api.StartParams{Baseline: "release"}); runs[0].Verdict != stats.Inconclusive ||
		runs[0].Base != base {
		t.Errorf("by name: %+v", runs)
	}
}

// A set that is worse than its baseline is found as such.
func TestRegression(t *testing.T) {
	if testing.Short() {
		t.Skip("12 runs in real time")
	}
	t.Parallel()
	d := daemontest.New("a")
	d.Scene = fast
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	base, _ := judged(t, r, api.StartParams{Repeat: 6})
	if err := r.Store.SetBaseline(t.Context(), "release", base); err != nil {
		t.Fatal(err)
	}
	d.Scene = slow
	id, _ := judged(t, r, api.StartParams{Repeat: 6, Baseline: "release"})
	page, err := r.Store.List(t.Context(), store.Query{Verdict: stats.Regressed})
	if err != nil || page.Total != 6 || page.Runs[0].Set != id || page.Runs[0].Base != base {
		t.Errorf("%+v, %v", page, err)
	}
	if logged(t, r, "runs were held against their baseline") != 1 {
		t.Error("the log does not tell")
	}
}

// In a set of several browsers, each is compared with the same browser in the baseline. All of its
// runs have the verdict.
func TestVerdictsOfSet(t *testing.T) {
	if testing.Short() {
		t.Skip("8 runs in real time")
	}
	t.Parallel()
	d := daemontest.New("a")
	d.Scene = fast
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	both := api.StartParams{Browsers: []string{"one", "two"}, Repeat: 2}
	base, _ := judged(t, r, both)
	if err := r.Store.SetBaseline(t.Context(), "release", base); err != nil {
		t.Fatal(err)
	}
	id, runs := judged(t, r, both)
	if len(runs) != 4 {
		t.Fatalf("%+v", runs)
	}
	for _, run := range runs {
		if part, _, _ := strings.Cut(strings.TrimPrefix(run.ID, id+"~"), "~"); run.Verdict == "" ||
			run.Base != base+"~"+part {
			t.Errorf("%+v", run)
		}
	}
	page, err := r.Store.Sets(t.Context(), store.Query{Verdict: runs[0].Verdict})
	if err != nil || len(page.Sets) != 1 || page.Sets[0].ID != id ||
		!slices.Contains(page.Sets[0].Verdicts, runs[0].Verdict) {
		t.Errorf("%+v, %v", page, err)
	}
}

// In a set of named variants, each is compared with the variant of its name. Without one, it has no
// verdict.
func TestVerdictsOfVariants(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, nil)
	named := func(a, b string) api.StartParams {
		return api.StartParams{Variants: []api.Variant{{Name: a}, {Name: b}}, Repeat: 1, Baseline: "release"}
	}
	first := named("old", "new")
	first.Baseline = ""
	base, _ := judged(t, r, first)
	if err := r.Store.SetBaseline(t.Context(), "release", base); err != nil {
		t.Fatal(err)
	}
	for name, baseline := range map[string]string{"by name": "release", "the only one": ""} {
		p := named("new", "old")
		p.Baseline = baseline
		id, runs := judged(t, r, p)
		if len(runs) != 2 {
			t.Fatalf("%s: %+v", name, runs)
		}
		for _, run := range runs {
			if part, _, _ := strings.Cut(strings.TrimPrefix(run.ID, id+"~"), "~"); run.Verdict == "" ||
				run.Base != base+"~"+part {
				t.Errorf("%s: %s is held against %s, with the verdict %q", name, run.ID, run.Base, run.Verdict)
			}
		}
	}
	_, runs := judged(t, r, named("other", "new"))
	for _, run := range runs {
		if is := strings.Contains(run.ID, "~new~"); is != (run.Verdict != "") {
			t.Errorf("%s has the verdict %q", run.ID, run.Verdict)
		}
	}
	if logged(t, r, "could not be held against a baseline") != 1 {
		t.Error("the log does not name the variant without a counterpart")
	}
}

// A run that is measured anew is held anew against what it was held against; where that has gone,
// the old verdict goes too.
func TestVerdictIsMadeAnew(t *testing.T) {
	t.Parallel()
	d := daemontest.New("a")
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	base, _ := judged(t, r, api.StartParams{})
	d.Scene = slow
	id, _ := judged(t, r, api.StartParams{Baseline: base})
	again := func() *store.Verdict {
		t.Helper()
		j, err := r.Analyze(t.Context(), "ci", api.AnalyzeParams{Run: id, NoVideo: true})
		if err != nil {
			t.Fatal(err)
		}
		if j = r.Ended(j.ID); j.State != "ok" {
			t.Fatalf("%+v", j)
		}
		_, v, err := r.Store.Judged(id)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	_, before, err := r.Store.Judged(id)
	if err != nil || before == nil {
		t.Fatal(before, err)
	}
	if v := again(); v == nil || v.Verdict != before.Verdict || v.JudgedWallNS <= before.JudgedWallNS ||
		v.Base != base {
		t.Errorf("%+v, before %+v", v, before)
	}
	if err := r.Store.Delete(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	if v := again(); v != nil {
		t.Errorf("without its baseline: %+v", v)
	}
	if run, err := r.Store.Get(t.Context(), id); err != nil || run.Verdict != "" {
		t.Errorf("%+v, %v", run, err)
	}
}

// A verdict is withheld if the runs were not measured as their baseline was, unless the job asks
// for it. A run that is measured anew keeps to that.
func TestVerdictOfUnlike(t *testing.T) {
	t.Parallel()
	d := daemontest.New("a")
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	base, _ := judged(t, r, api.StartParams{})
	dir, err := r.Store.Path(base)
	if err != nil {
		t.Fatal(err)
	}
	for file, change := range map[string]func(map[string]any){
		session.RecordFile: func(m map[string]any) { m["machine"] = map[string]any{"processors": 4096} },
		result.FileName: func(m map[string]any) {
			m["environment"].(map[string]any)[result.EnvMachineShared] = "yes"
		},
	} {
		content := map[string]any{}
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil {
			err = json.Unmarshal(raw, &content)
		}
		if err == nil {
			change(content)
			raw, err = json.Marshal(content)
		}
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, file), raw, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, judge := range []bool{false, true} {
		id, runs := judged(t, r, api.StartParams{Baseline: base, JudgeUnlike: judge})
		for _, again := range []bool{false, true} {
			if again {
				j, err := r.Analyze(t.Context(), "ci", api.AnalyzeParams{Run: id, NoVideo: true})
				if err != nil {
					t.Fatal(err)
				}
				r.Ended(j.ID)
			}
			_, v, err := r.Store.Judged(id)
			if err != nil || v == nil {
				t.Fatalf("%+v, %v", v, err)
			}
			if withheld := strings.Contains(v.Sentence, "not measured alike"); withheld == judge ||
				v.JudgeUnlike != judge || withheld && v.Verdict != stats.Inconclusive || runs[0].Base != base {
				t.Errorf("judge unlike %t, measured anew %t: %+v", judge, again, v)
			}
		}
	}
}

// A baseline that there is not is refused when the job is sent.
func TestBaselineIsRefused(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, nil)
	for name, want := range map[string]api.Code{"none": api.NotFound, "../x": api.InvalidParams,
		strings.Repeat("x", 500): api.InvalidParams} {
		if _, err := r.Daemon.Start(t.Context(), "ci", api.StartParams{Test: "scene", Devices: []string{"a"},
			Baseline: name}); code(err) != want {
			t.Errorf("%.20s: %v, want %d", name, err, want)
		}
	}
}
