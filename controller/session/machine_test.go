package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/machine"
)

// TestRunWaitsForQuiet: the wait comes before the device is opened. It ends with ctx.
func TestRunWaitsForQuiet(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := &scene{name: "d", uri: brief}
	o := options(t, d)
	o.Quiet, o.Progress = time.Hour, &stopsAt{phase: "waiting for a quiet machine", frames: atTheEnd, stop: cancel}
	record, _, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || record.State != Failed || record.Reason != "interrupted" ||
		len(d.opened) > 0 {
		t.Errorf("%+v, %v, opened %q", record, err, d.opened)
	}
}

// TestSetMarksNoisyRuns: set.json states why a run was noisy.
func TestSetMarksNoisyRuns(t *testing.T) {
	dir := t.TempDir()
	s := setRun{SetOptions: SetOptions{Test: sceneTest(), Variants: []Variant{{Device: &scene{name: "d"}}}},
		set: &Set{Dir: dir, Made: []*Made{{Dir: "run-01", Record: &Record{Machine: &machine.Activity{Noise: "burn"}}},
			{Dir: "run-02", Record: &Record{}}}}}
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, SetFile))
	if text := string(raw); err != nil || strings.Count(text, `"noise": "burn"`) != 1 ||
		strings.Count(text, `"noise"`) != 1 {
		t.Errorf("%s, %v", text, err)
	}
}
