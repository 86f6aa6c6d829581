package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/session"
)

const (
	fewRuns  = 100
	manyRuns = 10_000
)

// crowd makes a data directory with n runs and returns it with a closed index. Most runs are
// single, and the rest are in sets of ten.
func crowd(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	base := filepath.Join(dir, runsDir)
	encoded := map[float64][]byte{} // results by their frame rate
	for i := range n {
		at := epoch.Add(time.Duration(i) * time.Minute)
		name := fmt.Sprintf("%s-framerate-%04d", at.Format(nameTime), i)
		if i%5 == 0 { // a fifth of all are in sets
			set := i / 50 * 50
			name = fmt.Sprintf("%s-set-%04d/run-%02d", epoch.Add(time.Duration(set)*time.Minute).Format(nameTime), set,
				i%50/5+1)
		}
		m := run(i, 50+float64(i%100)/10).with(func(r *session.Record) {
			r.Browser = []string{"chromium", "firefox"}[i%2]
			r.Device = fmt.Sprint("device-", i%7)
			r.Branch = []string{"main", "next"}[i%3%2]
			r.Label = fmt.Sprint("label-", i%50)
			r.Revision = fmt.Sprintf("%08x", uint32(i)*2654435761)
			if i%10 == 3 {
				r.State, r.Reason = session.Failed, "no green came"
			}
		})
		if encoded[m.framerate] == nil {
			b, err := result.Encode(results(m.framerate))
			if err != nil {
				t.Fatal(err)
			}
			encoded[m.framerate] = b
		}
		m.writePlain(t, filepath.Join(base, filepath.FromSlash(name)), encoded[m.framerate])
		if i%50 == 0 { // a set
			text := fmt.Sprintf(`{"schema": %q, "version": %d, "verdict": %q, "base": "base"}`, verdictSchema,
				verdictVersion, stats.Improved)
			if err := os.WriteFile(filepath.Join(base, filepath.FromSlash(path.Dir(name)), verdictFile), []byte(text),
				0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The folder was not touched for a while, as on a rig that is started anew.
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(base, long, long); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if page, err := s.List(background, Query{}); err != nil || page.Total != n {
		t.Fatalf("%d runs are listed, %v, want %d", page.Total, err, n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writePlain makes a run folder as write does, with results that are encoded already and without
// waiting for the disk.
func (m made) writePlain(t testing.TB, dir string, results []byte) {
	t.Helper()
	record, err := json.Marshal(m.record)
	if err := errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, session.RecordFile), record,
		0o644), os.WriteFile(filepath.Join(dir, result.FileName), results, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// questions are what an API asks. Their answers have the same size however many runs there are.
var questions = map[string]func(context.Context, *Store) error{
	"list":          list(Query{}),
	"list/test":     list(Query{Test: "framerate"}),
	"list/device":   list(Query{Device: "device-3", Limit: 10}),
	"list/label":    list(Query{Label: "label-7", Limit: 2}),
	"list/state":    list(Query{State: session.Failed, Limit: 10}),
	"list/verdict":  list(Query{Verdict: stats.Improved, Limit: 10}),
	"list/two":      list(Query{Browser: "firefox", Branch: "main", Limit: 20}),
	"list/time":     list(Query{From: epoch.Add(50 * time.Minute), To: epoch.Add(80 * time.Minute), Limit: 30}),
	"list/values":   list(Query{Values: true}),
	"search/many":   list(Query{Text: "chrom"}),
	"search/few":    list(Query{Text: "label-7", Limit: 2}),
	"search/two":    list(Query{Text: "firefox main", Limit: 20}),
	"search/one":    list(Query{Text: "9e3779b1"}),
	"search/reason": list(Query{Text: "green came", Limit: 10}),
	"sets":          func(ctx context.Context, s *Store) error { _, err := s.Sets(ctx, Query{Limit: 2}); return err },
	"space":         func(_ context.Context, s *Store) error { _, _, err := s.Space(); return err },
	"trend": func(ctx context.Context, s *Store) error {
		_, err := s.Trend(ctx, TrendQuery{Test: "framerate", Measure: "fps", Value: "framerate", Limit: 30})
		return err
	},
	"trend/browser": func(ctx context.Context, s *Store) error {
		_, err := s.Trend(ctx, TrendQuery{Test: "framerate", Measure: "fps", Value: "framerate", Browser: "firefox",
			Branch: "main", Limit: 10})
		return err
	},
}

func list(q Query) func(context.Context, *Store) error {
	return func(ctx context.Context, s *Store) error {
		_, err := s.List(ctx, q)
		return err
	}
}

// countedOnce are queries whose totals are counted over all matches. The first one after a change
// is exempt from the limit. With thousands of matches it takes about three times as long as with
// few runs. With several conditions it takes up to twenty times, a few milliseconds. BenchmarkStore
// counts again in each turn.
var countedOnce = []string{"list/test", "list/two", "list/verdict", "search/many", "search/reason", "search/two",
	"search/few", "space"}

// forgetful asks with nothing counted before, as after each change.
func forgetful(s *Store, ask func(context.Context, *Store) error) func() error {
	return func() error {
		s.counts.clear()
		return ask(background, s)
	}
}

// TestManyRuns: with a hundred times as many runs, API queries and opening the store take at most
// three times as long. The index itself takes so little time that other work of the machine hides
// it. So the minimum of many turns counts, alternating between both stores. Totals are counted
// again in each turn, except those of countedOnce.
//
// Fault: The store has ten thousand runs
func TestManyRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("makes ten thousand runs")
	}
	few, many := crowd(t, fewRuns), crowd(t, manyRuns)
	opening := func(dir string) func() error {
		return func() error {
			s, err := Open(background,
				Options{Dir: dir, Progress: func(int, int) { t.Error("the index is made anew") }})
			if err != nil {
				return err
			}
			return s.Close()
		}
	}
	atMost(t, "open", opening(few), opening(many))
	a, b := open(t, few), open(t, many)
	for name, ask := range questions {
		if slices.Contains(countedOnce, name) {
			atMost(t, name, func() error { return ask(background, a) }, func() error { return ask(background, b) })
		} else {
			atMost(t, name, forgetful(a, ask), forgetful(b, ask))
		}
	}
}

// atMost compares the time for many with three times that for few. If it is longer it is tried
// again: slow code stays slow.
func atMost(t *testing.T, name string, few, many func() error) {
	t.Helper()
	const turns, tries, most = 40, 5, 3
	var ratio float64
	for range tries {
		var times [2]time.Duration
		for range turns {
			for i, do := range []func() error{few, many} {
				began := time.Now()
				if err := do(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if took := time.Since(began); times[i] == 0 || took < times[i] {
					times[i] = took
				}
			}
		}
		if ratio = float64(times[1]) / float64(times[0]); ratio <= most {
			t.Logf("%-14s %10v with %d runs, %10v with %d: %.2f times", name, times[0], fewRuns, times[1], manyRuns,
				ratio)
			return
		}
	}
	t.Errorf("%s takes %.2f times as long with %d runs as with %d, want at most %d times", name, ratio, manyRuns,
		fewRuns, most)
}

func BenchmarkStore(b *testing.B) {
	for _, n := range []int{fewRuns, manyRuns} {
		dir := crowd(b, n)
		s := open(b, dir)
		for name, ask := range questions {
			b.Run(fmt.Sprintf("do=%s/runs=%d", name, n), func(b *testing.B) {
				again := forgetful(s, ask)
				for b.Loop() {
					if err := again(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("do=open/runs=%d", n), func(b *testing.B) {
			for b.Loop() {
				s, err := Open(background, Options{Dir: dir})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("do=rebuild/runs=%d", n), func(b *testing.B) {
			for b.Loop() {
				if err := os.Remove(filepath.Join(dir, IndexFile)); err != nil {
					b.Fatal(err)
				}
				s, err := Open(background, Options{Dir: dir})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestOpenLooksAtFewFolders: opening a current store reads no run. After a crash it reads only the
// folders with pending changes.
func TestOpenLooksAtFewFolders(t *testing.T) {
	dir := crowd(t, fewRuns)
	s := open(t, dir)
	all := ids(t, s, Query{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// What nobody looks at may say anything.
	spoil := func(ids ...string) {
		for _, id := range ids {
			err := os.WriteFile(filepath.Join(s.path(id), session.RecordFile), []byte("spoiled"), fs.ModePerm)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	spoil(all...)
	s = open(t, dir)
	if got := ids(t, s, Query{State: unreadable}); len(got) > 0 {
		t.Errorf("looked at: %v", got)
	}
	alone := slices.IndexFunc(all, func(id string) bool { return topOf(id) == id })
	s.change.Lock()
	err := s.begin(background, all[alone])
	s.change.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if got := ids(t, s, Query{State: unreadable}); !slices.Equal(got, all[alone:alone+1]) {
		t.Errorf("looked at: %v, want %v", got, all[alone])
	}
}
