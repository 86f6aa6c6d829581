package analyze_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestDamageIsLoss holds every measure of a damaged film against one in which the same frames were
// lost.
func TestDamageIsLoss(t *testing.T) {
	for seed := range analyzetest.Seeds(uint64(40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 21))
			m := filmtest.Damage(filmtest.Glimmer(t, rng, frame.BGR4, 90, time.Second/10), map[int]bool{},
				2+rng.IntN(9))
			for range 1 + rng.IntN(3) {
				m.Damaged[12+rng.IntN(60)] = true
			}
			whole := m.Without()
			for _, names := range [][]string{{"fps"}, {"fps", "loadhist", "heatmap", "tearing"}} {
				o := analyze.Options{Measures: names, MinShare: 1 + rng.IntN(30)}
				got := analyzetest.Must(analyze.Analyze(t.Context(), m, measure.FramesWindow(m, 0, 90), o))(t)
				want, err := analyze.Analyze(t.Context(), whole, measure.FramesWindow(whole, 0, len(whole.Metas)), o)
				if err != nil {
					t.Fatal(err)
				}
				for i := range want.Results {
					filmtest.SameNumbers(t, got.Results[i], want.Results[i])
				}
				if all := strings.Join(got.Losses(), "\n"); !strings.Contains(all,
					"cannot be read, and counted as lost") {
					t.Errorf("nothing is said of what cannot be read: %s", all)
				}
			}
		})
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
		m := filmtest.Damage(filmtest.Glimmer(t, rand.New(rand.NewPCG(1, 1)), frame.BGR4, 60, time.Second/10),
			map[int]bool{c.damaged: true}, 8)
		_, err := analyze.Analyze(t.Context(), m, measure.FramesWindow(m, 20, 40), analyze.Options{})
		if !errors.Is(err, measure.ErrWindow) || !errors.Is(err, filmtest.ErrDamaged) || !strings.Contains(err.Error(),
			c.frames) ||
			!strings.Contains(err.Error(), "--frames A:B") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestDamageBesideTheMarkers: frames between g and s, and between e and r, that cannot be read are
// lost ones.
func TestDamageBesideTheMarkers(t *testing.T) {
	m := filmtest.Damage(filmtest.Glimmer(t, rand.New(rand.NewPCG(2, 1)), frame.BGR4, 60, time.Second/10),
		map[int]bool{11: true, 50: true, 51: true}, 1)
	whole := m.Without()
	w := measure.Window{Kind: measure.ByMarkers, Green: 10, Start: 12, End: 49, Red: 53}
	left := measure.Window{Kind: measure.ByMarkers, Green: 10, Start: 11, End: 48, Red: 50}
	got, err := analyze.Analyze(t.Context(), m, w, analyze.Options{Measures: []string{"fps", "heatmap"}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := analyze.Analyze(t.Context(), whole, left, analyze.Options{Measures: []string{"fps", "heatmap"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Results {
		filmtest.SameNumbers(t, got.Results[i], want.Results[i])
	}
	if n := got.Unreadable(); len(n) != 3 || n[0] != 11 || n[2] != 51 {
		t.Errorf("%v cannot be read", n)
	}
}
