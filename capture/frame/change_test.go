package frame

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUnion compares with a literal union of bytes.
func TestUnion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const rows, bytes = 3, 12
	spansOf := func(set [rows][bytes]bool) (spans []Span) {
		for y, row := range set {
			for x, in := range row {
				if n := len(spans); in && (x == 0 || !row[x-1]) {
					spans = append(spans, Span{int32(y), int32(x), int32(x + 1)})
				} else if in {
					spans[n-1].End++
				}
			}
		}
		return spans
	}
	for range 1000 {
		var a, b, both [rows][bytes]bool
		for y := range rows {
			for x := range bytes {
				a[y][x], b[y][x] = rng.IntN(3) == 0, rng.IntN(3) == 0
				both[y][x] = a[y][x] || b[y][x]
			}
		}
		before := []Span{{0, 0, bytes}} // is kept as it is
		want := append(slices.Clone(before), spansOf(both)...)
		if got := AppendUnion(before, spansOf(a), spansOf(b)); !slices.Equal(got, want) {
			t.Fatalf("%v and %v are %v, want %v", spansOf(a), spansOf(b), got, want)
		}
	}
}
