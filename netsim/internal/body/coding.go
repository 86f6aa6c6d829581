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
	if len(applied) > 4 {
		return nil, errors.New("it is packed more than four times")
	}
	for i := len(applied) - 1; i >= 0; i-- {
		var err error
		if b, err = unpackOne(b, applied[i], most); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", applied[i], err)
		}
	}
	return b, nil
}

func unpackOne(b []byte, coding string, most int64) ([]byte, error) {
	from := bytes.NewReader(b)
	var r io.Reader
	switch coding {
	case "gzip":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		r = z
	case "deflate": // with a head or, as some servers have it, without
		if head, err := bufio.NewReader(bytes.NewReader(b)).Peek(2); err == nil && head[0]&0x0f == 8 &&
			(int(head[0])<<8|int(head[1]))%31 == 0 {
			z, err := zlib.NewReader(from)
			if err != nil {
				return nil, err
			}
			r = z
		} else {
			r = flate.NewReader(from)
		}
	case "br":
		r = brotli.NewReader(from)
	case "zstd":
		// RFC 8878, 3.1.1.1.2; RFC 9659
		z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(max(uint64(most), 1<<20)), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	default:
		return nil, errors.New("it is not known here")
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if n > most {
		return nil, errTooLong
	}
	return out.Bytes(), nil
}

// Pack applies content codings.
func Pack(b []byte, apply []string) ([]byte, error) {
	for _, coding := range apply {
		var out bytes.Buffer
		var z io.WriteCloser
		switch coding {
		case "gzip":
			z = gzip.NewWriter(&out)
		case "deflate":
			z = zlib.NewWriter(&out)
		case "br":
			z = brotli.NewWriterLevel(&out, 5)
		case "zstd":
			w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(4<<20))
			if err != nil {
				return nil, err
			}
			z = w
		default:
			return nil, fmt.Errorf("pack as %s: it is not known here", coding)
		}
		if _, err := z.Write(b); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		b = out.Bytes()
	}
	return b, nil
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
