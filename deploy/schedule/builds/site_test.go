package builds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/config"
)

// TestSites: a folder with a page at its top is a build of a site. An archive of one is, too.
// Browsers are none. A build whose content changed is broken.
//
// Fault: A build of a site has no page
func TestSites(t *testing.T) {
	t.Parallel()
	dir, data, at := t.TempDir(), t.TempDir(), newClock()
	put(t, dir, map[string]string{"s-1/checkout.html": "1", "s-1/js/app.js": "1", "browser/firefox*": "x",
		"images/a.png": "x"})
	for name, in := range map[string]item{
		"s-2": {name: "dist/index.html", text: "2", mode: 0o644},
		"s-3": {name: "dist/app.js", text: "3", mode: 0o644},
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".zip"), zipOf(t, in), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := config.Feed{Kind: config.FeedFolder, Dir: dir, Of: config.OfSite}
	c := open(t, data, at, f, 0)
	if got := builds(t, c); got != "1 s-1 usable, 2 s-2 usable, 3 s-3 usable" || !c.Site("f") || c.Site("g") {
		t.Fatal(got)
	}
	use := func(name string) (string, error) {
		b, err := c.Resolve(t.Context(), "f", name)
		if err != nil {
			return "", err
		}
		path, release, err := c.Program(t.Context(), "chromium", b)
		if err == nil {
			release()
		}
		return path, err
	}
	if path, err := use("s-1"); err != nil || path != filepath.Join(dir, "s-1") {
		t.Errorf("in place: %s, %v", path, err)
	}
	path, err := use("s-2")
	if raw, e := os.ReadFile(filepath.Join(path, "index.html")); err != nil || e != nil || string(raw) != "2" {
		t.Errorf("an archive: %s, %v, %v", path, err, e)
	}
	if _, err := use("s-3"); err == nil || !strings.Contains(err.Error(), "it has no page of a site: a file .html") {
		t.Errorf("an archive without a page: %v", err)
	}
	put(t, dir, map[string]string{"s-1/checkout.html": "another one"})
	if _, err := use("s-1"); err == nil || !strings.Contains(err.Error(), "its SHA-256 changed") {
		t.Errorf("another content: %v", err)
	}
	if got := builds(t, c); got != "1 s-1 broken, 2 s-2 usable, 3 s-3 broken" {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(dir, "s-1", "checkout.html")); err != nil {
		t.Fatal(err)
	}
	err = Check(t.Context(), "f", t.TempDir(), f, "s-1")
	if err == nil || !strings.Contains(err.Error(), "no build s-1") {
		t.Errorf("a folder without a page: %v", err)
	}
}
