// Package body packs and unpacks the bodies of HTTP messages.
package body

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

var errTooLong = errors.New("it is larger than may be when it is unpacked")

// Codings returns the content codings of fields Content-Encoding, in the order in which they were
// applied (RFC 9110, 8.4).
func Codings(fields []string) (all []string) {
	for _, field := range fields {
		for one := range strings.SplitSeq(field, ",") {
			if one = strings.ToLower(strings.TrimSpace(one)); one != "" && one != "identity" {
				all = append(all, strings.TrimPrefix(one, "x-"))
			}
		}
	}
	return all
}

// Unpack decodes content codings. The result is bounded.
func Unpack(b []byte, applied []string, most int64) ([]byte, error) {
	r, err := NewReader(bytes.NewReader(b), applied, most)
	if err != nil || len(applied) == 0 {
		return b, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// Reader decodes content codings while the packed bytes arrive. Only Read has a limit.
type Reader struct {
	io.Reader
	zstd  *zstd.Decoder // the last one that decodes
	close []func()
}

// NewReader returns a reader of text to which codings were applied.
func NewReader(packed io.Reader, applied []string, most int64) (*Reader, error) {
	r := &Reader{Reader: packed}
	if len(applied) > 4 {
		return nil, errors.New("it is packed more than four times")
	}
	for i := len(applied) - 1; i >= 0; i-- {
		one, err := r.unpacked(applied[i], most)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("unpack %s: %w", applied[i], err)
		}
		r.Reader = &limited{r: one, left: most, coding: applied[i]}
	}
	return r, nil
}

// WriteTo writes text as soon as it is decoded. Read waits for more in some codings.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	if r.zstd == nil {
		return io.Copy(w, r.Reader)
	}
	n, err := r.zstd.WriteTo(w)
	if err != nil {
		err = fmt.Errorf("unpack zstd: %w", err)
	}
	return n, err
}

// Close frees the decoders.
func (r *Reader) Close() {
	for _, end := range r.close {
		end()
	}
}

// unpacked returns the reader without one coding.
func (r *Reader) unpacked(coding string, most int64) (io.Reader, error) {
	r.zstd = nil
	switch coding {
	case "gzip":
		return gzip.NewReader(r.Reader)
	case "deflate": // with a head or, as some servers have it, without
		from := bufio.NewReader(r.Reader)
		if head, err := from.Peek(2); err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			return zlib.NewReader(from)
		}
		return flate.NewReader(from), nil
	case "br":
		return brotli.NewReader(r.Reader), nil
	case "zstd":
		// RFC 8878, 3.1.1.1.2; RFC 9659
		z, err := zstd.NewReader(r.Reader, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(max(uint64(most), 1<<20)), zstd.WithDecoderMaxWindow(8<<20))
		if err == nil {
			r.zstd, r.close = z, append(r.close, z.Close)
		}
		return z, err
	}
	return nil, errors.New("it is not known here")
}

// limited fails behind a number of bytes, and names its coding in errors.
type limited struct {
	r      io.Reader
	left   int64
	coding string
}

func (l *limited) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if l.left -= int64(n); l.left < 0 {
		n, err = n+int(l.left), errTooLong
		l.left = 0
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("unpack %s: %w", l.coding, err)
	}
	return n, err
}

// Pack applies content codings.
func Pack(b []byte, apply []string) ([]byte, error) {
	var out bytes.Buffer
	w, err := NewWriter(&out, apply)
	if err != nil || len(apply) == 0 {
		return b, err
	}
	if _, err = w.Write(b); err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// Writer applies content codings to text that is sent in parts.
type Writer struct {
	io.Writer
	layers []layer // the first gets the text
}

type layer interface {
	io.WriteCloser
	Flush() error
}

// NewWriter returns a writer of packed text.
func NewWriter(packed io.Writer, apply []string) (*Writer, error) {
	w := &Writer{Writer: packed}
	for _, coding := range slices.Backward(apply) {
		var z layer
		switch coding {
		case "gzip":
			z = gzip.NewWriter(w.Writer)
		case "deflate":
			z = zlib.NewWriter(w.Writer)
		case "br":
			z = brotli.NewWriterLevel(w.Writer, 5)
		case "zstd":
			var err error
			z, err = zstd.NewWriter(w.Writer, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(4<<20))
			if err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("pack as %s: it is not known here", coding)
		}
		w.Writer, w.layers = z, append(w.layers, z)
	}
	slices.Reverse(w.layers)
	return w, nil
}

// Flush passes on all text that was written.
func (w *Writer) Flush() error { return w.each(layer.Flush) }

// Close ends the codings.
func (w *Writer) Close() error { return w.each(layer.Close) }

func (w *Writer) each(do func(layer) error) error {
	for _, z := range w.layers {
		if err := do(z); err != nil {
			return err
		}
	}
	return nil
}

// Accepts reports whether an Accept-Encoding allows codings (RFC 9110, 12.5.3). Without a
// field, none is allowed.
func Accepts(field string, applied []string) bool {
	for _, coding := range applied {
		if !AcceptsOne(field, coding) {
			return false
		}
	}
	return true
}

// AcceptsOne is Accepts for one coding.
func AcceptsOne(field, coding string) bool {
	any := false
	for one := range strings.SplitSeq(field, ",") {
		name, parameters, _ := strings.Cut(one, ";")
		name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "x-")
		q := 1.0
		if p := strings.ReplaceAll(strings.ToLower(parameters), " ", ""); strings.HasPrefix(p, "q=") {
			if v, err := strconv.ParseFloat(p[2:], 64); err == nil {
				q = v
			}
		}
		switch name {
		case coding:
			return q > 0
		case "*":
			any = q > 0
		}
	}
	return any
}

// MediaType returns a Content-Type without its parameters, in lower case.
func MediaType(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(contentType, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	return kind
}
