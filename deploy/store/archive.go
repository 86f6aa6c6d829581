package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/session"
)

// Archive copies sets and single runs to another folder. Each becomes ID.zip once. A copy
// appears whole or not at all. Nothing is deleted there, and a copy is never changed.
type Archive struct {
	Store *Store
	// Dir must be there. A folder below a mount point that is not mounted is not made.
	Dir string
	// Wanted returns a function that chooses sets and runs. Pinned: the set has a pinned run.
	Wanted func(ctx context.Context) (func(id string, pinned bool) bool, error)
	// Working reports if a job is going to add runs to a set.
	Working func(id string) bool
	// Quiet does work while nothing is measured.
	Quiet func(ctx context.Context, work func() error) error
	Log   *slog.Logger

	mu      sync.Mutex
	problem string
}

const (
	archiveEvery = 10 * time.Minute
	archiveRoom  = 1 << 30 // bytes that a copy leaves free
)

// Run copies until the context ends.
func (a *Archive) Run(ctx context.Context) error {
	ticker := time.NewTicker(archiveEvery)
	defer ticker.Stop()
	for {
		if err := a.step(ctx); err != nil && ctx.Err() == nil {
			a.Log.Error("runs cannot be archived; it is tried again", "folder", a.Dir, "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Problem returns why the last copies failed; "": none did.
func (a *Archive) Problem() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.problem
}

// step copies all wanted runs that are not there. The first failure ends it.
func (a *Archive) step(ctx context.Context) (err error) {
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.problem = ""; err != nil {
			a.problem = fmt.Sprintf("archive %s: %.300v", a.Dir, err)
		}
	}()
	entries, err := os.ReadDir(a.Dir)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = true
	}
	wanted, err := a.Wanted(ctx)
	if err != nil {
		return err
	}
	type folder struct {
		bytes           int64
		running, pinned bool
	}
	all, order := map[string]*folder{}, []string{}
	for q := (Query{Limit: MaxLimit}); ; {
		page, err := a.Store.List(ctx, q)
		if err != nil {
			return err
		}
		for _, r := range page.Runs {
			id, _, _ := strings.Cut(r.ID, "~")
			if all[id] == nil {
				all[id], order = &folder{}, append(order, id)
			}
			f := all[id]
			f.bytes += r.Bytes
			f.running, f.pinned = f.running || r.State == session.Running, f.pinned || r.Pinned
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	for _, id := range order {
		f := all[id]
		if there[id+".zip"] || f.running || !wanted(id, f.pinned) || a.Working(id) {
			continue
		}
		if err := a.Quiet(ctx, func() error { return a.copy(ctx, id, f.bytes) }); err != nil &&
			!errors.Is(err, ErrNotFound) { // it was deleted
			return fmt.Errorf("copy %s: %w", id, err)
		}
	}
	return nil
}

// copy packs a set or a run beside its place, and renames it.
func (a *Archive) copy(ctx context.Context, id string, bytes int64) error {
	if free, err := staging.FreeBytes(a.Dir); err == nil && free < bytes+archiveRoom {
		return fmt.Errorf("%w: %d bytes are free, and %d are needed", ErrNoSpace, free, bytes+archiveRoom)
	}
	part := filepath.Join(a.Dir, "."+id+".zip.part") // a killed program's is written again
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	err = errors.Join(a.Store.Zip(ctx, id, f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(part, filepath.Join(a.Dir, id+".zip"))
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	a.Log.Info("archived", "run", id, "folder", a.Dir)
	return nil
}
