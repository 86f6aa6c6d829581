package attach

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/chrome"
	"github.com/eideticker/eideticker/analyze/activity/cpuprofile"
	"github.com/eideticker/eideticker/analyze/activity/gecko"
	"github.com/eideticker/eideticker/analyze/activity/perfetto"
	"github.com/eideticker/eideticker/analyze/activity/perfscript"
)

// Limits of packed traces.
const (
	maxUnpacked = 8 << 30
	maxRatio    = 200
	freeRatio   = 1 << 20 // bytes that may have any ratio
	maxPacking  = 3       // formats around each other
)

var errBomb = fmt.Errorf("unpacked trace has more than %d GiB or %d times its size", maxUnpacked>>30, maxRatio)

// unpacked reads a trace that may be packed, within limits.
type unpacked struct {
	*bufio.Reader
	limit  int64 // bytes that may follow
	closes []func() error
}

func (u *unpacked) Close() error {
	var errs []error
	for _, f := range slices.Backward(u.closes) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// limited ends with an error after the limit.
type limited struct {
	to   *unpacked
	from io.Reader
}

func (l limited) Read(b []byte) (int, error) {
	n, err := l.from.Read(b)
	if l.to.limit -= int64(n); l.to.limit < 0 {
		return 0, errBomb
	}
	return n, err
}

// unpack opens a file and its packing. It knows gzip, zstd and zip by their content.
func unpack(path string) (_ *unpacked, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	u := &unpacked{closes: []func() error{f.Close}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("unpack %s: %w", path, err), u.Close())
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	u.limit = min(maxUnpacked, max(freeRatio, maxRatio*min(st.Size(), maxUnpacked)))
	var whole io.ReaderAt = f
	var from io.Reader = f
	for range maxPacking {
		u.Reader = bufio.NewReaderSize(limited{u, from}, 64<<10)
		magic, _ := u.Peek(4) // a shorter file has no packing
		inner := io.Reader(u.Reader)
		switch {
		case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
			z, err := gzip.NewReader(inner)
			if err != nil {
				return nil, err
			}
			u.closes = append(u.closes, z.Close)
			from = z
		case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
			z, err := zstd.NewReader(inner, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20),
				zstd.WithDecoderMaxWindow(128<<20))
			if err != nil {
				return nil, err
			}
			u.closes = append(u.closes, func() error { z.Close(); return nil })
			from = z
		case bytes.HasPrefix(magic, []byte("PK\x03\x04")) && whole != nil:
			z, err := only(whole, st.Size())
			if err != nil {
				return nil, err
			}
			u.closes = append(u.closes, z.Close)
			from = z
		default:
			return u, nil
		}
		whole = nil // of a packed zip, no place can be read
	}
	return nil, fmt.Errorf("more than %d packings around it", maxPacking-1)
}

// only opens the only file of a zip archive.
func only(from io.ReaderAt, size int64) (io.ReadCloser, error) {
	z, err := zip.NewReader(from, size)
	if err != nil {
		return nil, err
	}
	var found []*zip.File
	for _, f := range z.File {
		if !f.FileInfo().IsDir() && !strings.HasPrefix(f.Name, "__MACOSX/") {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("zip archive has %d files; it must have one", len(found))
	}
	return found[0].Open()
}

// format is a kind of traces.
type format struct {
	name string
	// is reports whether a trace with this begin has the format.
	is   func(begin []byte) bool
	read func(io.Reader, activity.Sink) (*activity.Claims, error)
}

// formats are all kinds, in the order in which they are tried.
func formats() []format {
	return []format{
		{"Chrome JSON trace", keys("traceEvents", "displayTimeUnit", "otherData", "systemTraceEvents",
			"controllerTraceDataKey"), chrome.Read},
		{"Chrome JSON trace", list, chrome.Read},
		{"Firefox profile", keys("meta", "libs", "threads", "pages", "shared", "processes"), gecko.Read},
		{"Perfetto trace", perfetto.Begins, perfetto.Read},
		{"text of perf script", perfscript.Detect, perfScript},
		{".cpuprofile", keys("nodes", "timeDeltas", "startTime", "endTime"), cpuprofile.Read},
	}
}

// perfScript reads the text of perf script. Its clock is unknown: perf record -k selects it.
func perfScript(from io.Reader, to activity.Sink) (*activity.Claims, error) {
	counts, err := perfscript.Read(from, perfscript.Options{}, to)
	if err != nil {
		return nil, err
	}
	c := &activity.Claims{Engine: "perf", Way: "samples", Begin: counts.Begin, End: counts.End, Records: counts.Samples,
		Skipped: counts.Skipped, Truncated: counts.Truncated, Resolution: 1000}
	if counts.Period > 0 && !counts.Assumed {
		c.RateHz = int(1e9 / counts.Period)
	}
	return c, nil
}

// keys returns whether a JSON object begins with one of some keys.
func keys(names ...string) func([]byte) bool {
	return func(begin []byte) bool {
		text := bytes.TrimLeft(begin, "\ufeff \t\r\n")
		if !bytes.HasPrefix(text, []byte("{")) {
			return false
		}
		text = bytes.TrimLeft(text[1:], " \t\r\n")
		return slices.ContainsFunc(names, func(name string) bool {
			return bytes.HasPrefix(text, []byte(`"`+name+`"`))
		})
	}
}

// list returns whether a JSON array of trace events begins.
func list(begin []byte) bool {
	text := bytes.TrimLeft(begin, " \t\r\n")
	return bytes.HasPrefix(text, []byte("[")) && bytes.Contains(text, []byte(`"ph"`))
}

// detect returns the format of a trace by its content.
func detect(u *unpacked) (format, error) {
	begin, err := u.Peek(64 << 10)
	if len(begin) == 0 && errors.Is(err, io.EOF) {
		return format{}, errors.New("detect format: the file is empty")
	}
	if len(begin) == 0 {
		return format{}, fmt.Errorf("detect format: %w", err)
	}
	var names []string
	for _, f := range formats() {
		if f.is(begin) {
			return f, nil
		}
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	return format{}, fmt.Errorf("detect format: unknown; known are: %s", strings.Join(names, ", "))
}
