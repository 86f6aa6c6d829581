package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store"
)

// scheduledID is the ID of a job that a schedule submits.
const scheduledID = "s-000007-0123456789ab"

// scheduled are the parameters of a job with one run of one variant.
func scheduled() api.StartParams {
	all := 1.0
	return api.StartParams{Test: "scene", Devices: []string{"a"}, Variants: []api.Variant{{Name: "subject"}}, Repeat: 1,
		MaxLost: &all, NoVideo: true, Class: api.ClassWatch, Origin: json.RawMessage(`{"schedule":"nightly"}`)}
}

// TestClasses: classes share the rig by their weights, and people's jobs keep their order.
func TestClasses(t *testing.T) {
	t.Parallel()
	d := daemontest.New("a")
	free := d.Hold()
	defer free()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	first := r.Scene("busy", api.StartParams{Devices: []string{"a"}})
	r.State(first.ID, "running")
	for _, tc := range []struct {
		class string
		jobs  int
	}{{api.ClassFill, 3}, {api.ClassWatch, 6}, {api.ClassCheck, 8}, {"", 18}} {
		for i := range tc.jobs {
			r.Scene([]string{"x", "y"}[i%2], api.StartParams{Devices: []string{"a"}, Class: tc.class,
				Label: tc.class + "|" + []string{"x", "y"}[i%2]})
		}
	}
	var got []string
	for _, j := range r.Jobs(false)[1:] {
		got = append(got, j.Label)
	}
	count := map[string]int{}
	for i, label := range got[:15] {
		class, owner, _ := strings.Cut(label, "|")
		if want := []string{"x", "y"}[count[class]%2]; owner != want {
			t.Errorf("job %d of class %q is of %s, want %s: owners take turns", i, class, owner, want)
		}
		count[class]++
	}
	// among 15 jobs that all wait, the shares are 8 to 4 to 2 to 1
	if count[""] < 7 || count[""] > 9 || count["check"] < 4 || count["watch"] != 2 || count["fill"] != 1 {
		t.Errorf("%v of the first 15: %q", count, got)
	}
	if _, err := r.Start(t.Context(), "x", api.StartParams{Test: "scene", Devices: []string{"a"},
		Class: "urgent"}); code(err) != api.InvalidParams {
		t.Errorf("an unknown class: %v", err)
	}
	for _, j := range r.Jobs(false)[1:] {
		if _, err := r.Cancel(j.ID, everybody); err != nil {
			t.Error(err)
		}
	}
}

// TestSubmit: a job that waits, works or has ended is not made again, also after a restart.
//
// Fault: A schedule submits a job again
func TestSubmit(t *testing.T) {
	t.Parallel()
	d, dir := daemontest.New("a"), t.TempDir()
	free := d.Hold()
	r := daemontest.Start(t, dir, daemontest.Devices{d}, nil)
	submit := func(state string) api.Job {
		t.Helper()
		j, err := r.Queue().Submit(t.Context(), scheduledID, "schedule", scheduled())
		if err != nil || j.ID != scheduledID || j.State != state {
			t.Fatalf("%+v, %v: want %s", j, err, state)
		}
		return j
	}
	blocker := r.Scene("x", api.StartParams{Devices: []string{"a"}})
	r.State(blocker.ID, "running")
	submit("queued")
	submit("queued")
	r.Stop() // the one at work is interrupted
	r = daemontest.Start(t, dir, daemontest.Devices{d}, nil)
	r.State(scheduledID, "running")
	submit("running")
	free()
	if j := r.Ended(scheduledID); j.State != "ok" || len(j.Runs) != 1 {
		t.Fatalf("%+v", j)
	}
	submit("ok")
	r.Stop()
	if err := os.Remove(filepath.Join(dir, "ended.json")); err != nil {
		t.Fatal(err)
	}
	// a set of which the plan has more runs is not a whole one
	file := filepath.Join(dir, "runs", scheduledID, "set.json")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	part := strings.Replace(string(whole), `"repeat": 1`, `"repeat": 2`, 1)
	for _, tc := range []struct{ text, state string }{{part, "interrupted"}, {"{", "failed"}} {
		if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r = daemontest.Start(t, dir, daemontest.Devices{d}, nil)
		submit(tc.state)
		r.Stop()
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	r = daemontest.Start(t, dir, daemontest.Devices{d}, nil)
	if j := submit("ok"); j.Test != "scene" || !slices.Equal(j.Devices, []string{"a"}) {
		t.Errorf("of the set's folder: %+v", j)
	}
	text, err := os.ReadFile(filepath.Join(dir, "runs", scheduledID, "origin.json"))
	if err != nil || strings.TrimSpace(string(text)) != `{"schedule":"nightly"}` {
		t.Errorf("origin %q, %v", text, err)
	}
	set, err := r.Store.GetSet(t.Context(), scheduledID)
	if err != nil || set.Runs != 1 {
		t.Errorf("%+v, %v", set, err)
	}
	if page, err := r.Store.Sets(t.Context(), store.Query{Limit: 10, Test: "scene"}); err != nil || page.Total > 2 {
		t.Errorf("%d sets, want one of each job: %v", page.Total, err)
	}
	for _, id := range []string{"", "x", "s-", "s-A", "s-a~b", "s-../x", "20261128-000000-scene-abcd"} {
		if _, err := r.Queue().Submit(t.Context(), id, "schedule", scheduled()); code(err) != api.InvalidParams {
			t.Errorf("ID %q: %v", id, err)
		}
	}
	clients := scheduled()
	clients.Origin = nil
	if _, err := r.Start(t.Context(), "x", clients); code(err) != api.InvalidParams {
		t.Errorf("a client's single variant: %v", err)
	}
}

// TestPlainRuns: several profiled runs take turns with plain ones. Runs of a schedule do not, since
// its origin names their variants.
func TestPlainRuns(t *testing.T) {
	t.Parallel()
	d := daemontest.New("a")
	d.Hold() // until the rig ends
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	for name, tc := range map[string]struct {
		p    api.StartParams
		want string // variants, plain ones, runs
	}{
		"one run":         {api.StartParams{}, "[a] [] 1"},
		"several":         {api.StartParams{Repeat: 3}, "[plain profiled] [plain] 6"},
		"profiled only":   {api.StartParams{Repeat: 3, ProfiledOnly: true}, "[a] [] 3"},
		"until a failure": {api.StartParams{Repeat: 3, UntilFail: true}, "[a] [] 0"},
		"of a schedule":   {api.StartParams{Repeat: 3, Origin: []byte("{}")}, "[a] [] 3"},
	} {
		tc.p.Devices, tc.p.Profile = []string{"a"}, "samples"
		j := r.Scene("ci", tc.p)
		if got := fmt.Sprint(j.Params.Variants, j.Params.Plain, j.Total); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	names := []string{"b", "b-plain"}
	var both []api.Variant
	for _, name := range names {
		both = append(both, api.Variant{Name: name, Test: "scene"})
	}
	_, err := r.Start(t.Context(), "ci", api.StartParams{Variants: both, Devices: []string{"a"}, Profile: "samples",
		Repeat: 2})
	if told := (*api.Error)(nil); !errors.As(err, &told) || told.Code != api.InvalidParams ||
		!strings.Contains(told.Message, "set profiled_only") {
		t.Errorf("two variants of one name: %v", err)
	}
}

// TestSubmitKilled kills a rig with a submitted job. Nobody makes it twice.
func TestSubmitKilled(t *testing.T) {
	t.Parallel()
	for point, want := range map[string]string{"queued": "ok", "recorded": "interrupted", "ending": "interrupted"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && point != "ending" {
				return
			}
			dir := t.TempDir()
			kill(t, dir, point, -1)
			r := daemontest.Start(t, dir, daemontest.Devices{daemontest.New("a")}, nil)
			if _, err := r.Queue().Submit(t.Context(), scheduledID, "schedule", scheduled()); err != nil {
				t.Fatal(err)
			}
			if j := r.Ended(scheduledID); j.State != want {
				t.Errorf("%+v, want %s", j, want)
			}
			if jobs := r.Jobs(true); len(jobs) != 1 {
				t.Errorf("%d jobs", len(jobs))
			}
		})
	}
}
