package daemon

import (
	"path/filepath"
	"testing"
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
