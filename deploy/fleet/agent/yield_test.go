package agent_test

import (
	"slices"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// TestResultBesideFill: a set of class fill yields to another attempt, and then rests until the
// result of that is sent.
//
// Fault: The result of a person's job waits while a rig measures older builds
func TestResultBesideFill(t *testing.T) {
	t.Parallel()
	dir, h, device := t.TempDir(), newHub(t), daemontest.New("a")
	first := device.Hold()
	r := daemontest.Start(t, dir, daemontest.Devices{device}, nil)
	o := options(dir, r.Store, r.Queue(), r.Devices)
	o.Rest = r.Rest
	start(t, o)
	if err := agent.Write(dir, h.fleet, []byte("seed"), "jwt"); err != nil {
		t.Fatal(err)
	}
	fill := assignment("s-fill.1")
	fill.Class, fill.Params.Repeat = api.ClassFill, 12
	h.desire(fill)
	is := func(state string) func() bool {
		return func() bool {
			return slices.ContainsFunc(h.poll.Running, func(m wire.Running) bool { return m.State == state })
		}
	}
	h.until(t, r, "the set to run", is("running"))
	if !h.now().poll.Yields {
		t.Error("the rig does not tell that its sets yield")
	}
	h.desire(fill, assignment("s-now.1"))
	h.until(t, r, "the other attempt to wait", is("queued"))
	first()
	h.until(t, r, "the result", func() bool { return h.results["s-now.1"].State != "" })
	if j, err := r.Job("s-now.1"); err != nil || j.State != "ok" && !daemontest.Stalled(j.Reason) {
		t.Errorf("%+v, %v", j, err)
	}
	j, err := r.Job("s-fill.1")
	stalled := func() bool { return err == nil && j.EndedWallNS != 0 && daemontest.Stalled(j.Reason) }
	if !stalled() && (err != nil || j.State != "running" || j.Done < 1) {
		t.Errorf("%+v, %v", j, err)
	}
	r.Until("the set to go on", func() bool {
		j, err = r.Job("s-fill.1")
		return stalled() || err == nil && j.Reason == "" && r.Devices()[0].Job == j.ID
	})
	h.desire()
	h.until(t, r, "the end of the set", func() bool { return h.results["s-fill.1"].State != "" })
}
