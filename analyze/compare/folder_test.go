package compare

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/frame"
)

// untold tells nobody.
type untold struct{}

func (untold) Phase(string, int) (advance func(int), end func()) { return func(int) {}, func() {} }

// filmRun is a run whose recording has such frames, with one window over all of them.
func filmRun(t *testing.T, name string, fill ...int) Run {
	t.Helper()
	path := filmed(t, fill, func(int, []byte, *frame.Layout) {})
	run := madeRun(name, nil, map[string]analyze.Value{"w": rate(60)}, "w")
	run.Dir, run.Recording = filepath.Dir(path), result.Recording{File: filepath.Base(path), Frames: len(fill)}
	run.Windows[0].End, run.Windows[0].Red = len(fill)-1, analyze.None
	return run
}

func TestFolder(t *testing.T) {
	a, b := &Set{Path: "a", Runs: []Run{filmRun(t, "1", 1, 2, 2)}},
		&Set{Path: "b", Runs: []Run{filmRun(t, "2", 1, 2, 3)}}
	c := analyzetest.Must(Compare(a, b, Options{}))(t)
	if e, j := c.Evidence(), c.JSON(); len(e) != 0 || j.Heat != nil || j.Divergence != nil || j.Pair != nil {
		t.Errorf("nothing was drawn: %+v, %+v", e, j)
	}
	dir := filepath.Join(t.TempDir(), "out")
	f := analyzetest.Must(BeginFolder(dir))(t)
	analyzetest.Check(t, f.Write(t.Context(), c, untold{}))
	e, j := c.Evidence(), c.JSON()
	if len(e) != 4 || !strings.Contains(e[0].Text, "run 1 has no heat map") ||
		!strings.HasPrefix(e[1].Text, "frame 2 of A") {
		t.Errorf("%+v", e)
	}
	for _, name := range []string{divergenceFileA, divergenceFileB} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if got := j.Divergence.Pictures; len(got) != 2 || got[1] != filepath.Join(dir, divergenceFileB) {
		t.Errorf("%q", got)
	}
}

// TestFolderThatFails: no file is left, and the comparison names none.
func TestFolderThatFails(t *testing.T) {
	a, b := &Set{Path: "a", Runs: []Run{filmRun(t, "1", 1, 2)}}, &Set{Path: "b", Runs: []Run{filmRun(t, "2", 1, 3)}}
	c := analyzetest.Must(Compare(a, b, Options{}))(t)
	parent := t.TempDir()
	f := analyzetest.Must(BeginFolder(filepath.Join(parent, "out")))(t)
	analyzetest.Check(t, os.Mkdir(filepath.Join(f.staged.Dir(), divergenceFileB), 0o755))
	var path *os.PathError
	if err := f.Write(t.Context(), c, untold{}); !errors.As(err, &path) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 || len(c.Evidence()) != 0 {
		t.Errorf("%v, %v, %+v", left, err, c.Evidence())
	}
	var none *Folder
	if err := none.Abandon(); err != nil {
		t.Error(err)
	}
}
