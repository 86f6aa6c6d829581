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

// TestSiteOnARig: an address with a network is replayed from an archive of the rig. Its last use is
// noted.
func TestSiteOnARig(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a test network needs root")
	}
	const address = "https://shop.example/"
	d := daemontest.New("local")
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	name := fmt.Sprintf("shop.example-%.8x.zip", sha256.Sum256([]byte(address)))
	path, old := filepath.Join(r.Dir, "archives", name), time.Now().AddDate(0, 0, -8)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(`{"log": {"version": "1.2",
		"creator": {"name": "test", "version": "1"}, "entries": [{"startedDateTime": "2026-11-20T10:00:00.000Z",
		"time": 1, "request": {"method": "GET", "url": "`+address+`", "httpVersion": "HTTP/1.1", "headers": [],
		"queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0},
		"response": {"status": 200, "statusText": "OK",
		"httpVersion": "HTTP/1.1", "headers": [], "cookies": [], "content": {"size": 1, "mimeType": "text/html",
		"text": "a"}, "redirectURL": "", "headersSize": -1, "bodySize": 1}, "cache": {}, "timings": {"send": 0,
		"wait": 1, "receive": 0}}]}}`), 0o600), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	all := 1.0
	j, err := r.Start(t.Context(), "me", api.StartParams{URL: address, NoVideo: true, MaxLost: &all,
		Variants: []api.Variant{{Name: "slow", Network: "3g"}, {Name: "fast", Network: "cable"}}, Repeat: 1})
	if err != nil || j.Total != 2 || strings.Join(j.Params.Variants, " ") != "slow fast" {
		t.Fatalf("%+v, %v", j, err)
	}
	j = r.Ended(j.ID)
	// the device shows a scene, and loads nothing; without the archive it would get no network
	if d.Wanted().Network == nil || !strings.Contains(j.Reason, "load "+address+": unsupported") {
		t.Errorf("%s: %s, with the network %v", j.State, j.Reason, d.Wanted().Network)
	}
	if st, err := os.Stat(path); err != nil || time.Since(st.ModTime()) > time.Hour {
		t.Errorf("its last use is not noted: %v", err)
	}
}
