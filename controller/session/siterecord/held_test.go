package siterecord

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
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

// TestArchiveThatIsGone: an archive that is removed before it is held is an error. The others are
// released.
func TestArchiveThatIsGone(t *testing.T) {
	c := Cache{Dir: t.TempDir()}
	test := &suite.Test{URL: "http://site.example/", Network: suite.Network{Profile: "3g"}}
	o := session.SetOptions{Test: test, Variants: []session.Variant{{}}}
	release, err := c.Replay(&o, func(*suite.Test) (bool, error) { return false, nil },
		func(string, session.Variant) (*Cached, error) { return &Cached{Name: "gone.zip"}, nil })
	if release(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
