package analyze

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// ruin is a film in a file with faults: a frame cannot be read if one is damaged since the
// checkpoint before it.
type ruin struct {
	*film
	damaged    map[int]bool
	checkpoint int // every so many frames
}

var errDamaged = errors.New("bytes are wrong")

func (m *ruin) Image(n int) (frame.Image, error) {
	for k := n - n%m.checkpoint; k <= n; k++ {
		if m.damaged[k] {
			return frame.Image{}, fmt.Errorf("frame %d: %w", n, errDamaged)
		}
	}
	return m.layout.View(m.pix[n]), nil
}

func (m *ruin) Changes(from, to int) iter.Seq2[*frame.Step, error] { return m.until(from, to, false) }
func (m *ruin) Steps(from, to int) iter.Seq2[*frame.Step, error]   { return m.until(from, to, true) }

func (m *ruin) until(from, to int, pixels bool) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		if pixels && from > 0 {
			if _, err := m.Image(from - 1); err != nil {
				yield(nil, err)
				return
			}
		}
		for step, err := range m.play(from, to, pixels) {
			if m.damaged[step.Number] {
				yield(nil, errDamaged)
				return
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

// without is the film that is left when frames are taken for lost.
func (m *ruin) without() *film {
	left := newFilm(unfailing{}, m.layout.Format)
	left.period = m.period
	lost := 0
	for n := range m.metas {
		if n > 0 {
			lost += int(m.metas[n].Sequence - m.metas[n-1].Sequence - 1)
		} else {
			lost = int(m.metas[0].Sequence)
		}
		if _, err := m.Image(n); err != nil {
			lost++
			continue
		}
		left.shoot(m.pix[n], lost)
		lost = 0
	}
	return left
}

// unfailing is a test that is never failed.
type unfailing struct{ testing.TB }

func (unfailing) Helper() {}

// TestDamageIsLoss holds every measure of a damaged film against one in which the same frames were
// lost.
func TestDamageIsLoss(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 21))
			m := &ruin{glimmer(t, rng, frame.BGR4, 90, time.Second/10), map[int]bool{}, 2 + rng.IntN(9)}
			for range 1 + rng.IntN(3) {
				m.damaged[12+rng.IntN(60)] = true
			}
			whole := m.without()
			for _, names := range [][]string{{"fps"}, {"fps", "loadhist", "heatmap", "tearing"}} {
				o := Options{Measures: names, share: 1 + rng.IntN(30)}
				got, err := Analyze(t.Context(), m, FramesWindow(m, 0, 90), o)
				if err != nil {
					t.Fatal(err)
				}
				want, err := Analyze(t.Context(), whole, FramesWindow(whole, 0, len(whole.metas)), o)
				if err != nil {
					t.Fatal(err)
				}
				for i := range want.Results {
					sameNumbers(t, got.Results[i], want.Results[i])
				}
				if all := strings.Join(got.Losses(), "\n"); !strings.Contains(all,
					"cannot be read, and counted as lost") {
					t.Errorf("nothing is said of what cannot be read: %s", all)
				}
			}
		})
	}
}

func sameNumbers(t *testing.T, got, want Result) {
	t.Helper()
	if got.State != want.State || len(got.Values) != len(want.Values) {
		t.Errorf("%s is %v %q with %d values, want %v with %d", want.Measure, got.State, got.Refusal, len(got.Values),
			want.State, len(want.Values))
		return
	}
	for i, v := range want.Values {
		if g := got.Values[i]; g.Value != v.Value || g.Low != v.Low || g.High != v.High {
			t.Errorf("%s %s is %v (%v to %v), want %v (%v to %v)", want.Measure, v.Name, g.Value, g.Low, g.High,
				v.Value, v.Low, v.High)
		}
	}
}

// TestDamageAtTheEnds: without its first or last frame a window cannot be measured, and the error
// has advice.
func TestDamageAtTheEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		damaged int
		frames  string
	}{
		{"first", 20, "frames 20 to 23"},
		{"last", 37, "frames 37 to 39"},
	} {
		m := &ruin{glimmer(t, rand.New(rand.NewPCG(1, 1)), frame.BGR4, 60, time.Second/10),
			map[int]bool{c.damaged: true}, 8}
		_, err := Analyze(t.Context(), m, FramesWindow(m, 20, 40), Options{})
		if !errors.Is(err, ErrWindow) || !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), c.frames) ||
			!strings.Contains(err.Error(), "--frames A:B") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestDamageBesideTheMarkers: frames between g and s, and between e and r, that cannot be read are
// lost ones.
func TestDamageBesideTheMarkers(t *testing.T) {
	m := &ruin{glimmer(t, rand.New(rand.NewPCG(2, 1)), frame.BGR4, 60, time.Second/10),
		map[int]bool{11: true, 50: true, 51: true}, 1}
	whole := m.without()
	w := Window{Kind: ByMarkers, Green: 10, Start: 12, End: 49, Red: 53}
	left := Window{Kind: ByMarkers, Green: 10, Start: 11, End: 48, Red: 50}
	got, err := Analyze(t.Context(), m, w, Options{Measures: []string{"fps", "heatmap"}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := Analyze(t.Context(), whole, left, Options{Measures: []string{"fps", "heatmap"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Results {
		sameNumbers(t, got.Results[i], want.Results[i])
	}
	if n := got.Unreadable(); len(n) != 3 || n[0] != 11 || n[2] != 51 {
		t.Errorf("%v cannot be read", n)
	}
}
