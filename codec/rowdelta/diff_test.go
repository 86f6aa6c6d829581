package rowdelta

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// literalSpans is diffSpans byte by byte.
func literalSpans(a, b []byte) (spans []Span) {
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		n := len(spans)
		if n > 0 && (i-int(spans[n-1].End) < minGap || n == MaxSpans) {
			spans[n-1].End = int32(i + 1)
			continue
		}
		spans = append(spans, Span{int32(i), int32(i + 1)})
	}
	return spans
}

func TestDiffSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 20_000 {
		size := 1 + rng.IntN(1500)
		a := make([]byte, size)
		for i := range a {
			a[i] = byte(rng.Uint32())
		}
		b := bytes.Clone(a)
		for range 1 + rng.IntN(8) {
			from := rng.IntN(size)
			for i := from; i < min(size, from+1+rng.IntN(1+rng.IntN(200))); i++ {
				b[i] ^= byte(1 + rng.IntN(255))
			}
		}
		want := literalSpans(a, b)
		if len(want) == 0 {
			continue
		}
		var out [MaxSpans]Span
		got := out[:diffSpans(a, b, &out)]
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("case %d, %d bytes: %v, want %v", n, size, got, want)
		}
		start, end, differ := outerDiff(a, b)
		if !differ || int32(start) != want[0].Start || int32(end) != want[len(want)-1].End {
			t.Fatalf("case %d: outer difference %d to %d, want %v", n, start, end, want)
		}
	}
}

func TestDiffSpansAtTheLimit(t *testing.T) {
	for gap := minGap - 2; gap <= minGap+2; gap++ {
		for from := range 130 {
			a, b := make([]byte, 400), make([]byte, 400)
			b[from], b[from+gap+1] = 1, 1
			var out [MaxSpans]Span
			want := literalSpans(a, b)
			if got := out[:diffSpans(a, b, &out)]; !reflect.DeepEqual(got, want) {
				t.Fatalf("gap of %d after %d: %v, want %v", gap, from, got, want)
			}
		}
	}
}

// TestRowTable compares the table with a search from the top. Many rows are equal, over many
// frames.
func TestRowTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, rows := range []int{1, 2, 7, 100, 1080} {
		table := newRowTable(rows)
		table.gen = 1<<32 - 20 // it wraps soon
		for range 50 {
			hashes := make([]uint64, rows)
			for y := range hashes {
				hashes[y] = rng.Uint64N(uint64(rows))<<32 | rng.Uint64N(4) // many collide
			}
			table.reset()
			for range 2 * rows {
				h := rng.Uint64N(uint64(rows))<<32 | rng.Uint64N(4)
				want := int32(-1)
				for y := range hashes {
					if hashes[y] == h {
						want = int32(y)
						break
					}
				}
				if got := table.find(h, hashes); got != want {
					t.Fatalf("%d rows: found %d, want %d", rows, got, want)
				}
			}
		}
	}
}

func TestPackUnpack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	kinds := map[string]func(b []byte){
		"zeros": func([]byte) {},
		"noise": func(b []byte) {
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
		},
		"text": func(b []byte) {
			for i := range b {
				b[i] = "the rows of a screen "[i*i%21]
			}
		},
		"half": func(b []byte) {
			for i := len(b) / 2; i < len(b); i++ {
				b[i] = byte(rng.Uint32())
			}
		},
	}
	for name, fill := range kinds {
		t.Run("content="+name, func(t *testing.T) {
			var p Packer
			for _, size := range []int{1, 15, 16, 17, 100, 4096, 65535, 65536, BlockSize, 3 * BlockSize} {
				src := make([]byte, size)
				fill(src)
				for a := Smallest; a <= uncompress; a++ {
					dst := make([]byte, PackBound(size))
					n, err := p.Pack(src, dst, a)
					if err != nil {
						t.Fatal(err)
					}
					if n == 0 {
						if name == "zeros" && size >= 100 && a < uncompress {
							t.Errorf("%d zeros are not compressed at %d", size, a)
						}
						continue
					}
					if n >= size || a == uncompress {
						t.Errorf("%d bytes packed into %d at %d", size, n, a)
					}
					got := make([]byte, size)
					if err := Unpack(dst[:n], got); err != nil || !bytes.Equal(got, src) {
						t.Fatalf("%d bytes at %d do not come back: %v", size, a, err)
					}
					if Unpack(dst[:n], make([]byte, size+1)) == nil {
						t.Errorf("a block of %d bytes unpacks to %d", size, size+1)
					}
				}
			}
		})
	}
}

func TestAcceleration(t *testing.T) {
	last := 0
	for i := range 1001 {
		a := Acceleration(float64(i) / 1000)
		if a < last || a < Thorough || a > uncompress {
			t.Fatalf("pressure %v gives %d after %d", float64(i)/1000, a, last)
		}
		last = a
	}
	if Acceleration(-1) != Thorough || Acceleration(0) != Thorough || Acceleration(0.25) != Smallest ||
		Acceleration(1) != uncompress || Acceleration(7) != uncompress {
		t.Error("the ends are not residuals and none")
	}
}

// TestPlacesFallApart applies deltas that cut a row into more pieces than it may have.
func TestPlacesFallApart(t *testing.T) {
	l := greyRow(t)
	places := NewPlaces(l)
	var d Delta
	d.addNew(0, nil, []Span{{0, 3000}}, nil)
	places.Apply(&d, 0)
	const bad = (MaxPieces - 1) / 2 // spans that do not meet make 2n+1 pieces
	for i := range int32(2 * MaxPieces) {
		d.reset()
		at := 40 * (i + 1)
		d.addNew(0, nil, []Span{{at, at + 10}}, nil)
		if ok := places.Apply(&d, int64(i+1)); ok != (i != bad) || places.Known() != (i < bad) {
			t.Fatalf("span %d: %v, row known %v", i, ok, places.Known())
		}
	}
}

// TestRowsStayWhole moves a row sideways for long. It must stay in few pieces, and little of it may
// be stored again for that.
func TestRowsStayWhole(t *testing.T) {
	l := greyRow(t)
	for _, by := range []int{1, 12, 100, 400} {
		rng := rand.New(rand.NewPCG(1, 1))
		e := NewEncoder(l)
		var d Delta
		var prev []byte
		cur := make([]byte, l.Size)
		raw := 0
		const frames = 500
		for n := range frames {
			if prev != nil {
				cur = append(bytes.Clone(prev[by:]), make([]byte, by)...)
			}
			for i := range cur {
				if n == 0 || i >= len(cur)-by {
					cur[i] = byte(rng.Uint32())
				}
			}
			e.Encode(prev, cur, &d, int64(n))
			if row := e.Places().Row(0); row.N < 1 || row.N > MaxPieces || n > 0 && len(d.Moved) == 0 {
				t.Fatalf("%d bytes a frame, frame %d: %d pieces, %d moved spans", by, n, row.N, len(d.Moved))
			}
			raw += d.Raw
			prev = cur
		}
		if limit := 6*by*frames + 2*l.Size; raw > limit {
			t.Errorf("%d bytes a frame: %d bytes stored, want at most %d", by, raw, limit)
		}
	}
}

// greyRow is the layout of a single row.
func greyRow(t *testing.T) *frame.Layout {
	l, err := frame.NewLayout(frame.Format{Width: 3000, Height: 1, Stride: 3000, Pixel: frame.GREY})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestInclude adds spans to lists.
func TestInclude(t *testing.T) {
	for name, tc := range map[string]struct {
		list []Span
		add  Span
		want []Span
	}{
		"to none":        {nil, Span{3, 5}, []Span{{3, 5}}},
		"before":         {[]Span{{10, 20}}, Span{3, 5}, []Span{{3, 5}, {10, 20}}},
		"behind":         {[]Span{{10, 20}}, Span{30, 50}, []Span{{10, 20}, {30, 50}}},
		"between":        {[]Span{{1, 2}, {10, 20}}, Span{4, 6}, []Span{{1, 2}, {4, 6}, {10, 20}}},
		"meets two":      {[]Span{{1, 4}, {6, 20}, {30, 31}}, Span{4, 7}, []Span{{1, 20}, {30, 31}}},
		"one too many":   {[]Span{{1, 2}, {10, 20}, {30, 31}}, Span{4, 6}, []Span{{1, 2}, {4, 6}, {10, 31}}},
		"behind all":     {[]Span{{1, 2}, {10, 20}, {30, 31}}, Span{40, 41}, []Span{{1, 2}, {10, 20}, {30, 41}}},
		"over all there": {[]Span{{1, 2}, {10, 20}, {30, 31}}, Span{0, 50}, []Span{{0, 50}}},
	} {
		var spans [MaxSpans]Span
		n := include(&spans, copy(spans[:], tc.list), tc.add)
		if !slices.Equal(spans[:n], tc.want) {
			t.Errorf("%s: %v, want %v", name, spans[:n], tc.want)
		}
	}
}
