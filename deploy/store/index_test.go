package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/session"
)

// filled makes a data directory with some runs and closes its store.
func filled(t *testing.T) (dir string, want []string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	for i := range 20 {
		put(t, s, run(i, 60).with(func(r *session.Record) { r.Label = fmt.Sprint("label-", i) }))
	}
	putSet(t, s, 30, 60, 61, 62)
	want = ids(t, s, Query{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, want
}

// TestIndexIsMadeAnew: whatever happens to the index, all runs and their order remain. Their
// folders do not change.
//
// Fault: The index is missing, damaged or old, also while in use
func TestIndexIsMadeAnew(t *testing.T) {
	dir, want := filled(t)
	index := filepath.Join(dir, IndexFile)
	whole, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() error{
		"missing": func() error { return os.Remove(index) },
		"empty":   func() error { return os.WriteFile(index, nil, 0o640) },
		"no index": func() error {
			return os.WriteFile(index, []byte(strings.Repeat("not a database ", 1000)),
				0o640)
		},
		"cut off": func() error { return os.WriteFile(index, whole[:len(whole)/2], 0o640) },
		"first page": func() error {
			return os.WriteFile(index, slices.Concat(make([]byte, 4096), whole[4096:]),
				0o640)
		},
		"older": func() error {
			db, err := indexSchema.Open(t.Context(), index)
			if err != nil {
				return err
			}
			_, err = db.Exec("PRAGMA user_version=0")
			return errors.Join(err, db.Close())
		},
		"other tables": func() error {
			db, err := indexSchema.Open(t.Context(), index)
			if err != nil {
				return err
			}
			_, err = db.Exec("DROP TABLE points")
			return errors.Join(err, db.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := errors.Join(os.WriteFile(index, whole, 0o640), damage()); err != nil {
				t.Fatal(err)
			}
			var done, total []int
			s, err := Open(background,
				Options{Dir: dir, Progress: func(d, n int) { done, total = append(done, d), append(total, n) }})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := ids(t, s, Query{}); !slices.Equal(got, want) {
				t.Errorf("listed: %v, want %v", got, want)
			}
			if got := ids(t, s, Query{Text: "label-7"}); len(got) != 1 {
				t.Errorf("by a word: %v", got)
			}
			if len(done) == 0 || done[len(done)-1] != 21 || total[0] != 21 {
				t.Errorf("told of progress: %v of %v, want up to 21", done, total)
			}
		})
	}
}

// TestIndexIsDamagedMeanwhile: bytes of the index that turn to anything give the right answer or
// make it anew, and never crash. What the database cannot see is found by Reconcile at the latest
// where it is about runs.
//
// Fault: The index is missing, damaged or old, also while in use
func TestIndexIsDamagedMeanwhile(t *testing.T) {
	dir, want := filled(t)
	index := filepath.Join(dir, IndexFile)
	whole, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	renewed := 0
	for try := range 30 {
		bad := slices.Clone(whole)
		for page := 1; page < len(bad)/4096; page++ {
			if random.IntN(3) == 0 {
				for i := range 64 {
					bad[page*4096+i] = byte(random.Uint32())
				}
			}
		}
		if err := os.WriteFile(index, bad, 0o640); err != nil {
			t.Fatal(err)
		}
		s, err := Open(background, Options{Dir: dir, Progress: func(done, total int) {
			if done == total {
				renewed++
			}
		}})
		if err != nil {
			t.Fatalf("try %d: %v", try, err)
		}
		if _, err := s.Reconcile(background, nil); err != nil {
			t.Fatalf("try %d: reconcile: %v", try, err)
		}
		if got := ids(t, s, Query{}); !slices.Equal(got, want) {
			t.Errorf("try %d: listed: %v, want %v", try, got, want)
		}
		if _, err := s.Trend(background,
			TrendQuery{Test: "framerate", Measure: "fps", Value: "framerate"}); err != nil {
			t.Errorf("try %d: %v", try, err)
		}
		if err := s.Close(); err != nil {
			t.Fatalf("try %d: %v", try, err)
		}
	}
	if renewed == 0 {
		t.Error("the index was never made anew: nothing was damaged")
	}
}

// TestOthersChangeFolders: changes by other programs are found. They are found at once when the run
// is read. A folder's name is found when the store is opened, and every change by Reconcile.
//
// Fault: Runs are added or removed by hand
func TestOthersChangeFolders(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	asked, gone, set := put(t, s, run(0, 60)), put(t, s, run(1, 60)), putSet(t, s, 10, 60, 61, 62)
	run(0, 60).with(func(r *session.Record) { r.Label = "by hand, which is longer" }).write(t, s.path(asked))
	if r, err := s.Get(background, asked); err != nil || r.Label != "by hand, which is longer" {
		t.Errorf("asked for: %+v, %v", r, err)
	}
	if err := os.RemoveAll(s.path(set + "~run-03")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(background, set+"~run-03"); !errors.Is(err, ErrNotFound) {
		t.Errorf("removed, and asked for: %v", err)
	}
	if got := ids(t, s, Query{Set: set}); len(got) != 2 {
		t.Errorf("after it was asked for: %v", got)
	}
	if err := os.RemoveAll(s.path(set + "~run-02")); err != nil {
		t.Fatal(err)
	}
	if changed, err := s.Reconcile(background, nil); changed != 1 || err != nil {
		t.Errorf("%d folders were not as the index had them, %v, want 1", changed, err)
	}
	if got := ids(t, s, Query{Set: set}); len(got) != 1 {
		t.Errorf("after all was looked at: %v", got)
	}
	if err := errors.Join(s.Close(), os.RemoveAll(s.path(gone))); err != nil {
		t.Fatal(err)
	}
	run(5, 60).write(t, filepath.Join(dir, runsDir, "copied"))
	s = open(t, dir)
	if got := ids(t, s, Query{}); slices.Contains(got, gone) || !slices.Contains(got, "copied") || len(got) != 3 {
		t.Errorf("after opening: %v", got)
	}
}

// TestFurtherRunsAreNotIndexed: baselines and trends do not contain the runs with measuring code
// that explain a change of a set.
func TestFurtherRunsAreNotIndexed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	set := putSet(t, s, 10, 60, 61)
	for _, name := range []string{"before~run-01", "why~before~run-01"} {
		run(3, 60).write(t, s.path(set+"~"+name))
	}
	if err := os.WriteFile(filepath.Join(s.path(set), session.SetFile), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reconcile(background, nil); err != nil {
		t.Fatal(err)
	}
	got := ids(t, s, Query{Set: set})
	if slices.Sort(got); !slices.Equal(got, []string{set + "~before~run-01", set + "~run-01", set + "~run-02"}) {
		t.Errorf("runs of the set: %q", got)
	}
}

// TestUnreadable: a folder that cannot be understood is listed with the reason, and hides no other.
//
// Fault: A run folder has bad JSON or another version
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	good := put(t, s, run(0, 60))
	for name, want := range map[string]string{
		session.RecordFile + "|":                                         "unexpected end",
		session.RecordFile + "|{":                                        "unexpected end",
		session.RecordFile + "|[]":                                       "array",
		session.RecordFile + "|{}":                                       "schema",
		session.RecordFile + `|{"schema":"eideticker.run","version":2}`:  "version 2",
		session.RecordFile + `|{"schema":"eideticker.run","version":1}`:  "state",
		result.FileName + "|{\"schema\":":                                "cut off",
		result.FileName + `|{"schema":"eideticker.results","version":7}`: "version 7",
		"recording.eid|not a recording":                                  "recording",
		session.RecordFile + "|" + strings.Repeat(" ", 5<<20):            "MiB",
	} {
		file, content, _ := strings.Cut(name, "|")
		folder, err := s.Place("x")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, file), []byte(content),
			0o644)); err != nil {
			t.Fatal(err)
		}
		id := add(t, s, folder)
		r, err := s.Get(background, id)
		if err != nil || r.State != unreadable || !strings.Contains(r.Reason, want) {
			t.Errorf("%.60s: %s: %s, %v, want %q", name, r.State, r.Reason, err, want)
		}
		if err := s.Delete(background, id); err != nil {
			t.Errorf("%.60s: %v", name, err)
		}
	}
	if err := os.Mkdir(s.path("pipe"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(s.path("pipe"), result.FileName)); err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(background, s.path("pipe")); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(background, "pipe"); err != nil || r.State != unreadable {
		t.Errorf("a link: %+v, %v", r, err)
	}
	if got := ids(t, s, Query{State: session.Passed}); !slices.Equal(got, []string{good}) {
		t.Errorf("readable: %v", got)
	}
}

// TestClockSetBack: runs made after the clock was set back have names and places in the order of
// their own times. None is lost, and none counts as old because of it.
//
// Fault: The clock was set back
func TestClockSetBack(t *testing.T) {
	s := open(t, t.TempDir())
	for _, minute := range []int{100, 200, 50, 51, -1_000_000_000, 200, 300} {
		put(t, s, run(minute, 60))
	}
	put(t, s, run(0, 60).with(func(r *session.Record) { r.StartedWallNS = 1<<63 - 1 })) // its name's time counts
	got := ids(t, s, Query{})
	if len(got) != 8 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 8 {
		t.Fatalf("listed: %v", got)
	}
	var before time.Time
	for i, id := range got {
		r, err := s.Get(background, id)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && r.Started.Sub(before) > time.Millisecond {
			t.Errorf("%s of %v stands behind %v", id, r.Started, before)
		}
		before = r.Started
	}
	at := time.Unix(1e9, 0)
	first, err := s.freeName(at, "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.path(first), 0o755); err != nil {
		t.Fatal(err)
	}
	second, err := s.freeName(at, "x")
	if err != nil || second == first || second[:15] != first[:15] {
		t.Errorf("two names of one second: %s, %s, %v", first, second, err)
	}
	future := put(t, s, run(40_000_000, 60))
	if deleted, err := s.Retain(background, Policy{MaxAge: 1}); err != nil || slices.Contains(deleted, future) ||
		len(deleted) != 8 {
		t.Errorf("deleted %v, %v, want all but %s", deleted, err, future)
	}
}

// TestNamesOfTests: whatever a test is called, its run has a name that can be asked for.
func TestNamesOfTests(t *testing.T) {
	s := open(t, t.TempDir())
	for _, name := range []string{"", ".", "..", "../../etc", "a b", "日本語", strings.Repeat("x", 500), "~", "-", "a/b",
		"a\x00b"} {
		dir, err := s.Place(name)
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.ID(dir)
		if err != nil || filepath.Dir(dir) != filepath.Join(s.dir, runsDir) {
			t.Errorf("%q: %s, %v", name, id, err)
		}
	}
}
