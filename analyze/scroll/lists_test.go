package scroll_test

import (
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestScrollLists scrolls lists whose rows resemble each other by more than a nearby search sees.
// No displacement is wrong, whether the codec found moves or not.
func TestScrollLists(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(20)) {
		rng := rand.New(rand.NewPCG(seed, 41))
		m := filmtest.New(t, analyzetest.Must(frame.NewFormat(frame.BGR4, 320, 512))(t))
		pitch, step := 16+rng.IntN(24), 65+rng.IntN(50)
		common := m.Layout.Rows[0].Bytes * (60 + rng.IntN(11)) / 100 / 4 * 4
		all := make([]byte, (512+8*step)*m.Layout.Rows[0].Bytes)
		for y := range 512 + 8*step {
			row := all[y*m.Layout.Rows[0].Bytes:][:m.Layout.Rows[0].Bytes]
			for x := range row {
				row[x] = byte(rng.Uint32())
			}
			if y >= pitch {
				copy(row, all[(y-pitch)*len(row):][:common])
			}
		}
		for n := range 8 {
			pix := make([]byte, m.Layout.Size)
			for y := range 512 {
				copy(m.Layout.Row(pix, y), all[(n*step+y)*m.Layout.Rows[0].Bytes:][:m.Layout.Rows[0].Bytes])
			}
			m.Shoot(pix, 0)
		}
		for _, rec := range []measure.Recording{m, filmtest.NewCoded(m)} {
			r := filmtest.One(t, rec, measure.FramesWindow(m, 0, 8), analyze.Options{}, "scroll")
			if v, ok := r.Find("displacement_p50"); !ok || v.Value != float64(step) {
				t.Errorf("seed %d, rows of %d: %v %s, want %d", seed, pitch, v.Value, r.Refusal, step)
			}
		}
	}
}
