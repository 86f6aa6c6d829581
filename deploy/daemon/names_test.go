package daemon

import (
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestOwnNames: what the machine's table of names calls its loopback is its own, as what everybody
// calls it.
//
// Fault: An uploaded test or address that names files or loopback services
func TestOwnNames(t *testing.T) {
	const table = "127.0.0.1 localhost\n# 127.0.0.1 off\n127.0.1.1\tRig-3.example.org rig-3 # ours\n::1 six\n" +
		"192.0.2.7 other\nbroken\n"
	for name, want := range map[string]bool{
		"rig-3": true, "rig-3.example.org": true, "six": true, "localhost": true, "a.localhost": true, "off": false,
		"ours": false, "other": false, "example.org": false, "": false,
	} {
		if got := ownName(name, table); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestReasonsWithoutFolders: texts for clients have the names of runs, not their folders.
func TestReasonsWithoutFolders(t *testing.T) {
	dir := t.TempDir()
	d := &Daemon{options: Options{Dir: dir}}
	if got := d.withoutFolders("write " + filepath.Join(dir, "runs", "20261122-a", "set.json") + ": rename " +
		filepath.Join(dir, "jobs.json") + ": no"); got != "write 20261122-a/set.json: rename jobs.json: no" {
		t.Error(got)
	}
}

// TestOfRuns: repeats of rejected runs are beyond those planned.
func TestOfRuns(t *testing.T) {
	for want, j := range map[string]api.Job{"": {Total: 1}, "1 of 24": {Total: 24}, "24 of 24": {Done: 23, Total: 24},
		"25, 24 planned": {Done: 24, Total: 24}, "31, 24 planned": {Done: 30, Total: 24}} {
		if got := (&job{Job: j}).ofRuns(); got != want {
			t.Errorf("%+v: %q, want %q", j, got, want)
		}
	}
}
