package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

	hung chan error // gets the end of work that was given up; nil: none was
}

const (
	archiveEvery = 10 * time.Minute
	archiveRoom  = 1 << 30          // bytes that a copy leaves free
	archiveTime  = 10 * time.Minute // of a copy, besides that of its bytes
	archiveSpeed = 20e6             // bytes a second, of a slow server
	archiveStop  = 10 * time.Second // of work that was told to end
	archivePart  = 24 * time.Hour   // after which a part is of a killed program
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
	there := map[string]bool{}
	if err := a.within(ctx, archiveTime, func(context.Context) error { return a.look(there) }); err != nil {
		return err
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
		limit := archiveTime + time.Duration(float64(f.bytes)/archiveSpeed)*time.Second
		if err := a.Quiet(ctx, func() error {
			return a.within(ctx, limit, func(ctx context.Context) error { return a.copy(ctx, id, f.bytes) })
		}); err != nil && !errors.Is(err, ErrNotFound) { // it was deleted
			return fmt.Errorf("copy %s: %w", id, err)
		}
	}
	return nil
}

// within does work on the folder for a time. A server that does not answer may hold it for ever, so
// it is given up then. Other work waits until it ends.
func (a *Archive) within(ctx context.Context, limit time.Duration, work func(context.Context) error) error {
	if a.hung != nil {
		select {
		case <-a.hung:
			a.hung = nil
		default:
			return errors.New("the folder does not answer: an earlier copy waits for it still")
		}
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the folder took longer than %s", limit))
	defer cancel()
	go func() { ended <- work(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		if err != nil {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return err
	case <-time.After(archiveStop):
		a.hung = ended
		return context.Cause(ctx)
	}
}

// look notes the names in the folder, and removes parts of killed programs.
func (a *Archive) look(there map[string]bool) error {
	entries, err := os.ReadDir(a.Dir)
	for _, e := range entries {
		name := e.Name()
		there[name] = true
		if !strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".part") || !e.Type().IsRegular() {
			continue
		}
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > archivePart {
			_ = os.Remove(filepath.Join(a.Dir, name)) // the next step tries again
		}
	}
	return err
}

// copy packs a set or a run beside its place, and moves it there.
func (a *Archive) copy(ctx context.Context, id string, bytes int64) error {
	if free, err := staging.FreeBytes(a.Dir); err == nil && free < bytes+archiveRoom {
		return fmt.Errorf("%w: %d bytes are free, and %d are needed", ErrNoSpace, free, bytes+archiveRoom)
	}
	f, err := os.CreateTemp(a.Dir, "."+id+".zip.*.part")
	if err != nil {
		return err
	}
	_ = f.Chmod(0o640) // a server may have no modes
	err = errors.Join(a.Store.Zip(ctx, id, f), f.Sync(), f.Close())
	if err == nil {
		err = place(f.Name(), filepath.Join(a.Dir, id+".zip"))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	a.Log.Info("archived", "run", id, "folder", a.Dir)
	return nil
}

// place renames a file to a name that no other may have.
func place(part, path string) error {
	err := os.Link(part, path)
	if err == nil {
		return os.Remove(part)
	}
	if _, there := os.Lstat(path); !errors.Is(there, fs.ErrNotExist) {
		return fmt.Errorf("%w; each rig needs a folder of its own", err)
	}
	return os.Rename(part, path) // the filesystem has no links
}
