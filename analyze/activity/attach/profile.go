package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	return copyTrace(ctx, from, dir)
}

// copyTrace copies the index and the raw files of a trace, which must be whole. Links are not
// followed.
func copyTrace(ctx context.Context, from, to string) error {
	files := []string{activity.IndexFile}
	raw, err := os.ReadDir(filepath.Join(from, activity.RawDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(raw) > 0 {
		if err := os.Mkdir(filepath.Join(to, activity.RawDir), 0o700); err != nil {
			return err
		}
	}
	for _, e := range raw {
		files = append(files, filepath.Join(activity.RawDir, e.Name()))
	}
	for _, name := range files {
		file := filepath.Join(from, name)
		if st, err := os.Lstat(file); err != nil || !st.Mode().IsRegular() {
			return errors.Join(err, fmt.Errorf("copy %s: it is not a regular file", name))
		}
		if err := copyFile(ctx, file, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a file. Only the user may read the copy.
func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, interruptible{ctx, in})
	return errors.Join(err, out.Close())
}
