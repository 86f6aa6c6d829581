package attach

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
)

// wallWithin bounds the error of the wall clock in a trace of eideticker profile.
const wallWithin = time.Second

// profileOf returns the folder of the trace that eideticker profile wrote into a folder: the one of
// native code, else the only one. It is empty if the path is not such a folder.
func profileOf(path string) string {
	is := func(dir string) bool {
		st, err := os.Stat(filepath.Join(dir, activity.IndexFile))
		return err == nil && st.Mode().IsRegular()
	}
	if is(path) {
		return path
	}
	traces := filepath.Join(path, activity.TracesDir)
	found := ""
	all, _ := os.ReadDir(traces) // a file has none
	for _, e := range all {
		if dir := filepath.Join(traces, e.Name()); is(dir) && (found == "" || e.Name() == "native") {
			found = dir
		}
	}
	return found
}

// copy copies a trace that eideticker profile recorded. Its clock is CLOCK_MONOTONIC of its machine
// and boot.
func (a *Attached) copy(ctx context.Context, from, dir string, facts *runFacts, o Options) error {
	name, recording := a.Info.Name, a.Info.Recording
	info, err := activity.ReadInfo(from)
	if err != nil {
		return err
	}
	if info.Recording != "" {
		return errors.New("it is the trace of another run")
	}
	a.Claims = &activity.Claims{Engine: info.Engine, Way: info.Way, Begin: info.BeginNS, End: info.EndNS,
		Records: info.Events, Monotonic: true, Wall: info.Wall}
	if info.Wall != 0 {
		a.Claims.WallWithin = int64(wallWithin)
	}
	if a.Joined, err = join(ctx, a.Claims, facts, o.Clock, o.Force); err != nil {
		return err
	}
	info.Name, info.Recording, info.Clock = name, recording, a.Clock
	info.Warnings = append(info.Warnings, a.Joined.Warnings...)
	a.Info = info
	return os.CopyFS(dir, os.DirFS(from))
}
