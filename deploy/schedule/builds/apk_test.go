package builds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/config"
)

// TestAPKs: builds for Android are APKs, also in a folder or an archive. Archives of other files
// are broken.
//
// Fault: A build for Android has no APK
func TestAPKs(t *testing.T) {
	t.Parallel()
	dir, data, at := t.TempDir(), t.TempDir(), newClock()
	app := string(zipOf(t, item{name: "classes.dex", text: "code", mode: 0o644},
		item{name: "AndroidManifest.xml", text: "manifest", mode: 0o644}))
	put(t, dir, map[string]string{"f-2/fenix.apk": app, "none/readme.txt": "x", "two/a.apk": app, "two/b.apk": app})
	for name, content := range map[string]string{"f-1.apk": app,
		"f-3.zip": string(zipOf(t, item{name: "fenix.apk", text: app, mode: 0o644})),
		"f-4.zip": string(zipOf(t, item{name: "readme.txt", text: "x", mode: 0o644})),
		"f-5.apk": "no zip file", "f-6.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, data, at, config.Feed{Kind: config.FeedFolder, Dir: dir, Of: config.OfAndroid,
		Package: "org.mozilla.fenix"}, 0)
	if got := builds(t, c); got != "1 f-1 usable, 2 f-2 usable, 3 f-3 usable, 4 f-4 usable, 5 f-5 usable" ||
		c.App("f") != "org.mozilla.fenix" || c.Site("f") {
		t.Fatal(got)
	}
	for name, want := range map[string]string{"f-1": "", "f-2": "", "f-3": "", "f-4": "it has no single file .apk",
		"f-5": "the archive is refused"} {
		b, err := c.Resolve(t.Context(), "f", name)
		if err != nil {
			t.Fatal(err)
		}
		path, release, err := c.Program(t.Context(), "firefox", b)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
			continue
		}
		raw, e := os.ReadFile(path)
		if err != nil || e != nil || string(raw) != app || filepath.Ext(path) != ".apk" {
			t.Errorf("%s: %s with %d bytes, %v, %v", name, path, len(raw), err, e)
			continue
		}
		release()
	}
	if got := builds(t, c); got != "1 f-1 usable, 2 f-2 usable, 3 f-3 usable, 4 f-4 broken, 5 f-5 broken" {
		t.Error(got)
	}
}
