package store

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/session"
)

// epoch is when the first run of a test was made.
var epoch = time.Date(2024, 2, 29, 20, 15, 30, 0, time.UTC)

// open opens a store that is closed with the test.
func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(context.Background(), Options{Dir: dir, Log: slog.New(slog.NewTextHandler(logTo{t}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

type logTo struct{ t testing.TB }

func (l logTo) Write(b []byte) (int, error) {
	l.t.Logf("%s", b)
	return len(b), nil
}

// made describes a run to be put into a folder.
type made struct {
	record    session.Record
	framerate float64 // 0: no results
	recording bool
}

// run returns the description of a run that was made some minutes after the epoch.
func run(minute int, framerate float64) made {
	return made{framerate: framerate, record: session.Record{
		Schema: session.Schema, Version: session.Version, Test: "framerate", Device: "local", Browser: "chromium",
		State:         session.Passed,
		StartedWallNS: epoch.Add(time.Duration(minute) * time.Minute).UnixNano(), ElapsedNS: 3e9, Frames: 180,
		Environment: result.Environment{result.EnvBrowser: "Chromium 140.0"},
	}}
}

func (m made) with(change func(*session.Record)) made {
	change(&m.record)
	return m
}

// write makes a run folder.
func (m made) write(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m.record.Write(dir); err != nil {
		t.Fatal(err)
	}
	if m.framerate > 0 {
		if err := result.Write(filepath.Join(dir, result.FileName), results(m.framerate)); err != nil {
			t.Fatal(err)
		}
	}
	if m.recording {
		record(t, filepath.Join(dir, "recording.eid"))
	}
}

func results(framerate float64) *result.Results {
	values := []analyze.Value{
		{Name: "framerate", Unit: "frames/s", Value: framerate, Low: framerate - 0.1, High: framerate + 0.1,
			State: analyze.Bounded, Better: analyze.Higher, Threshold: 0.03},
		{Name: "unique_frames", Unit: "frames", Value: 180, Low: 180, High: 180, State: analyze.Exact,
			Better: analyze.Neither},
	}
	return &result.Results{
		Schema: result.Schema, Version: result.Version, Recording: result.Recording{Frames: 200, DurationNS: 3e9,
			StartedWallNS: epoch.UnixNano()},
		Quality: analyze.Result{Measure: "quality", State: analyze.Exact},
		Windows: []result.Window{{
			Name: "framerate", Kind: result.All, Green: -1, End: 199, Red: -1, EndNS: 3e9,
			Results: []analyze.Result{{Measure: "fps", Version: 1, State: analyze.Bounded, Values: values}},
		}},
	}
}

// record makes a small recording.
func record(t testing.TB, file string) {
	t.Helper()
	src, err := recorder.OpenSource(context.Background(), "synth:noise?size=16x16&frames=6&pace=fast")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := recorder.Record(context.Background(), src, file,
		recorder.Options{Program: "test", RingBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
}

// put makes a run in a store, as a daemon does, and returns its ID.
func put(t testing.TB, s *Store, m made) string {
	t.Helper()
	dir, err := s.Place(m.record.Test)
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, dir)
	return add(t, s, dir)
}

// putSet makes a set of runs, six minutes apart of each other.
func putSet(t testing.TB, s *Store, minute int, framerates ...float64) string {
	t.Helper()
	dir, err := s.Place("framerate")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range framerates {
		run(minute+i, f).write(t, filepath.Join(dir, fmt.Sprintf("run-%02d", i+1)))
	}
	return add(t, s, dir)
}

func add(t testing.TB, s *Store, dir string) string {
	t.Helper()
	if err := s.Add(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	id, err := s.ID(dir)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// ids returns the IDs of all runs, newest first.
func ids(t testing.TB, s *Store, q Query) (all []string) {
	t.Helper()
	q.Limit = MaxLimit
	for {
		page, err := s.List(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Runs {
			all = append(all, r.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			if page.Total != len(all) {
				t.Errorf("%d runs are listed, and the total is %d", len(all), page.Total)
			}
			return all
		}
	}
}
