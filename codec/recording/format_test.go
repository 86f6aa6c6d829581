package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// exampleRecording is the one that FORMAT.md shows byte by byte: two frames of 4x2 grey pixels, of
// which the second differs in one.
func exampleRecording(t *testing.T) []byte {
	t.Helper()
	d := &memDisk{}
	o := testOptions()
	o.Program = "example"
	w := newWriter(d, o)
	if err := w.Segment(format(t, frame.GREY, 4, 2, 0), 1, 60); err != nil {
		t.Fatal(err)
	}
	for i, pix := range [][]byte{{16, 16, 16, 16, 32, 32, 32, 32}, {16, 16, 16, 16, 32, 64, 32, 32}} {
		at := timeline.Time(1_000_000_000 * (i + 1))
		m := frame.Meta{Sequence: uint64(i), Sampled: timeline.Interval{Earliest: at, Latest: at + 100}}
		if err := w.WriteFrame(pix, m, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return d.b
}

// dump writes a recording as offsets and bytes, part by part; zeros that only fill are counted.
func dump(t *testing.T, b []byte) string {
	t.Helper()
	var out strings.Builder
	rows := func(from, to int64, what string) {
		for at := from; at < to; at += 16 {
			line := fmt.Sprintf("%08x  %-47s  %s", at, fmt.Sprintf("% x", b[at:min(at+16, to)]), what)
			fmt.Fprintln(&out, strings.TrimRight(line, " "))
			what = ""
		}
	}
	zeros := func(from, to int64) {
		if len(bytes.Trim(b[from:to], "\x00")) > 0 {
			t.Fatalf("bytes from %d to %d are not zero", from, to)
		}
		if from < to {
			fmt.Fprintf(&out, "%08x  %d zeros\n", from, to-from)
		}
	}
	for copy := range int64(2) {
		at := copy * headerSize
		rows(at, at+64, fmt.Sprintf("file header, copy %d", copy+1))
		zeros(at+64, at+headerSize-4)
		rows(at+headerSize-4, at+headerSize, "its checksum")
	}
	for _, r := range records(t, b) {
		head := int64(binary.LittleEndian.Uint32(b[r.from+8:]))
		size := int64(binary.LittleEndian.Uint64(b[r.from+16:]))
		body := r.from + recordHeaderSize + head
		rows(r.from, r.from+recordHeaderSize, r.typ.String())
		rows(r.from+recordHeaderSize, body, "  head")
		if r.typ != typePad {
			rows(body, body+size, "  body")
			body += size
		}
		zeros(body, r.to)
	}
	return out.String()
}

// TestFormatDocument holds the example of FORMAT.md against what the writer writes, and the numbers
// in it against the code.
func TestFormatDocument(t *testing.T) {
	doc, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```hex\n")
	got, _, ok := strings.Cut(rest, "```\n")
	if want := dump(t, exampleRecording(t)); !ok || got != want {
		t.Errorf("the example in FORMAT.md is not what the writer writes; it should be\n%s", want)
	}
	for typ := typeSegment; typ <= typeVoid; typ++ {
		if row := fmt.Sprintf("| %d | %v |", typ, typ); !strings.Contains(string(doc), row) {
			t.Errorf("FORMAT.md has no row %q", row)
		}
	}
}

// TestGolden reads a recording that was written when version 1 of the format was settled. It must
// be readable for ever: when this test fails, the program is wrong and never the file.
func TestGolden(t *testing.T) {
	r, err := Open("testdata/v1.eid")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v, err := r.Verify(t.Context(), nil)
	if err != nil || len(v.Problems) > 0 || !v.Complete || v.Checked != 13 || v.Tables != 2 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	sum := sha256.New()
	for n := range r.Frames() {
		m, err := r.Image(n)
		if err != nil {
			t.Fatal(err)
		}
		meta, _ := r.Meta(n)
		fmt.Fprintf(sum, "%v %d %d %d %d %d\n", m.Layout.Format, meta.Sequence, meta.Sampled.Earliest,
			meta.Sampled.Latest, meta.Flags, meta.Missed)
		for _, row := range m.Rows {
			sum.Write(row)
		}
	}
	for _, g := range r.Gaps() {
		fmt.Fprintf(sum, "gap %d %d %d %d\n", g.Before, g.First, g.Count, g.Cause)
	}
	for n := range r.Events() {
		e, err := r.Event(n)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "event %d %s %s %s\n", e.At, e.Source, e.Kind, e.Data)
	}
	for _, m := range r.Metadata() {
		fmt.Fprintf(sum, "metadata %s %s\n", m.Name, m.Value)
	}
	const want = "d987737d3bd28e41321c315bd2dbac48e57a99e66c55da311ca0794f014e9f5e"
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != want {
		t.Errorf("what is read has the hash %s, want %s", got, want)
	}
	if i := r.Info(); i.Writer != "golden" || i.Version != 1 {
		t.Errorf("info %+v", i)
	}
}
