package serve

import (
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// encoding is a way to pack bodies (RFC 9110, section 8.4.1).
type encoding struct {
	name   string
	writer func(io.Writer) (io.WriteCloser, error)
}

// encodings are the supported encodings. A packed body is kept, so packing may take its time.
// Browsers unpack all levels equally fast.
func encodings() []encoding {
	return []encoding{
		{"br", func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriterLevel(w, 9), nil }},
		{"zstd", func(w io.Writer) (io.WriteCloser, error) {
			// Browsers take windows of up to 8 MiB (RFC 9659).
			return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithWindowSize(8<<20),
				zstd.WithEncoderConcurrency(1))
		}},
		{"gzip", func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, gzip.BestCompression) }},
	}
}

// pack packs a body; nil: it would not be smaller.
func (e encoding) pack(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := e.writer(&out)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(b); err == nil {
		err = w.Close()
	}
	if err != nil || out.Len() >= len(b) {
		return nil, err
	}
	return bytes.Clone(out.Bytes()), nil
}

// acceptable returns the weight in thousandths of an encoding in the field Accept-Encoding (RFC
// 9110, section 12.5.3).
func acceptable(field, name string) int {
	weight, any := -1, -1
	for part := range strings.SplitSeq(field[:min(len(field), 1024)], ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		q := 1000
		if value, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameters)), "q="); ok {
			f, err := strconv.ParseFloat(value, 64)
			if err != nil || !(f >= 0 && f <= 1) {
				continue
			}
			q = int(f * 1000)
		}
		switch coding = strings.ToLower(strings.TrimSpace(coding)); coding {
		case name:
			weight = q
		case "*":
			any = q
		}
	}
	switch {
	case weight >= 0:
		return weight
	case any >= 0:
		return any
	case name == "identity":
		return 1 // always, but rather packed
	}
	return 0
}
