package marker

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// What is said of content before its red is held stays true, and the red that is held is told with
// its third frame.
func TestContentIsCertain(t *testing.T) {
	var told, torn, gone int
	for seed := range analyzetest.Seeds(uint64(60)) {
		r := newPainter(t, rand.New(rand.NewPCG(seed, 77))).film()
		d := New(Options{})
		start, certain := -1, -1 // of the content in the making
		fed := map[int]int{}     // by s: the last certain frame
		early := map[int]Window{}
		for step, err := range r.steps(0, len(r.seq), true) {
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Add(step, nil); err != nil {
				t.Fatal(err)
			}
			n := step.Number
			if w, ok := d.Newest(); ok {
				if was, known := early[w.Start]; known && (was.End != w.End || was.Red != w.Red) {
					t.Fatalf("film %d, frame %d: %+v was told as %+v", seed, n, w, was)
				} else if !known && w.RedTo == n && n > w.Red+heldFrames-1 && w.Red > certain {
					t.Fatalf("film %d, frame %d: %+v is told late", seed, n, w)
				}
				early[w.Start] = w
			}
			w, c, ok := d.Content()
			if !ok {
				start, certain = -1, -1
				continue
			}
			switch {
			case w.Start != start && w.Start != n:
				t.Fatalf("film %d: content from frame %d on is told in frame %d", seed, w.Start, n)
			case w.Start == start && c < certain, c > n, n-c > Undecided:
				t.Fatalf("film %d, frame %d: content is certain until %d, after %d", seed, n, c, certain)
			}
			start, certain = w.Start, c
			fed[start] = c
			if c < n {
				torn++
			}
		}
		windows, _ := d.Finish()
		for _, w := range windows {
			if was, ok := early[w.Start]; ok && was.End == w.End && was.Red == w.Red {
				told++
			}
			if fed[w.Start] != w.End {
				gone++ // its red was beside a bar
			}
		}
	}
	t.Logf("%d windows were told early, %d are not what was certain, %d frames were not certain", told, gone, torn)
	if told < int(analyzetest.Seeds(uint64(60)))/2 || torn < 2*int(analyzetest.Seeds(uint64(60))) {
		t.Error("the films show too little")
	}
}

// Content that goes on when the frames end is told with the missing red.
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
