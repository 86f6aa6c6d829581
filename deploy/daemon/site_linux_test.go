package daemon_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

const shop = "https://shop.example/"

// archived writes an archive of the shop into a folder of archives, and returns its path. It was
// last used at old.
func archived(t *testing.T, dir string, old time.Time) string {
	t.Helper()
	path := filepath.Join(dir, fmt.Sprintf("shop.example-%.8x.zip", sha256.Sum256([]byte(shop))))
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(path, []byte(`{"log": {"version": "1.2",
		"creator": {"name": "test", "version": "1"}, "entries": [{"startedDateTime": "2026-11-20T10:00:00.000Z",
		"time": 1, "request": {"method": "GET", "url": "`+shop+`", "httpVersion": "HTTP/1.1", "headers": [],
		"queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0},
		"response": {"status": 200, "statusText": "OK",
		"httpVersion": "HTTP/1.1", "headers": [], "cookies": [], "content": {"size": 1, "mimeType": "text/html",
		"text": "a"}, "redirectURL": "", "headersSize": -1, "bodySize": 1}, "cache": {}, "timings": {"send": 0,
		"wait": 1, "receive": 0}}]}}`), 0o600), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSiteOnARig: an address with a network is replayed from an archive of the rig. Its last use is
// noted.
func TestSiteOnARig(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a test network needs root")
	}
	d := daemontest.New("local")
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	path := archived(t, filepath.Join(r.Dir, "archives", "untrusted"), time.Now().AddDate(0, 0, -8))
	all := 1.0
	j, err := r.Start(t.Context(), "me", api.StartParams{URL: shop, NoVideo: true, MaxLost: &all,
		Variants: []api.Variant{{Name: "slow", Network: "3g"}, {Name: "fast", Network: "cable"}}, Repeat: 1})
	if err != nil || j.Total != 2 || strings.Join(j.Params.Variants, " ") != "slow fast" {
		t.Fatalf("%+v, %v", j, err)
	}
	j = r.Ended(j.ID)
	// the device shows a scene, and loads nothing; without the archive it would get no network
	if d.Wanted().Network == nil || !strings.Contains(j.Reason, "load "+shop+": unsupported") {
		t.Errorf("%s: %s, with the network %v", j.State, j.Reason, d.Wanted().Network)
	}
	if st, err := os.Stat(path); err != nil || time.Since(st.ModTime()) > time.Hour {
		t.Errorf("its last use is not noted: %v", err)
	}
	j, err = r.Start(t.Context(), "me", api.StartParams{URL: shop, NoVideo: true, Network: "3g", Repeat: 1,
		Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	// the site does not exist
	if j = r.Ended(j.ID); !strings.HasPrefix(j.Reason, "record "+shop) || len(j.Runs) > 0 {
		t.Errorf("%s: the site is not recorded again: %s", j.State, j.Reason)
	}
}

// TestArchivesOfTheCLI: a rig replays no archive of `run URL` to clients.
//
// Fault: A client asks for a page of the box that its user has recorded
func TestArchivesOfTheCLI(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a test network needs root")
	}
	d := daemontest.New("local")
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	old := time.Now().AddDate(0, 0, -8).Truncate(time.Second)
	path := archived(t, filepath.Join(r.Dir, "archives"), old)
	j, err := r.Start(t.Context(), "me", api.StartParams{URL: shop, NoVideo: true, Network: "3g", Repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	// the rig has to record the site, which does not exist
	if j = r.Ended(j.ID); !strings.HasPrefix(j.Reason, "record "+shop) || d.Wanted().Network != nil || len(j.Runs) > 0 {
		t.Errorf("%s: %s, %d runs with the network %v", j.State, j.Reason, len(j.Runs), d.Wanted().Network)
	}
	if st, err := os.Stat(path); err != nil || !st.ModTime().Equal(old) {
		t.Errorf("the archive was used: %v", err)
	}
}
