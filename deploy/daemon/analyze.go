package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store"
)

// Analyze queues a new analysis of a run's recording.
func (d *Daemon) Analyze(ctx context.Context, owner string, p api.AnalyzeParams) (api.Job, error) {
	run, err := d.store.Get(ctx, p.Run)
	if err != nil {
		return api.Job{}, StoreError(err)
	}
	if _, err := settings(p, run.Test); err != nil {
		return api.Job{}, err
	}
	if d.AtWork(p.Run) {
		return api.Job{}, api.Errorf(api.Busy, "run %s is still being made", p.Run)
	}
	j := &job{again: &p}
	j.Job = api.Job{ID: d.newID("analyze"), Kind: kindAnalyze, Owner: owner, Test: run.Test, Label: run.Label,
		Devices: []string{}, Browsers: []string{}}
	return d.enqueue(j)
}

// settings are what a client asks of an analysis.
func settings(p api.AnalyzeParams, name string) (s runfolder.Settings, err error) {
	s = runfolder.Settings{Measures: p.Measures, Name: name, From: p.From, To: p.To}
	known := append(analyze.Names(), quality.Name)
	for _, m := range p.Measures {
		if !slices.Contains(known, m) {
			return s, api.Errorf(api.InvalidParams, "unknown measure %.80q; known: %v", m, known)
		}
	}
	if p.Tolerance != nil {
		s.Tolerance = *p.Tolerance
	}
	if s.Tolerance < 0 || s.Tolerance > 255 {
		return s, api.Errorf(api.InvalidParams, "tolerance is %d: must be 0 to 255", s.Tolerance)
	}
	if p.From != 0 || p.To != 0 {
		if p.From < 0 || p.To <= p.From {
			return s, api.Errorf(api.InvalidParams,
				"from_frame %d and to_frame %d: must be 0 or more, and ascending", p.From, p.To)
		}
	}
	if p.Region != nil {
		if len(p.Region) != 4 || p.Region[0] < 0 || p.Region[1] < 0 || p.Region[2] < 1 || p.Region[3] < 1 {
			return s, api.Errorf(api.InvalidParams, "region_px is %v, want x, y, width and height", p.Region)
		}
		s.Region = &frame.Region{X: p.Region[0], Y: p.Region[1], Width: p.Region[2], Height: p.Region[3]}
	}
	return s, nil
}

// analyze carries out a new analysis. The results that were there stay if it fails.
func (d *Daemon) analyze(j *job) (err error) {
	p := *j.again
	release, err := d.store.Use(p.Run)
	if err != nil {
		return err
	}
	defer release()
	dir, err := d.store.Path(p.Run)
	if err != nil {
		return err
	}
	r, err := d.openRecording(dir)
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	s, err := settings(p, j.Test)
	if err != nil {
		return err
	}
	earlier, err := session.ReadEarlier(j.context, recordingIn(dir), r)
	if err != nil {
		return err
	}
	earlier.AsAtFirst(&s)
	t := &jobProgress{daemon: d, job: j}
	found, err := runfolder.Run(j.context, r, s, d.options.Program, t)
	if err != nil {
		return fmt.Errorf("measure the recording: %w", err)
	}
	found.Results.Recording.File = runfolder.RecordingFile
	earlier.HoldAgainst(j.context, r, s, found)
	earlier.Keep(found)
	o := runfolder.FolderOptions{Force: true, NoVideo: p.NoVideo, Network: earlier.Network(dir),
		More: earlier.Scripts(dir)}
	if err := runfolder.WriteFolder(j.context, dir, r, found, o, t); err != nil {
		return err
	}
	err = d.store.Refresh(context.WithoutCancel(j.context), dir)
	d.judgeAgain(j.context, p.Run, j.Test)
	d.stored(p.Run, "changed", "")
	return err
}

// openRecording opens the recording of a run folder.
func (d *Daemon) openRecording(dir string) (*recording.Reader, error) {
	return recording.Open(recordingIn(dir))
}

func recordingIn(dir string) string { return filepath.Join(dir, runfolder.RecordingFile) }

// AtWork reports whether a run, or one of a set, is being made or measured.
func (d *Daemon) AtWork(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.working {
		busy := j.ID
		if j.again != nil {
			busy = j.again.Run
		}
		if within(id, busy) || within(busy, id) {
			return true
		}
	}
	return false
}

// within reports whether a run is the given one, or belongs to that set.
func within(id, set string) bool { return id == set || strings.HasPrefix(id, set+"~") }

// StoreError is what the store says, with a code.
func StoreError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return api.Errorf(api.NotFound, "%v", err)
	case errors.Is(err, store.ErrID), errors.Is(err, store.ErrCursor), errors.Is(err, store.ErrVerdict):
		return api.Errorf(api.InvalidParams, "%v", err)
	case errors.Is(err, store.ErrInUse):
		return api.Errorf(api.Busy, "%v", err)
	case errors.Is(err, store.ErrPinned):
		return api.Errorf(api.Conflict, "%v", err)
	case errors.Is(err, store.ErrNoSpace):
		return api.Errorf(api.Unavailable, "%v", err)
	}
	return err
}
