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
// the screen k steps after zero.
type strips struct {
	fromT0  bool // zero is T0; else the start of the window
	step    time.Duration
	frames  [2][]int
	files   [2]string
	zero    [2]timeline.Time
	refusal string
}

// stripsJSON describes the filmstrips. Step times the number of frames is the length of the axis.
type stripsJSON struct {
	Zero     string   `json:"zero"` // T0, or start: of the window
	Step     int64    `json:"step_ns"`
	FramesA  []int    `json:"frames_a"`
	FramesB  []int    `json:"frames_b"`
	Pictures []string `json:"pictures"`
	Refusal  string   `json:"refusal"`
}

func (s *strips) json() *stripsJSON {
	if s == nil {
		return nil
	}
	j := &stripsJSON{Zero: "start", Step: int64(s.step), FramesA: append([]int{}, s.frames[0]...),
		FramesB: append([]int{}, s.frames[1]...), Pictures: []string{}, Refusal: s.refusal}
	if s.fromT0 {
		j.Zero = "T0"
	}
	if s.refusal == "" {
		j.Pictures = s.files[:]
	}
	return j
}

const (
	stripSteps = 10  // about as many pictures as one can compare at a glance
	stripWidth = 200 // pixels of a picture
)

// drawStrips writes the filmstrips of both runs. A recording that cannot be read is a refusal.
func (d drawing) drawStrips(ctx context.Context, a, b side) error {
	s := &strips{}
	d.strips = s
	s.zero, s.fromT0 = zeros(a.window, b.window)
	ra, rb, err := twoRecordings(a, b)
	if err != nil {
		s.refusal = wording.Sentence(err)
		return nil
	}
	defer ra.Close() // was only read
	defer rb.Close() // was only read
	var span time.Duration
	for i, r := range []*recording.Reader{ra, rb} {
		end, err := r.Meta([]side{a, b}[i].window.End)
		if err != nil {
			s.refusal = wording.Sentence(err)
			return nil
		}
		span = max(span, time.Duration(end.Sampled.Mid()-s.zero[i]))
	}
	if s.step = roundStep(span / stripSteps); d.filmstripStep > 0 {
		s.step = runfolder.FilmStep(span, d.filmstripStep, runfolder.MaxFilmstrip-1)
	}
	if d.filmstripStep > 0 && s.step != d.filmstripStep {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the filmstrips have steps of %v: %v needs more than %d pictures",
			s.step, d.filmstripStep, runfolder.MaxFilmstrip))
	}
	cells := int(span/s.step) + 2 // the last one is at the end of both, or behind it
	for i, r := range []*recording.Reader{ra, rb} {
		s.files[i] = d.name(stripFiles()[i])
		err := d.drawStrip(ctx, r, []side{a, b}[i].window, i, cells)
		if path := (&recordingError{}); errors.As(err, &path) {
			s.refusal = wording.Sentence(err)
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// recordingError is an error of a recording, and not of a written file.
type recordingError struct{ error }

// drawStrip writes one filmstrip.
func (d drawing) drawStrip(ctx context.Context, r *recording.Reader, w *result.Window, i, cells int) error {
	s := d.strips
	var chosen []render.Cell
	for k := range cells {
		n, err := frameAt(r, w, s.zero[i]+timeline.Time(k)*timeline.Time(s.step))
		if err != nil {
			return &recordingError{err}
		}
		s.frames[i] = append(s.frames[i], n)
		chosen = append(chosen, render.Cell{Frame: n, Nothing: w.Green >= 0 && n < w.Start})
	}
	strip, err := render.NewFilmstrip(chosen, render.FilmstripOptions{CellWidth: stripWidth, MaxCells: cells})
	if err != nil {
		return &recordingError{err}
	}
	for _, n := range strip.Frames() {
		if err := ctx.Err(); err != nil {
			return err
		}
		img, err := r.Image(n)
		if err != nil {
			return &recordingError{err}
		}
		strip.Add(n, img)
	}
	row, err := strip.Row()
	if err != nil {
		return &recordingError{err}
	}
	return d.file(stripFiles()[i], func(w io.Writer) error { return png.Encode(w, row) })
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
