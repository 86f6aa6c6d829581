package marker

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// A window is returned with the third frame of its red, and does not change later.
func TestNewestIsFinal(t *testing.T) {
	early := 0
	for seed := range analyzetest.Seeds(uint64(60)) {
		r := newPainter(t, rand.New(rand.NewPCG(seed, 77))).film()
		d := New(Options{})
		newest := map[int]Window{} // by their start
		aside := -1                // newest frame of content that may hide an earlier red
		for step, err := range r.steps(0, len(r.seq), true) {
			if err != nil {
				t.Fatal(err)
			}
			analyzetest.Check(t, d.Add(step, nil))
			n := step.Number
			if d.state == inContent {
				aside = n
			}
			w, ok := d.Newest()
			if !ok {
				continue
			}
			if was, known := newest[w.Start]; known && (was.End != w.End || was.Red != w.Red) {
				t.Fatalf("film %d, frame %d: %+v was %+v", seed, n, w, was)
			} else if !known && w.RedTo == n && n > w.Red+heldFrames-1 && w.Red > aside {
				t.Fatalf("film %d, frame %d: %+v is late", seed, n, w)
			}
			newest[w.Start] = w
		}
		windows, _ := d.close()
		for _, w := range windows {
			if was, ok := newest[w.Start]; ok && was.End == w.End && was.Red == w.Red {
				early++
			}
		}
	}
	if early < int(analyzetest.Seeds(uint64(60)))/2 {
		t.Errorf("only %d windows were returned before the films ended", early)
	}
}

// Content that continues when the frames end is reported with the missing red.
func TestContentWithoutRed(t *testing.T) {
	const query = "size=320x180&frames=120&markers=1"
	_, truth := scene(t, "page", query, nil)
	r, _ := scene(t, "page", query, func(n int) bool { return n >= int(truth.Red.First) })
	_, err := Find(r, 0, len(r.seq), Options{})
	var e *Error
	if !errors.As(err, &e) || e.Open == nil {
		t.Fatalf("got %v", err)
	}
	if w := e.Open; w.Start != int(truth.Content.First) || w.End != len(r.seq)-1 || w.Red != -1 || w.Region.Empty() {
		t.Errorf("open is %+v", w)
	}
}
