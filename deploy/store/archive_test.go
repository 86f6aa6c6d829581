package store

import (
	"archive/zip"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/controller/session"
)

// TestArchive: wanted runs are copied once and whole. A folder that is not there is a problem that
// the rig shows, and a killed copy is made again.
//
// Fault: The folder of the archive is not mounted, or a copy is killed
func TestArchive(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "nas")
	runs := filepath.Join(dir, "runs")
	for id, m := range map[string]made{
		"alone": run(1, 60), "pinned": run(2, 60), "skipped": run(3, 60),
		"set/a":  run(4, 60).with(func(r *session.Record) { r.Set = "set" }),
		"set/b":  run(5, 60).with(func(r *session.Record) { r.Set = "set" }),
		"open/a": run(6, 60).with(func(r *session.Record) { r.Set = "open" }),
		"going":  run(7, 0).with(func(r *session.Record) { r.State = session.Running }),
	} {
		m.write(t, filepath.Join(runs, filepath.FromSlash(id)))
	}
	s := open(t, dir)
	if err := s.Pin(t.Context(), "pinned", true); err != nil {
		t.Fatal(err)
	}
	quiet := 0
	a := &Archive{Store: s, Dir: to, Log: slog.New(slog.DiscardHandler),
		Wanted: func(context.Context) (func(string, bool) bool, error) {
			return func(id string, pinned bool) bool { return id != "skipped" && pinned == (id == "pinned") }, nil
		},
		Working: func(id string) bool { return id == "open" },
		Quiet:   func(_ context.Context, work func() error) error { quiet++; return work() }}
	if err := a.step(t.Context()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(a.Problem(), to) {
		t.Fatalf("%v, problem %q", err, a.Problem())
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{".alone.zip.1.part": 2 * archivePart, ".other.zip.2.part": 0} {
		path, at := filepath.Join(to, name), time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(path, []byte("half"), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := a.step(t.Context()); err != nil || a.Problem() != "" {
			t.Fatalf("%v, problem %q", err, a.Problem())
		}
	}
	var names []string
	entries, err := os.ReadDir(to)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{".other.zip.2.part", "alone.zip", "pinned.zip", "set.zip"}
	if err != nil || !slices.Equal(names, want) {
		t.Fatalf("%v, %v", names, err)
	}
	if err := place(filepath.Join(to, "alone.zip"), filepath.Join(to, "set.zip")); !errors.Is(err, os.ErrExist) {
		t.Errorf("a copy of another rig: %v", err)
	}
	z, err := zip.OpenReader(filepath.Join(to, "set.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if n := len(z.File); n != 4 { // run.json and results.json of both
		t.Errorf("%d files", n)
	}
}

// TestArchiveHangs: a server that does not answer stops the devices for a bounded time. Nothing
// more is begun before it answers.
func TestArchiveHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Archive{Quiet: func(_ context.Context, work func() error) error { return work() }}
		answer := make(chan bool)
		hang := func(context.Context) error { <-answer; return nil }
		if err := a.within(t.Context(), time.Minute, hang); err == nil {
			t.Error("it ended")
		}
		err := a.step(t.Context())
		if err == nil || !strings.Contains(a.Problem(), "does not answer") {
			t.Errorf("%v, problem %q", err, a.Problem())
		}
		close(answer)
		synctest.Wait()
		if err := a.within(t.Context(), time.Minute, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		slow := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		if err := a.within(t.Context(), time.Minute, slow); err == nil || a.hung != nil {
			t.Errorf("a slow one: %v", err)
		}
	})
}
