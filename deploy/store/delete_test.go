package store

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/store/unused"
)

// TestTwoDeleteOne: of several callers that delete one run at once, one succeeds. The others get
// ErrNotFound.
//
// Fault: Two clients delete one run, or one reads it meanwhile
func TestTwoDeleteOne(t *testing.T) {
	s := open(t, t.TempDir())
	for range 10 {
		id := put(t, s, run(0, 60))
		errs := make([]error, 4)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = s.Delete(background, id) })
		}
		all.Wait()
		done := 0
		for _, err := range errs {
			if err == nil {
				done++
			} else if !errors.Is(err, ErrNotFound) {
				t.Errorf("deleted by another: %v", err)
			}
		}
		if done != 1 {
			t.Errorf("%d of %d have deleted it", done, len(errs))
		}
		if _, err := s.Get(background, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("it is there: %v", err)
		}
	}
	if got := ids(t, s, Query{}); len(got) > 0 {
		t.Errorf("listed: %v", got)
	}
}

// gate is a writer that waits at its first byte.
type gate struct {
	bytes.Buffer
	once            sync.Once
	reached, opened chan struct{}
}

func newGate() *gate { return &gate{reached: make(chan struct{}), opened: make(chan struct{})} }

func (g *gate) Write(b []byte) (int, error) {
	g.once.Do(func() { close(g.reached); <-g.opened })
	return g.Buffer.Write(b)
}

// TestZipOfDeletedRun: a deleted run has no zip file, but a reader that has begun can finish.
//
// Fault: Two clients delete one run, or one reads it meanwhile
func TestZipOfDeletedRun(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	m := run(0, 60)
	m.recording = true
	id := put(t, s, m)
	g := newGate()
	done := make(chan error, 1)
	go func() { done <- s.Zip(background, id, g) }()
	<-g.reached
	if err := s.Delete(background, id); err != nil {
		t.Fatal(err)
	}
	if err := s.Zip(background, id, failingWriter{t}); !errors.Is(err, ErrNotFound) {
		t.Errorf("zip of a deleted run: %v", err)
	}
	close(g.opened)
	if err := <-done; err != nil {
		t.Fatalf("the reader that was first: %v", err)
	}
	z, err := zip.NewReader(bytes.NewReader(g.Bytes()), int64(g.Len()))
	if err != nil || len(z.File) != 3 {
		t.Fatalf("zip: %v, %v", z, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, trashDir)); err != nil || len(left) > 0 {
		t.Errorf("in the trash: %v, %v", left, err)
	}
}

// TestWhatIsKept: a pin, a baseline and being made keep a run; a set goes with its last run.
func TestWhatIsKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id, set := put(t, s, run(0, 60)), putSet(t, s, 10, 60, 61)
	refused := func(what, id string, want error) {
		t.Helper()
		if err := s.Delete(background, id); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	if err := errors.Join(s.Pin(background, id, true), s.Pin(background, set+"~run-01", true),
		s.Pin(background, id, true)); err != nil {
		t.Fatal(err)
	}
	if err := s.Pin(background, set, true); err != nil {
		t.Error(err)
	}
	refused("a run of a pinned set", set+"~run-02", ErrPinned)
	if err := errors.Join(s.Pin(background, set, false), s.Pin(background, set+"~run-01", true)); err != nil {
		t.Error(err)
	}
	refused("a pinned run", id, ErrPinned)
	refused("a set of which a run is pinned", set, ErrPinned)
	if err := errors.Join(s.Pin(background, id, false), s.SetBaseline(background, "release", id)); err != nil {
		t.Fatal(err)
	}
	refused("a baseline", id, ErrPinned)
	making, err := s.Place("scroll")
	if err != nil {
		t.Fatal(err)
	}
	run(20, 0).with(func(r *session.Record) { r.State = session.Running }).write(t, making)
	if err := s.Refresh(background, making); err != nil {
		t.Fatal(err)
	}
	refused("a run that is being made", ids(t, s, Query{State: session.Running})[0], ErrInUse)
	if err := s.SetBaseline(background, "release", ""); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Delete(background, id), s.Delete(background, set+"~run-02"),
		s.Pin(background, set+"~run-01", false), s.Delete(background, set+"~run-01")); err != nil {
		t.Fatal(err)
	}
	refused("a set without runs", set, ErrNotFound)
	if left, err := s.names(); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestRetain: the oldest go first, and protected runs stay.
//
// Fault: A run folder has bad JSON or another version
func TestRetain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var all []string
	for i := range 8 {
		all = append(all, put(t, s, run(i, 60)))
	}
	if err := os.WriteFile(filepath.Join(s.path(all[2]), session.RecordFile),
		[]byte(`{"schema":"eideticker.run","version":99}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(background, all[2]); err != nil || r.State != unreadable || !strings.Contains(r.Reason, "99") {
		t.Fatalf("a run of another version: %+v, %v", r, err)
	}
	if err := errors.Join(s.Pin(background, all[0], true), s.SetBaseline(background, "release", all[1])); err != nil {
		t.Fatal(err)
	}
	release, err := s.Use(all[3])
	if err != nil {
		t.Fatal(err)
	}
	used, _, err := s.Space()
	if err != nil {
		t.Fatal(err)
	}
	deleted, err := s.Retain(background, Policy{MaxBytes: used - 1})
	if err != nil || !slices.Equal(deleted, all[4:5]) {
		t.Errorf("deleted %v, %v, want %v", deleted, err, all[4:5])
	}
	deleted, err = s.Retain(background, Policy{MaxAge: time.Since(epoch.Add(6*time.Minute + 30*time.Second))})
	if err != nil || !slices.Equal(deleted, all[5:7]) {
		t.Errorf("deleted %v for their age, %v, want %v", deleted, err, all[5:7])
	}
	deleted, err = s.Retain(background, Policy{MinFree: 1 << 62})
	if err != nil || !slices.Equal(deleted, all[7:]) {
		t.Errorf("deleted %v, %v, want %v", deleted, err, all[7:])
	}
	release()
	deleted, err = s.Retain(background, Policy{MaxBytes: 1})
	if err != nil || !slices.Equal(deleted, all[3:4]) {
		t.Errorf("deleted %v, %v, want %v, which is not used any more", deleted, err, all[3:4])
	}
	if got := ids(t, s, Query{}); len(got) != 3 {
		t.Errorf("left are %v", got)
	}
	if deleted, err := s.Retain(background, Policy{}); err != nil || len(deleted) > 0 {
		t.Errorf("without a policy: %v, %v", deleted, err)
	}
}

// TestRetainSuperseded: superseded runs go before older ones, unless they are pinned.
func TestRetainSuperseded(t *testing.T) {
	s := open(t, t.TempDir())
	old, pinned, set := put(t, s, run(0, 60)), put(t, s, run(1, 60)), putSet(t, s, 2, 60, 61, 62)
	for _, id := range []string{pinned, set} {
		if err := s.Supersede(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Supersede("unknown"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	for _, id := range []string{pinned, set + "~run-02"} {
		if err := s.Pin(background, id, true); err != nil {
			t.Fatal(err)
		}
	}
	used, _, err := s.Space()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy Policy
		want   []string
	}{
		{Policy{MaxBytes: used}, nil},
		{Policy{MaxBytes: used - 1}, []string{set + "~run-01"}},
		{Policy{MaxBytes: 1}, []string{set + "~run-03", old}},
	} {
		if deleted, err := s.Retain(background, c.policy); err != nil || !slices.Equal(deleted, c.want) {
			t.Errorf("%+v: deleted %v, want %v, %v", c.policy, deleted, c.want, err)
		}
	}
}

// TestRetainUnused: archives, traces and caches count in the quota. They are removed before runs.
func TestRetainUnused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, run(0, 60))
	runs, _, err := s.Space()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]time.Duration{"archives/a.zip": 40 * 24 * time.Hour, "archives/b.zip": 2 * time.Hour,
		"traces/t.json": 3 * time.Hour, "caches/c": time.Hour}
	for name, age := range files {
		path, used := filepath.Join(dir, name), time.Now().Add(-age)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, make([]byte, 1000), 0o600),
			os.Chtimes(path, used, used)); err != nil {
			t.Fatal(err)
		}
	}
	left := func(policy Policy, want int64) {
		t.Helper()
		deleted, err := s.Retain(background, policy)
		used, _, e := s.Space()
		if err := errors.Join(err, e); err != nil || len(deleted) > 0 || used != runs+want {
			t.Errorf("%+v: deleted %v, %d bytes are used beside those of runs, want %d, %v", policy, deleted, used-runs,
				want, err)
		}
	}
	left(Policy{}, 4000)
	left(Policy{UnusedAge: unused.Age}, 3000)
	left(Policy{MaxBytes: runs + 2500}, 2000)
	if _, err := os.Stat(filepath.Join(dir, "traces/t.json")); err == nil {
		t.Error("the longest unused file stays")
	}
	left(Policy{MaxBytes: runs}, 0)
	if deleted, err := s.Retain(background, Policy{MaxBytes: runs - 1}); err != nil || len(deleted) != 1 {
		t.Errorf("without unused files, deleted %v, %v", deleted, err)
	}
}

// TestRetainLeavesWhatIsMade: a run is kept whose folder was placed by a program that has ended
// since, or that another program makes.
func TestRetainLeavesWhatIsMade(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	running := func(r *session.Record) { r.State = session.Running }
	another := put(t, s, run(0, 0).with(running))
	making, err := s.Place("framerate")
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.ID(making)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if err := s.PlaceAgain(id); err != nil {
		t.Fatal(err)
	}
	run(1, 60).write(t, filepath.Join(making, "run-01"))
	if err := s.Refresh(background, making); err != nil {
		t.Fatal(err)
	}
	if deleted, err := s.Retain(background, Policy{MaxBytes: 1}); err != nil || len(deleted) > 0 {
		t.Errorf("deleted %v, %v", deleted, err)
	}
	add(t, s, making)
	if deleted, err := s.Retain(background, Policy{MaxBytes: 1}); err != nil ||
		!slices.Equal(deleted, []string{id + "~run-01"}) {
		t.Errorf("deleted %v, %v, want the one that has ended, not %s", deleted, err, another)
	}
	for _, bad := range []string{"../a", "a~b", ""} {
		if s.PlaceAgain(bad) == nil {
			t.Errorf("%q was placed", bad)
		}
	}
}

// TestRetainLeavesNewRuns: on a disk filled by others, runs of the last hour stay, and Retain
// returns an error. For their own size they are deleted.
func TestRetainLeavesNewRuns(t *testing.T) {
	var log bytes.Buffer
	s, err := Open(background, Options{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	started := func(ago time.Duration) string {
		return put(t, s, run(0, 60).with(func(r *session.Record) { r.StartedWallNS = time.Now().Add(-ago).UnixNano() }))
	}
	young, old := started(50*time.Minute), started(70*time.Minute)
	full := Policy{MinFree: 1 << 62}
	if deleted, err := s.Retain(background, full); err != nil || !slices.Equal(deleted, []string{old}) {
		t.Errorf("deleted %v, %v, want %s alone", deleted, err, old)
	}
	if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "store.min_free") {
		t.Errorf("told: %s", text)
	}
	if err := s.Room(full); !errors.Is(err, ErrNoSpace) {
		t.Errorf("room: %v", err)
	}
	if err := s.Room(Policy{MinFree: 1}); err != nil {
		t.Errorf("room: %v", err)
	}
	if deleted, err := s.Retain(background, Policy{MinFree: 1 << 62, MaxBytes: 1}); err != nil ||
		!slices.Equal(deleted, []string{young}) {
		t.Errorf("deleted %v, %v, want %s", deleted, err, young)
	}
}

// TestUseEndsOnce: a release that is called twice ends one use.
func TestUseEndsOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := put(t, s, run(0, 60))
	first, err := s.Use(id)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Use(id)
	if err != nil {
		t.Fatal(err)
	}
	first()
	first()
	root, err := s.Folder(id)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := s.Delete(background, id); err != nil {
		t.Fatal(err)
	}
	f, err := root.Open(session.RecordFile)
	if err != nil {
		t.Fatalf("used by another: %v", err)
	}
	defer f.Close()
	if _, err := io.ReadAll(f); err != nil {
		t.Error(err)
	}
	second()
	if left, _ := os.ReadDir(filepath.Join(dir, trashDir)); len(left) > 0 {
		t.Errorf("in the trash: %v", left)
	}
}
