package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
)

// stopsAt stops a run in a phase: after a number of frames, or at the end of the phase.
type stopsAt struct {
	phase  string
	frames int
	stop   func()
}

const atTheEnd = -1

func (s *stopsAt) Phase(what string, _ int) (advance func(int), end func()) {
	if what != s.phase {
		return untold{}.Phase(what, 0)
	}
	done := 0
	advance = func(n int) {
		if done += n; s.frames != atTheEnd && done >= s.frames {
			s.stop()
		}
	}
	advance(0)
	return advance, func() {
		if s.frames == atTheEnd {
			s.stop()
		}
	}
}

// interrupted makes the first run of a set and stops it in a phase: it counts all the same, and the
// set ends.
func interrupted(t *testing.T, told *stopsAt) (*Record, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told.stop = cancel
	o := setOptions(t, Variant{Device: &scene{name: "d", uri: brief}, Browser: ""})
	o.NoVideo, o.Progress = false, told
	set, err := RunSet(ctx, o)
	if !errors.Is(err, context.Canceled) || len(set.Made) != 1 {
		t.Fatalf("%d runs, %v", len(set.Made), err)
	}
	m := set.Made[0]
	if m.Record.State != Passed || m.Record.Reason != "" || m.Dir != "run-01" || m.Found == nil {
		t.Fatalf("%+v in %s", m.Record, m.Dir)
	}
	dir := filepath.Join(o.Dir, m.Dir)
	results, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil || len(results.Windows) != 1 || len(results.Windows[0].Results) != 1 {
		t.Errorf("results %+v, %v", results, err)
	}
	kept, err := os.ReadFile(filepath.Join(o.Dir, SetFile))
	if err != nil || !strings.Contains(string(kept), `"state": "ok"`) {
		t.Errorf("%s, %v", kept, err)
	}
	return m.Record, dir
}

// wantFiles fails the test unless a run folder has exactly these files and the usual ones. It also
// finds parts of files.
func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	want = append(want, LogFile, RecordFile, runfolder.RecordingFile, result.FileName, runfolder.PageFile,
		runfolder.PicturesDir)
	var got []string
	for _, where := range []string{dir, filepath.Dir(dir)} {
		entries, err := os.ReadDir(where)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if where == dir || strings.HasPrefix(e.Name(), ".") {
				got = append(got, e.Name())
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
}

// wantMissing fails the test unless the record and the log of a run say what it lacks.
func wantMissing(t *testing.T, r *Record, dir string, want ...string) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(dir, LogFile))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, n := range r.Notes {
		if strings.HasPrefix(n, "interrupted") {
			said = append(said, n)
		}
	}
	if !slices.Equal(said, want) {
		t.Errorf("the run says %q, want %q", said, want)
	}
	for _, n := range want {
		if !strings.Contains(string(log), n) {
			t.Errorf("the log does not say %q:\n%s", n, log)
		}
	}
}

const lacksVideo = "interrupted while this was written: no video was made"

// TestInterruptedWhilePicturesAreDrawn: the measured values are kept.
//
// Fault: Ctrl-C or a cancelled job while pictures or video are made
func TestInterruptedWhilePicturesAreDrawn(t *testing.T) {
	t.Parallel()
	r, dir := interrupted(t, &stopsAt{phase: "drawing pictures"})
	wantMissing(t, r, dir, "interrupted while this was written: 0 of 1 windows have pictures", lacksVideo)
	wantFiles(t, dir)
}
