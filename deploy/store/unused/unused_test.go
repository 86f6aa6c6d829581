package unused

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/session/siterecord"
)

func TestClean(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.zip")
	if err := os.WriteFile(secret, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	add := func(name string, age time.Duration) {
		path, used := filepath.Join(dir, name), time.Now().Add(-age)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, make([]byte, 1000), 0o600),
			os.Chtimes(path, used, used)); err != nil {
			t.Fatal(err)
		}
	}
	const day = 24 * time.Hour
	add("archives/a.zip", 40*day)
	add("archives/b.zip", 20*day)
	add("archives/untrusted/u.zip", 50*day)
	add("archives/notes.txt", 90*day)
	add("archives/.c.zip.1", 2*time.Hour)
	add("archives/.d.zip.1", time.Minute)
	add("traces/node/t.json", 10*day)
	add("caches/x", time.Hour)
	add("runs/r/recording.eid", 90*day)
	if err := os.Symlink(secret, filepath.Join(dir, "archives", "link.zip")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		o    Options
		want string
		left int64
	}{
		"nothing expires": {Options{}, "archives/.c.zip.1 unfinished", 6000},
		"expired": {Options{Age: Age}, "archives/untrusted/u.zip expired, archives/a.zip expired, " +
			"archives/.c.zip.1 unfinished", 4000},
		"over the quota": {Options{Age: Age, Limit: true, Bytes: 2500}, "archives/untrusted/u.zip expired, " +
			"archives/a.zip expired, archives/b.zip over the quota, traces/node/t.json over the quota, " +
			"archives/.c.zip.1 unfinished", 2000},
		"no room at all": {Options{Limit: true}, "archives/untrusted/u.zip over the quota, " +
			"archives/a.zip over the quota, archives/b.zip over the quota, traces/node/t.json over the quota, " +
			"archives/.c.zip.1 unfinished, caches/x over the quota", 1000},
	} {
		old, left, err := Clean(dir, tc.o)
		var names []string
		for _, f := range old {
			names = append(names, f.Name+" "+f.Why)
		}
		if got := strings.Join(names, ", "); err != nil || got != tc.want || left != tc.left {
			t.Errorf("%s: %s, %d left, %v", name, got, left, err)
		}
	}
	if _, _, err := Clean(dir, Options{Age: day, Remove: true}); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{"archives/a.zip": false, "archives/untrusted/u.zip": false,
		"archives/.c.zip.1": false, "archives/.d.zip.1": true, "archives/notes.txt": true, "archives/link.zip": true,
		"traces/node/t.json": false, "caches/x": true, "runs/r/recording.eid": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if old, left, err := Clean(filepath.Join(dir, "none"), Options{}); err != nil || len(old) > 0 || left != 0 {
		t.Errorf("no folder: %v, %d, %v", old, left, err)
	}
}

// TestUsedFilesStay: a file stays that a program keeps, or that was used since it was listed. The
// quota then takes another one.
func TestUsedFilesStay(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-40 * 24 * time.Hour)
	names := []string{"archives/kept.zip", "archives/free.zip"}
	for i, name := range names {
		path, used := filepath.Join(dir, name), old.Add(time.Duration(i)*time.Hour)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, make([]byte, 1000), 0o600),
			os.Chtimes(path, used, used)); err != nil {
			t.Fatal(err)
		}
	}
	cache := siterecord.Cache{Dir: filepath.Join(dir, Archives)}
	held, err := cache.Hold("kept.zip")
	if err != nil {
		t.Fatal(err)
	}
	for _, remove := range []bool{false, true} {
		gone, left, err := Clean(dir, Options{Limit: true, Bytes: 1500, Remove: remove})
		if err != nil || len(gone) != 1 || gone[0].Name != names[1] || left != 1000 {
			t.Errorf("kept: %+v, %d left, %v", gone, left, err)
		}
	}
	if gone, left, err := Clean(dir, Options{Age: Age, Remove: true}); err != nil || len(gone) != 0 || left != 1000 {
		t.Errorf("kept and expired: %+v, %d left, %v", gone, left, err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	before := File{Name: names[0], Bytes: 1000, Used: old.Add(-time.Hour)}
	if free, err := before.free(dir, true); free || err != nil {
		t.Errorf("used since it was listed: %t, %v", free, err)
	}
	if gone, left, err := Clean(dir, Options{Age: Age, Remove: true}); err != nil || len(gone) != 1 || left != 0 {
		t.Errorf("not kept any more: %+v, %d left, %v", gone, left, err)
	}
}
