package recording

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// discard is a disk that is always fast enough and keeps nothing.
type discard struct{}

func (discard) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (discard) Sync() error                            { return nil }
func (discard) Close() error                           { return nil }

// TestNoAllocationPerFrame writes frames until all memory has its size, then counts allocations for
// further ones. Checkpoints, indexes and other goroutines are included.
func TestNoAllocationPerFrame(t *testing.T) {
	f := format(t, frame.BGR4, 80, 45, 0)
	films := map[string][][]byte{
		"static":   {film(t, 1, f, 1)[0]},
		"changing": film(t, 1, f, 64),
	}
	films["residual"], _ = noisyFilm(t, f, 7)
	for name, all := range films {
		t.Run("content="+name, func(t *testing.T) {
			w := newWriter(discard{}, testOptions())
			if err := w.Segment(f, 1, 60); err != nil {
				t.Fatal(err)
			}
			l := &lease{}
			n := 0
			write := func(frames int) {
				for range frames {
					if err := w.WriteFrame(all[n%len(all)], metaOf(n), l); err != nil {
						t.Fatal(err)
					}
					n++
				}
			}
			write(3000)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			const frames = 3000
			write(frames)
			runtime.ReadMemStats(&after)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			per := float64(after.Mallocs-before.Mallocs) / frames
			t.Logf("%.3f allocations per frame", per)
			if per >= 0.1 {
				t.Errorf("%.3f allocations per frame", per)
			}
		})
	}
}

// noisyFilm returns frames that are stored as residuals, and their recording.
func noisyFilm(t *testing.T, f frame.Format, frames int) ([][]byte, *memDisk) {
	rng, all := rand.New(rand.NewPCG(1, 1)), film(t, 1, f, frames)
	for n, pix := range all {
		for i := range pix {
			pix[i] = byte(i/9+n) + byte(rng.IntN(4))
		}
	}
	d := &memDisk{}
	if record(t, d, f, all); predictedBlocks(t, d) == 0 {
		t.Fatal("no block of residuals")
	}
	return all, d
}

// TestReadsReuseMemory reads frames in random order. Only the first reads make memory for blocks.
// The race detector drops a quarter of the memory, so it is not for -short.
func TestReadsReuseMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short")
	}
	f := format(t, frame.BGR4, 160, 90, 0)
	all, d := noisyFilm(t, f, 7)
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	pix, rng := make([]byte, len(all[0])), rand.New(rand.NewPCG(1, 1))
	read := func(reads int) {
		for range reads {
			if err := r.ReadFrame(rng.IntN(len(all)), pix); err != nil {
				t.Fatal(err)
			}
		}
	}
	read(20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const reads = 500
	read(reads)
	runtime.ReadMemStats(&after)
	if per := int(after.TotalAlloc-before.TotalAlloc) / reads; per >= len(pix)/4 {
		t.Errorf("%d bytes of memory for each frame of %d bytes", per, len(pix))
	}
}
