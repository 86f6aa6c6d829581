package session

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// planRun returns a run of a set whose plans are in a folder, after it has read its plan.
func planRun(t *testing.T, dir string, s suite.Scripts, meta bool) *run {
	t.Helper()
	r := &run{Options: Options{Test: &suite.Test{Script: s}, Plan: filepath.Join(dir, plan.File), Meta: meta, Seed: 5},
		journal: &journal{log: slog.New(slog.NewTextHandler(io.Discard, nil))}}
	if err := r.readPlan(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *run) ends(t *testing.T) {
	t.Helper()
	if err := r.updatePlan(scripts.New(&scripts.Info{Policies: r.Test.Script.Policies}, nil), true); err != nil {
		t.Fatal(err)
	}
}

// TestPlanOfRuns: the runs of a set continue one plan. Another selection begins anew, and so does a
// damaged file.
func TestPlanOfRuns(t *testing.T) {
	calls := suite.Scripts{Policies: []string{"calls"}}
	if r := planRun(t, t.TempDir(), calls, false); r.plan != nil || r.plan.results() != nil {
		t.Errorf("a single run without a selection has the plan %+v", r.plan)
	}
	dir := filepath.Join(t.TempDir(), "set")
	live := calls
	live.Adapt = suite.AdaptLive
	for n := range 3 {
		r := planRun(t, dir, live, false)
		if r.plan.plan.Count != n || r.plan.plan.Seed != 5 {
			t.Errorf("run %d has load %d, seed %d", n, r.plan.plan.Count, r.plan.plan.Seed)
		}
		var o instrument.Options
		if r.plan.choose(&o); o.Gate == nil || !o.Live || o.Active != nil {
			t.Errorf("run %d: %+v", n, o)
		}
		r.ends(t)
		if got := r.plan.results(); got.Loads != n+1 || got.Adapt != "live" {
			t.Errorf("results %+v", got)
		}
	}
	failed := planRun(t, dir, live, false)
	if err := failed.updatePlan(scripts.New(&scripts.Info{}, nil), false); err != nil {
		t.Fatal(err)
	}
	if r := planRun(t, dir, live, false); r.plan.plan.Count != 3 {
		t.Errorf("a failed run counts: %d", r.plan.plan.Count)
	}
	half := suite.Percent(50)
	other := suite.Scripts{Policies: calls.Policies, Share: &half, Seed: 9}
	if r := planRun(t, dir, other, false); r.plan.plan.Count != 0 || r.plan.plan.Share != 0.5 || r.plan.plan.Seed != 9 {
		t.Errorf("another selection continues %+v", r.plan.plan)
	}
	if err := os.WriteFile(filepath.Join(dir, plan.File), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := planRun(t, dir, live, false)
	noted := strings.Join(r.noted(), " ")
	if r.plan.plan.Count != 0 || !strings.Contains(noted, "plan.json was not used") {
		t.Errorf("a damaged plan: %+v, %s", r.plan.plan, noted)
	}
}

// TestShareWithoutCalls: the share is that of the other policies too, after harm of calls.
func TestShareWithoutCalls(t *testing.T) {
	share := suite.Percent(20)
	r := planRun(t, t.TempDir(), suite.Scripts{Policies: []string{"calls", "leaks"}, Share: &share}, true)
	r.plan.plan.Off = []plan.Off{{Policy: "calls"}}
	var o instrument.Options
	if r.plan.choose(&o); o.Active == nil || o.Gate != nil {
		t.Errorf("options %+v", o)
	}
}

// TestMeta: of ten runs of a set, one stays plain. After harm, the later ones lose a policy, then
// the next one.
func TestMeta(t *testing.T) {
	dir, both := t.TempDir(), suite.Scripts{Policies: []string{"calls", "loops"}}
	all, err := policy.Named("calls,loops")
	if err != nil {
		t.Fatal(err)
	}
	check := func(r *run, want ...string) {
		t.Helper()
		var names []string
		for _, p := range r.plan.policies(all) {
			names = append(names, p.Name)
		}
		var o instrument.Options
		r.plan.choose(&o)
		if r.plan.plain {
			want = []string{"errors"}
		}
		if !reflect.DeepEqual(names, want) || o.Active != nil || o.Gate != nil {
			t.Errorf("plain: %t, policies %v, want %v, options %+v", r.plan.plain, names, want, o)
		}
	}
	plain := 0
	for range 10 {
		r := planRun(t, dir, both, true)
		isPlain := r.plan.plan.Plain()
		if check(r, "errors", "calls", "loops"); r.plan.plain != isPlain {
			t.Errorf("plain: %t, want %t", r.plan.plain, isPlain)
		}
		if r.ends(t); isPlain {
			plain++
		}
		if r.plan.results().Plain != isPlain {
			t.Errorf("results %+v", r.plan.results())
		}
	}
	if plain != 1 {
		t.Errorf("%d plain runs of 10", plain)
	}
	for i, want := range []string{"calls, after 51 loads", "loops, after 92 loads"} {
		r := planRun(t, dir, both, true)
		for range 40 {
			p := r.plan.plan
			past := plan.Past{LoadMS: 200, Plain: p.Plain()}
			if past.Plain {
				past.LoadMS = 100
			}
			p.Trial.Add(past)
			p.Count++
		}
		r.ends(t)
		want := "later runs are without policy " + want + ": load time is 200 ms instead of 100 ms"
		if noted := strings.Join(r.noted(), " "); !strings.Contains(noted, want) {
			t.Errorf("notes %q, want %q", noted, want)
		}
		r = planRun(t, dir, both, true)
		if check(r, "errors", "loops"); i == 1 && !r.plan.plain || len(r.noted()) < i+1 {
			t.Errorf("plain: %t, notes %q", r.plan.plain, r.noted())
		}
		if off := r.plan.results().Off; strings.Count(off, "; ") != i {
			t.Errorf("off: %q", off)
		}
	}
}
