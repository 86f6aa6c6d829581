package daemon_test

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// TestYield: jobs of higher classes run between two runs of a set of class fill. Others wait for
// its end.
func TestYield(t *testing.T) {
	t.Parallel()
	a, b := daemontest.New("a"), daemontest.New("b")
	free := a.Hold()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{a, b}, nil)
	start := func(owner, class string, repeat int, devices ...string) api.Job {
		return r.Scene(owner, api.StartParams{Devices: devices, Class: class, Repeat: repeat})
	}
	set := start("x", api.ClassFill, 2, "a", "b")
	r.State(set.ID, "running")
	fill, check, now := start("y", api.ClassFill, 1, "a"), start("y", api.ClassCheck, 1, "b"), start("z", "", 1, "a")
	free()
	set = r.Ended(set.ID)
	if set.State != "ok" || len(set.Runs) != 4 || set.Reason != "" {
		t.Errorf("%+v", set)
	}
	for _, j := range []api.Job{check, now} {
		if j = r.Ended(j.ID); j.State != "ok" || j.StartedWallNS < set.StartedWallNS ||
			j.EndedWallNS > set.EndedWallNS {
			t.Errorf("not between two runs of a set: %+v", j)
		}
	}
	if fill = r.Ended(fill.ID); fill.State != "ok" || fill.StartedWallNS < set.EndedWallNS {
		t.Errorf("before the end of a set of its class: %+v", fill)
	}
}

// TestYieldCancelled: a set that is cancelled while its device is lent leaves it to the other job.
func TestYieldCancelled(t *testing.T) {
	t.Parallel()
	a := daemontest.New("a")
	free := a.Hold()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{a}, nil)
	set := r.Scene("x", api.StartParams{Devices: []string{"a"}, Class: api.ClassFill, Repeat: 3,
		Browsers: []string{"one"}})
	r.Until("the first run to begin", func() bool { return a.Wanted().Browser != "" })
	other := r.Scene("y", api.StartParams{Devices: []string{"a"}})
	free()
	free = a.Hold()
	r.State(other.ID, "running")
	if j, err := r.Job(set.ID); err != nil || j.State != "running" || !strings.Contains(j.Reason, "lent") {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err := r.Cancel(set.ID, everybody); err != nil {
		t.Fatal(err)
	}
	if j := r.Ended(set.ID); j.State != "cancelled" || len(j.Runs) != 1 {
		t.Errorf("%+v", j)
	}
	if d := r.Devices()[0]; d.Job != other.ID {
		t.Errorf("%+v", d)
	}
	free()
	if j := r.Ended(other.ID); j.State != "ok" || r.Devices()[0].State != "free" {
		t.Errorf("%+v, %+v", j, r.Devices()[0])
	}
}
