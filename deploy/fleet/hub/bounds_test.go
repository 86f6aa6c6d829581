package hub

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// TestOwnersJobs: an owner with the most live jobs gets no further one. Others do.
//
// Fault: One owner submits jobs to a fleet without end
func TestOwnersJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.hub.owned["ann"] = maxOwned
	p := api.JobParams{StartParams: api.StartParams{Test: "t"}}
	told := (*api.Error)(nil)
	if _, err := w.hub.Submit(t.Context(), "ann", p); !errors.As(err, &told) || told.Code != api.TooMany {
		t.Errorf("error %v, want code %v", err, api.TooMany)
	}
	if _, err := w.hub.Submit(t.Context(), "ben", p); err != nil {
		t.Error(err)
	}
	w.hub.owned["ann"]--
	if _, err := w.hub.Submit(t.Context(), "ann", p); err != nil {
		t.Error(err)
	}
}

// TestRigsClock: the offset of a rig's wall clock is shown. It does not move the rig's lease.
//
// Fault: The clock of a rig of a fleet is wrong
func TestRigsClock(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-48 * time.Hour, -time.Minute, time.Minute, 48 * time.Hour} {
		w := newWorld(t, "a")
		var p wire.Poll
		if err := json.Unmarshal(w.rigs["a"].report(), &p); err != nil {
			t.Fatal(err)
		}
		p.ClockNS = w.hub.o.Now().Add(off).UnixNano()
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		w.hub.handle(t.Context(), "a", "poll", raw)
		if all, err := w.hub.Rigs(); err != nil || all.Rigs[0].ClockNS != int64(off) || all.Rigs[0].State == "away" ||
			!w.hub.Online("a") {
			t.Errorf("%v: %v %+v", off, err, all)
		}
	}
}
