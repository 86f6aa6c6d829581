package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
)

// Interrupted is the reason of runs in the middle of which their program ended.
const Interrupted = "interrupted: the program ended in the middle of the run"

// Recover ends runs that are marked as running although no program makes them, after a crash or
// power cut. Their recordings are repaired and joined from the parts of the last seconds. So the
// data on the disk can be read. Their state becomes failed. It returns their IDs. It skips runs
// that this store has placed, and those whose device another program has.
func (s *Store) Recover(ctx context.Context) (ended []string, err error) {
	var errs []error
	for cursor := ""; ; {
		page, err := s.List(ctx, Query{State: session.Running, Limit: MaxLimit, Cursor: cursor})
		if err != nil {
			return ended, errors.Join(append(errs, err)...)
		}
		for i := range page.Runs {
			did, err := s.recover(ctx, &page.Runs[i])
			if err != nil {
				errs = append(errs, fmt.Errorf("recover %s: %w", page.Runs[i].ID, err))
			}
			if did {
				ended = append(ended, page.Runs[i].ID)
			}
		}
		if cursor = page.Next; cursor == "" {
			return ended, errors.Join(errs...)
		}
	}
}

func (s *Store) recover(ctx context.Context, r *Run) (did bool, err error) {
	s.change.Lock()
	defer s.change.Unlock()
	if s.placed.has(topOf(r.ID)) {
		return false, nil
	}
	lock, err := s.Locks.Take(ctx, r.Device, false)
	var busy *session.BusyError
	if errors.As(err, &busy) {
		s.Log.Info("a run may be made by another program", "id", r.ID, "device", r.Device, "by", busy.Holder())
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.Close() // holds no data
	if err := s.begin(ctx, topOf(r.ID)); err != nil {
		return false, err
	}
	if err := errors.Join(s.interrupt(ctx, r.ID), s.end(ctx, topOf(r.ID))); err != nil {
		return false, err
	}
	s.Log.Warn("a run had broken off", "id", r.ID)
	return true, nil
}

// interrupt repairs a recording first: as long as run.json says that the run goes on, it is
// repaired again.
func (s *Store) interrupt(ctx context.Context, id string) error {
	f, err := s.openFile(id, session.RecordFile)
	if err != nil {
		return err
	}
	rec, err := session.ReadRecord(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if rec.State != session.Running {
		return nil // somebody else has ended it
	}
	rec.State, rec.Reason = session.Failed, Interrupted
	file := filepath.Join(s.path(id), runfolder.RecordingFile)
	if err := s.joinParts(ctx, id, file, rec); err != nil {
		return err
	}
	switch rep, err := recording.Repair(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		rec.Notes = append(rec.Notes, fmt.Sprintf("the recording could not be repaired: %v", err))
	default:
		rec.Frames = uint64(rep.Kept)
		rec.Notes = append(rec.Notes, rep.Notes...)
	}
	s.at("recover repaired")
	staging.Clean(s.path(id))
	if err := rec.Write(s.path(id)); err != nil {
		return err
	}
	s.at("recover written")
	return nil
}

// joinParts makes a recording of the kept last seconds. Parts that cannot be joined stay beside it.
// If ctx ends, the next Recover finds them.
func (s *Store) joinParts(ctx context.Context, id, file string, rec *session.Record) error {
	joined, err := recorder.JoinParts(ctx, file, func(done int) {
		if s.Working != nil {
			s.Working(fmt.Sprintf("joining the last recorded frames: %s, frame %d", id, done))
		}
	})
	if joined != nil {
		rec.Notes = append(rec.Notes, joined.Notes...)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		rec.Notes = append(rec.Notes,
			fmt.Sprintf("the last seconds could not be put together, and their parts stay: %v", err))
		s.Log.Error("the last seconds that were kept could not be put together", "id", id, "why", err)
	case joined == nil:
	case joined.Frames == 0:
		s.Log.Info("the recording of the last seconds has no frames: the unfinished run is removed",
			"id", id)
	default:
		s.Log.Info("the last seconds that were kept are a recording now", "id", id, "frames", joined.Frames)
	}
	s.at("recover joined")
	return nil
}
