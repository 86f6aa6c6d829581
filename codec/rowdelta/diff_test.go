package rowdelta

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
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
		if a < last || a < Smallest || a > uncompress {
			t.Fatalf("pressure %v gives %d after %d", float64(i)/1000, a, last)
		}
		last = a
	}
	if Acceleration(-1) != Smallest || Acceleration(0) != Smallest || Acceleration(1) != uncompress ||
		Acceleration(7) != uncompress {
		t.Error("the ends are not the smallest and none")
	}
}

// TestPlacesFallApart gives a row more pieces than it may have.
func TestPlacesFallApart(t *testing.T) {
	var p Place
	p.overlay(Piece{}, 1000, 1000)
	for i := range int32(MaxPieces) {
		ok := p.overlay(Piece{Block: int64(i + 1), Start: 100 * (i + 1)}, 100*(i+1)+10, 1000)
		if want := 2*int(i)+3 <= MaxPieces; ok != want {
			t.Fatalf("piece %d: %v", i, ok)
		}
		if !ok {
			if p.N != 0 {
				t.Error("a row in too many pieces is not unknown")
			}
			return
		}
	}
}
