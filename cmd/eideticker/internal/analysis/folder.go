package analysis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/codec/recording"
)

// Names in a run folder.
const (
	RecordingFile = "recording.eid"
	VideoFile     = "video.mp4"
	PageFile      = "report.html"
	PicturesDir   = "pictures"
)

// FolderOptions say what a run folder is made of.
type FolderOptions struct {
	Force   bool   // overwrite what an earlier analysis left there
	Source  string // file of the recording: linked into the folder where the file system can
	NoVideo bool
}

// WriteFolder writes a run folder: results, page, pictures and video. All of it is made beside the folder and put in place when it
// is whole. What cannot be drawn or encoded is told in the results' notes, and the rest still comes.
func WriteFolder(ctx context.Context, dir string, r *recording.Reader, found *Found, o FolderOptions, told Told) error {
	dir = filepath.Clean(dir)
	if _, err := os.Lstat(filepath.Join(dir, report.FileName)); err == nil && !o.Force {
		return fmt.Errorf("%s: %w; overwrite it with --force", filepath.Join(dir, report.FileName), fs.ErrExist)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".*")
	if err != nil {
		return err
	}
	f := folder{dir: tmp, reader: r, found: found, told: told}
	err = f.write(ctx, o)
	if err == nil {
		err = moveAll(tmp, dir)
	}
	return errors.Join(err, os.RemoveAll(tmp))
}

// folder is a run folder in the making.
type folder struct {
	dir    string
	reader *recording.Reader
	found  *Found
	told   Told
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f *folder) note(format string, args ...any) {
	f.found.Results.Notes = append(f.found.Results.Notes, fmt.Sprintf(format, args...))
}

func (f *folder) write(ctx context.Context, o FolderOptions) error {
	if err := os.Mkdir(f.path(PicturesDir), 0o755); err != nil {
		return err
	}
	results := &f.found.Results
	if o.Source != "" && os.Link(o.Source, f.path(RecordingFile)) == nil {
		results.Recording.File = RecordingFile // else it stays where it is
	}
	if err := f.pictures(ctx); err != nil {
		return err
	}
	if !o.NoVideo {
		if err := f.video(ctx); err != nil {
			return err
		}
	}
	if err := report.Write(f.path(report.FileName), results); err != nil {
		return err
	}
	written, err := report.Read(f.path(report.FileName))
	if err != nil {
		return err
	}
	return report.WritePage(f.path(PageFile), os.DirFS(f.dir), written, report.PageOptions{})
}

// moveAll puts the entries of one folder into another, over those of the same name.
func moveAll(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		target := filepath.Join(to, e.Name())
		if err := os.RemoveAll(target); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, e.Name()), target); err != nil {
			return err
		}
	}
	return nil
}
