package compare

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"sort"
	"time"

	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// strips are the filmstrips of the two shown runs over one axis of time. Picture k of each shows
// the screen k steps after zero. Step times the number of frames is the length of the axis.
type strips struct {
	Zero     string        `json:"zero"` // T0, or start: of the window
	Step     time.Duration `json:"step_ns"`
	FramesA  []int         `json:"frames_a"`
	FramesB  []int         `json:"frames_b"`
	Pictures []string      `json:"pictures"`
	Refusal  string        `json:"refusal"` // why it is missing

	zero [2]timeline.Time
}

const (
	stripSteps = 10  // about as many pictures as one can compare at a glance
	stripWidth = 200 // pixels of a picture
)

// drawStrips writes the filmstrips of both runs. A recording that cannot be read is a refusal.
func (d drawing) drawStrips(ctx context.Context, a, b side) error {
	s := &strips{Zero: "start", FramesA: []int{}, FramesB: []int{}, Pictures: []string{}}
	d.strips = s
	fromT0 := false
	if s.zero, fromT0 = zeros(a.window, b.window); fromT0 {
		s.Zero = "T0"
	}
	ra, rb, err := twoRecordings(a, b)
	if err != nil {
		s.Refusal = wording.Sentence(err)
		return nil
	}
	defer ra.Close() // was only read
	defer rb.Close() // was only read
	var span time.Duration
	for i, r := range []*recording.Reader{ra, rb} {
		end, err := r.Meta([]side{a, b}[i].window.End)
		if err != nil {
			s.Refusal = wording.Sentence(err)
			return nil
		}
		span = max(span, time.Duration(end.Sampled.Mid()-s.zero[i]))
	}
	if s.Step = roundStep(span / stripSteps); d.filmstripStep > 0 {
		s.Step = runfolder.FilmStep(span, d.filmstripStep, runfolder.MaxFilmstrip-1)
	}
	if d.filmstripStep > 0 && s.Step != d.filmstripStep {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the filmstrips have steps of %v: %v needs more than %d pictures",
			s.Step, d.filmstripStep, runfolder.MaxFilmstrip))
	}
	cells := int(span/s.Step) + 2 // the last one is at the end of both, or behind it
	for i, r := range []*recording.Reader{ra, rb} {
		frames := []*[]int{&s.FramesA, &s.FramesB}[i]
		*frames, err = d.drawStrip(ctx, r, []side{a, b}[i].window, i, cells)
		if path := (&recordingError{}); errors.As(err, &path) {
			s.Refusal = wording.Sentence(err)
			return nil
		} else if err != nil {
			return err
		}
	}
	s.Pictures = []string{d.name(stripFiles()[0]), d.name(stripFiles()[1])}
	return nil
}

// recordingError is an error of a recording, and not of a written file.
type recordingError struct{ error }

// drawStrip writes one filmstrip, and returns its frames.
func (d drawing) drawStrip(ctx context.Context, r *recording.Reader, w *result.Window, i, cells int) ([]int, error) {
	s, frames := d.strips, []int{}
	var chosen []render.Cell
	for k := range cells {
		n, err := frameAt(r, w, s.zero[i]+timeline.Time(k)*timeline.Time(s.Step))
		if err != nil {
			return frames, &recordingError{err}
		}
		frames = append(frames, n)
		chosen = append(chosen, render.Cell{Frame: n, Nothing: w.Green >= 0 && n < w.Start})
	}
	strip, err := render.NewFilmstrip(chosen, render.FilmstripOptions{CellWidth: stripWidth, MaxCells: cells})
	if err != nil {
		return frames, &recordingError{err}
	}
	for _, n := range strip.Frames() {
		if err := ctx.Err(); err != nil {
			return frames, err
		}
		img, err := r.Image(n)
		if err != nil {
			return frames, &recordingError{err}
		}
		strip.Add(n, img)
	}
	row, err := strip.Row()
	if err != nil {
		return frames, &recordingError{err}
	}
	return frames, d.file(stripFiles()[i], func(w io.Writer) error { return png.Encode(w, row) })
}

// maxBefore limits the time from T0 to the window's start.
const maxBefore = time.Hour

// zeros returns the zeros of the axis: both T0 or, unless both windows have one, both starts.
func zeros(a, b *result.Window) (zero [2]timeline.Time, fromT0 bool) {
	fromT0 = true
	for i, w := range []*result.Window{a, b} {
		if w.T0 == nil {
			fromT0 = false
			break
		}
		zero[i] = timeline.Time(w.T0.AtNS)
		before := w.StartNS - w.T0.AtNS // negative if it overflows
		fromT0 = fromT0 && before >= 0 && before <= int64(maxBefore)
	}
	if !fromT0 {
		zero = [2]timeline.Time{timeline.Time(a.StartNS), timeline.Time(b.StartNS)}
	}
	return zero, fromT0
}

// frameAt returns the frame on the screen at a time. Times outside the segment or after the window
// have the first or the last frame.
func frameAt(r *recording.Reader, w *result.Window, t timeline.Time) (n int, err error) {
	segment, err := r.SegmentOf(w.End)
	if err != nil {
		return 0, err
	}
	later := sort.Search(w.End-segment.First, func(i int) bool {
		m, metaErr := r.Meta(segment.First + 1 + i)
		err = errors.Join(err, metaErr)
		return m.Sampled.Mid() > t
	})
	return segment.First + later, err
}

// roundStep rounds a duration up to one or two digits.
func roundStep(d time.Duration) time.Duration {
	power := math.Pow(10, math.Floor(math.Log10(float64(max(d, time.Millisecond)))))
	for _, k := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if step := time.Duration(k * power); step >= d {
			return step
		}
	}
	return time.Duration(10 * power)
}
