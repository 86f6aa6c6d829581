package daemontest

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/store"
)

// Patience is for how long tests wait for what must come, on a busy machine too.
const Patience = 5 * time.Minute

// Rig is a daemon at work, and what it has.
type Rig struct {
	*daemon.Daemon
	Dir   string
	Store *store.Store

	t    testing.TB
	stop context.CancelFunc
	over chan error
}

// StoreOptions are those of the tests' stores. A store has its own locks of devices, so that rigs
// with devices of the same names work at once.
func StoreOptions(dir string) store.Options {
	return store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler),
		Locks: session.Locks(filepath.Join(dir, "locks"))}
}

// Options are those of the tests' daemons.
func Options(dir string, s *store.Store, devices Devices) daemon.Options {
	return daemon.Options{Dir: dir, Store: s, Devices: devices, Suite: testSuite(),
		Known: session.Known(), Program: "test",
		RetainEvery: time.Hour}
}

// Start begins a rig in a folder, with options that change may change. It ends with the test, or by
// Stop.
func Start(t testing.TB, dir string, devices Devices, change func(*daemon.Options)) *Rig {
	t.Helper()
	s, err := store.Open(context.Background(), StoreOptions(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recover(context.Background()); err != nil {
		t.Error(err)
	}
	o := Options(dir, s, devices)
	if change != nil {
		change(&o)
	}
	d, err := daemon.New(o)
	if err != nil {
		t.Fatal(errors.Join(err, s.Close()))
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Rig{Daemon: d, Dir: dir, Store: s, t: t, stop: stop, over: make(chan error, 1)}
	go func() { r.over <- d.Run(ctx) }()
	t.Cleanup(r.Stop)
	r.Until("the daemon to be ready", func() bool { return d.Health() == nil })
	return r
}

// Stop ends the rig as Ctrl-C does. It is idempotent.
func (r *Rig) Stop() {
	r.t.Helper()
	r.stop()
	if r.over == nil {
		return
	}
	select {
	case err := <-r.over:
		if err != nil {
			r.t.Error(err)
		}
	case <-time.After(Patience):
		r.t.Fatal("the daemon did not end")
	}
	r.over = nil
	if err := r.Store.Close(); err != nil {
		r.t.Error(err)
	}
}

// Until waits for a condition that events come with, and fails the test if it does not come.
func (r *Rig) Until(what string, is func() bool) {
	r.t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-deadline.C:
			r.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Scene queues the test that plays a scene.
func (r *Rig) Scene(owner string, p api.StartParams) api.Job {
	r.t.Helper()
	if p.Test == "" {
		p.Test = "scene"
	}
	p.NoVideo = true
	if p.MaxLost == nil {
		all := 1.0
		p.MaxLost = &all
	}
	j, err := r.Start(context.Background(), owner, p)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// Ended waits for the end of a job.
func (r *Rig) Ended(id string) (j api.Job) {
	r.t.Helper()
	r.Until("the end of job "+id, func() bool {
		var err error
		if j, err = r.Job(id); err != nil {
			r.t.Fatal(err)
		}
		return j.EndedWallNS != 0
	})
	return j
}

// Stalled reports whether a machine stalled while the markers of a scene were shown in real time.
func Stalled(text string) bool {
	return strings.Contains(text, "source ended") || strings.Contains(text, "the recording ends")
}

// Played returns an ended job of scenes. A job that a stall ended is made again, at most twice.
func (r *Rig) Played(p api.StartParams) (job api.Job) {
	r.t.Helper()
	for range 3 {
		if job = r.Ended(r.Scene("ci", p).ID); !Stalled(job.Reason) {
			break
		}
		r.t.Log(job.Reason)
	}
	return job
}

// State waits until a job is in a state.
func (r *Rig) State(id, state string) (j api.Job) {
	r.t.Helper()
	r.Until("job "+id+" to be "+state, func() bool {
		var err error
		if j, err = r.Job(id); err != nil {
			r.t.Fatal(err)
		}
		return j.State == state
	})
	return j
}
