package main

import (
	"errors"
	"iter"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// pairVideo is the video of the two runs that are shown, beside each other.
type pairVideo struct {
	name    string // of the file
	refusal string // why there is none
}

// comparePairJSON tells of the video; its map stands in the file of that name with .json behind it.
type comparePairJSON struct {
	Video   string `json:"video"`
	Refusal string `json:"refusal,omitempty"`
}

func (p *pairVideo) json() *comparePairJSON {
	if p == nil {
		return nil
	}
	return &comparePairJSON{p.name, p.refusal}
}

func (p *pairVideo) text() string {
	if p.refusal != "" {
		return "none: " + p.refusal
	}
	return p.name + ", A on the left, B on the right, aligned at the end of their green"
}

// twoRecordings opens those of the two runs that are shown.
func twoRecordings(a, b *runResults) (ra, rb *recording.Reader, err error) {
	ra, errA := openRecordingOf(a)
	rb, errB := openRecordingOf(b)
	errs := []error{errA, errB}
	for i, r := range []*recording.Reader{ra, rb} {
		if errs[1-i] != nil && r != nil {
			r.Close() // was only read
		}
	}
	var missing noRecordingError
	if err := errors.Join(errs...); errors.As(err, &missing) {
		return nil, nil, noRecordingError{err}
	} else if err != nil {
		return nil, nil, err
	}
	return ra, rb, nil
}

// openRecordingOf opens a run's recording, if it is the one that the run's results are of.
func openRecordingOf(run *runResults) (*recording.Reader, error) {
	path, err := recordingOf(run)
	if err != nil {
		return nil, err
	}
	r, err := recording.Open(path)
	if err != nil {
		return nil, err
	}
	if err := resultsAreOf(run.recording, r, path); err != nil {
		r.Close() // was only read
		return nil, noRecordingError{err}
	}
	return r, nil
}

// noRecordingError says that a run has no recording, or another one, which is no failure of a comparison.
type noRecordingError struct{ error }

// writePair writes the video of both runs from before their start until behind their end.
func (c *comparison) writePair(e *env, dir evidenceFolder, a, b *runResults, wa, wb *report.Window) error {
	c.pair = &pairVideo{name: dir.name(pairVideoFile)}
	ra, rb, err := twoRecordings(a, b)
	if missing := (noRecordingError{}); errors.As(err, &missing) {
		c.pair.refusal = sentence(missing)
		return nil
	}
	if err != nil {
		return err
	}
	defer ra.Close() // was only read
	defer rb.Close() // was only read
	p := e.phase("writing both runs beside each other", max(wa.End-wa.Start, wb.End-wb.Start))
	defer p.end()
	left, errA := pairSide(e, ra, wa, "A: "+a.name, p)
	right, errB := pairSide(e, rb, wb, "B: "+b.name, nil)
	left.Overlay.Values, right.Overlay.Values = pairValues(wa, wb)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	err = render.WritePair(dir.path(pairVideoFile), left, right, render.VideoOptions{})
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, render.ErrPair) {
		c.pair.refusal = sentence(err)
		return nil
	}
	return err
}

// pairMargin is how many frames are shown before a window's start and behind its end.
const pairMargin = 15

func pairSide(e *env, r *recording.Reader, w *report.Window, title string, p *progress) (render.Side, error) {
	segment, err := r.SegmentOf(w.Start)
	if err != nil {
		return render.Side{}, err
	}
	from, to := max(w.Start-pairMargin, segment.First), min(max(w.End, w.Red)+pairMargin, segment.First+segment.Frames)
	first, err := r.Meta(from)
	if err != nil {
		return render.Side{}, err
	}
	start, err := r.Meta(w.Start)
	if err != nil {
		return render.Side{}, err
	}
	num, den := segmentRate(segment)
	side := render.Side{
		Layout: segment.Layout, Start: w.Start, Before: start.Sequence - first.Sequence, RateNum: num, RateDen: den,
		Steps: watched(e, r.Steps(from, to), p),
		Overlay: render.Overlay{
			Title: title, Zero: start.Sampled.Mid(), First: from, Last: to - 1,
			Marks: []render.Mark{{Frame: w.Start, Label: "start", Tone: render.Begin}, {Frame: w.End, Label: "end", Tone: render.End}},
		},
	}
	return side, nil
}

// pairValues are the values that stand below the pictures: of each side the same, in full, so that one can look from one to the other.
func pairValues(wa, wb *report.Window) (a, b []analyze.Value) {
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

func valueOf(w *report.Window, measure, name string) (analyze.Value, bool) {
	for i := range w.Results {
		if r := &w.Results[i]; r.Measure == measure {
			return r.Find(name)
		}
	}
	return analyze.Value{}, false
}

// watched passes steps on until the command is interrupted, and tells how far they are.
func watched(e *env, steps iter.Seq2[*frame.Step, error], p *progress) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for step, err := range steps {
			if err == nil {
				err = e.ctx.Err()
			}
			if !yield(step, err) || err != nil {
				return
			}
			if p != nil {
				p.add(1)
			}
		}
	}
}
