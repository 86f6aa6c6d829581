package filmtest

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// Ruin is a film in a file with faults: a frame cannot be read if one is damaged since the
// checkpoint before it.
type Ruin struct {
	*Film
	Damaged    map[int]bool
	Checkpoint int // every so many frames
}

// ErrDamaged is the cause of frames that cannot be read.
var ErrDamaged = errors.New("bytes are wrong")

func (m *Ruin) Image(n int) (frame.Image, error) {
	for k := n - n%m.Checkpoint; k <= n; k++ {
		if m.Damaged[k] {
			return frame.Image{}, fmt.Errorf("frame %d: %w", n, ErrDamaged)
		}
	}
	return m.Layout.View(m.Pix[n]), nil
}

func (m *Ruin) Changes(from, to int) iter.Seq2[*frame.Step, error] { return m.until(from, to, false) }

func (m *Ruin) Steps(from, to int) iter.Seq2[*frame.Step, error] { return m.until(from, to, true) }

func (m *Ruin) until(from, to int, pixels bool) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		if pixels && from > 0 {
			if _, err := m.Image(from - 1); err != nil {
				yield(nil, err)
				return
			}
		}
		for step, err := range m.Play(from, to, pixels) {
			if m.Damaged[step.Number] {
				yield(nil, ErrDamaged)
				return
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

// Without is the film that is left when frames are taken for lost.
func (m *Ruin) Without() *Film {
	left := New(unfailing{}, m.Layout.Format)
	left.Period = m.Period
	lost := 0
	for n := range m.Metas {
		if n > 0 {
			lost += int(m.Metas[n].Sequence - m.Metas[n-1].Sequence - 1)
		} else {
			lost = int(m.Metas[0].Sequence)
		}
		if _, err := m.Image(n); err != nil {
			lost++
			continue
		}
		left.Shoot(m.Pix[n], lost)
		lost = 0
	}
	return left
}

// unfailing is a test that is never failed.
type unfailing struct{ testing.TB }

func (unfailing) Helper() {}

// Damage returns a film of which some frames are damaged, with a checkpoint every so many frames.
func Damage(m *Film, damaged map[int]bool, checkpoint int) *Ruin {
	return &Ruin{m, damaged, checkpoint}
}
