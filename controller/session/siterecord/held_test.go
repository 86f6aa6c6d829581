package siterecord

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/replay"
)

// TestHeldArchives: a held archive stays the same when the site is recorded again.
func TestHeldArchives(t *testing.T) {
	c, made := Cache{Dir: t.TempDir()}, time.Unix(1e9, 0)
	write := func(name string, created time.Time) {
		f, err := os.Create(filepath.Join(c.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		w, err := replay.NewWriter(f, replay.Info{Writer: "test", Created: created}, replay.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write("site.zip", made)
	held, err := c.Hold("site.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	write("new.zip", made.Add(time.Hour))
	if err := os.Rename(filepath.Join(c.Dir, "new.zip"), filepath.Join(c.Dir, "site.zip")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a, err := replay.OpenIn(held, "site.zip", replay.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if !a.Info.Created.Equal(made) {
			t.Errorf("the archive is of %v", a.Info.Created)
		}
	}
	if _, err := held.Open("new.zip"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
