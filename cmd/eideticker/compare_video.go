package main

import (
	"errors"
	"iter"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
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
	pathA, errA := recordingOf(a)
	pathB, errB := recordingOf(b)
	if err := errors.Join(errA, errB); err != nil {
		return nil, nil, noRecordingError{err}
	}
	if ra, err = recording.Open(pathA); err != nil {
		return nil, nil, err
	}
	if rb, err = recording.Open(pathB); err != nil {
		ra.Close() // was only read
		return nil, nil, err
	}
	return ra, rb, nil
}

// noRecordingError says that a run has no recording, which is no failure of a comparison.
type noRecordingError struct{ error }

// writePair writes the video of both runs from before their start until behind their end.
func (c *comparison) writePair(e *env, dir string, a, b *runResults, wa, wb *report.Window) error {
	c.pair = &pairVideo{name: filepath.Join(dir, "pair.mp4")}
	ra, rb, err := twoRecordings(a, b)
	if missing, ok := err.(noRecordingError); ok {
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
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	err = render.WritePair(c.pair.name, left, right, render.VideoOptions{})
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
			Title: title, Zero: timeline.Time(w.StartNS), First: from, Last: to - 1,
			Marks: []render.Mark{{Frame: w.Start, Label: "start", Tone: render.Begin}, {Frame: w.End, Label: "end", Tone: render.End}},
		},
	}
	for i := range w.Results {
		for _, v := range w.Results[i].Values {
			if v.Name == "framerate" || v.Name == "longest_freeze" {
				side.Overlay.Values = append(side.Overlay.Values, v)
			}
		}
	}
	return side, nil
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
