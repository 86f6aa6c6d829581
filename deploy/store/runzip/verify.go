package runzip

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
)

// Content is what a folder was found to hold.
type Content struct {
	Runs    []string // folders of runs, with slashes; "." is the folder itself
	Test    string   // of the first one
	Started time.Time
	Frames  int // of all recordings, each held against its source

	recorded bool                              // Test and Started are those of a run.json
	pixels   int                               // that a frame has at most
	progress func(run string, done, total int) // nil: recordings are not looked at
}

// IsRun says that a folder with such entries is that of a run, and not one of runs.
func IsRun(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == session.RecordFile || e.Name() == result.FileName || e.Name() == runfolder.RecordingFile
	})
}

// Verify reads all files in the folder of a run or a set: run.json, results, and every frame of
// every recording. A recording with frames of more than pixels is rejected before one is read. Each
// frame is in memory as a whole, however small it is in the file. progress, if not nil, gets the
// frames of one recording.
func Verify(ctx context.Context, dir string, pixels int, progress func(run string, done, total int)) (*Content, error) {
	if progress == nil {
		progress = func(string, int, int) {}
	}
	c := &Content{pixels: pixels, progress: progress}
	return c, c.walk(ctx, dir)
}

// Inspect is Verify without the recordings.
func Inspect(ctx context.Context, dir string) (*Content, error) {
	c := &Content{}
	return c, c.walk(ctx, dir)
}

func (c *Content) walk(ctx context.Context, dir string) error {
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !e.IsDir():
			return nil
		case skipped(name):
			return fs.SkipDir
		}
		entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !IsRun(entries) {
			return err
		}
		if err := c.verify(ctx, dir, name, entries); err != nil {
			return fmt.Errorf("%s: %w", path.Join(filepath.Base(dir), name), err)
		}
		return fs.SkipDir
	})
	if err == nil && len(c.Runs) == 0 {
		err = refused("neither it nor a folder in it is that of a run: that has %s, %s or %s", session.RecordFile,
			result.FileName, runfolder.RecordingFile)
	}
	return err
}

func (c *Content) verify(ctx context.Context, dir, run string, entries []fs.DirEntry) error {
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(run), name) }
	for _, e := range entries {
		var err error
		switch name := e.Name(); {
		case name == session.RecordFile:
			err = c.record(at(name))
		case name == result.FileName:
			err = c.results(at(name))
		case name == runfolder.RecordingFile && c.progress != nil:
			err = c.recording(ctx, at(name), func(done, total int) { c.progress(run, done, total) })
		}
		if err != nil {
			return err
		}
	}
	c.Runs = append(c.Runs, run)
	return nil
}

func (c *Content) record(path string) error {
	f, err := openFile(path)
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	r, err := session.ReadRecord(f)
	if err != nil {
		return refused("%w", err)
	}
	if r.State == session.Running {
		return refused("the run has not ended")
	}
	if !c.recorded { // it knows better than results when that was
		c.Test, c.Started, c.recorded = r.Test, time.Unix(0, r.StartedWallNS), true
	}
	return nil
}

func (c *Content) results(path string) error {
	f, err := openFile(path)
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	r, err := result.Decode(f)
	if err != nil {
		return refused("%s: %w", result.FileName, err)
	}
	if c.Started.IsZero() {
		c.Started = time.Unix(0, r.Recording.StartedWallNS)
	}
	return nil
}

func (c *Content) recording(ctx context.Context, path string, progress func(done, total int)) error {
	if err := c.large(path); err != nil {
		return err
	}
	found, err := recording.Verify(ctx, path, progress)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var system *fs.PathError
	switch {
	case errors.As(err, &system):
		return err
	case err != nil:
		return refused("%s: %w", runfolder.RecordingFile, err)
	case len(found.Problems) > 0:
		return refused("%s: at offset %d: %s", runfolder.RecordingFile, found.Problems[0].Offset,
			found.Problems[0].What)
	}
	c.Frames += found.Frames
	return c.closed(path)
}

// large rejects a recording if its frames have more pixels than allowed, or more bytes than such
// frames. It also rejects events and metadata that are too large. A file that cannot be opened is
// left to its reader.
func (c *Content) large(path string) error {
	r, err := recording.Open(path)
	if err != nil {
		return nil
	}
	defer r.Close() // was only read
	if n := r.ValueBytes(); n > recording.MaxUntrustedValues {
		return tooLarge("%s has %d bytes of events and metadata, and at most %d are taken", runfolder.RecordingFile, n,
			recording.MaxUntrustedValues)
	}
	for _, s := range r.Segments() {
		const most = 8 // bytes a pixel
		if f := s.Layout.Format; f.Width*f.Height > c.pixels || f.Size()/most > c.pixels {
			return tooLarge("%s has frames of %dx%d, and at most %d pixels are taken", runfolder.RecordingFile, f.Width,
				f.Height, c.pixels)
		}
	}
	return nil
}

// closed rejects a recording that was cut off, even if its content is sound to the last byte.
func (c *Content) closed(path string) error {
	r, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer r.Close() // was only read
	if !r.Info().Complete {
		return refused("%s was not closed, and may lack its end: eideticker repair closes it", runfolder.RecordingFile)
	}
	if c.Started.IsZero() { // nothing else tells
		c.Started = time.Unix(0, runfolder.DescribeRecording(r).StartedWallNS)
	}
	return nil
}
