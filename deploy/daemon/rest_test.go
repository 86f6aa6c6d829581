package daemon

import (
	"slices"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestRestTakesNoPlace: while sets rest, their turn does not keep another job from the device. No
// job of class fill begins.
func TestRestTakesNoPlace(t *testing.T) {
	u := &unit{}
	of := func(class string) *job {
		j := &job{Job: api.Job{Kind: kindRun}, start: &api.StartParams{Class: class}, units: []*unit{u}}
		j.place.class = class
		return j
	}
	set, fill, person := of(api.ClassFill), of(api.ClassFill), of(api.ClassNow)
	set.yields, fill.place.turn = make(chan struct{}), 1
	d := &Daemon{waiting: []*job{fill, person}, working: []*job{set}}
	d.options.Parallel = 1
	d.turns.class(api.ClassNow).next = 9 // it is the turn of class fill
	for _, c := range []struct {
		rests bool
		want  *job
	}{{false, set}, {true, person}} {
		d.rests = c.rests
		if begin, _ := choose(d.inOrder(), d.world()); !slices.Equal(begin, []*job{c.want}) || len(d.waiting) != 2 {
			t.Errorf("sets rest: %t, %d begin: %+v", c.rests, len(begin), begin)
		}
	}
	d.waiting, set.Reason = []*job{fill}, "waits: "+whyRests
	if d.positions(); fill.Reason != whyRests {
		t.Error(fill.Reason)
	}
}
