package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// yielding starts a rig whose set of two blocks on device a yields after its first one. The run of
// the person's job waits until free is called.
func yielding(t *testing.T, dir string) (r *daemontest.Rig, set, person api.Job, free func()) {
	t.Helper()
	d := daemontest.New("a")
	first, second := d.Hold(), make(chan func(), 1)
	var begun atomic.Int32
	r = daemontest.Start(t, dir, daemontest.Devices{d}, func(o *daemon.Options) {
		o.Point = func(name string) {
			if name == "begun" {
				if begun.Add(1) == 2 {
					second <- d.Hold()
				}
			}
		}
	})
	set = r.Scene("schedule nightly", api.StartParams{Devices: []string{"a"}, Class: api.ClassFill, Repeat: 2,
		Browsers: []string{"one", "two"}})
	r.State(set.ID, "running")
	person = r.Scene("ann", api.StartParams{Devices: []string{"a"}})
	if j, err := r.Job(person.ID); err != nil || !strings.HasSuffix(j.Reason, set.ID+
		", which yields after the present block of its set") {
		t.Errorf("%q, %v", j.Reason, err)
	}
	first()
	free = <-second
	r.Until("the set to yield", func() bool {
		set, _ = r.Job(set.ID)
		return set.Reason == "waits: yields to "+person.ID || set.EndedWallNS != 0
	})
	if set.EndedWallNS != 0 && daemontest.Stalled(set.Reason) {
		t.Log(set.Reason)
		free()
		r.Stop()
		return yielding(t, dir)
	}
	if set.State != "running" || set.Position != 0 || set.Phase != nil || len(set.Runs) < 2 ||
		!r.AtWork(set.ID) || r.Devices()[0].Job != person.ID {
		t.Errorf("it yields: %+v", set)
	}
	return r, set, person, free
}

// played reports if a job made n runs, without those that were repeated. A stall of the machine may
// have ended it.
func played(j api.Job, n int) bool {
	return j.State == "ok" && len(j.Runs) >= n || daemontest.Stalled(j.Reason)
}

// TestFillYields: a job of a person runs between two blocks of a set of class fill. The set then
// goes on before others of its class, and makes each run once.
//
// Fault: A person's job comes while a rig measures older builds
func TestFillYields(t *testing.T) {
	t.Parallel()
	r, set, person, free := yielding(t, t.TempDir())
	other := r.Scene("schedule weekly", api.StartParams{Devices: []string{"a"}, Class: api.ClassFill})
	reserved, err := r.Reserve("ben", false, api.ReserveParams{Device: "a", ForNS: api.MaxReservation.Nanoseconds()})
	if err != nil {
		t.Fatal(err)
	}
	free()
	person = r.Ended(person.ID)
	r.Until("the set to wait for the reserved device", func() bool {
		set, _ = r.Job(set.ID)
		return set.Reason == "waits: device a is reserved for ben"
	})
	if _, err := r.Reserve("ben", false, api.ReserveParams{Device: "a", Key: reserved.Key, Release: true}); err != nil {
		t.Fatal(err)
	}
	other = r.Ended(other.ID)
	set, err = r.Job(set.ID)
	if err != nil || !played(set, 4) || !played(person, 1) || !played(other, 1) ||
		other.StartedWallNS < set.EndedWallNS || person.EndedWallNS > set.EndedWallNS {
		t.Errorf("%v\n%+v\n%+v\n%+v", err, set, person, other)
	}
	var kept struct {
		Runs []struct{ Block, Attempt int }
	}
	raw, err := os.ReadFile(filepath.Join(r.Dir, "runs", set.ID, "set.json"))
	if err == nil {
		err = json.Unmarshal(raw, &kept)
	}
	var blocks []int
	for _, run := range kept.Runs {
		if run.Attempt == 1 {
			blocks = append(blocks, run.Block)
		}
	}
	if err != nil || !slices.Equal(blocks, []int{1, 1, 2, 2}) && set.State == "ok" {
		t.Errorf("%+v, %v", kept, err)
	}
}

// TestFillYieldsIsCancelled: a set that yields is cancelled at once. The job beside it goes on.
func TestFillYieldsIsCancelled(t *testing.T) {
	t.Parallel()
	r, set, person, free := yielding(t, t.TempDir())
	if _, err := r.Cancel(set.ID, everybody); err != nil {
		t.Fatal(err)
	}
	if set = r.Ended(set.ID); set.State != "cancelled" || len(set.Runs) < 2 {
		t.Errorf("%+v", set)
	}
	if u := r.Devices()[0]; u.Job != person.ID || u.State != "running" {
		t.Errorf("%+v", u)
	}
	free()
	if person = r.Ended(person.ID); !played(person, 1) {
		t.Errorf("%+v", person)
	}
	if j := r.Ended(r.Scene("ann", api.StartParams{Devices: []string{"a"}}).ID); !played(j, 1) {
		t.Errorf("the device is not free: %+v", j)
	}
}

// TestFillYieldsOverRestart: a set that yields is kept as a running one. A stop or a kill
// interrupts it, and its runs stay.
func TestFillYieldsOverRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, set, _, free := yielding(t, dir)
	var kept struct{ Working []struct{ Job string } }
	raw, err := os.ReadFile(filepath.Join(dir, "jobs.json"))
	if err == nil {
		err = json.Unmarshal(raw, &kept)
	}
	if err != nil || len(kept.Working) != 2 || kept.Working[0].Job != set.ID {
		t.Errorf("%+v, %v", kept, err)
	}
	r.Stop()
	free()
	r = daemontest.Start(t, dir, daemontest.Devices{daemontest.New("a")}, nil)
	if set = r.Ended(set.ID); set.State != "interrupted" || len(set.Runs) < 2 {
		t.Errorf("%+v", set)
	}
	if _, err := r.Store.Get(t.Context(), set.Runs[0].Run); err != nil {
		t.Error(err)
	}
}

// TestFillYieldsToFetch: a set yields to a job that fetches a build while nothing is measured.
func TestFillYieldsToFetch(t *testing.T) {
	t.Parallel()
	devices, builds := virtual("a"), &shelf{newest: 1, ready: map[string]bool{}}
	first := devices[0].Hold()
	r := daemontest.Start(t, t.TempDir(), devices, withBuilds(builds))
	of := api.StartParams{Devices: []string{"a"}, Browsers: []string{"firefox"}, Class: api.ClassFill, Repeat: 2}
	set := r.Scene("schedule nightly", of)
	r.State(set.ID, "running")
	person := r.Scene("ann", api.StartParams{Devices: []string{"a"}, Browsers: []string{"firefox@f"}})
	first()
	set, person = r.Ended(set.ID), r.Ended(person.ID)
	if !played(set, 2) || !played(person, 1) || person.EndedWallNS > set.EndedWallNS && set.State == "ok" {
		t.Errorf("%+v\n%+v", set, person)
	}
}

// TestFillRests: a set waits after its present block while the rig sends results, and then goes on.
func TestFillRests(t *testing.T) {
	t.Parallel()
	rests(t)
}

func rests(t *testing.T) {
	t.Helper()
	d := daemontest.New("a")
	first := d.Hold()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	set := r.Scene("schedule nightly", api.StartParams{Devices: []string{"a"}, Class: api.ClassFill, Repeat: 2})
	r.State(set.ID, "running")
	r.Rest(true)
	first()
	r.Until("the set to rest", func() bool {
		set, _ = r.Job(set.ID)
		return set.Reason == "waits: the rig sends results to its hub" || set.EndedWallNS != 0
	})
	if set.EndedWallNS != 0 && daemontest.Stalled(set.Reason) {
		t.Log(set.Reason)
		r.Stop()
		rests(t)
		return
	}
	if u := r.Devices()[0]; u.State != "free" || len(set.Runs) < 1 {
		t.Errorf("%+v, %+v", u, set)
	}
	r.Rest(false)
	if set = r.Ended(set.ID); !played(set, 2) {
		t.Errorf("%+v", set)
	}
}

// TestFillKeepsWorking: a set does not yield to a job that cannot begin then.
func TestFillKeepsWorking(t *testing.T) {
	t.Parallel()
	a, b := daemontest.New("a"), daemontest.New("b")
	free := b.Hold()
	defer free()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{a, b}, nil)
	r.State(r.Scene("ann", api.StartParams{Devices: []string{"b"}}).ID, "running")
	set := r.Scene("schedule nightly", api.StartParams{Devices: []string{"a"}, Class: api.ClassFill, Repeat: 2})
	both := r.Scene("ann", api.StartParams{Devices: []string{"a", "b"}})
	if set = r.Ended(set.ID); !played(set, 2) {
		t.Errorf("%+v", set)
	}
	if j, err := r.Job(both.ID); err != nil || j.State != "queued" {
		t.Errorf("%+v, %v", j, err)
	}
}

// TestFillsYieldTogether: a set waits after its block for the block of another one, if a job needs
// the devices of both.
// It fails if the job waits until one of the sets ends.
func TestFillsYieldTogether(t *testing.T) {
	t.Parallel()
	a, b := daemontest.New("a"), daemontest.New("b")
	freeA, freeB := a.Hold(), b.Hold()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{a, b}, nil)
	var sets []api.Job
	for _, device := range []string{"a", "b"} {
		sets = append(sets, r.Scene("schedule nightly",
			api.StartParams{Devices: []string{device}, Class: api.ClassFill, Repeat: 2}))
		r.State(sets[len(sets)-1].ID, "running")
	}
	both := r.Scene("ann", api.StartParams{Devices: []string{"a", "b"}})
	freeA()
	r.Until("the first set to yield", func() bool {
		j, _ := r.Job(sets[0].ID)
		return j.Reason == "waits: yields to "+both.ID || j.EndedWallNS != 0
	})
	freeB()
	both = r.Ended(both.ID)
	for _, j := range sets {
		if j = r.Ended(j.ID); !played(j, 2) || !played(both, 1) ||
			j.EndedWallNS < both.EndedWallNS && j.State == "ok" {
			t.Errorf("%+v\n%+v", j, both)
		}
	}
}

// TestFillRestsAlone: a set that rests goes on beside a job that begins. Nothing is sent then.
func TestFillRestsAlone(t *testing.T) {
	t.Parallel()
	a, b := daemontest.New("a"), daemontest.New("b")
	first, free := a.Hold(), b.Hold()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{a, b}, nil)
	set := r.Scene("schedule nightly", api.StartParams{Devices: []string{"a"}, Class: api.ClassFill, Repeat: 2})
	r.State(set.ID, "running")
	r.Rest(true)
	first()
	r.Until("the set to rest", func() bool {
		j, _ := r.Job(set.ID)
		return strings.HasPrefix(j.Reason, "waits: ") || j.EndedWallNS != 0
	})
	person := r.Scene("ann", api.StartParams{Devices: []string{"b"}})
	if set = r.Ended(set.ID); !played(set, 2) {
		t.Errorf("%+v", set)
	}
	free()
	if person = r.Ended(person.ID); !played(person, 1) || person.EndedWallNS < set.EndedWallNS {
		t.Errorf("%+v", person)
	}
}
