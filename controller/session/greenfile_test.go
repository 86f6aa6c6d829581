package session

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/suite"
)

// TestGreenFile: the green page of a file's address ends with its run. The page of a killed run
// ends with the next run.
func TestGreenFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // of Windows
	killed, err := writeGreenFile(dir, "file:///a.html")
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.lock.Close(); err != nil { // as the system does when a program is killed
		t.Fatal(err)
	}
	alive, err := writeGreenFile(dir, "file:///b.html")
	if err != nil {
		t.Fatal(err)
	}
	young, err := os.MkdirTemp(dir, greenPrefix) // about to be locked
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, dir := range []string{killed.dir, alive.dir} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, address := range []string{"file:///c?a=1&b=2", "http://a.example/"} {
		p, err := servePages(t.Context(), &suite.Test{URL: address}, nil, nil, t.TempDir(), onHost(loopback))
		if err != nil {
			t.Fatal(err)
		}
		if of := strings.HasPrefix(address, "file:"); of != (p.file != nil) ||
			of != strings.HasPrefix(p.green, "file:") {
			t.Errorf("%s: the green page is at %s", address, p.green)
		}
		if p.file != nil {
			page, err := os.ReadFile(p.file.path())
			if err != nil || !strings.Contains(string(page), `href="file:///c?a=1&amp;b=2"`) {
				t.Errorf("%s, %v", page, err)
			}
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v are left, %v; want those of a run that lives, and of one that begins", left, err)
	}
	for _, dir := range []string{alive.dir, young} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
	if err := alive.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(alive.dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
