package hub

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// blindBus cannot read blobs while its error is not nil.
type blindBus struct {
	bus.Hub
	err error
}

type blindBlobs struct {
	bus.Blobs
	of *blindBus
}

func (b *blindBus) Blobs() bus.Blobs { return blindBlobs{b.Hub.Blobs(), b} }

func (b blindBlobs) Get(ctx context.Context, sum string) ([]byte, error) {
	if b.of.err != nil {
		return nil, b.of.err
	}
	return b.Blobs.Get(ctx, sum)
}

// TestUnreadableParameters: a rig keeps its attempts while the hub cannot read their parameters. An
// attempt may still need them unless it runs.
func TestUnreadableParameters(t *testing.T) {
	t.Parallel()
	slow := errors.New("the storage is slow")
	for name, c := range map[string]struct {
		state string
		err   error
		want  string // of the answer
	}{
		"runs":        {"running", slow, ""},
		"runs, lost":  {"running", bus.ErrNotFound, ""},
		"waits":       {"queued", slow, slow.Error()},
		"waits, lost": {"queued", bus.ErrNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "a")
			w.submit("s-1", api.JobParams{StartParams: api.StartParams{Network: strings.Repeat("x", maxInline)}})
			w.rigs["a"].poll().poll()
			blind := &blindBus{w.o.Bus, c.err}
			w.o.Bus = blind
			w.restart()
			raw, err := json.Marshal(wire.Poll{Version: wire.Version, Boot: "a-boot",
				Running: []wire.Running{{Attempt: "s-1.1", State: c.state}},
				Devices: []wire.Device{{Name: "phone", State: "running"}}})
			if err != nil {
				t.Fatal(err)
			}
			var got wire.Polled
			if err := json.Unmarshal(w.hub.handle(t.Context(), "a", "poll", raw), &got); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Error, c.want) || (got.Error == "") != (len(got.Desired) == 1) ||
				(got.Error == "") != (c.want == "") {
				t.Errorf("%+v", got)
			}
			blind.err = nil
			if w.rigs["a"].poll(); w.rigs["a"].has["s-1.1"].ended != nil {
				t.Error("it was cancelled")
			}
		})
	}
}

// TestRemoveAgain: a removal that the storage did not take can be repeated. A rig that joins under
// the name later is not drained.
func TestRemoveAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	if _, err := w.hub.Drain(t.Context(), api.FleetDrain{Rig: "a", Drain: true}); err != nil {
		t.Fatal(err)
	}
	w.memory.Fail(errors.New("the disk is full"))
	if err := w.hub.Remove(t.Context(), "a"); err == nil {
		t.Error("it was removed")
	}
	w.hub.rigs["a"].revision++ // another hub has written it
	gone, stop := context.WithCancel(t.Context())
	stop()
	if err := w.hub.Remove(gone, "a"); err != nil {
		t.Fatal(err)
	}
	if a := w.join("a"); a.answer.Error != "" || a.answer.Drain {
		t.Errorf("%+v", a.answer)
	}
}

// TestKeepingDevice: a device that keeps its last seconds takes jobs. While its rig is drained, a
// job that waits has the person's reason.
func TestKeepingDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.rigs["a"].idle = "keeping"
	w.rigs["a"].poll()
	if _, err := w.hub.Drain(t.Context(), api.FleetDrain{Rig: "a", Drain: true, Reason: "new cable"}); err != nil {
		t.Fatal(err)
	}
	w.submit("s-1", api.JobParams{})
	if got := w.job("s-1").Reason; got != "a drains: new cable" {
		t.Errorf("it waits: %s", got)
	}
	// Fault: a device that kept its last seconds got jobs while it was reserved.
	w.rigs["a"].reason = "reserved for ben"
	w.rigs["a"].poll()
	if _, err := w.hub.Drain(t.Context(), api.FleetDrain{Rig: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := w.job("s-1").Reason; !strings.Contains(got, "reserved for ben") {
		t.Errorf("it waits: %s", got)
	}
	w.rigs["a"].reason = ""
	w.rigs["a"].poll()
	w.expect("s-1", "assigned a:assigned")
}

// TestTicketOfAttempt: an attempt has one ticket, for the newest folder, without the list of runs.
func TestTicketOfAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.submit("s-1", api.JobParams{})
	a := w.rigs["a"].poll()
	for n := range 20 {
		light := &wire.LightState{Bytes: 1, SHA256: strings.Repeat(string(rune('a'+n)), 64)}
		a.end("s-1.1", wire.Ended{State: "ok", Light: light, Runs: make([]wire.LightRun, 1000)}).poll()
	}
	if len(w.hub.tickets) != 1 {
		t.Fatalf("%d tickets", len(w.hub.tickets))
	}
	for _, have := range w.hub.tickets {
		if have.ended.Runs != nil || have.ended.Set == "" || have.ID != a.answer.Light[0].ID {
			t.Errorf("%+v", have)
		}
	}
}

// TestBoundedRead: a storage that does not answer holds the hub for a bounded time.
func TestBoundedRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	waits := &waitingBus{Hub: w.o.Bus}
	w.hub.o.Bus = waits
	j := &job{record: record{Job: "s-1", SpecSum: "sum"}}
	if err := w.hub.details(t.Context(), j); err == nil || !waits.bounded {
		t.Errorf("%v, bounded: %v", err, waits.bounded)
	}
}

type blobs = bus.Blobs

// waitingBus notes whether reads of blobs are bounded in time.
type waitingBus struct {
	bus.Hub
	blobs
	bounded bool
}

func (b *waitingBus) Blobs() bus.Blobs { return b }

func (b *waitingBus) Get(ctx context.Context, _ string) ([]byte, error) {
	_, b.bounded = ctx.Deadline()
	return nil, context.DeadlineExceeded
}
