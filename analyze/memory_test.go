package analyze_test

import (
	"runtime"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
)

// kept returns how many bytes are still in use of what something made.
func kept(do func() any) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	made := do()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(made)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// TestMemoryOfAFrame bounds the memory of an analysis of all measures per frame. A frame of a still
// screen may keep its time only. A frame that differs may keep the same plus its values in series.
func TestMemoryOfAFrame(t *testing.T) {
	for _, c := range []struct {
		name   string
		change bool
		most   float64 // bytes
	}{{"still", false, 20}, {"every frame differs", true, 100}} {
		t.Run(c.name, func(t *testing.T) {
			const few, many = 5_000, 15_000
			of := func(frames int) int64 {
				m := filmtest.Blinking(t, frames, c.change)
				defer runtime.KeepAlive(m)
				return kept(func() any {
					found := analyzetest.Must(analyze.Analyze(t.Context(), m, measure.FramesWindow(m, 0, frames),
						analyze.Options{Workers: 1}))(t)
					if r, ok := found.Find("fps"); !ok || len(found.Results) < 5 {
						t.Fatalf("too little was measured: %+v", r)
					}
					return found
				})
			}
			per := float64(of(many)-of(few)) / (many - few)
			t.Logf("%.1f bytes a frame", per)
			if per > c.most {
				t.Errorf("each frame takes %.1f bytes for good, want at most %v", per, c.most)
			}
		})
	}
}
