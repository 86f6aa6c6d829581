package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/doctor"
	"github.com/eideticker/eideticker/deploy/fleet/enroll"
)

// TestExamineHub: only a hub of more than five enrolled rigs that measures too has a warning.
func TestExamineHub(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, one := range []struct {
		name          string
		rigs, removed int
		own           time.Duration
		want          []doctor.Level
	}{
		{"no hub", -1, 0, time.Hour, nil},
		{"new", 0, 0, time.Hour, []doctor.Level{doctor.OK}},
		{"small", 8, 3, time.Hour, []doctor.Level{doctor.OK}},
		{"large", 6, 0, time.Hour, []doctor.Level{doctor.Warn}},
		{"large, does not measure", 6, 0, hubWeek, []doctor.Level{doctor.OK}},
	} {
		dir := t.TempDir()
		run := filepath.Join(dir, "runs", "s-1")
		if err := errors.Join(os.MkdirAll(run, 0o755), os.Chtimes(run, now, now.Add(-one.own))); err != nil {
			t.Fatal(err)
		}
		if one.rigs >= 0 {
			enrolRigs(t, dir, one.rigs, one.removed)
		}
		found := examineHub(dir, now)
		var got []doctor.Level
		for _, f := range found {
			got = append(got, f.Level)
		}
		if want := wording.Plural(one.rigs-one.removed, "rig"); fmt.Sprint(got) != fmt.Sprint(one.want) ||
			len(found) > 0 && !strings.HasPrefix(found[0].Found, want+" enrolled") {
			t.Errorf("%s: %+v, want %v", one.name, found, one.want)
		}
	}
}

// TestExamineHubOfAnother: rigs that cannot be counted are reported.
func TestExamineHubOfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	enrolRigs(t, dir, 0, 0)
	if err := os.WriteFile(filepath.Join(dir, "secrets", "fleet", "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := examineHub(dir, time.Now()); len(found) != 1 || found[0].Level != doctor.Info ||
		!strings.Contains(found[0].Found, "cannot be counted") {
		t.Errorf("%+v", found)
	}
}

// enrolRigs makes a hub with rigs, and removes some of them.
func enrolRigs(t *testing.T, dir string, rigs, removed int) {
	t.Helper()
	a, err := enroll.Init(filepath.Join(dir, "secrets", "fleet"))
	if err != nil {
		t.Fatal(err)
	}
	a.Fingerprint = strings.Repeat("ab", 32)
	for i := range rigs {
		name, now := fmt.Sprintf("lab-%d", i), time.Now()
		_, key, err := enroll.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		token, _, err := a.Invite(name, now)
		if err == nil {
			_, _, err = a.Join(token, key, now)
		}
		if err == nil && i < removed {
			err = a.Revoke(name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
