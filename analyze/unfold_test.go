package analyze

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// folded is a film whose frames are brought row by row: until then there is nonsense where
// something changed. A damaged frame can be told only by its last row.
type folded struct {
	*ruin
	rng    *rand.Rand
	partly int // times that some rows of a frame were asked for, and not all
}

func (m *folded) Steps(int, int) iter.Seq2[*frame.Step, error] { panic("whole frames are asked for") }

func (m *folded) Unfold(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		l := m.layout
		for step, err := range m.play(from, to, true) {
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
					if next == len(l.Rows)-1 && m.damaged[step.Number] {
						return errDamaged
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

// TestUnfold compares every measure of films whose frames come row by row with that of whole ones,
// also with damaged frames.
func TestUnfold(t *testing.T) {
	partly := 0
	for seed := range analyzetest.Seeds(uint64(30)) {
		format := [...]frame.PixelFormat{frame.BGR4, frame.BGR3, frame.YUYV, frame.NV12, frame.P422}[seed%5]
		t.Run(fmt.Sprint(seed, format), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 22))
			m := &ruin{glimmer(t, rng, format, 60, time.Second/10), map[int]bool{}, 2 + rng.IntN(9)}
			if seed%2 == 1 {
				m.damaged[12+rng.IntN(40)] = true
			}
			// one, since f belongs to one goroutine
			o := Options{Tolerance: 4 * rng.IntN(2), Load: LoadOptions{Variants: []string{"pixel", "histogram"}},
				Workers: 1}
			f := &folded{ruin: m, rng: rng}
			got, err := Analyze(t.Context(), f, FramesWindow(m, 0, 60), o)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Analyze(t.Context(), m, FramesWindow(m, 0, 60), o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want.Results {
				sameNumbers(t, got.Results[i], want.Results[i])
			}
			if partly += f.partly; f.partly > 0 && len(m.layout.Rows) > m.layout.Format.Height {
				t.Error("a part of the rows is asked for where chroma is behind them")
			}
		})
	}
	if partly == 0 {
		t.Error("rows were never asked for in parts")
	}
}
