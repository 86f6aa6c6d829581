package marker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// TestFindStepsOverDamage: frames 0 to 29 are green, 30 to 49 content and 50 to 79 red.
func TestFindStepsOverDamage(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, last int // that cannot be read
		change      func(w *Window)
		warns       string // of the window
		problem     string
	}{
		{"in the content", 35, 37, func(*Window) {}, "frames 35–37 cannot be read, and counted as lost", ""},
		{"in the red", 65, 65, func(*Window) {}, "frame 65 cannot be read, and counted as lost", ""},
		{"in the green", 10, 12, func(*Window) {}, "frames 10–12 cannot be read, and counted as lost", ""},
		{"around s", 28, 33, func(w *Window) { w.Green, w.Start, w.LostBeforeStart = 27, 34, 6 },
			"the green may end and the content begin there", ""},
		{"around r", 48, 52, func(w *Window) { w.End, w.Red, w.LostBeforeRed = 47, 53, 5 },
			"the content may end and the red begin there", ""},
		{"before the green", 0, 3, func(w *Window) { w.GreenFrom = 4 }, "",
			"frames 0–3 cannot be read, and may have been part of a marker"},
		{"at the end", 75, 79, func(w *Window) { w.RedTo = 74 }, "",
			"frames 75–79 cannot be read, and may have been part of a marker"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, play := range []bool{false, true} {
				r, _ := scene(t, "noise", "size=160x90&markers=1&frames=20", nil)
				want, err := Find(r, 0, len(r.seq), Options{})
				if err != nil || len(want) != 1 {
					t.Fatal(want, err)
				}
				c.change(&want[0])
				r.bad = func(n int) bool { return n >= c.first && n <= c.last }
				var seq Sequence = r
				if play {
					seq = playable{r}
				}
				got, err := Find(seq, 0, len(r.seq), Options{})
				if len(got) != 1 {
					t.Fatal(got, err)
				}
				if c.problem == "" && err != nil || c.problem != "" &&
					(err == nil || !strings.Contains(err.Error(), c.problem)) {
					t.Errorf("error %v, want %q", err, c.problem)
				}
				if warns := strings.Join(got[0].Warnings, "\n"); (warns == "") != (c.warns == "") ||
					!strings.Contains(warns, c.warns) {
					t.Errorf("it warns %q, want %q", warns, c.warns)
				}
				got[0].Warnings = nil
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got %+v\nwant %+v", got, want)
				}
			}
		})
	}
}

func TestNothingCanBeRead(t *testing.T) {
	r, _ := scene(t, "web", "size=160x90&markers=1&frames=200", nil)
	r.bad = func(int) bool { return true }
	if got, err := Find(r, 0, len(r.seq), Options{}); len(got) != 0 || !errors.Is(err, errBad) {
		t.Errorf("all: %v, %v", got, err)
	}
	r.bad = func(n int) bool { return n%2 == 1 }
	if got, err := Find(r, 0, len(r.seq), Options{}); !errors.Is(err, errBad) ||
		!strings.Contains(err.Error(), "in more than 64 places") {
		t.Errorf("every other one: %v, %v", got, err)
	}
	r.bad = func(n int) bool { return n >= 20 && n < 250 }
	got, err := Find(r, 0, len(r.seq), Options{})
	if err != nil || len(got) != 1 || got[0].End >= got[0].Start ||
		!strings.Contains(strings.Join(got[0].Warnings, ""), "frames 20–249 cannot be read") {
		t.Errorf("all of the content: %v, %v", got, err)
	}
}

// TestDamageIsAsLoss holds windows of a damaged sequence against those of one from which the same
// frames were lost.
func TestDamageIsAsLoss(t *testing.T) {
	for _, name := range []string{"web", "noise", "page", "tear"} {
		for seed := range analyzetest.Seeds(uint64(10)) {
			rng := rand.New(rand.NewPCG(seed, 3))
			bad := map[int]bool{}
			for range 1 + rng.IntN(12) {
				for n, k := rng.IntN(85), rng.IntN(4); k >= 0; k-- {
					bad[n+k] = true
				}
			}
			query := fmt.Sprintf("size=160x90&markers=1&frames=30&seed=%d", seed)
			lost, _ := scene(t, name, query, func(n int) bool { return bad[n] })
			r, _ := scene(t, name, query, nil)
			r.bad = func(n int) bool { return bad[n] }
			want, wrong := Find(lost, 0, len(lost.seq), Options{})
			got, _ := Find(r, 0, len(r.seq), Options{})
			if wrong != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, wrong)
			}
			for i := range want {
				w := &want[i]
				for _, n := range []*int{&w.GreenFrom, &w.Green, &w.Start, &w.End, &w.Red, &w.RedTo} {
					*n = int(lost.seq[*n])
				}
				if w.TornRed != nil {
					w.TornRed.Frame = int(lost.seq[w.TornRed.Frame])
				}
				if w.TornGreen != nil {
					w.TornGreen.Frame = int(lost.seq[w.TornGreen.Frame])
				}
			}
			for i := range got {
				got[i].Warnings = nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, seed %d: got %+v\nwant %+v", name, seed, got, want)
			}
		}
	}
}
