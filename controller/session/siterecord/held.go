package siterecord

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

// Held is a folder with one archive of a cache. It stays the same archive if another program
// records the site again. No program removes it for its quota. Its owner calls Close.
type Held struct {
	Name string
	file *os.File
}

// Hold opens an archive of the cache.
func (c Cache) Hold(name string) (*Held, error) {
	f, err := os.Open(filepath.Join(c.Dir, name))
	if err != nil {
		return nil, err
	}
	staging.Keep(f)
	return &Held{name, f}, nil
}

// Close implements [io.Closer].
func (h *Held) Close() error { return h.file.Close() }

// Open implements [fs.FS].
func (h *Held) Open(name string) (fs.File, error) {
	if name != h.Name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	info, err := h.file.Stat()
	if err != nil {
		return nil, err
	}
	return view{io.NewSectionReader(h.file, 0, info.Size()), info}, nil
}

// view reads a held archive from its begin.
type view struct {
	*io.SectionReader
	info fs.FileInfo
}

func (v view) Stat() (fs.FileInfo, error) { return v.info, nil }
func (view) Close() error                 { return nil }
