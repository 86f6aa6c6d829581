package analyze_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/load"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// folded is a film whose frames are brought row by row: until then there is nonsense where
// something changed. A damaged frame can be told only by its last row.
type folded struct {
	*filmtest.Ruin
	rng    *rand.Rand
	partly int // times that some rows of a frame were asked for, and not all
}

func (m *folded) Steps(int, int) iter.Seq2[*frame.Step, error] { panic("whole frames are asked for") }

func (m *folded) Unfold(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		l := m.Layout
		for step, err := range m.Play(from, to, true) {
			whole, pix, next := step.Image, make([]byte, l.Size), 0
			for i := range pix {
				pix[i] = byte(m.rng.Uint32())
			}
			step.Image = l.View(pix)
			step.Fill = func(rows int) error {
				if rows < len(l.Rows) {
					m.partly++
				}
				for ; next < rows; next++ {
					if next == len(l.Rows)-1 && m.Damaged[step.Number] {
						return filmtest.ErrDamaged
					}
					copy(step.Image.Rows[next], whole.Rows[next])
				}
				return nil
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

// TestUnfold compares every measure of films whose frames come row by row with that of whole ones.
// Some frames are damaged.
func TestUnfold(t *testing.T) {
	partly := 0
	for seed := range analyzetest.Seeds(uint64(30)) {
		format := [...]frame.PixelFormat{frame.BGR4, frame.BGR3, frame.YUYV, frame.NV12, frame.P422}[seed%5]
		t.Run(fmt.Sprint(seed, format), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 22))
			m := filmtest.Damage(filmtest.Glimmer(t, rng, format, 60, time.Second/10), map[int]bool{}, 2+rng.IntN(9))
			if seed%2 == 1 {
				m.Damaged[12+rng.IntN(40)] = true
			}
			// one, since f belongs to one goroutine
			o := analyze.Options{Tolerance: 4 * rng.IntN(2), Load: load.Options{Variants: []string{"pixel",
				"histogram"}},
				Workers: 1}
			f := &folded{Ruin: m, rng: rng}
			got := analyzetest.Must(analyze.Analyze(t.Context(), f, measure.FramesWindow(m, 0, 60), o))(t)
			want := analyzetest.Must(analyze.Analyze(t.Context(), m, measure.FramesWindow(m, 0, 60), o))(t)
			for i := range want.Results {
				filmtest.SameNumbers(t, got.Results[i], want.Results[i])
			}
			if partly += f.partly; f.partly > 0 && len(m.Layout.Rows) > m.Layout.Format.Height {
				t.Error("a part of the rows is asked for where chroma is behind them")
			}
		})
	}
	if partly == 0 {
		t.Error("rows were never asked for in parts")
	}
}
