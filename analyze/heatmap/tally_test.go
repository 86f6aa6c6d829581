package heatmap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const words = 3
	var parts [4]tally
	want := make([]uint32, 64*words)
	for range 700 {
		first := rng.IntN(words)
		b := make([]uint64, 1+rng.IntN(words-first))
		for i := range b {
			b[i] = rng.Uint64() | rng.Uint64()
			for x := range 64 {
				want[64*(first+i)+x] += uint32(b[i] >> x & 1)
			}
		}
		parts[rng.IntN(len(parts)-1)].add(b, first, words) // the last one stays empty
	}
	for _, p := range parts[1:] {
		parts[0].merge(p)
	}
	got := make([]uint32, 64*words)
	parts[0].counts(got, 0)
	if !slices.Equal(got, want) {
		t.Errorf("counts are %v, want %v", got, want)
	}
	some := make([]uint32, 90)
	parts[0].counts(some, 37)
	if !slices.Equal(some, want[37:127]) {
		t.Errorf("counts from 37 on are %v, want %v", some, want[37:127])
	}
}

// BenchmarkHeatmapNoise adds frames all of whose pixels differ.
func BenchmarkHeatmapNoise(b *testing.B) {
	const words, height = 30, 1080
	rng := rand.New(rand.NewPCG(1, 2))
	lines := make([]tally, height)
	var masks [16][]uint64
	for i := range masks {
		for range words {
			masks[i] = append(masks[i], rng.Uint64()|rng.Uint64()|rng.Uint64())
		}
	}
	b.SetBytes(words * 64 * height)
	n := 0
	for b.Loop() {
		for y := range lines {
			n++
			lines[y].add(masks[n%len(masks)], 0, words)
		}
	}
}
