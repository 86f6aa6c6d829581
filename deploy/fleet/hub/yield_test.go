package hub

import (
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// TestFillYields: a person's job goes to a rig whose set of class fill yields, and the set stays
// there. A restart of the hub keeps both.
//
// Fault: A person's job comes while a fleet measures older builds
func TestFillYields(t *testing.T) {
	w := newWorld(t, "a")
	r := w.rigs["a"]
	r.yields = true
	r.poll()
	w.submit("s-fill", api.JobParams{StartParams: api.StartParams{Class: api.ClassFill}})
	r.poll()
	r.poll()
	w.expect("s-fill", "running a:running")
	w.submit("s-more", api.JobParams{StartParams: api.StartParams{Class: api.ClassFill}})
	w.submit("s-ann", api.JobParams{})
	w.expect("s-ann", "assigned a:assigned")
	w.expect("s-more", "queued")
	w.restart()
	r.poll()
	r.poll()
	w.expect("s-ann", "running a:running")
	w.expect("s-fill", "running a:running")
	if rigs, err := w.hub.Rigs(); err != nil || rigs.Rigs[0].Devices[0].Job != "s-ann" {
		t.Errorf("%+v, %v", rigs, err)
	}
	r.end("s-ann.1", wire.Ended{State: "ok"}).poll()
	w.expect("s-ann", "ok a:ok")
	w.expect("s-fill", "running a:running")
	r.end("s-fill.1", wire.Ended{State: "ok"}).poll()
	w.expect("s-fill", "ok a:ok")
	r.poll()
	r.poll()
	w.expect("s-more", "running a:running")
}
