package compare

import (
	"context"
	"errors"
	"iter"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// pairVideo is the video of the two runs that are shown, beside each other. Its map is the file of
// that name plus .json.
type pairVideo struct {
	Video   string `json:"video"`             // name of the file
	Refusal string `json:"refusal,omitempty"` // why there is none

	fromT0 bool // both runs line up at T0
}

func (p *pairVideo) text() string {
	if p.Refusal != "" {
		return "none: " + p.Refusal
	}
	if p.fromT0 {
		return p.Video + ", A on the left, B on the right, aligned at T0, their command"
	}
	return p.Video + ", A on the left, B on the right, aligned at the end of their green"
}

// drawPair writes the video of both runs from before their start until behind their end. They line
// up at T0 if both have one: otherwise a page that answers sooner would look slower.
func (d drawing) drawPair(ctx context.Context, a, b side) error {
	video := &pairVideo{Video: d.name(pairVideoFile)}
	d.pair = video
	ra, rb, err := twoRecordings(a, b)
	if missing := (noRecordingError{}); errors.As(err, &missing) {
		video.Refusal = wording.Sentence(missing)
		return nil
	}
	if err != nil {
		return err
	}
	defer ra.Close() // was only read
	defer rb.Close() // was only read
	advance, end := d.progress.Phase("writing both runs beside each other",
		max(a.window.End-a.window.Start, b.window.End-b.window.Start))
	defer end()
	_, video.fromT0 = zeros(a.window, b.window)
	left, errA := pairSide(ctx, ra, a.window, video.fromT0, "A: "+a.run.Name, advance)
	right, errB := pairSide(ctx, rb, b.window, video.fromT0, "B: "+b.run.Name, func(int) {})
	left.Overlay.Values, right.Overlay.Values = pairValues(a.window, b.window)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	err = render.WritePair(d.path(pairVideoFile), left, right, render.VideoOptions{})
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, render.ErrPair) {
		video.Refusal = wording.Sentence(err)
		return nil
	}
	return err
}

// pairMargin is how many frames are shown before a window's start and behind its end.
const pairMargin = 15

func pairSide(ctx context.Context, r *recording.Reader, w *result.Window, fromT0 bool, title string,
	advance func(frames int)) (render.Side, error) {
	segment, err := r.SegmentOf(w.Start)
	if err != nil {
		return render.Side{}, err
	}
	line := w.Start
	if fromT0 {
		line = max(min(line, r.Find(timeline.Time(w.T0.AtNS))), segment.First)
	}
	from, to := max(line-pairMargin, segment.First), min(max(w.End, w.Red)+pairMargin, segment.First+segment.Frames)
	first, err := r.Meta(from)
	if err != nil {
		return render.Side{}, err
	}
	start, err := r.Meta(line)
	if err != nil {
		return render.Side{}, err
	}
	zero := start.Sampled.Mid()
	marks := []render.Mark{{Frame: w.Start, Label: "start", Tone: render.Begin},
		{Frame: w.End, Label: "end", Tone: render.End}}
	if fromT0 {
		zero = timeline.Time(w.T0.AtNS)
		marks = append(marks, render.Mark{Frame: line, Label: "T0", Tone: render.Neutral})
	}
	num, den := runfolder.Rate(segment)
	side := render.Side{
		Layout: segment.Layout, Start: line, Before: start.Sequence - first.Sequence, RateNum: num, RateDen: den,
		Steps: watched(ctx, r.Steps(from, to), advance),
		Overlay: render.Overlay{
			Title: title, Zero: zero, First: from, Last: to - 1, Marks: marks,
			Nothing: func(n int) bool { return w.Green >= 0 && n < w.Start },
		},
	}
	return side, nil
}

// pairValues are the values that stand below the pictures: of each side the same, in full, so that
// one can look from one to the other.
func pairValues(wa, wb *result.Window) (a, b []analyze.Value) {
	for _, want := range [][2]string{{"fps", "framerate"}, {"fps", "longest_freeze"}, {"scroll", "framerate"}} {
		va, okA := valueOf(wa, want[0], want[1])
		vb, okB := valueOf(wb, want[0], want[1])
		if okA && okB {
			va.Name, vb.Name = want[0]+"."+want[1], want[0]+"."+want[1]
			a, b = append(a, va), append(b, vb)
		}
	}
	return a, b
}

func valueOf(w *result.Window, measure, name string) (analyze.Value, bool) {
	for i := range w.Results {
		if r := &w.Results[i]; r.Measure == measure {
			return r.Find(name)
		}
	}
	return analyze.Value{}, false
}

// watched passes steps on until the context ends, and tells how far they are.
func watched(ctx context.Context, steps iter.Seq2[*frame.Step, error], advance func(frames int)) iter.Seq2[*frame.Step,
	error] {
	return func(yield func(*frame.Step, error) bool) {
		for step, err := range steps {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(step, err) || err != nil {
				return
			}
			advance(1)
		}
	}
}
