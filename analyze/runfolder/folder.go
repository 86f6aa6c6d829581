package runfolder

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/codec/recording"
)

// Names in a run folder.
const (
	RecordingFile = "recording.eid"
	VideoFile     = "video.mp4"
	videoMap      = VideoFile + ".json"
	PageFile      = "report.html"
	PicturesDir   = "pictures"
)

// FolderOptions say what a run folder is made of.
type FolderOptions struct {
	Force   bool   // overwrite what an earlier analysis left there
	Source  string // file of the recording: linked into the folder where the file system can
	NoVideo bool
	// NoPictures leaves out the pictures and the video.
	NoPictures bool
	// FilmstripStep is the step of the even filmstrip; 0: by the length of the window.
	FilmstripStep time.Duration
	// Network is what the run's network brought; nil: it had none of its own.
	Network *Network
	// More writes what else belongs in the folder, and adds to the results what it is, before they
	// are written. Nil: nothing.
	More func(dir string) error
	// Partial keeps the finished files when the context ends while pictures and video are made. The
	// results' notes list the missing ones. Without it, the folder is not written then.
	Partial bool
}

// Folder is a run folder that is going to be written.
type Folder struct {
	options FolderOptions
	staged  *staging.Folder
}

// BeginFolder prepares to write a run folder. It returns an error if the folder cannot be written,
// before an analysis that may take long. Call End in any case.
func BeginFolder(dir string, o FolderOptions) (*Folder, error) {
	if !o.Force {
		if err := refuseWritten(dir, o.Source); err != nil {
			return nil, err
		}
	}
	staged, err := staging.Begin(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{o, staged}, nil
}

// refuseWritten refuses a folder in which something would be overwritten. The recording may be
// there already: it is where it belongs.
func refuseWritten(dir, source string) error {
	for _, name := range []string{result.FileName, PageFile, VideoFile, videoMap, PicturesDir, RecordingFile} {
		path := filepath.Join(dir, name)
		there, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if name == RecordingFile {
			if from, err := os.Stat(source); source == "" || err == nil && os.SameFile(from, there) {
				continue
			}
		}
		return fmt.Errorf("%s: %w; overwrite it with --force", path, fs.ErrExist)
	}
	return nil
}

// End removes files that were not moved into place.
func (f *Folder) End() error {
	if f == nil || f.staged == nil {
		return nil
	}
	staged := f.staged
	f.staged = nil
	return staged.Abandon()
}

// Write writes results, page, pictures and video. It moves them into place when all are complete. A
// picture or video that cannot be made is described in the results' notes. If Write fails, the
// results name no files.
func (f *Folder) Write(ctx context.Context, r *recording.Reader, found *Found, progress Progress) error {
	w := folder{dir: f.staged.Dir(), reader: r, found: found, progress: progress, partial: f.options.Partial,
		step: f.options.FilmstripStep}
	before := found.Results
	err := f.staged.Finish(w.write(ctx, f.options))
	f.staged = nil
	if err != nil {
		found.Results = before
		for i := range found.Results.Windows {
			found.Results.Windows[i].Pictures = nil
		}
	}
	return err
}

// WriteFolder writes a run folder at once.
func WriteFolder(ctx context.Context, dir string, r *recording.Reader, found *Found, o FolderOptions,
	progress Progress) error {
	f, err := BeginFolder(dir, o)
	if err != nil {
		return err
	}
	return f.Write(ctx, r, found, progress)
}

// folder is a run folder in the making.
type folder struct {
	dir      string
	reader   *recording.Reader
	found    *Found
	progress Progress
	// partial is FolderOptions.Partial.
	partial bool
	step    time.Duration // FolderOptions.FilmstripStep
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f *folder) note(format string, args ...any) {
	f.found.Results.Notes = append(f.found.Results.Notes, fmt.Sprintf(format, args...))
}

// InterruptedNote begins the notes about missing parts of a folder.
const InterruptedNote = "interrupted while this was written: "

// interrupted handles the end of the context before the folder is complete. It notes the missing
// part, or returns the error with which the folder is not written.
func (f *folder) interrupted(ctx context.Context, format string, args ...any) error {
	if !f.partial {
		return ctx.Err()
	}
	f.note(InterruptedNote+format, args...)
	return nil
}

func (f *folder) write(ctx context.Context, o FolderOptions) error {
	results := &f.found.Results
	if o.Source != "" && os.Link(o.Source, f.path(RecordingFile)) == nil {
		results.Recording.File = RecordingFile // else it stays where it is
	}
	if !o.NoPictures {
		if err := os.Mkdir(f.path(PicturesDir), 0o755); err != nil {
			return err
		}
		if err := f.pictures(ctx); err != nil {
			return err
		}
	}
	if !o.NoVideo && !o.NoPictures {
		if err := f.video(ctx); err != nil {
			return err
		}
	}
	if err := f.network(o.Network, !o.NoPictures); err != nil {
		return err
	}
	if o.More != nil {
		if err := o.More(f.dir); err != nil {
			return err
		}
	}
	if err := result.Write(f.path(result.FileName), results); err != nil {
		return err
	}
	written, err := result.Read(f.path(result.FileName))
	if err != nil {
		return err
	}
	return report.WritePage(f.path(PageFile), os.DirFS(f.dir), written, report.PageOptions{})
}
