package compare

import (
	"context"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

// PageOptions state how the pages of a set are written.
type PageOptions struct {
	SingleFile, NoVideo bool
	FilmstripStep       time.Duration
	Options             // of the comparison
}

// Compared is the page of the comparison of a set's variants, or why they cannot be compared.
type Compared struct {
	Page   string // "": none
	Failed error
}

// WriteCompared writes the comparison of a set's two variants into a folder.
func (s *SetFolder) WriteCompared(ctx context.Context, dir string, o PageOptions, p runfolder.Progress) (Compared,
	error) {
	c, failed := s.Compare(o.Options)
	if failed != nil || c == nil {
		return Compared{Failed: failed}, nil
	}
	folder, err := BeginFolder(dir)
	if err != nil {
		return Compared{}, err
	}
	folder.SingleFile, folder.NoVideo, folder.FilmstripStep = o.SingleFile, o.NoVideo, o.FilmstripStep
	if err := folder.Write(ctx, c, p); err != nil {
		return Compared{}, err
	}
	return Compared{Page: filepath.Join(dir, PageName)}, nil
}

// WritePages writes the page of a set, and beside the runs the comparison of two variants. It
// returns their paths.
func WritePages(ctx context.Context, dir, page string, o PageOptions, p runfolder.Progress) ([]string, error) {
	s, err := OpenSet(ctx, dir)
	if err != nil {
		return nil, err
	}
	compared, err := s.WriteCompared(ctx, dir, o, p)
	if err != nil {
		return nil, err
	}
	written := []string{page}
	if compared.Page != "" {
		written = append(written, compared.Page)
	}
	content, err := s.Page(SetLinks{Folder: filepath.Dir(page), Compared: compared.Page != "",
		Failed: compared.Failed})
	if err != nil {
		return nil, err
	}
	return written, staging.WriteFile(page, content, 0o644)
}
