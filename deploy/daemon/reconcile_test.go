package daemon_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store"
)

// Folders that somebody puts among the runs, or takes away, are noticed when no job is at work; a
// job that begins meanwhile is not waited for.
//
// Fault: Runs are added or removed by hand
func TestReconcile(t *testing.T) {
	t.Parallel()
	d := daemontest.New("a")
	due, over := make(chan time.Time), make(chan struct{})
	var mu sync.Mutex
	var meanwhile func()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, func(o *daemon.Options) {
		o.Reconcile = due
		o.Point = func(name string) {
			switch name {
			case "reconciled":
				select {
				case over <- struct{}{}:
				case <-t.Context().Done():
				}
				return
			case "reconciling":
			default:
				return
			}
			mu.Lock()
			now := meanwhile
			meanwhile = nil
			mu.Unlock()
			if now != nil {
				now()
			}
		}
	})
	round := func() {
		t.Helper()
		late := time.After(daemontest.Patience)
		select {
		case due <- time.Time{}:
		case <-late:
			t.Fatal("nothing is reconciled")
		}
		select {
		case <-over:
		case <-late:
			t.Fatal("it comes to no end")
		}
	}
	total := func() int {
		t.Helper()
		page, err := r.Store.List(t.Context(), store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return page.Total
	}
	const line = "folders of runs were changed by hand"
	id, runs := r.Ended(r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID).ID, filepath.Join(r.Dir, "runs")
	copies := func(name string) {
		t.Helper()
		if err := os.CopyFS(filepath.Join(runs, name), os.DirFS(filepath.Join(runs, id))); err != nil {
			t.Fatal(err)
		}
	}
	round()
	if total() != 1 || logged(t, r, line) != 0 {
		t.Errorf("nobody has changed a thing, and there are %d runs", total())
	}
	copies("one")
	copies("two")
	round()
	if total() != 3 || logged(t, r, line) != 1 {
		t.Errorf("two folders came, and there are %d runs", total())
	}
	if err := os.RemoveAll(filepath.Join(runs, "one")); err != nil {
		t.Fatal(err)
	}
	round()
	if total() != 2 || logged(t, r, line) != 2 {
		t.Errorf("one folder has gone, and there are %d runs", total())
	}
	free := d.Hold()
	at := r.State(r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID, "running")
	pin := filepath.Join(runs, "two", "pinned") // only this check sees the content of a folder
	if err := os.WriteFile(pin, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	round()
	if logged(t, r, line) != 2 {
		t.Error("it was looked for folders while a job was at work")
	}
	free()
	r.Ended(at.ID)
	var began api.Job
	mu.Lock()
	meanwhile = func() { began = r.Scene("ci", api.StartParams{Devices: []string{"a"}}) }
	mu.Unlock()
	round()
	if logged(t, r, line) != 2 {
		t.Error("it went on though a job had begun")
	}
	r.Ended(began.ID)
	round()
	if total() != 4 || logged(t, r, line) != 3 {
		t.Errorf("in the end there are %d runs", total())
	}
	changes := 0
	for _, e := range events(t, r.Daemon) {
		if e.Store != nil && e.Store.Why == "by hand" && e.Store.What == "changed" {
			changes++
		}
	}
	if changes != 3 {
		t.Errorf("clients were told %d times", changes)
	}
}
