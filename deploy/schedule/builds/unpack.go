package builds

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/ulikunitz/xz"
)

// limits bound an archive's content: several times what a browser with debug information has.
type limits struct {
	bytes, table int64
	files, depth int
	time         time.Duration
}

var usual = limits{bytes: 8 << 30, table: 16 << 20, files: 50_000, depth: 16, time: 15 * time.Minute}

// maxMemory bounds the dictionary of an xz archive: that of xz -9.
const maxMemory = 64 << 20

// errRefused is wrapped by errors about an archive with unwanted content.
var errRefused = errors.New("the archive is refused")

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errRefused, fmt.Errorf(format, args...))
}

// unpacker writes the entries of an archive into a folder.
type unpacker struct {
	ctx   context.Context
	into  *os.Root
	left  int64
	files int
	limits
}

// unpack unpacks a zip file or a tar file, which may be compressed with gzip, bzip2 or xz. The
// format is found by the content.
func unpack(ctx context.Context, from *os.File, into *os.Root, l limits) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.time, refused("it takes over %v to unpack", l.time))
	defer cancel()
	st, err := from.Stat()
	if err != nil {
		return err
	}
	u := &unpacker{ctx: ctx, into: into, left: l.bytes, limits: l}
	in := bufio.NewReaderSize(from, 1<<16)
	head, _ := in.Peek(6)
	switch {
	case strings.HasPrefix(string(head), "PK"):
		return u.zip(from, st.Size())
	case strings.HasPrefix(string(head), "\x1f\x8b"):
		z, err := gzip.NewReader(in)
		if err != nil {
			return refused("%w", err)
		}
		return u.tar(z)
	case strings.HasPrefix(string(head), "BZh"):
		return u.tar(bzip2.NewReader(in))
	case strings.HasPrefix(string(head), "\xfd7zXZ\x00"):
		z, err := xz.ReaderConfig{DictCap: maxMemory}.NewReader(in)
		if err != nil {
			return refused("%w", err)
		}
		return u.tar(z)
	}
	return u.tar(in)
}

func (u *unpacker) tar(from io.Reader) error {
	// Headers count too: an archive of empty files is long.
	t := tar.NewReader(&counted{u.ctx, from, u.bytes + int64(u.limits.files)*4096})
	for {
		h, err := t.Next()
		switch {
		case err == io.EOF && u.files == 0:
			return refused("it has no files")
		case err == io.EOF:
			return nil
		case err != nil:
			return u.wrong(err)
		}
		mode := h.FileInfo().Mode()
		switch h.Typeflag {
		case tar.TypeXGlobalHeader: // a commit's ID
			continue
		case tar.TypeReg, tar.TypeDir:
		default: // also hard links, whose mode is that of files
			mode |= fs.ModeIrregular
			mode &^= fs.ModeDir
		}
		if err := u.entry(h.Name, mode, h.Size, t); err != nil {
			return err
		}
	}
}

// zip bounds the table first: package zip takes memory for each of its entries.
func (u *unpacker) zip(from io.ReaderAt, size int64) error {
	table := &bounded{from: from}
	table.left.Store(u.table)
	z, err := zip.NewReader(table, size)
	if table.left.Swap(1<<62) < 0 {
		return refused("its table is too large")
	}
	if err != nil {
		return refused("%w", err)
	}
	if len(z.File) == 0 {
		return refused("it has no files")
	}
	for _, f := range z.File {
		if f.Flags&1 != 0 || f.UncompressedSize64 > 1<<62 {
			return refused("%.80q is encrypted, or its size is wrong", f.Name)
		}
		from := io.ReadCloser(nil)
		if f.Mode().IsRegular() {
			if from, err = f.Open(); err != nil {
				return refused("%w", err)
			}
		}
		err := u.entry(f.Name, f.Mode(), int64(f.UncompressedSize64), from)
		if from != nil {
			err = errors.Join(err, from.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry writes an entry of an archive. Its size is only a claim.
func (u *unpacker) entry(name string, mode fs.FileMode, size int64, from io.Reader) error {
	name = strings.TrimPrefix(strings.TrimSuffix(name, "/"), "./")
	if name == "." || name == "" {
		return nil
	}
	u.files++
	switch {
	case u.ctx.Err() != nil:
		return context.Cause(u.ctx)
	case u.files > u.limits.files:
		return refused("it has over %d files", u.limits.files)
	case !fs.ValidPath(name) || len(name) > 1000 || !utf8.ValidString(name) || strings.ContainsAny(name, "\x00\\"):
		return refused("%.80q is not a valid name", name)
	case strings.Count(name, "/") >= u.depth:
		return refused("%.80q has over %d folders", name, u.depth)
	case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return refused("%.80q is to run as another user", name)
	case mode.IsDir():
		return u.refuse(u.into.MkdirAll(name, 0o755))
	case !mode.IsRegular():
		return refused("%.80q is neither a file nor a folder", name)
	case size < 0 || size > u.left:
		return refused("its files have over %d bytes", u.bytes)
	}
	if dir := path.Dir(name); dir != "." {
		if err := u.into.MkdirAll(dir, 0o755); err != nil {
			return u.refuse(err)
		}
	}
	// Nobody else may write to the file. It is executable if its owner may execute it.
	out, err := u.into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|mode&0o100|mode&0o100>>3|mode&0o100>>6)
	if err != nil {
		return u.refuse(err)
	}
	n, err := io.Copy(out, &counted{u.ctx, from, size + 1})
	switch {
	case err == nil && n != size:
		err = refused("%.80q has another size than the %d bytes that are claimed", name, size)
	case err != nil:
		err = u.wrong(err)
	}
	u.left -= n
	return errors.Join(err, out.Close())
}

// refuse returns an error about names in the archive that exclude each other.
func (u *unpacker) refuse(err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, errNotFolder) {
		return refused("%w", err)
	}
	return err
}

// wrong returns an error of reading, which is the archive's unless the time is over or the disk
// is full.
func (u *unpacker) wrong(err error) error {
	if u.ctx.Err() != nil {
		return context.Cause(u.ctx)
	}
	if disk := (*fs.PathError)(nil); errors.As(err, &disk) || errors.Is(err, errRefused) {
		return err
	}
	return refused("%w", err)
}

// counted reads at most so many bytes, until the context ends.
type counted struct {
	ctx  context.Context
	from io.Reader
	left int64
}

func (c *counted) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	if c.left <= 0 {
		return 0, refused("it has more bytes than it may have")
	}
	n, err := c.from.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// bounded reads at most so many bytes from places in a file.
type bounded struct {
	from io.ReaderAt
	left atomic.Int64
}

func (b *bounded) ReadAt(p []byte, at int64) (int, error) {
	if b.left.Add(-int64(len(p))) < 0 {
		return 0, errors.New("it has more than it may have")
	}
	return b.from.ReadAt(p, at)
}
