package marker

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/url"
	"reflect"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
)

// reel is a sequence in memory that counts its reads.
type reel struct {
	layout *frame.Layout
	size   int
	render func(n int, pix []byte)
	seq    []uint64         // of the stored frames
	images int              // that were asked for one by one
	played int              // frames that were decoded in turn
	bad    func(n int) bool // which frames cannot be read; nil: none
}

var errBad = errors.New("bytes are wrong")

func (r *reel) view(n int) frame.Image {
	pix := make([]byte, r.size)
	r.render(int(r.seq[n]), pix)
	return r.layout.View(pix)
}

func (r *reel) Image(n int) (frame.Image, error) {
	r.images++
	if r.bad != nil && r.bad(n) {
		return frame.Image{}, fmt.Errorf("frame %d: %w", n, errBad)
	}
	return r.view(n), nil
}

func (r *reel) Changes(from, to int) iter.Seq2[*frame.Step, error] {
	return r.steps(from, to, false)
}

func (r *reel) steps(from, to int, pixels bool) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		before, now := make([]byte, r.size), make([]byte, r.size)
		if from > 0 {
			r.render(int(r.seq[from-1]), now)
		}
		for n := from; n < to; n++ {
			if r.bad != nil && r.bad(n) {
				yield(nil, fmt.Errorf("frame %d: %w", n, errBad))
				return
			}
			before, now = now, before
			r.render(int(r.seq[n]), now)
			step := frame.Step{Number: n, Meta: frame.Meta{Sequence: r.seq[n]}, Image: frame.Image{Layout: r.layout}}
			if n == 0 {
				step.Change = everything(r.layout)
			} else {
				step.Change = changeOf(r.layout, before, now)
			}
			if pixels {
				step.Image = r.layout.View(now)
			}
			if !yield(&step, nil) {
				return
			}
		}
	}
}

// playable is a reel that decodes in turn, too.
type playable struct{ *reel }

func (p playable) Steps(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for step, err := range p.steps(from, to, true) {
			p.played++
			if !yield(step, err) {
				return
			}
		}
	}
}

func everything(l *frame.Layout) *frame.Change {
	c := &frame.Change{}
	for y := range l.Rows {
		c.Spans = append(c.Spans, frame.Span{Row: int32(y), End: int32(l.Rows[y].Seen)})
	}
	return c
}

// changeOf returns the spans in which two frames differ, more than one in a row where much between
// is equal.
func changeOf(l *frame.Layout, before, now []byte) *frame.Change {
	c := &frame.Change{}
	for y := range l.Rows {
		a, b := l.Row(before, y), l.Row(now, y)
		if l.RowEqual(y, a, b) {
			continue
		}
		for at := 0; at < len(b); at += 64 {
			if start, end, ok := l.Tighten(y, a, b, at, min(at+64, len(b))); ok {
				c.Spans = append(c.Spans, frame.Span{Row: int32(y), Start: int32(start), End: int32(end)})
			}
		}
	}
	return c
}

// scene returns a reel of a synth scene, of which frames are lost.
func scene(t testing.TB, name, query string, lose func(n int) bool) (*reel, synth.Truth) {
	t.Helper()
	v := analyzetest.Must(url.ParseQuery(query))(t)
	s := analyzetest.Must(synth.Open(name, v))(t)
	t.Cleanup(func() { s.Close() })
	l := analyzetest.Must(frame.NewLayout(s.Info().Format))(t)
	r := &reel{layout: l, size: l.Size, render: func(n int, pix []byte) { s.Render(uint64(n), pix) }}
	for n := range int(s.Info().Frames) {
		if lose == nil || !lose(n) {
			r.seq = append(r.seq, uint64(n))
		}
	}
	return r, s.Truth()
}

// find runs a detector that trusts no bound, or the one that does.
func (r *reel) find(t testing.TB, o Options, every bool) ([]Window, *Error, int) {
	t.Helper()
	d := New(o)
	d.every = every
	windows, err := d.find(r, 0, len(r.seq))
	problems, ok := err.(*Error)
	if err != nil && !ok {
		t.Fatal(err)
	}
	return windows, problems, d.asked
}

// literal runs the slow detector.
func (r *reel) literal() []Window {
	d := newLiteral(Options{})
	for step := range r.steps(0, len(r.seq), true) {
		c := step.Change
		d.Add(step.Number, step.Image, c)
	}
	windows, _ := d.Finish()
	return windows
}

// kinds are what problems must have in common, however they were found.
func kinds(e *Error) []Problem {
	if e == nil {
		return nil
	}
	var all []Problem
	for _, p := range e.Problems {
		all = append(all, Problem{Kind: p.Kind, First: p.First, Last: p.Last})
	}
	return all
}

// plainly keeps of windows what the slow detector knows.
func plainly(windows []Window) []Window {
	var all []Window
	for _, w := range windows {
		all = append(all, Window{GreenFrom: w.GreenFrom, Green: w.Green, Start: w.Start, End: w.End, Red: w.Red,
			RedTo:  w.RedTo,
			Region: w.Region, Exact: w.Exact, TornGreen: w.TornGreen, TornRed: w.TornRed})
	}
	return all
}

// TestScenes holds windows against the truth of scenes, against the slow detector and against one
// that looks at every frame; with and without frames lost.
func TestScenes(t *testing.T) {
	for _, s := range synth.Scenes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range analyzetest.Seeds(uint64(6)) {
				rng := rand.New(rand.NewPCG(seed, 9))
				format := []string{"BGR4", "NV12", "UYVY", "BGR3", "P010", "YU12"}[seed]
				query := fmt.Sprintf("size=%dx%d&frames=%d&markers=1&seed=%d&format=%s", 160+rng.IntN(100)&^1,
					90+rng.IntN(80)&^1, 20+rng.IntN(120), seed, format)
				var lose func(n int) bool
				if seed%2 == 1 {
					lose = func(int) bool { return rng.IntN(5) == 0 }
				}
				r, truth := scene(t, s.Name, query, lose)
				got, problems, _ := r.find(t, Options{}, false)
				all, allProblems, _ := r.find(t, Options{}, true)
				if !reflect.DeepEqual(got, all) || !reflect.DeepEqual(kinds(problems), kinds(allProblems)) {
					t.Errorf("%s: got %+v %v\nlooking at every frame: %+v %v", query, got, problems, all, allProblems)
				}
				if slow := r.literal(); !reflect.DeepEqual(plainly(got), slow) {
					t.Errorf("%s: got %+v\nthe slow one: %+v", query, got, slow)
				}
				checkTruth(t, query, r, truth, got)
			}
		})
	}
}

// checkTruth holds the one window of a scene against its script, as far as its frames are stored.
func checkTruth(t *testing.T, query string, r *reel, truth synth.Truth, got []Window) {
	t.Helper()
	if len(got) != 1 {
		t.Errorf("%s: %d windows, want 1", query, len(got))
		return
	}
	first := func(n uint64) int { // stored frame that is n or comes after it
		for i, s := range r.seq {
			if s >= n {
				return i
			}
		}
		return len(r.seq)
	}
	w, s, red := got[0], first(truth.Content.First), first(truth.Red.First)
	lostBefore := func(i int) int { return int(r.seq[i] - r.seq[i-1] - 1) }
	if w.GreenFrom != 0 || w.Green != s-1 || w.Start != s || w.End != red-1 || w.Red != red ||
		w.RedTo != len(r.seq)-1 ||
		w.LostBeforeStart != lostBefore(s) || w.LostBeforeRed != lostBefore(red) || !w.Exact || w.Warnings != nil {
		t.Errorf("%s: got %+v, want s %d and r %d", query, w, s, red)
	}
}

// TestPixelsAreHardlyNeeded counts the frames that are decoded for a page that loads and plays a
// video.
func TestPixelsAreHardlyNeeded(t *testing.T) {
	for _, tc := range analyzetest.Some([]struct {
		scene string
		most  int
	}{{"page", 12}, {"caret", 6}, {"static", 6}, {"web", 8}, {"pingpong", 8}}) {
		t.Run(tc.scene, func(t *testing.T) {
			size := "320x180"
			if tc.scene == "web" && !testing.Short() { // on a smaller page a video is as large as a marker
				size = "1920x1080"
			}
			r, _ := scene(t, tc.scene, "size="+size+"&markers=1&frames=150", nil)
			windows, problems, looked := r.find(t, Options{}, false)
			if len(windows) != 1 || problems != nil {
				t.Fatalf("%+v, %v", windows, problems)
			}
			if looked > tc.most || r.images != looked {
				t.Errorf("%d frames of %d were looked at, %d images asked for, want at most %d", looked, len(r.seq),
					r.images, tc.most)
			}
			t.Logf("%d frames of %d", looked, len(r.seq))
		})
	}
}

// TestPlaysWhereAllIsNeeded has a scene of which every frame must be looked at played rather than
// asked for.
func TestPlaysWhereAllIsNeeded(t *testing.T) {
	r, _ := scene(t, "noise", "size=160x90&markers=1&frames=100", nil)
	windows, err := Find(playable{r}, 0, len(r.seq), Options{})
	if err != nil || len(windows) != 1 || windows[0].Start != 30 || windows[0].Red != 130 {
		t.Fatalf("%+v, %v", windows, err)
	}
	if r.images > 2*playAfter+2 || r.played > 100+4*skimAfter {
		t.Errorf("%d images asked for and %d frames played", r.images, r.played)
	}
}

func TestFindStops(t *testing.T) {
	r, _ := scene(t, "web", "size=160x90&markers=1&frames=20", nil)
	if _, err := Find(r, 0, len(r.seq), Options{Stop: func() error { return fmt.Errorf("enough") }}); err == nil ||
		err.Error() != "look for sync markers: enough" {
		t.Errorf("%v", err)
	}
}

// TestFindsFromTheMiddle begins in the middle of a green.
func TestFindsFromTheMiddle(t *testing.T) {
	r, _ := scene(t, "page", "size=160x90&markers=1&frames=30", nil)
	windows, err := Find(r, 12, len(r.seq)-20, Options{})
	if err != nil || len(windows) != 1 || windows[0].GreenFrom != 12 || windows[0].Start != 30 ||
		windows[0].Red != 60 || windows[0].RedTo != 69 {
		t.Errorf("%+v, %v", windows, err)
	}
}
