package hub

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

func TestLifeCycle(t *testing.T) {
	t.Parallel()
	ok := wire.Ended{State: "ok", Verdict: "passed"}
	lab := wire.Ended{State: "failed", Fault: "lab", Reason: "no signal"}
	product := wire.Ended{State: "failed", Fault: "product", Reason: "the browser crashed"}
	anywhere := api.JobParams{Replace: true}
	for name, c := range map[string]struct {
		params api.JobParams
		do     func(w *world, a, b *simRig)
		want   string
	}{
		"ends ok": {do: func(w *world, a, _ *simRig) {
			w.expect("s-1", "assigned a:assigned")
			a.poll().poll()
			w.expect("s-1", "running a:running")
			a.end("s-1.1", ok).poll()
			if len(a.has) != 0 || w.job("s-1").Winner != 1 || w.job("s-1").Verdict != "passed" {
				t.Errorf("%v %+v", a.has, w.job("s-1"))
			}
		}, want: "ok a:ok"},
		"is submitted again": {do: func(w *world, a, _ *simRig) {
			a.poll().end("s-1.1", ok).poll()
			if j := w.submit("s-1", api.JobParams{}); j.State != "ok" {
				t.Errorf("%+v", j)
			}
		}, want: "ok a:ok"},
		"repeated, old polls": {do: func(w *world, a, _ *simRig) {
			a.poll().poll()
			old := a.last
			a.end("s-1.1", ok).poll()
			for _, raw := range [][]byte{old, a.last, old, a.last} {
				w.hub.handle(w.Context(), "a", "poll", raw)
			}
		}, want: "ok a:ok"},
		"product fault": {do: func(w *world, a, _ *simRig) { a.poll().end("s-1.1", product).poll() },
			want: "failed a:failed"},
		"lab fault": {do: func(w *world, a, _ *simRig) { a.poll().end("s-1.1", lab).poll() },
			want: "assigned a:failed a:assigned"},
		"lab fault, replaced": {params: anywhere,
			do:   func(_ *world, a, _ *simRig) { a.poll().end("s-1.1", lab).poll() },
			want: "assigned a:failed b:assigned"},
		"lab faults": {do: func(w *world, a, _ *simRig) {
			for _, id := range []string{"s-1.1", "s-1.2", "s-1.3"} {
				a.poll().end(id, lab).poll()
			}
		}, want: "failed a:failed a:failed a:failed"},
		"interrupted": {do: func(w *world, a, _ *simRig) {
			a.poll().end("s-1.1", wire.Ended{State: "interrupted"}).poll()
			a.poll().end("s-1.2", ok).poll()
		}, want: "ok a:interrupted a:ok"},
		"refused": {do: func(w *world, a, b *simRig) {
			a.poll().end("s-1.1", wire.Ended{State: "refused", Reason: "kind"}).poll()
			w.expect("s-1", "assigned a:refused b:assigned")
			b.poll().end("s-1.2", wire.Ended{State: "refused", Reason: "kind"}).poll()
		}, want: "failed a:refused b:refused"},
		"cancelled at work": {do: func(w *world, a, _ *simRig) {
			a.poll().poll()
			w.cancel("s-1")
			w.expect("s-1", "running a:running")
			a.poll().poll()
		}, want: "cancelled a:cancelled"},
		"cancelled before the rig knows": {do: func(w *world, a, _ *simRig) { w.cancel("s-1") },
			want: "cancelled a:cancelled"},
		"cancelled, rig is lost": {do: func(w *world, a, _ *simRig) {
			a.poll()
			w.cancel("s-1")
			w.pass(4*time.Minute, "b")
		}, want: "cancelled a:lost"},
		"ended before the cancel": {do: func(w *world, a, _ *simRig) {
			a.poll().end("s-1.1", ok)
			w.cancel("s-1")
			a.poll()
		}, want: "ok a:ok"},
		"rig dies, replaced": {params: anywhere, do: func(w *world, a, b *simRig) {
			a.poll()
			w.pass(2*time.Minute, "b")
			w.expect("s-1", "assigned a:assigned")
			w.pass(2*time.Minute, "b")
			w.expect("s-1", "running a:lost b:running")
			b.end("s-1.2", ok).poll()
			a.end("s-1.1", ok).poll() // late
			if len(a.has) != 0 || !w.job("s-1").Attempts[0].Superseded {
				t.Errorf("%v %+v", a.has, w.job("s-1"))
			}
		}, want: "ok a:lost b:ok"},
		"late ok wins": {params: anywhere, do: func(w *world, a, b *simRig) {
			a.poll()
			w.pass(4*time.Minute, "b")
			a.end("s-1.1", ok).poll()
			if b.poll(); b.has["s-1.2"].ended == nil {
				t.Error("the other attempt goes on")
			}
			b.poll()
		}, want: "ok a:ok b:cancelled"},
		"rig dies, waits for its device": {do: func(w *world, a, b *simRig) {
			a.poll()
			w.pass(4*time.Minute, "b")
			w.expect("s-1", "queued a:lost")
			a.has, a.boot = map[string]*simAttempt{}, "again" // with an empty disk
			a.poll()
		}, want: "assigned a:lost a:assigned"},
		"rig comes back at work": {do: func(w *world, a, b *simRig) {
			a.poll()
			w.pass(4*time.Minute, "b")
			w.expect("s-1", "queued a:lost")
			a.poll()
			if a.has["s-1.1"].ended != nil {
				t.Error("it was cancelled")
			}
		}, want: "running a:running"},
		"rig forgets it": {do: func(w *world, a, _ *simRig) {
			a.poll()
			delete(a.has, "s-1.1")
			a.done["s-1.1"] = true
			w.pass(3*time.Minute, "a")
			w.expect("s-1", "running a:lost a:running")
		}, want: "running a:lost a:running"},
		"rig drains": {do: func(w *world, a, b *simRig) {
			p := api.FleetDrain{Rig: "b", Drain: true, Reason: "upgrade"}
			if r, err := w.hub.Drain(w.Context(), p); err != nil || r.State != "drained" {
				t.Errorf("%+v, %v", r, err)
			}
			w.submit("s-2", api.JobParams{})
			w.expect("s-2", "queued")
			if _, err := w.hub.Drain(w.Context(), api.FleetDrain{Rig: "b"}); err != nil {
				t.Error(err)
			}
			w.expect("s-2", "assigned b:assigned")
		}, want: "assigned a:assigned"},
		"rig is removed": {params: anywhere, do: func(w *world, a, _ *simRig) {
			a.poll()
			if err := w.hub.Remove(w.Context(), "a"); err != nil {
				t.Error(err)
			}
			if a.poll(); a.answer.Error == "" {
				t.Error("a removed rig is answered")
			}
		}, want: "assigned a:lost b:assigned"},
		"hub restarts": {do: func(w *world, a, b *simRig) {
			a.poll().poll()
			w.restart()
			if s := w.hub.Status(); s.Away != 0 || s.Rigs != 2 || s.Running != 1 {
				t.Errorf("%+v", s)
			}
			w.expect("s-1", "running a:running")
			w.pass(40*time.Second, "b")
			if s := w.hub.Status(); s.Away != 1 {
				t.Errorf("%+v", s)
			}
			a.end("s-1.1", ok).poll()
		}, want: "ok a:ok"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a", "b")
			w.submit("s-1", c.params)
			c.do(w, w.rigs["a"], w.rigs["b"])
			w.expect("s-1", c.want)
			before := w.job("s-1")
			w.restart() // the storage has the same
			if after := w.job("s-1"); after.State != before.State || len(after.Attempts) != len(before.Attempts) ||
				after.Winner != before.Winner {
				t.Errorf("after a restart: %+v, before: %+v", after, before)
			}
		})
	}
}

// TestSuperseded: an answer names attempts that others have won. It does so once, also if the rig
// was away or the hub has restarted.
func TestSuperseded(t *testing.T) {
	w := newWorld(t)
	a := w.join("a")
	w.submit("s-1", api.JobParams{StartParams: api.StartParams{}, Replace: true})
	b := w.join("b")
	a.poll()
	w.pass(4*time.Minute, "b")
	b.end("s-1.2", wire.Ended{State: "ok"}).poll()
	told := func(r *simRig, want ...string) {
		t.Helper()
		if r.poll(); !slices.Equal(r.answer.Superseded, want) {
			t.Errorf("%s is told of %q, want %q", r.name, r.answer.Superseded, want)
		}
	}
	a.end("s-1.1", wire.Ended{State: "ok"})
	told(a, "s-1.1")
	told(a)
	told(b)
	w.restart()
	told(a, "s-1.1")
	told(a)
	told(b)
}

func (w *world) cancel(id string) {
	w.Helper()
	if _, err := w.hub.Cancel(w.Context(), id, "no longer needed", func(string) bool { return true }); err != nil {
		w.Fatal(err)
	}
}

// TestRemovedDevice: jobs that may run on one device alone end with its rig.
func TestRemovedDevice(t *testing.T) {
	w := newWorld(t)
	w.join("a", "p")
	b := w.join("b", "p")
	for _, id := range []string{"s-1", "s-2"} {
		w.submit(id, api.JobParams{StartParams: api.StartParams{Devices: []string{"a/p"}, Keep: "bisect-1"}})
	}
	w.submit("s-3", api.JobParams{})
	w.expect("s-1", "assigned a:assigned")
	if err := w.hub.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	b.poll()
	for id, why := range map[string]string{"s-1": "is away; job s-1: device a/p is not enrolled",
		"s-2": "no device has rig=a"} {
		if j := w.job(id); j.State != failed || !strings.Contains(j.Reason, why) {
			t.Errorf("%+v", j)
		}
	}
	w.expect("s-3", "assigned b:assigned")
}

// TestKeep: jobs of a bisection keep the device of the first, also after a restart of the hub. A
// device that is away is waited for, with a reason.
func TestKeep(t *testing.T) {
	w := newWorld(t)
	a := w.join("a", "p", "q")
	submit := func(id, keep string) {
		w.submit(id, api.JobParams{StartParams: api.StartParams{Class: "check", Keep: keep}})
	}
	on := func(id, want string) {
		t.Helper()
		if all := w.job(id).Attempts; len(all) != 1 || all[0].Rig+"/"+all[0].Devices[0] != want {
			t.Fatalf("%s: %+v (%s), want %s", id, all, w.job(id).Reason, want)
		}
	}
	submit("s-1", "bisect-1")
	on("s-1", "a/p")
	a.poll().end("s-1.1", wire.Ended{State: "ok"}).poll()
	submit("s-2", "bisect-1")
	on("s-2", "a/p")
	submit("s-3", "")
	on("s-3", "a/q")
	a.poll()
	w.restart()
	w.pass(time.Minute, "a")
	a.end("s-2.1", wire.Ended{State: "ok"}).poll()
	submit("s-4", "")
	w.pass(9*time.Minute, "a")
	w.expect("s-4", "queued") // p is kept
	w.restart()               // between two jobs of the bisection
	a.poll()
	w.expect("s-4", "queued")
	submit("s-5", "bisect-1")
	on("s-5", "a/p")
	a.poll().end("s-5.1", wire.Ended{State: "ok"}).poll()
	w.expect("s-4", "queued")
	w.hub.Queue().Release("bisect-1")
	on("s-4", "a/p")
	w.pass(time.Minute)
	submit("s-6", "bisect-1")
	if j := w.job("s-6"); j.State != queued || j.Reason != "all 2 fitting devices are away" {
		t.Errorf("%+v", j)
	}
}

// TestOnline: a rig is online from its first poll of this hub. A hub that has just begun shows it
// as ready with its stored devices.
func TestOnline(t *testing.T) {
	w := newWorld(t, "a")
	check := func(online bool, state string) {
		t.Helper()
		rigs, err := w.hub.Rigs()
		if err != nil || rigs.Rigs[0].State != state || w.hub.Online("a") != online || w.hub.Online("b") {
			t.Fatalf("online %t, want %t; %+v, %v", w.hub.Online("a"), online, rigs, err)
		}
	}
	check(true, "ready")
	w.restart()
	check(false, "ready")
	w.pass(10*time.Second, "a")
	check(true, "ready")
	w.pass(time.Minute)
	check(false, "away")
}
