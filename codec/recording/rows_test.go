package recording

import (
	"bytes"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// TestRowsAreThoseOfTheImage asks for some rows of frames of random films, in formats of one plane
// and of several.
func TestRowsAreThoseOfTheImage(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 9))
		f := format(t, []frame.PixelFormat{frame.BGR4, frame.NV12, frame.P422, frame.YUYV}[seed%4], 64, 48, 0)
		all := clip(t, rng, f, 120)
		var d memDisk
		record(t, &d, f, all)
		r, err := newReader(&d, int64(len(d.b)))
		if err != nil {
			t.Fatal(err)
		}
		layout := r.segments[0].Layout
		for range 200 {
			n, one := rng.IntN(len(all)), rng.IntN(8) == 0
			var rows []int
			for y := range layout.Rows {
				if one && y == n%len(layout.Rows) || !one && rng.IntN(3) == 0 {
					rows = append(rows, y)
				}
			}
			m, err := r.Rows(n, rows)
			if err != nil {
				t.Fatal(err)
			}
			for y := range layout.Rows {
				switch asked := len(rows) > 0 && rows[0] == y; {
				case !asked && m.Rows[y] != nil:
					t.Fatalf("seed %d, frame %d: row %d was not asked for", seed, n, y)
				case asked && !bytes.Equal(m.Rows[y], layout.Row(all[n], y)):
					t.Fatalf("seed %d, frame %d: row %d is not what it was", seed, n, y)
				case asked:
					rows = rows[1:]
				}
			}
		}
	}
}

func TestRowsRefuses(t *testing.T) {
	f := format(t, frame.BGR4, 64, 48, 0)
	var d memDisk
	record(t, &d, f, film(t, 1, f, 3))
	r, err := newReader(&d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		n    int
		rows []int
	}{
		"a frame that there is not": {3, []int{0}}, "a negative one": {-1, []int{0}},
		"a row that there is not": {0, []int{48}},
		"a negative row":          {0, []int{-1}}, "the same row twice": {0, []int{4, 4}},
		"rows that go back": {0, []int{5, 4}},
	} {
		if _, err := r.Rows(c.n, c.rows); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if m, err := r.Rows(2, nil); err != nil || len(m.Rows) != 48 {
		t.Errorf("no rows: %v, %d rows", err, len(m.Rows))
	}
}

// countingDisk counts the bytes read.
type countingDisk struct {
	io.ReaderAt
	bytes atomic.Int64
}

func (d *countingDisk) ReadAt(p []byte, off int64) (int, error) {
	d.bytes.Add(int64(len(p)))
	return d.ReaderAt.ReadAt(p, off)
}

// TestRowsReadLess counts the bytes read for a frame of noise. The frame has as many bytes in the
// file as on the screen.
func TestRowsReadLess(t *testing.T) {
	f := format(t, frame.BGR4, 640, 480, 0)
	l, err := frame.NewLayout(f)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 9))
	noise := make([]byte, l.Size)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	var d memDisk
	record(t, &d, f, [][]byte{make([]byte, l.Size), noise})
	counted := &countingDisk{ReaderAt: &d}
	r, err := newReader(counted, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	read := func(do func() error) int64 {
		from := counted.bytes.Load()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		return counted.bytes.Load() - from
	}
	all := read(func() error { _, err := r.Image(1); return err })
	some := read(func() error { _, err := r.Rows(1, []int{0, 240, 479}); return err })
	if all < int64(l.Size) || 2*some > all {
		t.Errorf("three rows took %d bytes, the frame %d", some, all)
	}
}
