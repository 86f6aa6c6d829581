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
		"residual": film(t, 1, f, 7),
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for n, pix := range films["residual"] {
		for i := range pix {
			pix[i] = byte(i/9+n) + byte(rng.IntN(4))
		}
	}
	d := &memDisk{}
	if record(t, d, f, films["residual"]); predictedBlocks(t, d) == 0 {
		t.Error("no block of residuals")
	}
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
