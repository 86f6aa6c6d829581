package recording

import (
	"runtime"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// TestMemoryOfAFrame bounds what a reader keeps for each further frame of a still screen: its place
// in the file, its number and its time.
func TestMemoryOfAFrame(t *testing.T) {
	const few, many, most = 140_000, 160_000, 80 // few fill what is kept of the heads
	f := format(t, frame.BGR4, 64, 36, 0)
	pix := film(t, 1, f, 1)[0]
	of := func(frames int) int64 {
		all := make([][]byte, frames)
		for n := range all {
			all[n] = pix
		}
		var d memDisk
		record(t, &d, f, all)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&before)
		r, err := newReader(&d, int64(len(d.b)))
		if err != nil {
			t.Fatal(err)
		}
		for step, err := range r.Steps(0, frames) { // the memory for reading is bounded
			if err != nil || step.Number >= frames {
				t.Fatal(step, err)
			}
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if r.Frames() != frames {
			t.Fatalf("%d frames, want %d", r.Frames(), frames)
		}
		return int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	per := float64(of(many)-of(few)) / (many - few)
	t.Logf("%.1f bytes a frame", per)
	if per > most {
		t.Errorf("each frame takes %.1f bytes for good, want at most %d", per, most)
	}
}
