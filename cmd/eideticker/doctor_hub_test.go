package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/doctor"
)

// TestExamineHub: only a hub of more than five working rigs that measures too has a warning.
func TestExamineHub(t *testing.T) {
	now := time.Now()
	for _, one := range []struct {
		name      string
		rigs, old int // old ones sent nothing for a week
		own       time.Duration
		want      []doctor.Level
	}{
		{"no hub", 0, 0, time.Hour, nil},
		{"small", 5, 3, time.Hour, []doctor.Level{doctor.OK}},
		{"large", 6, 0, time.Hour, []doctor.Level{doctor.Warn}},
		{"large, does not measure", 6, 0, hubWeek, []doctor.Level{doctor.OK}},
	} {
		dir := t.TempDir()
		folder := func(name string, age time.Duration) {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(path, 0o755), os.Chtimes(path, now, now.Add(-age))); err != nil {
				t.Fatal(err)
			}
		}
		folder("runs/s-1", one.own)
		for i := range one.rigs {
			folder(fmt.Sprintf("fleet/light/lab-%d", i), time.Hour)
			folder("fleet/light/.receiving", time.Hour)
		}
		for i := range one.old {
			folder(fmt.Sprintf("fleet/light/old-%d", i), hubWeek)
		}
		var got []doctor.Level
		for _, f := range examineHub(dir, now) {
			got = append(got, f.Level)
		}
		if fmt.Sprint(got) != fmt.Sprint(one.want) {
			t.Errorf("%s: %v, want %v", one.name, got, one.want)
		}
	}
}
