package runzip

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// Limits bound the content of a zip file.
type Limits struct {
	Bytes int64 // of all files together
}

// MaxBytes is the default limit of a zip file and of its content.
const MaxBytes = 64 << 30

// What else a zip file may have: an order of magnitude more than a set of runs has.
const (
	maxFiles = 10_000
	maxTable = 8 << 20 // bytes of the table: 800 an entry
	maxPath  = 400     // bytes
	maxPart  = 200     // bytes of a name between slashes
	maxDepth = 8       // names between slashes
	// Files may be so much larger than what they are packed into: text and heat maps pack well, but
	// all of it together does not pack like a bomb.
	maxRatio = 200
	ratioAt  = 64 << 20 // bytes from which on that is looked at
)

// ErrRefused is wrapped by errors about a zip file with unwanted content.
var ErrRefused = errors.New("the zip file is refused")

// ErrTooLarge is wrapped, beside ErrRefused, where there is more than the limits allow.
var ErrTooLarge = errors.New("it is too large")

func tooLarge(format string, args ...any) error {
	return refused("%w: %w", ErrTooLarge, fmt.Errorf(format, args...))
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, args...))
}

// Reader is a zip file that was found to keep to the limits.
type Reader struct {
	files []*zip.File
	Bytes int64 // that its files claim to have
}

// Open looks at a zip file's table.
func Open(from io.ReaderAt, size int64, l Limits) (*Reader, error) {
	table := &bounded{from: from}
	table.left.Store(maxTable)
	z, err := zip.NewReader(table, size)
	if table.left.Swap(math.MaxInt64) < 0 {
		return nil, tooLarge("its table has more entries than a run folder has files")
	}
	if err != nil {
		return nil, refused("%w", err)
	}
	if len(z.File) > maxFiles {
		return nil, tooLarge("it has %d entries, want at most %d", len(z.File), maxFiles)
	}
	r := &Reader{}
	seen := map[string]bool{} // by the name in small letters: whether it is a file
	for _, f := range z.File {
		if err := r.look(f, seen); err != nil {
			return nil, err
		}
		if r.Bytes > l.Bytes {
			return nil, tooLarge("its files have over %d bytes", l.Bytes)
		}
	}
	for name := range seen {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if seen[dir] {
				return nil, refused("%.80q is a file and a folder", dir)
			}
		}
	}
	switch {
	case len(r.files) == 0:
		return nil, refused("it has no files")
	case r.Bytes > ratioAt && r.Bytes/maxRatio > size:
		return nil, refused("%d bytes are packed into %d, more than %d times as many", r.Bytes, size, maxRatio)
	}
	return r, nil
}

// bounded lets so much be read. Package zip takes memory for every entry that it finds in a table,
// however many the file has.
type bounded struct {
	from io.ReaderAt
	left atomic.Int64
}

func (b *bounded) ReadAt(p []byte, at int64) (int, error) {
	if b.left.Add(-int64(len(p))) < 0 {
		return 0, errors.New("more than is wanted")
	}
	return b.from.ReadAt(p, at)
}

// look checks an entry of the table.
func (r *Reader) look(f *zip.File, seen map[string]bool) error {
	name := strings.TrimSuffix(f.Name, "/")
	if err := checkName(name); err != nil {
		return err
	}
	folded := strings.ToLower(name) // there are file systems to which these are one
	if _, is := seen[folded]; is {
		return refused("%.80q is there twice", f.Name)
	}
	mode := f.Mode()
	seen[folded] = !mode.IsDir()
	switch {
	case mode.IsDir() && name != f.Name && f.UncompressedSize64 == 0:
		return nil // made with the first file in it
	case !mode.IsRegular() || name != f.Name:
		return refused("%.80q is not a file", f.Name)
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return refused("%.80q is packed by method %d, want 0 or 8", f.Name, f.Method)
	case f.Flags&1 != 0:
		return refused("%.80q is encrypted", f.Name)
	case f.UncompressedSize64 > 1<<62 || r.Bytes+int64(f.UncompressedSize64) < 0:
		return refused("%.80q has %d bytes", f.Name, f.UncompressedSize64)
	}
	r.Bytes += int64(f.UncompressedSize64)
	if !skipped(name) {
		r.files = append(r.files, f)
	}
	return nil
}

func checkName(name string) error {
	odd := func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`\:?*<>|"`, r) }
	parts := strings.Split(name, "/")
	if !fs.ValidPath(name) || name == "." || len(name) > maxPath || len(parts) > maxDepth || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, odd) {
		return refused("%.80q is not the name of a file in a run folder", name)
	}
	for _, part := range parts {
		if len(part) > maxPart || strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
			return refused("%.80q is not the name of a file in a run folder", name)
		}
	}
	return nil
}

// Unpack writes all files into a folder. progress, if not nil, gets the number of bytes written.
func (r *Reader) Unpack(ctx context.Context, into *os.Root, progress func(bytes int64)) error {
	for _, f := range r.files {
		if err := unpack(ctx, f, into, progress); err != nil {
			return fmt.Errorf("unpack %.80q: %w", f.Name, err)
		}
	}
	return nil
}

func unpack(ctx context.Context, f *zip.File, into *os.Root, progress func(int64)) error {
	if dir := path.Dir(f.Name); dir != "." {
		if err := into.MkdirAll(dir, 0o750); err != nil {
			return err
		}
	}
	from, err := f.Open()
	if err != nil {
		return refused("%w", err)
	}
	defer from.Close() // its checksum is looked at when it is read to the end
	out, err := into.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	err = fill(out, &reader{ctx, from, progress}, int64(f.UncompressedSize64))
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// fill writes the data, which must have the stated size. Package zip checks that too, but only at
// the end.
func fill(out io.Writer, from io.Reader, size int64) error {
	w := bufio.NewWriterSize(out, 1<<20)
	var writing error
	n, err := io.Copy(writerFunc(func(b []byte) (int, error) {
		n, err := w.Write(b)
		writing = err
		return n, err
	}), io.LimitReader(from, size+1))
	switch {
	case writing != nil:
		return writing
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case err != nil:
		return refused("%w", err)
	case n != size:
		return refused("it has another size than the %d bytes that are claimed", size)
	}
	return w.Flush()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
