package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/store/runzip"
)

// spaceEvery is after how many bytes of an upload it is looked at what room is left.
const spaceEvery = 64 << 20

// MaxPixels is what a frame of a recording that is sent may have: more than screens with eight
// thousand columns do. Whoever looks at one makes the rig hold several pictures of that size in
// memory.
const MaxPixels = 8192 * 4608

// Receive takes in a run or a set as a zip file, and returns its ID here. It becomes visible after
// all checks: it is complete, was unpacked within bounds, and can be read. Every frame of its
// recordings was compared with its source. Errors of the file wrap ErrRefused, and ErrTooLarge if
// it is too large.
//
// A run that the store has already is not stored twice. Its ID is then that of the stored one; see
// runzip.Sum.
func (s *Store) Receive(ctx context.Context, from io.Reader) (id string, known bool, err error) {
	id, known, err = s.receive(ctx, from)
	if errors.Is(err, runzip.ErrRefused) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return "", false, fmt.Errorf("receive a run: %w", told(err))
	}
	return id, known, nil
}

func (s *Store) receive(ctx context.Context, from io.Reader) (id string, known bool, err error) {
	upload := path.Join(uploadsDir, rand.Text())
	defer func() {
		if e := s.root.RemoveAll(upload); e != nil && err == nil {
			s.Log.Warn("the upload stays in the folder of uploads until the store is opened again", "why", e)
		}
	}()
	const folder, file = "run", "run.zip"
	if err := s.root.MkdirAll(path.Join(upload, folder), 0o750); err != nil {
		return "", false, err
	}
	s.at("receive begun")
	if err := s.spool(ctx, from, path.Join(upload, file)); err != nil {
		return "", false, err
	}
	s.at("receive spooled")
	if err := s.unpack(ctx, path.Join(upload, file), path.Join(upload, folder)); err != nil {
		return "", false, err
	}
	if err := s.root.Remove(path.Join(upload, file)); err != nil {
		return "", false, err
	}
	s.at("receive unpacked")
	content, err := runzip.Verify(ctx, filepath.Join(s.dir, filepath.FromSlash(upload), folder), MaxPixels, nil)
	if err != nil {
		return "", false, err
	}
	s.at("receive verified")
	return s.moveIn(ctx, path.Join(upload, folder), content)
}

// spool writes the upload into a file.
func (s *Store) spool(ctx context.Context, from io.Reader, file string) error {
	out, err := s.root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	err = s.copy(ctx, out, from)
	return errors.Join(err, out.Close())
}

func (s *Store) copy(ctx context.Context, out io.Writer, from io.Reader) error {
	for read := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.room(spaceEvery); err != nil {
			return err
		}
		n, err := io.CopyN(out, from, spaceEvery)
		read += n
		switch {
		case read > s.MaxUpload:
			return fmt.Errorf("%w: %w: it has over %d bytes", ErrRefused, ErrTooLarge, s.MaxUpload)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// room returns an error unless so many more bytes are free, beside the reserved space.
func (s *Store) room(bytes int64) error {
	free, err := staging.FreeBytes(s.dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // writing tells
	}
	if err == nil && free-s.MinFree < bytes {
		err = fmt.Errorf("%w: %d bytes are free, of which %d are to stay", ErrNoSpace, free, s.MinFree)
	}
	return err
}

func (s *Store) unpack(ctx context.Context, file, folder string) error {
	f, err := s.root.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	st, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := runzip.Open(f, st.Size(), runzip.Limits{Bytes: s.MaxUpload})
	if err != nil {
		return err
	}
	if err := s.room(z.Bytes); err != nil {
		return err
	}
	into, err := s.root.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer into.Close() // holds no data
	return z.Unpack(ctx, into, nil)
}

// moveIn puts a folder that was verified among the runs, all at once.
func (s *Store) moveIn(ctx context.Context, folder string, c *runzip.Content) (id string, known bool, err error) {
	select { // whoever sends the same waits, and finds it here then
	case s.taking <- struct{}{}:
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
	defer func() { <-s.taking }()
	if id, err = s.same(ctx, filepath.Join(s.dir, filepath.FromSlash(folder)), c); err != nil {
		return "", false, err
	}
	s.at("receive compared")
	s.change.Lock()
	defer s.change.Unlock()
	if id != "" {
		if err = s.there(id); !errors.Is(err, ErrNotFound) { // else it was deleted meanwhile
			return id, err == nil, err
		}
	}
	started := c.Started
	if ns := started.UnixNano(); started.IsZero() || ns <= 0 || ns > maxStart {
		started = time.Now()
	}
	if id, err = s.freeName(started, c.Test); err != nil {
		return "", false, err
	}
	for _, run := range c.Runs {
		below := id
		if run != "." {
			below, err = s.ID(filepath.Join(s.path(id), filepath.FromSlash(run)))
		}
		if err != nil || CheckID(below) != nil {
			return "", false, fmt.Errorf("%w: %.80q is not the name of a run's folder", ErrRefused, run)
		}
	}
	if err := s.begin(ctx, id); err != nil {
		return "", false, err
	}
	s.at("receive noted")
	if err := s.root.Rename(folder, pathOf(id)); err != nil {
		return "", false, errors.Join(err, s.end(ctx, id))
	}
	s.at("receive moved")
	if err := errors.Join(syncDir(s.path(id)), syncDir(filepath.Join(s.dir, runsDir))); err != nil {
		s.Log.Warn("a run that was received may not survive a power cut", "id", id, "why", err)
	}
	if err := s.end(ctx, id); err != nil { // it is there; its index is brought up to date when the store is opened
		s.Log.Error("a run that was received is not in the index yet", "id", id, "why", err)
	}
	s.at("receive indexed")
	return id, false, nil
}

// syncDir has the names in a folder survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
