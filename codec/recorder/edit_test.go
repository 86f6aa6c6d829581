package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/raw"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// shot is a recording made for a test, and its content.
type shot struct {
	path   string
	frames [][]byte
}

// shoot records three random frames of each given format, with random padding and hidden bytes.
// There is a gap between formats, and an event and metadata.
func shoot(t *testing.T, formats ...frame.Format) shot {
	t.Helper()
	s := shot{path: filepath.Join(t.TempDir(), "in.eid")}
	w, err := recording.Create(s.path, recording.Options{NoDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{byte(len(formats))})
	sequence := uint64(7)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(w.Metadata("page", json.RawMessage(`"bank.example"`)))
	for i, f := range formats {
		if i > 0 {
			check(w.Gap(frame.Gap{First: sequence, Count: 4, Cause: frame.FormatChange,
				At: timeline.Interval{Earliest: 5, Latest: 9}}))
			sequence += 4
		}
		check(w.Segment(f, 1, 50))
		for n := range 3 {
			pix := make([]byte, f.Size())
			random.Read(pix)
			if n == 1 { // only a little differs from the frame before
				copy(pix[8:], s.frames[len(s.frames)-1][8:])
			}
			m := frame.Meta{Sequence: sequence, Sampled: timeline.Interval{Earliest: timeline.Time(sequence) * 20e6,
				Latest: timeline.Time(sequence)*20e6 + 300}}
			if n == 2 {
				m.Flags = frame.FlagError
			}
			check(w.WriteFrame(pix, m, nil))
			s.frames = append(s.frames, pix)
			sequence++
		}
		check(w.Event(timeline.Event{At: timeline.Time(sequence) * 20e6, Source: "input", Kind: "key",
			Data: json.RawMessage(`{"text":"secret"}`)}))
	}
	check(w.Close())
	return s
}

// edited copies a recording and opens the copy, which must be sound.
func edited(t *testing.T, s shot, from, to int, redact []frame.Region, cut *frame.Region,
	noEvents bool) (out *recording.Reader, edit Edit, path string) {
	t.Helper()
	in, err := recording.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if edit, err = NewEdit(in.Segments(), redact, cut); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "out.eid")
	w, err := recording.Create(path, recording.Options{NoDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	err = Copy(context.Background(), w, []Range{{in, from, to}}, CopyOptions{Edit: edit, NoEvents: noEvents})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	report, err := recording.Verify(context.Background(), path, nil)
	if err != nil || len(report.Problems) > 0 || report.Checked != to-from {
		t.Fatalf("verify: %+v, %v", report, err)
	}
	if out, err = recording.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return out, edit, path
}

func regions(t *testing.T, texts ...string) []frame.Region {
	t.Helper()
	var all []frame.Region
	for _, s := range texts {
		r, err := frame.ParseRegion(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// TestRedact holds every byte of every format against what it must be: that of a grey frame where
// it touches a region, 0 in padding, and what it was elsewhere. What touches a region is asked of
// Layout.Rect, which the painting does not use.
//
// Fault: A picture shows something private
func TestRedact(t *testing.T) {
	for _, pixel := range frame.PixelFormats() {
		for _, size := range [][2]int{{66, 48}, {65, 49}} {
			f, err := frame.NewFormat(pixel, size[0], size[1])
			if err != nil {
				continue // no odd sizes
			}
			for _, padding := range []int{0, 22} {
				f := f
				f.Stride += padding
				for _, where := range [][]string{
					{"21x9+5+7"}, {"1x1+0+0"}, {fmt.Sprintf("3x5+%d+%d", size[0]-3, size[1]-5)},
					{fmt.Sprintf("%dx%d+0+0", size[0], size[1])},
					{"10x10+1+1", "7x30+8+3", "1x1+40+40"},
				} {
					t.Run(fmt.Sprintf("%v/%s", f, strings.Join(where, ",")), func(t *testing.T) {
						s := shoot(t, f)
						out, edit, _ := edited(t, s, 0, 3, regions(t, where...), nil, false)
						for i, r := range edit.Redact {
							holds(t, r, regions(t, where...)[i])
						}
						for n := range 3 {
							wantRedacted(t, out, n, s.frames[n], edit.Redact)
						}
					})
				}
			}
		}
	}
}

// holds wants one region to be around another, by at most a block.
func holds(t *testing.T, outer, inner frame.Region) {
	t.Helper()
	if outer.X > inner.X || outer.Y > inner.Y || outer.X+outer.Width < inner.X+inner.Width ||
		outer.Y+outer.Height < inner.Y+inner.Height ||
		outer.Width > inner.Width+2 || outer.Height > inner.Height+2 {
		t.Errorf("%v was widened to %v", inner, outer)
	}
}

func wantRedacted(t *testing.T, r *recording.Reader, n int, was []byte, painted []frame.Region) {
	t.Helper()
	s, err := r.SegmentOf(n)
	if err != nil {
		t.Fatal(err)
	}
	l := s.Layout
	got := make([]byte, l.Size)
	if err := r.ReadFrame(n, got); err != nil {
		t.Fatal(err)
	}
	grey := make([]byte, l.Size)
	frame.NewPacker(l).BGRX(grey, bytes.Repeat([]byte{0x80}, l.Format.Width*l.Format.Height*4))
	for y, row := range l.Rows {
		for x := range row.Bytes {
			at := row.Offset + x
			want, what := was[at], "outside"
			if x >= row.Seen {
				want, what = 0, "padding"
			} else if touches(l, y, x, painted) {
				want, what = grey[at], "redacted"
			}
			if got[at] != want {
				t.Fatalf("frame %d row %d byte %d, %s: %#x, want %#x (was %#x)", n, y, x, what, got[at], want, was[at])
			}
		}
	}
}

func touches(l *frame.Layout, y, x int, regions []frame.Region) bool {
	x0, y0, x1, y1 := l.Rect(y, x, x+1)
	for _, r := range regions {
		if x0 < r.X+r.Width && r.X < x1 && y0 < r.Y+r.Height && r.Y < y1 {
			return true
		}
	}
	return false
}

// TestNothingIsLeft looks for the original's bytes in the file itself: random bytes stand there as
// they are.
//
// Fault: A picture shows something private
func TestNothingIsLeft(t *testing.T) {
	f, err := frame.NewFormat(frame.NV12, 320, 64)
	if err != nil {
		t.Fatal(err)
	}
	s := shoot(t, f)
	_, _, path := edited(t, s, 0, 3, regions(t, "160x32+0+16"), nil, true)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const some = 12 // bytes, too many to be the same by chance
	for n, pix := range []([]byte){s.frames[0], s.frames[2]} {
		for y := range 64 {
			left, right := pix[y*320:y*320+160], pix[y*320+160:(y+1)*320]
			if !bytes.Contains(file, right[60:60+some]) { // or this test looks in a wrong way
				t.Errorf("frame %d line %d: what was to stay is not found in the file", n, y)
			}
			for x := 0; x+some <= len(left); x++ {
				if y >= 16 && y < 48 && bytes.Contains(file, left[x:x+some]) {
					t.Fatalf("frame %d line %d: what was painted over stands in the file", n, y)
				}
			}
		}
	}
	if bytes.Contains(file, []byte("secret")) {
		t.Error("what was typed stands in the file")
	}
}

func TestRedactSegments(t *testing.T) {
	formats := []frame.Format{}
	for _, c := range []struct {
		p    frame.PixelFormat
		w, h int
	}{{frame.YU12, 31, 17}, {frame.P010, 48, 32}, {frame.BGR4, 33, 20}} {
		f, err := frame.NewFormat(c.p, c.w, c.h)
		if err != nil {
			t.Fatal(err)
		}
		formats = append(formats, f)
	}
	s := shoot(t, formats...)
	in, err := recording.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()

	out, edit, _ := edited(t, s, 0, 9, regions(t, "6x5+25+3"), nil, false)
	// odd ends: the widest that any of the formats needs
	if want := regions(t, "8x6+24+2"); !reflect.DeepEqual(edit.Redact, want) {
		t.Errorf("painted over %v, want %v", edit.Redact, want)
	}
	for n := range 9 {
		wantRedacted(t, out, n, s.frames[n], edit.Redact)
		was, err1 := in.Meta(n)
		is, err2 := out.Meta(n)
		if err1 != nil || err2 != nil || was != is {
			t.Errorf("frame %d: %+v, want %+v", n, is, was)
		}
	}
	if !reflect.DeepEqual(in.Gaps(), out.Gaps()) || !reflect.DeepEqual(in.Events(), out.Events()) {
		t.Errorf("gaps %v, want %v; events %v, want %v", out.Gaps(), in.Gaps(), out.Events(), in.Events())
	}
	wantMetadata(t, out, `page="bank.example"`, `redact={"colour":"#808080","regions":["8x6+24+2"]}`)

	if _, err := NewEdit(in.Segments(), regions(t, "6x5+27+3"), nil); err == nil ||
		!strings.Contains(err.Error(), "frames 0:3 are 31x17") {
		t.Errorf("a region outside of the first frames: %v", err)
	}
	if _, err := NewEdit(in.Segments()[1:], regions(t, "6x5+27+3"), nil); err != nil {
		t.Errorf("without those frames: %v", err)
	}
	cut := regions(t, "5x5+1+1")[0]
	if _, err := NewEdit(in.Segments(), nil, &cut); err == nil || !strings.Contains(err.Error(), "from frame 6 on") {
		t.Errorf("a cut that differs: %v", err)
	}
}

func wantMetadata(t *testing.T, r *recording.Reader, want ...string) {
	t.Helper()
	var got []string
	for _, m := range r.Metadata() {
		got = append(got, m.Name+"="+string(m.Value))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("metadata %q, want %q", got, want)
	}
}

// TestCutAndRedact edits an edited recording. Positions are in pixels of the new frames and of the
// first recording.
func TestCutAndRedact(t *testing.T) {
	f, err := frame.NewFormat(frame.YUYV, 64, 48)
	if err != nil {
		t.Fatal(err)
	}
	s := shoot(t, f)
	cut := regions(t, "41x30+9+8")[0]
	first, edit, path := edited(t, s, 1, 3, regions(t, "10x4+0+9", "3x3+60+40"), &cut, true)
	if *edit.Cut != regions(t, "40x30+10+8")[0] {
		t.Errorf("cut %v", *edit.Cut)
	}
	// the redacted area was cut off
	wantMetadata(t, first, `page="bank.example"`, `crop={"region":"40x30+10+8"}`)
	if len(first.Events()) > 0 {
		t.Errorf("events %v", first.Events())
	}
	again := shot{path: path}
	inner := regions(t, "20x20+2+4")[0]
	second, _, path := edited(t, again, 0, 2, regions(t, "6x3+0+3"), &inner, false)
	wantMetadata(t, second, `page="bank.example"`, `crop={"region":"20x20+12+12"}`,
		`redact={"colour":"#808080","regions":["4x2+0+0"]}`)
	third, _, _ := edited(t, shot{path: path}, 0, 2, regions(t, "2x2+6+6"), nil, false)
	wantMetadata(t, third, `page="bank.example"`, `crop={"region":"20x20+12+12"}`,
		`redact={"colour":"#808080","regions":["4x2+0+0","2x2+6+6"]}`)

	img, err := third.Image(1)
	if err != nil {
		t.Fatal(err)
	}
	for y, row := range img.Rows {
		was := s.frames[2][(y+12)*128+24 : (y+12)*128+64]
		for x := range row {
			right := row[x] == was[x]
			if y < 2 && x < 8 || y >= 6 && y < 8 && x >= 12 && x < 16 {
				right = row[x] == 126 || row[x] == 128 // luma and chroma of mid grey
			}
			if !right {
				t.Fatalf("row %d byte %d: %#x, was %#x", y, x, row[x], was[x])
			}
		}
	}
}

// TestKeptHeader: the lines of a Y4M stream go along as long as they fit.
func TestKeptHeader(t *testing.T) {
	cut := frame.Region{Width: 2, Height: 2}
	for _, tc := range []struct {
		name, header string
		edit         Edit
		trimmed      bool
		kept         bool
	}{
		{"whole", `"YUV4MPEG2 W8 H8\nFRAME\nFRAME Ip"`, Edit{}, false, true},
		{"plain, trimmed", `"YUV4MPEG2 W8 H8"`, Edit{}, true, true},
		{"lines, trimmed", `"YUV4MPEG2 W8 H8\nFRAME\nFRAME Ip"`, Edit{}, true, false},
		{"cut", `"YUV4MPEG2 W8 H8"`, Edit{Cut: &cut}, false, false},
		{"redacted", `"YUV4MPEG2 W8 H8"`, Edit{Redact: []frame.Region{cut}}, false, true},
		{"no string", `7`, Edit{}, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.edit.metadata(
				[]recording.Metadata{{Name: raw.HeaderMetadata, Value: json.RawMessage(tc.header)}}, tc.trimmed)
			kept := len(got) > 0 && got[0].Name == raw.HeaderMetadata
			if err != nil || kept != tc.kept {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// TestHostileMetadata: what another program wrote under our names does no harm.
func TestHostileMetadata(t *testing.T) {
	cut := frame.Region{X: 4, Y: 4, Width: 8, Height: 8}
	for _, value := range []string{`7`, `null`, `{"regions":7}`, `{"regions":["x","9x9+99999999+0",""]}`,
		`{"region":"32768x32768+32768+32768"}`, `[]`} {
		old := []recording.Metadata{{Name: redactMetadata, Value: json.RawMessage(value)},
			{Name: cropMetadata, Value: json.RawMessage(value)}}
		got, err := Edit{Redact: []frame.Region{{X: 5, Y: 5, Width: 2, Height: 2}}, Cut: &cut}.metadata(old, false)
		if err != nil || len(got) != 2 {
			t.Errorf("%s: %v, %v", value, got, err)
		}
	}
}
