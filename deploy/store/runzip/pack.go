package runzip

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/controller/session"
)

// skipped reports whether a name in a folder is neither packed nor unpacked. Hidden files are
// incomplete. Pins, origins, TLS secrets and raw traces belong to one rig.
func skipped(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") && name != "." || base == pinnedFile || base == oldFile ||
		strings.EqualFold(base, session.OriginFile) || strings.EqualFold(base, session.KeyLogFile) || activity.Raw(name)
}

// pinnedFile is what a rig puts into the folder of a run that it is to keep.
// oldFile has its runs deleted first.
const (
	pinnedFile = "pinned"
	oldFile    = "superseded"
)

// Pack writes the files of a folder, without links, in the order of their names. progress, if not
// nil, gets the number of bytes read.
func Pack(ctx context.Context, from *os.Root, to io.Writer, progress func(bytes int64)) error {
	z := zip.NewWriter(to)
	err := fs.WalkDir(from.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case skipped(name) && e.IsDir():
			return fs.SkipDir
		case skipped(name) || !e.Type().IsRegular():
			return nil
		}
		return pack(ctx, from, z, name, progress)
	})
	if err != nil {
		return err
	}
	return z.Close()
}

func pack(ctx context.Context, from *os.Root, z *zip.Writer, name string, progress func(int64)) error {
	f, err := from.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	st, err := f.Stat()
	if err != nil {
		return err
	}
	head, err := zip.FileInfoHeader(st)
	if err != nil {
		return err
	}
	head.Name, head.Method = name, method(name)
	w, err := z.CreateHeader(head)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, &reader{ctx, f, progress}); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	return nil
}

// method is deflate for text; the rest is packed already, or is big where it would pack well, which
// costs time.
func method(name string) uint16 {
	switch path.Ext(name) {
	case ".json", ".har", ".txt", ".html", ".svg", ".csv", ".npy":
		return zip.Deflate
	}
	return zip.Store
}

// reader reads until its context ends, and tells how much.
type reader struct {
	ctx      context.Context
	from     io.Reader
	progress func(int64)
}

func (r *reader) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.from.Read(b)
	if r.progress != nil {
		r.progress(int64(n))
	}
	return n, err
}

// Size adds up the files that Pack would write.
func Size(from *os.Root) (sum int64, err error) {
	err = fs.WalkDir(from.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case skipped(name) && e.IsDir():
			return fs.SkipDir
		case skipped(name) || !e.Type().IsRegular():
			return nil
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
