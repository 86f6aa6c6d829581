package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNoOrphan: a folder in which run.json cannot be written is taken away again. Here the name of
// the file would be longer than the system's paths are.
func TestNoOrphan(t *testing.T) {
	const longest = 4095
	parent := t.TempDir()
	for longest-len(parent) > 250 {
		parent = filepath.Join(parent, strings.Repeat("a", 200))
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, strings.Repeat("b", longest-len(parent)-5))
	d := &Daemon{now: time.Now}
	if rec, err := d.newRecording(dir, &unit{}, ""); err == nil || rec != nil {
		t.Fatalf("run.json was written: %+v", rec)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is left: %v", err)
	}
	if rec, err := d.newRecording(filepath.Join(parent, "b"), &unit{}, ""); err != nil || rec == nil {
		t.Error(err)
	}
}
