package rowdelta

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// layouts returns small and tiny, odd and padded layouts of every pixel format.
func layouts(t testing.TB) (all []*frame.Layout) {
	t.Helper()
	for _, p := range frame.PixelFormats() {
		for _, size := range [][3]int{{64, 24, 0}, {2, 2, 0}, {1, 1, 5}, {67, 33, 3}, {300, 20, 0}} {
			f, err := frame.NewFormat(p, size[0], size[1])
			if err != nil {
				continue // odd where the format has no odd sizes
			}
			f.Stride += size[2]
			l, err := frame.NewLayout(f)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, l)
		}
	}
	return all
}

// nextFrame changes a frame randomly as screens do: not at all, in specks or boxes, by moving rows,
// or altogether.
func nextFrame(rng *rand.Rand, l *frame.Layout, prev []byte) []byte {
	next := bytes.Clone(prev)
	row := func(y int) []byte { return l.Row(next, y) }
	rows := len(l.Rows)
	switch rng.IntN(11) {
	case 8, 9, 10: // a box moves over the picture, or all of it
		moveBox(rng, l, prev, next)
	case 0:
	case 1:
		for range 1 + rng.IntN(30) {
			next[rng.IntN(len(next))] ^= byte(1 + rng.IntN(255))
		}
	case 2, 3:
		by := rng.IntN(2*rows) - rows
		for y := range rows {
			if y+by >= 0 && y+by < rows {
				copy(row(y), l.Row(prev, y+by))
			}
		}
	case 4:
		for range 1 + rng.IntN(5) {
			copy(row(rng.IntN(rows)), l.Row(prev, rng.IntN(rows)))
		}
	case 5:
		y0, n := rng.IntN(rows), 1+rng.IntN(rows)
		for y := y0; y < min(rows, y0+n); y++ {
			r := row(y)
			x := rng.IntN(len(r))
			for i := x; i < min(len(r), x+1+rng.IntN(80)); i++ {
				r[i] = byte(rng.IntN(3))
			}
		}
	case 6:
		for range 1 + len(next)/80 {
			next[rng.IntN(len(next))]++
		}
	case 7:
		for i := range next {
			next[i] = byte(rng.Uint32())
		}
	}
	return next
}

// moveBox moves a part of a plane in any direction.
func moveBox(rng *rand.Rand, l *frame.Layout, prev, next []byte) {
	y0 := rng.IntN(len(l.Rows))
	n := 1 + rng.IntN(len(l.Rows)-y0)
	size := l.Rows[y0].Bytes
	dx, dy := rng.IntN(1+size/4), rng.IntN(7)-3
	x0 := rng.IntN(1 + (size-dx)/4)
	x1 := size - dx - rng.IntN(1+(size-dx)/4)
	for y := y0; y < y0+n; y++ {
		src := y + dy
		if src < 0 || src >= len(l.Rows) || l.Rows[y].Bytes != size || l.Rows[src].Bytes != size {
			continue
		}
		if n%2 == 0 {
			copy(l.Row(next, y)[x0+dx:], l.Row(prev, src)[x0:x1])
		} else {
			copy(l.Row(next, y)[x0:x1], l.Row(prev, src)[x0+dx:])
		}
	}
}

// body is what a container stores for a delta: its blocks, gathered from the frame.
func body(l *frame.Layout, d *Delta, pix []byte) (blocks [][]byte) {
	longest := BlockSize
	for _, r := range l.Rows {
		longest = max(longest, r.Bytes)
	}
	for _, b := range d.Blocks(nil) {
		blocks = append(blocks, bytes.Clone(b.Gather(l, pix, make([]byte, 0, longest))))
	}
	return blocks
}

// apply makes the next frame literally: from the frame before, a delta and its blocks.
func apply(l *frame.Layout, prev []byte, d *Delta, blocks [][]byte) []byte {
	next := bytes.Clone(prev)
	for _, r := range d.Runs {
		if r.Kind == Copied {
			for k := range int(r.Rows) {
				copy(l.Row(next, int(r.Row)+k), l.Row(prev, int(r.Src)+k))
			}
		}
		for _, m := range d.MovedSpans(&r) {
			for y := r.Row; y < r.Row+r.Rows; y++ {
				copy(l.Row(next, int(y))[m.Start:m.End], l.Row(prev, int(y+m.Row))[m.Start+m.Byte:])
			}
		}
	}
	for w := d.Walk(); w.Next(); {
		copy(l.Row(next, int(w.Row))[w.Start:w.End], blocks[w.Block][w.Off:])
	}
	return next
}

// TestFilms sends random films of every format through encoder and wire, parser and Places. Each
// frame must return unchanged.
func TestFilms(t *testing.T) {
	moved := 0
	for i, l := range layouts(t) {
		t.Run(l.Format.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			e := NewEncoder(l)
			places := NewPlaces(l)
			var all [][]byte // blocks of the whole film
			var d, parsed Delta
			var prev []byte
			cur := make([]byte, l.Size)
			for k := range cur {
				cur[k] = byte(rng.Uint32())
			}
			frames := 120
			if testing.Short() {
				frames = 40
			}
			for n := range frames {
				hash := e.Encode(prev, cur, &d, int64(len(all)))
				wire := d.Append(nil)
				if err := parsed.Parse(wire, l); err != nil {
					t.Fatalf("frame %d: %v", n, err)
				}
				if again := parsed.Append(nil); !bytes.Equal(wire, again) || parsed.Raw != d.Raw ||
					parsed.Changed() != d.Changed() {
					t.Fatalf("frame %d: delta changes on its way", n)
				}
				blocks := body(l, &d, cur)
				base := prev
				if base == nil {
					base = make([]byte, l.Size)
				}
				if got := apply(l, base, &parsed, blocks); !bytes.Equal(got, cur) {
					t.Fatalf("frame %d differs", n)
				}
				if m := l.View(cur); hash != FrameHash(m) {
					t.Fatalf("frame %d: encoder's hash is not the frame's", n)
				}
				if !places.Apply(&parsed, int64(len(all))) {
					t.Fatalf("frame %d falls into too many pieces", n)
				}
				all = append(all, blocks...)
				moved += len(parsed.Moved)
				checkPlaces(t, l, places, e.Places(), all, cur)
				if n > 0 {
					checkSeen(t, l, prev, cur, &parsed)
				}
				prev, cur = cur, nextFrame(rng, l, cur)
			}
			if !e.Intact(prev) {
				t.Error("the frame is not found intact")
			}
			e.Restore(prev, &d, int64(len(all)))
			all = append(all, body(l, &d, prev)...)
			checkPlaces(t, l, e.Places(), e.Places(), all, prev)
			prev[0]++
			if e.Intact(prev) {
				t.Error("nobody notices that the frame was changed")
			}
		})
	}
	if moved < 200 {
		t.Errorf("%d moved spans", moved)
	}
	t.Logf("%d moved spans", moved)
}

// checkPlaces puts a frame together from where its rows lie.
func checkPlaces(t *testing.T, l *frame.Layout, places, encoders *Places, blocks [][]byte, want []byte) {
	t.Helper()
	if !places.Known() {
		t.Fatal("rows are unknown")
	}
	for y, row := range l.Rows {
		p := places.Row(y)
		q := encoders.Row(y)
		if !slices.Equal(p.pieces(), q.pieces()) {
			t.Fatalf("row %d: encoder and reader disagree on where it lies", y)
		}
		got := make([]byte, row.Bytes)
		for i, piece := range p.Pieces[:p.N] {
			end := row.Bytes
			if i+1 < int(p.N) {
				end = int(p.Pieces[i+1].Start)
			}
			copy(got[piece.Start:end], blocks[piece.Block][piece.Off:])
		}
		if !bytes.Equal(got, l.Row(want, y)) {
			t.Fatalf("row %d is not where its place says", y)
		}
	}
}

// checkSeen compares a delta's seen spans with a literal comparison. Every byte that looks
// different is in a span. Every span begins and ends with one, unless the row was copied.
func checkSeen(t *testing.T, l *frame.Layout, a, b []byte, d *Delta) {
	t.Helper()
	var c frame.Change
	d.Change(&c)
	seen := make([]bool, l.Size)
	for _, s := range c.Spans {
		if s.Start >= s.End || int(s.End) > l.Rows[s.Row].Seen {
			t.Fatalf("span %+v", s)
		}
		for i := s.Start; i < s.End; i++ {
			seen[l.Rows[s.Row].Offset+int(i)] = true
		}
	}
	for y, r := range l.Rows {
		for i := range r.Seen {
			if _, _, differs := l.Tighten(y, l.Row(a, y), l.Row(b, y), i, i+1); differs && !seen[r.Offset+i] {
				t.Fatalf("row %d byte %d changed and is in no span", y, i)
			}
		}
	}
}

// TestAlikeInPlanes moves the same bytes of two rows: the last one of a plane, and the first one of
// the next plane. Rows of the next plane are shorter.
func TestAlikeInPlanes(t *testing.T) {
	l, err := frame.NewLayout(frame.Format{Width: 800, Height: 2, Stride: 800, Pixel: frame.YU12})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	prev := make([]byte, l.Size)
	for i := range prev {
		prev[i] = byte(rng.Uint32())
	}
	cur := bytes.Clone(prev)
	for y := range l.Rows {
		copy(l.Row(cur, y)[8:390], l.Row(prev, y)[16:])
	}
	e := NewEncoder(l)
	var d, parsed Delta
	e.Encode(nil, prev, &d, 0)
	e.Encode(prev, cur, &d, 1)
	for i := range d.Runs {
		if len(d.MovedSpans(&d.Runs[i])) == 0 {
			t.Errorf("run %d moves nothing", i)
		}
	}
	if err := parsed.Parse(d.Append(nil), l); err != nil {
		t.Fatal(err)
	}
	if got := apply(l, prev, &parsed, body(l, &parsed, cur)); !bytes.Equal(got, cur) {
		t.Error("frame differs")
	}
}
