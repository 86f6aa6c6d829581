package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// testOptions make a recording a function of its frames alone: the clock stands still and nothing
// is flushed by time.
func testOptions() Options {
	return Options{Clock: stillClock{}, SyncEvery: time.Hour, ID: [16]byte{1, 2, 3, 4}, Workers: 2}
}

type stillClock struct{}

func (stillClock) Now() timeline.Time { return 1_000_000 }
func (stillClock) Wall() int64        { return 1_700_000_000_000_000_000 }

// scribble makes the next frame of a random film: no change, some bytes, a scroll or a box. It may
// also replace everything.
func scribble(rng *rand.Rand, l *frame.Layout, prev []byte) []byte {
	next := bytes.Clone(prev)
	switch rng.IntN(9) {
	case 7, 8: // a part moves sideways
		by, down := 1+rng.IntN(20), rng.IntN(3)
		for y := rng.IntN(len(l.Rows)); y+down < len(l.Rows) && l.Rows[y].Bytes == l.Rows[y+down].Bytes; y++ {
			copy(l.Row(next, y)[min(by, l.Rows[y].Bytes):], l.Row(prev, y+down))
		}
	case 0:
	case 1: // a few bytes
		for range 1 + rng.IntN(20) {
			next[rng.IntN(len(next))] ^= byte(1 + rng.IntN(255))
		}
	case 2: // scroll
		by := 1 + rng.IntN(len(l.Rows))
		for y := range l.Rows {
			if y+by < len(l.Rows) {
				copy(l.Row(next, y), l.Row(prev, y+by))
			}
		}
	case 3: // swap rows
		for range 3 {
			a, b := rng.IntN(len(l.Rows)), rng.IntN(len(l.Rows))
			copy(l.Row(next, a), l.Row(prev, b))
		}
	case 4: // box
		y0, n := rng.IntN(len(l.Rows)), 1+rng.IntN(len(l.Rows))
		x := rng.IntN(l.Rows[y0].Bytes)
		for y := y0; y < min(y0+n, len(l.Rows)); y++ {
			row := l.Row(next, y)
			for i := min(x, len(row)-1); i < min(len(row), x+40); i++ {
				row[i] = byte(rng.IntN(4))
			}
		}
	case 5: // many specks, so that rows fall into pieces
		for range len(next) / 50 {
			next[rng.IntN(len(next))]++
		}
	case 6:
		for i := range next {
			next[i] = byte(rng.Uint32())
		}
	}
	return next
}

func film(t testing.TB, seed uint64, f frame.Format, frames int) [][]byte {
	t.Helper()
	l, err := frame.NewLayout(f)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	all := [][]byte{make([]byte, l.Size)}
	for len(all) < frames {
		all = append(all, scribble(rng, l, all[len(all)-1]))
	}
	return all
}

func metaOf(i int) frame.Meta {
	at := timeline.Time(5_000_000_000 + i*16_683_333)
	return frame.Meta{Sequence: uint64(100 + i), Sampled: timeline.Interval{Earliest: at, Latest: at + 1000}}
}

func record(t testing.TB, d storage, f frame.Format, all [][]byte) {
	t.Helper()
	w := newWriter(d, testOptions())
	if err := w.Segment(f, 1001, 60000); err != nil {
		t.Fatal(err)
	}
	for i, pix := range all {
		if err := w.WriteFrame(pix, metaOf(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func testFormats(t testing.TB) []frame.Format {
	t.Helper()
	var all []frame.Format
	for _, p := range frame.PixelFormats() {
		for _, size := range [][2]int{{120, 30}, {2, 2}, {1, 1}, {67, 33}} {
			f, err := frame.NewFormat(p, size[0], size[1])
			if err != nil {
				continue // odd where the format has no odd sizes
			}
			all = append(all, f)
			f.Stride += 13
			all = append(all, f)
		}
	}
	return all
}

func TestEveryFrameComesBack(t *testing.T) {
	for i, f := range testFormats(t) {
		t.Run(f.String(), func(t *testing.T) {
			frames := 150
			if testing.Short() {
				frames = 70 // still two checkpoints
			}
			all := film(t, uint64(i), f, frames)
			d := &memDisk{}
			record(t, d, f, all)
			if d.rewrote {
				t.Error("bytes that were durable were written again")
			}
			r, err := newReader(d, int64(len(d.b)))
			if err != nil {
				t.Fatal(err)
			}
			if !r.complete || len(r.damage) > 0 || r.Frames() != len(all) {
				t.Fatalf("complete %v, damage %v, %d frames", r.complete, r.damage, r.Frames())
			}
			checkFrames(t, r, all)
			v, err := r.Verify(context.Background(), nil)
			if err != nil || len(v.Problems) > 0 || v.Checked != len(all) || v.Tables == 0 {
				t.Errorf("verify: %+v, %v", v, err)
			}
		})
	}
}

// TestAhead shows the writer frames before they are written: those that come then, and others.
func TestAhead(t *testing.T) {
	f := format(t, frame.BGR4, 64, 40, 0)
	all, others := film(t, 9, f, 120), film(t, 10, f, MaxAhead)
	rng := rand.New(rand.NewPCG(9, 9))
	d := &memDisk{}
	w := newWriter(d, testOptions())
	w.Ahead(all[:2]) // before the first segment
	if err := w.Segment(f, 1, 60); err != nil {
		t.Fatal(err)
	}
	for i, pix := range all {
		switch rng.IntN(4) {
		case 0:
			w.Ahead(all[i:min(i+1+rng.IntN(MaxAhead+1), len(all))])
		case 1: // the second is not the next frame
			w.Ahead([][]byte{pix, others[i%MaxAhead], pix})
		case 2: // nothing of it comes
			w.Ahead(others)
		}
		if err := w.WriteFrame(pix, metaOf(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Ahead(all[:1])
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	checkFrames(t, r, all)
}

// checkFrames reads every frame in each of the three ways and compares.
func checkFrames(t *testing.T, r *Reader, all [][]byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(9, 9))
	for _, n := range rng.Perm(len(all)) {
		m, err := r.Image(n)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, m.Layout.Size)
		m.CopyTo(got)
		if !bytes.Equal(got, all[n]) {
			t.Fatalf("image %d differs", n)
		}
		if meta, err := r.Meta(n); err != nil || meta != metaOf(n) {
			t.Fatalf("meta %d: %+v, %v", n, meta, err)
		}
	}
	from := rng.IntN(len(all))
	for _, from := range []int{0, from} {
		p, err := r.Play(from, len(all))
		if err != nil {
			t.Fatal(err)
		}
		tl := r.Timeline(from, len(all))
		n := from
		for p.Next() {
			got := make([]byte, p.Image().Layout.Size)
			p.Image().CopyTo(got)
			if p.Number() != n || !bytes.Equal(got, all[n]) {
				t.Fatalf("played frame %d (want %d) differs", p.Number(), n)
			}
			if !tl.Next() {
				t.Fatal(tl.Err())
			}
			if fmt.Sprint(*tl.Change()) != fmt.Sprint(*p.lastChange()) {
				t.Fatalf("frame %d: timeline and player tell of different changes", n)
			}
			if n > 0 {
				checkChange(t, p.Image().Layout, all[n-1], all[n], p.lastChange())
			}
			n++
		}
		if p.Err() != nil || n != len(all) {
			t.Fatalf("played to %d: %v", n, p.Err())
		}
		p.Close()
	}
}

// checkChange holds a change against a comparison of all bytes.
func checkChange(t *testing.T, l *frame.Layout, a, b []byte, c *frame.Change) {
	t.Helper()
	covered := make([]bool, len(a))
	for _, s := range c.Spans {
		for i := s.Start; i < s.End; i++ {
			covered[l.Rows[s.Row].Offset+int(i)] = true
		}
	}
	changed := false
	for y, r := range l.Rows {
		if l.RowEqual(y, l.Row(a, y), l.Row(b, y)) {
			continue
		}
		changed = true
		start, end, _ := l.Tighten(y, l.Row(a, y), l.Row(b, y), 0, r.Bytes)
		for _, i := range []int{start, end - 1} {
			if !covered[r.Offset+i] {
				t.Fatalf("row %d: byte %d changed and is in no span", y, i)
			}
		}
		for i := start; i < end; i++ {
			if _, _, seen := l.Tighten(y, l.Row(a, y), l.Row(b, y), i, i+1); seen && !covered[r.Offset+i] {
				t.Fatalf("row %d: byte %d changed and is in no span", y, i)
			}
		}
	}
	if changed != (len(c.Spans) > 0) {
		t.Fatalf("frame changed: %v, spans: %d", changed, len(c.Spans))
	}
}

func TestSegmentsGapsEventsMetadata(t *testing.T) {
	f1, _ := frame.NewFormat(frame.BGR4, 32, 16)
	f2, _ := frame.NewFormat(frame.NV12, 64, 32)
	a, b := film(t, 1, f1, 90), film(t, 2, f2, 90)
	d := &memDisk{}
	w := newWriter(d, testOptions())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	big := json.RawMessage(`"` + string(bytes.Repeat([]byte("x"), 700_000)) + `"`)
	must(w.Metadata("truth", json.RawMessage(`{"a":1}`)))
	must(w.Metadata("truth", big))
	must(w.Segment(f1, 1, 60))
	for i, pix := range a {
		if i == 40 {
			must(w.Gap(frame.Gap{First: 140, Count: 3, Cause: frame.RingFull}))
			must(w.Event(timeline.Event{At: 7, Source: "x", Kind: "tap", Data: json.RawMessage(`[1,2]`)}))
		}
		must(w.WriteFrame(pix, metaOf(i), nil))
	}
	must(w.Gap(frame.Gap{First: 190, Count: 1, Cause: frame.FormatChange}))
	must(w.Segment(f2, 1, 50))
	for i, pix := range b {
		must(w.WriteFrame(pix, metaOf(90+i), nil))
	}
	must(w.Close())
	must(w.Close())

	r, err := newReader(d, int64(len(d.b)))
	must(err)
	segs := r.Segments()
	if len(segs) != 2 || segs[0].Frames != 90 || segs[1].First != 90 || segs[1].Layout.Format != f2 ||
		segs[1].PeriodDen != 50 {
		t.Errorf("segments %+v", segs)
	}
	if g := r.Gaps(); len(g) != 2 || g[0].Before != 40 || g[0].Count != 3 || g[1].Cause != frame.FormatChange {
		t.Errorf("gaps %+v", g)
	}
	if e := r.Events(); len(e) != 1 || e[0].Kind != "tap" || e[0].Bytes != len("[1,2]") {
		t.Errorf("events %+v", e)
	}
	if e, err := r.Event(0); err != nil || e.Kind != "tap" || string(e.Data) != "[1,2]" {
		t.Errorf("event %+v, %v", e, err)
	}
	if m := r.Metadata(); len(m) != 1 || m[0].Name != "truth" || !bytes.Equal(m[0].Value, big) {
		t.Errorf("%d metadata", len(m))
	}
	if m, _ := r.Meta(40); m.Flags != frame.FlagGapBefore {
		t.Errorf("frame after the gap has flags %v", m.Flags)
	}
	n := 0
	p, err := r.Play(0, r.Frames())
	must(err)
	defer p.Close()
	for p.Next() {
		want := a
		if n >= 90 {
			want = b
		}
		got := make([]byte, p.Image().Layout.Size)
		p.Image().CopyTo(got)
		if !bytes.Equal(got, want[n%90]) {
			t.Fatalf("frame %d differs", n)
		}
		n++
	}
	must(p.Err())
	if n != 180 {
		t.Errorf("played %d frames", n)
	}
}

func TestSameFramesMakeSameFile(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 128, 90)
	all := film(t, 3, f, 200)
	var a, b memDisk
	record(t, &a, f, all)
	record(t, &b, f, all)
	if !bytes.Equal(a.b, b.b) {
		t.Error("two recordings of the same frames differ")
	}
}
